"""Opening of a data directory's tables: their metadata is read, and files that belong to no table are moved away."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from gpudb.storage.catalog.changes import Catalogs, Pointer
from gpudb.storage.data_directory import DataDirectory
from gpudb.storage.iceberg.checksums import forget_verified
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.lost_and_found import KEEP_SECONDS, move_orphans, purge
from gpudb.storage.table_states import TableStates


def load_tables(
    directory: DataDirectory,
    states: TableStates,
    catalogs: Catalogs,
    pointers: Mapping[int, Pointer],
    logged: Mapping[int, frozenset[Path]] = MappingProxyType({}),
    *,
    alone: bool = True,
) -> Catalogs:
    """Returns the catalogs with their tables' files; moves those of no table, if no other store is open.

    `logged` are the files of tables that commits in the log add.
    """
    sync(directory.path)
    forget_verified()
    current = {oid: directory.folder(oid) / "metadata" / pointer.file for oid, pointer in pointers.items()}
    directory.table_files.fetch_metadata(current)
    loaded, live = states.load_all(catalogs, pointers)
    for oid, paths in logged.items():
        known = live.get(oid)
        if known is not None:
            live[oid] = known | paths
    if alone:
        purge(directory.path, KEEP_SECONDS)
        move_orphans(directory.tables, live)
        directory.table_files.remove_orphans(live, max(each.next_oid for each in loaded.values()))
    return loaded
