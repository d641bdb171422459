"""Files that a statement reads as one table: which they are, and how they hold their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gpudb.catalog.tables import DataFile
from gpudb.types import SqlType

if TYPE_CHECKING:
    import pyarrow as pa

FileFormat = Literal["parquet", "csv", "json", "arrow", "xlsx", "copy", "iceberg", "delta"]
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
    def is_plain(self) -> bool:
        """Whether the rows are those of local files alone: equal plain tables have the same rows."""
        return self.lake is None and "source" not in self.options and all(file.store is None for file in self.files)

    @property
    def size(self) -> int:
        """The bytes of all files on disk."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class FilePart(DataFile):
    """Rows of a file that a statement reads as a table: row groups of Parquet, record batches of Arrow, blocks of text.

    `parts` are their numbers in the file, `groups` is how many of them it has, `place` the number by which a worker is
    assigned. `names` are the names of columns in the file by field id, `values` those columns' texts that its path
    gives (None is NULL). Of text, `blocks` are the offset, bytes and rows of each part, `options` those of its reader,
    and `columns` the names of all its columns. The data file's `path` is unique for this part of this state of the
    file.
    """

    stamp: FileStamp = field(default=FileStamp("", 0, 0), compare=False)
    format: FileFormat = field(default="parquet", compare=False)
    parts: tuple[int, ...] = ()
    groups: int = field(default=1, compare=False)
    place: int = field(default=0, compare=False)
    names: Mapping[int, str] = field(default_factory=dict, compare=False)
    values: Mapping[int, str | None] = field(default_factory=dict, compare=False)
    blocks: tuple[tuple[int, int, int], ...] = field(default=(), compare=False)
    options: Mapping[str, object] = field(default_factory=dict, compare=False)
    columns: tuple[str, ...] = field(default=(), compare=False)


def get_file_path(path: str) -> str:
    """Returns the path on disk of a data file's `path` or `id`."""
    return path.partition("\0")[0]
