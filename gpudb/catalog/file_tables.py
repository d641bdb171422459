"""Files that a statement reads as one table: which they are, and how they hold their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gpudb.types import SqlType

if TYPE_CHECKING:
    import pyarrow as pa

FileFormat = Literal["parquet", "csv", "json", "arrow", "copy", "iceberg", "delta"]
"""The format of a file; `copy` files are read as COPY FROM reads them.

Tables of `iceberg` and `delta` have the format parquet once their files are known.
"""


@dataclass(frozen=True, slots=True)
class FileRequest:
    """What a statement asks for: paths or globs, the format if it is named, options by lower-case name.

    `declared` are the columns of a column definition list, None without one.
    """

    patterns: tuple[str, ...]
    format: FileFormat | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    declared: tuple[tuple[str, SqlType], ...] | None = None


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A file as it was when the statement was bound: its path, size in bytes and time of change in nanoseconds.

    Of an object the path is its address, and `store` the number of its storage in this process
    (see `storage.object_stores.duckdb_files`).
    """

    path: str
    size: int
    changed: int
    store: int | None = None


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of files. `held` is the DuckDB type in which readers of the format give it.

    Its `origin` is the file itself, a folder `name=value` of its path, or the path as a whole.
    """

    name: str
    type: SqlType
    held: str
    origin: Literal["file", "folder", "path"] = "file"


@dataclass(frozen=True, slots=True)
class LakeGroup:
    """Files of a lake table that have the same values of some columns, which are texts or None, by name."""

    files: tuple[FileStamp, ...]
    constants: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LakeScan:
    """How the Parquet files of a lake table are read as one table; none of them ever changes.

    `keys` has for each column its Iceberg field, or its name in the files. `deleted` has the columns file (text: a
    path) and row (bigint: a number in that file, from 0).
    """

    keys: Mapping[str, int | str]
    groups: tuple[LakeGroup, ...]
    deleted: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class FileTable:
    """Files of one format as a table. `hidden` columns follow the others and are not part of `*`.

    `options` are those of the format's reader; with `by_name` a column that a file lacks is NULL.
    `lake` is None but for tables of Iceberg and Delta.
    """

    files: tuple[FileStamp, ...]
    format: FileFormat
    columns: tuple[FileColumn, ...]
    hidden: tuple[FileColumn, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    by_name: bool = False
    lake: LakeScan | None = None

    @property
    def size(self) -> int:
        """The bytes of all files on disk."""
        return sum(file.size for file in self.files)
