"""Repairs one damaged table: finds metadata of it that can be read, and the newest snapshot whose files are whole."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from gpudb.catalog.model import FIRST_DATABASE
from gpudb.catalog.tables import DataFile, Table, TableSnapshot
from gpudb.errors import GpudbError, UndefinedTable
from gpudb.storage.catalog.changes import CatalogChanges, Pointer
from gpudb.storage.catalog.database import CatalogDatabase
from gpudb.storage.catalog.records import decode
from gpudb.storage.iceberg.append import verify_checksums
from gpudb.storage.iceberg.locations import to_uri
from gpudb.storage.iceberg.metadata_reader import load
from gpudb.storage.recovery.metadata_versions import exists_whole, iter_versions
from gpudb.storage.recovery.opening import lock_closed_directory, read_current_catalogs


@dataclass(frozen=True, slots=True)
class TableRepair:
    """`metadata` is the version that the catalog names now, None if the one that it named can be read.

    `snapshot` is the newest one whose files are whole, None if there is none; `is_current` is whether it is the table's
    state.
    """

    metadata: Path | None
    snapshot: TableSnapshot | None
    is_current: bool


def repair_table(directory: Path, schema: str, name: str, database: str = FIRST_DATABASE) -> TableRepair:
    """Gives a table of a database of a data directory that no server has open metadata that can be read.

    Data files are verified, and not changed. Raises 42P01 for an unknown table, XX001 if no version of its metadata can
    be read, 55006 for a directory that is open.
    """
    with lock_closed_directory(directory), closing(CatalogDatabase(directory / "catalog.db", create=False)) as file:
        catalogs, pointers = read_current_catalogs(directory, file)
        catalog = catalogs.get(database)
        table = None if catalog is None else catalog.relation(schema, name)
        pointer = pointers.get(table.oid) if isinstance(table, Table) else None
        if catalog is None or not isinstance(table, Table):
            raise UndefinedTable(f'relation "{schema}.{name}" is no table of "{directory}"')
        folder = directory / "tables" / str(table.oid)
        swapped = None
        try:
            if pointer is None:
                raise GpudbError("the catalog has no metadata of it", condition="data_corrupted")
            state, _ = load(folder, pointer.file, table, decode)
        except GpudbError as damage:
            found = max(iter_versions(folder), key=lambda each: each.commit, default=None)
            if found is None:
                message = f'no version of the metadata of table "{schema}.{name}" can be read: {damage}'
                raise GpudbError(message, condition="data_corrupted") from None
            swapped, state = found.path, found.state
            table = replace(found.table, schema=schema, name=name)
            changes = CatalogChanges(catalog.version + 1, catalog.next_oid, file.last_commit())
            changes.relations = {(database, table.oid): table}
            changes.pointers = [(pointer, Pointer(schema, name, to_uri(swapped), database))]
            file.commit(changes)
        known: dict[str, bool] = {}
        for snapshot in reversed(state.snapshots):
            if snapshot.table.is_readable and all(_is_whole(file, known) for file in snapshot.table.files):
                return TableRepair(swapped, snapshot, snapshot is state.snapshots[-1])
        return TableRepair(swapped, None, False)


def _is_whole(file: DataFile, known: dict[str, bool]) -> bool:
    if file.path not in known:
        try:
            known[file.path] = exists_whole(file)
            if known[file.path]:
                verify_checksums(Path(file.path))
        except (OSError, GpudbError):
            known[file.path] = False
    return known[file.path]
