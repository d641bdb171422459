"""Finds the files of a statement by paths and globs, and the folders `name=value` on their paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from gpudb.catalog.file_tables import FileFormat, FileStamp
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.parse.file_names import get_format
from gpudb.storage.load.files import Compression, DataFile, convert_errors, find_files

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The value of a folder whose rows have NULL."""


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Files in the order of their paths, each as it is now, their one format and their compression, if all have one."""

    stamps: tuple[FileStamp, ...]
    format: FileFormat
    compression: Compression


def discover_files(patterns: Sequence[str], format: FileFormat | None) -> FoundFiles:
    """Returns the files of paths and globs; without a `format` their names or first bytes tell it.

    58P01 if a pattern has no file, 42501 and XX001 for one that cannot be read, 0A000 for addresses and for several
    formats or compressions at once.
    """
    found: dict[Path, DataFile] = {}
    for pattern in patterns:
        for file in find_files(pattern):
            found.setdefault(file.path, file)
    files = list(found.values())
    formats = {format or _detect_format(file) for file in files}
    if len(formats) > 1:
        raise FeatureNotSupported(f"files of several formats are no one table: {', '.join(sorted(formats))}")
    compressions = {file.compression for file in files}
    if len(compressions) > 1:
        raise FeatureNotSupported("files with and without compression are no one table")
    (compression,) = compressions
    stamps = tuple(stamp_file(file.path) for file in files)
    (kind,) = formats
    if compression is not None and kind in ("parquet", "arrow"):
        raise FeatureNotSupported(f'"{files[0].path}" is a compressed {kind} file', hint="Decompress it first.")
    return FoundFiles(stamps, kind, compression)


def _detect_format(file: DataFile) -> FileFormat:
    named = get_format(file.path.name)
    return named if named is not None else file.kind  # type: ignore[return-value]


def stamp_file(path: Path) -> FileStamp:
    """Returns a file as it is now; 58P01, 42501."""
    with convert_errors(path):
        status = path.stat()
    return FileStamp(str(path), status.st_size, status.st_mtime_ns)


def read_folders(path: str) -> dict[str, str | None]:
    """Returns the values of the folders `name=value` of a path, by name; None for a folder of NULLs."""
    values: dict[str, str | None] = {}
    for part in Path(path).parent.parts:
        name, mark, value = part.partition("=")
        if mark and name:
            values[unquote(name)] = None if value == NULL_FOLDER else unquote(value)
    return values


def list_folder_values(files: Sequence[FileStamp]) -> dict[str, list[str | None]]:
    """Returns the values of the folders that all files have, by name; 42804 if only some have one."""
    each = [read_folders(file.path) for file in files]
    names = list(each[0])
    for file, values in zip(files, each, strict=True):
        if list(values) != names:
            message = f'file "{file.path}" has not the folders of "{files[0].path}"'
            hint = "Read only files with the same folders, or say hive_partitioning => false."
            raise SqlError.of("datatype_mismatch", message, hint=hint)
    return {name: [values[name] for values in each] for name in names}
