"""Refuses to open a data directory whose tables are newer than its catalog, before anything in it is changed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from gpudb.errors import FeatureNotSupported, GpudbError
from gpudb.storage.catalog.changes import Catalogs, Pointer
from gpudb.storage.catalog.database import CatalogDatabase
from gpudb.storage.iceberg.content_names import read_file
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.lockfile import LockFile
from gpudb.storage.private_files import SHARED_CATALOG_FILE, TABLES_URL_FILE, create_file

COMMIT_PROPERTY = "gpudb.commit"
"""Property of a table's Iceberg metadata: the number of the commit that wrote it."""
DATABASE_PROPERTY = "gpudb.database"
"""Property of a table's Iceberg metadata: the OID of its database."""
COMMIT_TABLES_PROPERTY = "gpudb.commit-tables"
"""Property of a table's Iceberg metadata: the number of tables that the same commit wrote."""
_HINT = (
    'Copy "catalog.db" together with "catalog.db-wal" from where this directory came from, or run'
    ' "gpudb repair --data-dir {}", which rebuilds the catalog from the tables\' own metadata.'
)


def require_catalog(directory: Path, has_tables_elsewhere: Callable[[], bool] = lambda: False) -> None:
    """Raises XX001 if `tables` holds files while the catalog's database is missing or empty; changes nothing.

    `has_tables_elsewhere` says whether an object storage has files of its tables.
    """
    tables = directory / "tables"
    path = directory / "catalog.db"
    state = "missing" if not path.exists() else "empty" if _is_empty(path) else ""
    if not state:
        return
    folders = [path for path in tables.iterdir() if path.is_dir() and any(each.is_file() for each in path.rglob("*"))]
    if folders:
        message = f'the catalog "{path}" is {state}, but "{tables}" holds the files of {len(folders)} tables'
        raise _error(directory, message)
    if has_tables_elsewhere():
        raise _error(directory, f'the catalog "{path}" is {state}, but the object storage has the files of its tables')


def check_not_shared(directory: Path) -> None:
    """Raises 55000 if the catalog of a data directory is in PostgreSQL."""
    if (directory / SHARED_CATALOG_FILE).exists():
        message = f'the catalog of the data directory "{directory}" is in PostgreSQL'
        hint = "Start the server with --catalog and the URL of that PostgreSQL."
        raise GpudbError(message, condition="object_not_in_prerequisite_state", hint=hint)


def check_own_catalog(directory: Path) -> None:
    """Raises 55000 if a data directory has a catalog of its own, so that none in PostgreSQL may be its."""
    path = directory / "catalog.db"
    if path.exists() and not _is_empty(path):
        message = f'the data directory "{directory}" has a catalog of its own, "{path}"'
        raise GpudbError(message, condition="object_not_in_prerequisite_state")


def claim_directory(directory: Path, identifier: str, *, is_new: bool, moves: bool = False) -> None:
    """Makes a data directory that of a catalog in PostgreSQL, which has no tables yet if it `is_new`.

    If it `moves`, the catalog has adopted that of the directory.

    Raises 55000 if it is another catalog's, or has the files of tables, or if the catalog has tables elsewhere.
    """
    path = directory / SHARED_CATALOG_FILE
    try:
        known = path.read_text().strip()
    except FileNotFoundError:
        known = ""
    if known == identifier:
        return
    if known:
        message = f'the data directory "{directory}" is that of another catalog in PostgreSQL'
        raise GpudbError(message, condition="object_not_in_prerequisite_state")
    if not moves and (not is_new or any((directory / "tables").iterdir())):
        message = f'the data directory "{directory}" is not that of this catalog in PostgreSQL'
        hint = "All coordinators of a catalog have the same data directory."
        raise GpudbError(message, condition="object_not_in_prerequisite_state", hint=hint)
    partial = directory / f"{SHARED_CATALOG_FILE}.{os.getpid()}"
    create_file(partial)
    partial.write_text(identifier + "\n")
    sync(partial)
    partial.replace(path)
    sync(directory)


def read_current_catalogs(directory: Path, database: CatalogDatabase) -> tuple[Catalogs, Mapping[int, Pointer]]:
    """Reads the catalogs as `CatalogDatabase.read` does.

    Raises XX001 if a table's metadata is of a commit that the catalog cannot have seen. A crash leaves the metadata of
    one commit at most, the one after the last; a later one shows that the catalog is a copy from before.
    """
    catalogs, pointers = database.read()
    check_commits(directory, catalogs, pointers, database.last_commit(), f'catalog "{directory / "catalog.db"}"')
    return catalogs, pointers


def check_commits(
    directory: Path, catalogs: Catalogs, pointers: Mapping[int, Pointer], last_commit: int, what: str
) -> None:
    """Raises XX001 if a table's metadata is of a commit that a catalog, `what` by name, cannot have seen."""
    named = {table.oid: table.name for catalog in catalogs.values() for table in catalog.tables()}
    for oid, path in _iter_metadata(directory / "tables"):
        if oid in pointers and path.name == pointers[oid].file:
            continue
        commit = read_commit(path)
        if commit is not None and commit > last_commit + 1:
            table = f'table "{named[oid]}"' if oid in named else f"the table with OID {oid}"
            message = f'the {what} is of commit {last_commit}, but {table} has metadata of commit {commit}: "{path}"'
            raise _error(directory, message)


@contextmanager
def lock_closed_directory(directory: Path) -> Iterator[None]:
    """Keeps servers from opening a data directory; 58P01 if it is none, 55006 if it is open, 0A000 for others."""
    if not (directory / "tables").is_dir():
        raise GpudbError(f'"{directory}" is not a data directory of gpudb', condition="undefined_file")
    check_not_shared(directory)
    if (directory / TABLES_URL_FILE).exists():
        message = f'the tables of the data directory "{directory}" lie in an object storage'
        raise FeatureNotSupported(message)
    lock = LockFile(directory / "lock")
    try:
        yield
    finally:
        lock.close()


def read_commit(path: Path) -> int | None:
    """Returns the number of the commit that wrote a metadata file; None for one that does not say or is unreadable."""
    try:
        return int(json.loads(read_file(path, "table metadata"))["properties"][COMMIT_PROPERTY])
    except (GpudbError, ValueError, KeyError, TypeError):
        return None


def _iter_metadata(tables: Path) -> Iterator[tuple[int, Path]]:
    for folder in tables.iterdir():
        if folder.name.isdigit():
            for path in (folder / "metadata").glob("*.metadata.json"):
                yield int(folder.name), path


def _is_empty(path: Path) -> bool:
    """Returns whether a catalog's database has no state; a damaged one is for the catalog itself to report."""
    if path.stat().st_size == 0:
        return True
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return not connection.execute("SELECT key FROM gpudb_state LIMIT 1").fetchall()
    except sqlite3.OperationalError as error:
        return "no such table" in str(error)
    except sqlite3.DatabaseError:
        return False


def _error(directory: Path, message: str) -> GpudbError:
    detail = "Nothing in the directory was changed."
    return GpudbError(message, condition="data_corrupted", detail=detail, hint=_HINT.format(directory))
