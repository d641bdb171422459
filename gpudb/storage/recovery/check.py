"""Verifies a data directory: its catalog, each table's metadata, and the files of its rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from gpudb.catalog.model import FIRST_DATABASE, Catalog
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.tables import DataFile, Table, UnreadableFiles
from gpudb.errors import GpudbError
from gpudb.storage.catalog.changes import Pointer
from gpudb.storage.catalog.database import CatalogDatabase
from gpudb.storage.catalog.records import decode
from gpudb.storage.iceberg.append import verify_checksums
from gpudb.storage.iceberg.content_names import read_file, verify_data_file
from gpudb.storage.iceberg.metadata_reader import load
from gpudb.storage.recovery.opening import lock_closed_directory, read_current_catalogs, require_catalog


@dataclass(slots=True)
class CheckReport:
    """What was verified, and what is wrong: `problems` are pairs of an object's name and a sentence."""

    tables: int = 0
    files: int = 0
    rows: int = 0
    bytes: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)


def check(directory: Path, *, deep: bool = False) -> CheckReport:
    """Verifies a data directory that no server has open; changes nothing.

    Metadata, and the existence, length and row counts of files are verified; with `deep` every file is read and
    all pages' checksums too. Raises 58P01 for a directory that does not exist and 55006 for one that is open.
    """
    report = CheckReport()
    with lock_closed_directory(directory):
        _check(directory, report, deep)
    return report


def _check(directory: Path, report: CheckReport, deep: bool) -> None:
    path = directory / "catalog.db"
    try:
        require_catalog(directory)
        if not path.exists():
            return
        with closing(CatalogDatabase(path, read_only=True)) as database:
            catalogs, pointers = read_current_catalogs(directory, database)
        report.problems += (("catalog", problem) for problem in _list_database_problems(path))
    except GpudbError as error:
        report.problems.append(("catalog", str(error)))
        return
    for catalog in catalogs.values():
        prefix = "" if catalog.database == FIRST_DATABASE else f"{catalog.database}."
        for table in catalog.tables():
            _check_table(directory, f"{prefix}{table.schema}.{table.name}", table, pointers, report, deep)
        _check_references(catalog, prefix, report)


def _list_database_problems(path: Path) -> list[str]:
    try:
        with closing(sqlite3.connect(path)) as connection:
            found = [text for (text,) in connection.execute("PRAGMA integrity_check").fetchall()]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if found == ["ok"] else found


def _check_table(
    directory: Path, name: str, table: Table, pointers: Mapping[int, Pointer], report: CheckReport, deep: bool
) -> None:
    report.tables += 1
    pointer = pointers.get(table.oid)
    if pointer is None:
        report.problems.append((name, "the catalog has no metadata of it"))
        return
    try:
        state, files = load(directory / "tables" / str(table.oid), pointer.file, table, decode)
    except GpudbError as error:
        report.problems.append((name, str(error)))
        return
    for file in files:
        report.files += 1
        report.rows += file.rows
        report.bytes += file.bytes
        report.problems += ((name, problem) for problem in _list_file_problems(file, deep))
    known = {file.path for file in files}
    told = set()
    for snapshot in state.snapshots[:-1]:
        if isinstance(snapshot.table.files, UnreadableFiles):
            told.add(str(snapshot.table.files.error))
            report.problems.append((f"{name}, snapshot {snapshot.id}", str(snapshot.table.files.error)))
            continue
        for file in snapshot.table.files:
            if file.path not in known:
                known.add(file.path)
                problems = _list_file_problems(file, deep)
                report.problems += ((f"{name}, snapshot {snapshot.id}", problem) for problem in problems)
    others = (problem for problem in _list_metadata_problems(state.files) if problem not in told)
    report.problems += ((name, problem) for problem in others)


def _list_metadata_problems(paths: Iterable[Path]) -> Iterator[str]:
    # An earlier version may be gone after a repair: nothing is read from it, and what is read raises by itself.
    for path in sorted(path for path in paths if path.exists()):
        try:
            read_file(path, "manifest list" if path.name.startswith("snap-") else "table metadata")
        except GpudbError as error:
            yield str(error)


def _list_file_problems(file: DataFile, deep: bool) -> Iterator[str]:
    import pyarrow.parquet as pq

    path = Path(file.path)
    try:
        size = path.stat().st_size
    except OSError as error:
        yield f'data file "{path}": {error.strerror}'
        return
    if size != file.bytes:
        yield f'data file "{path}" has {size} bytes instead of {file.bytes}'
        return
    try:
        footer = pq.read_metadata(path)
        rows = footer.num_rows
        verify_data_file(path, footer)
    except GpudbError as error:
        yield str(error)
        return
    except (OSError, pa.ArrowException) as error:
        yield f'data file "{path}" cannot be read: {str(error).partition(chr(10))[0]}'
        return
    if rows != file.stored_rows:
        yield f'data file "{path}" has {rows} rows instead of {file.stored_rows}'
    if deep:
        try:
            verify_checksums(path)
        except GpudbError as error:
            yield str(error)


def _check_references(catalog: Catalog, prefix: str, report: CheckReport) -> None:
    for relation in catalog.relations.values():
        if relation.schema not in (*catalog.schemas, CONTENT_SCHEMA):
            problem = f'its schema "{relation.schema}" does not exist'
            report.problems.append((f"{prefix}{relation.schema}.{relation.name}", problem))
