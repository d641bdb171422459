"""Finds the files of a statement by paths and globs, and the folders `name=value` on their paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from urllib.parse import unquote

from gpudb.catalog.file_tables import FileFormat, FileStamp
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.sql.parse.file_names import COMPRESSIONS, get_format
from gpudb.storage.load.files import Compression, DataFile, convert_errors, find_files
from gpudb.storage.object_stores.addresses import Address, is_remote, read_address
from gpudb.storage.object_stores.duckdb_files import get_number, get_store, remember
from gpudb.storage.object_stores.store import ObjectStore, StoredObject

FindStore = Callable[[Address], ObjectStore]
"""Returns the storage of an address; raises if the role may not read there."""

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The value of a folder whose rows have NULL."""


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Files in the order of their paths, each as it is now, their one format and their compression, if all have one."""

    stamps: tuple[FileStamp, ...]
    format: FileFormat
    compression: Compression


@dataclass(frozen=True, slots=True)
class _Found:
    """A file or an object; `format` is what its name tells."""

    stamp: FileStamp
    format: FileFormat | None
    compression: Compression


def discover_files(
    patterns: Sequence[str], format: FileFormat | None, find_store: FindStore | None = None
) -> FoundFiles:
    """Returns the files of paths, globs and addresses; without a `format` their names or first bytes tell it.

    58P01 if a pattern has no file, 42501 and XX001 for one that cannot be read, 0A000 for addresses without
    `find_store` and for several formats or compressions at once; for objects see `convert_store_errors`.
    """
    found: dict[tuple[str, int | None], _Found] = {}
    for pattern in patterns:
        each_found = _find_objects(pattern, find_store) if is_remote(pattern) else _find_local(pattern, format)
        for each in each_found:
            found.setdefault((each.stamp.path, each.stamp.store), each)
    files = list(found.values())
    formats = {format or _require_format(file) for file in files}
    if len(formats) > 1:
        raise FeatureNotSupported(f"files of several formats are no one table: {', '.join(sorted(formats))}")
    compressions = {file.compression for file in files}
    if len(compressions) > 1:
        raise FeatureNotSupported("files with and without compression are no one table")
    (compression,) = compressions
    stamps = tuple(file.stamp for file in files)
    (kind,) = formats
    if compression is not None and kind in ("parquet", "arrow", "xlsx"):
        raise FeatureNotSupported(f'"{stamps[0].path}" is a compressed {kind} file', hint="Decompress it first.")
    return FoundFiles(stamps, kind, compression)


def _find_local(pattern: str, format: FileFormat | None) -> list[_Found]:
    files = find_files(pattern)
    return [_Found(stamp_file(each.path), format or _detect_format(each), each.compression) for each in files]


def _find_objects(pattern: str, find_store: FindStore | None) -> list[_Found]:
    if find_store is None:
        raise FeatureNotSupported(f"addresses of the kind {pattern.partition('://')[0]} are not supported here")
    address = read_address(pattern)
    store = find_store(address)
    number = get_number(store)
    result = []
    for each in store.find(address):
        remember(number, each)
        suffix = PurePath(each.address.path).suffix.lower()
        compression: Compression = COMPRESSIONS.get(suffix)  # type: ignore[assignment]
        named: FileFormat | None = get_format(each.address.path)  # type: ignore[assignment]
        result.append(_Found(_stamp_object(number, each), named, compression))
    return result


def _stamp_object(number: int, held: StoredObject) -> FileStamp:
    return FileStamp(str(held.address), held.size, held.changed, number)


def _require_format(file: _Found) -> FileFormat:
    if file.format is None:
        message = f'the name of "{file.stamp.path}" does not tell its format'
        raise FeatureNotSupported(message, hint="Use read_parquet(), read_csv(), read_json() or read_arrow().")
    return file.format


def restamp(file: FileStamp) -> FileStamp:
    """Returns a file or an object as it is now; 58P01, 42501."""
    if file.store is None:
        return stamp_file(Path(file.path))
    held = get_store(file.store).stat(read_address(file.path))
    remember(file.store, held)
    return _stamp_object(file.store, held)


def _detect_format(file: DataFile) -> FileFormat:
    named = get_format(file.path.name)
    return named if named is not None else file.kind  # type: ignore[return-value]


def stamp_file(path: Path) -> FileStamp:
    """Returns a file as it is now; 58P01, 42501.

    Its time of change is that of its inode: programs that copy files set the other one, and so hide a change.
    """
    with convert_errors(path):
        status = path.stat()
    return FileStamp(str(path), status.st_size, status.st_ctime_ns)


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
