"""The last committed Iceberg state of each durable table, and the pointer to it: read, written anew, and compared."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpudb.catalog.model import Catalog
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import DataFile, Table, TableSnapshot, UnreadableFiles
from gpudb.errors import GpudbError
from gpudb.storage.catalog.changes import Catalogs, Pointer
from gpudb.storage.catalog.merge import Change
from gpudb.storage.catalog.records import decode, encode
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.iceberg.history import Retention, list_data_files, select_kept

if TYPE_CHECKING:
    from gpudb.storage.iceberg.metadata_reader import EarlierState
    from gpudb.storage.iceberg.table_state import TableState

LiveFiles = dict[int, "frozenset[Path] | None"]
"""The files of each table and its kept snapshots by OID; None for a table of which something cannot be read."""
_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class TableStates:
    """The states and pointers of durable tables by OID; `folder` has a folder for each table.

    Whoever reads or changes them holds the store's lock of commits. `moment` is the time of the last commit,
    `retention` that of earlier snapshots.
    """

    folder: Path
    states: dict[int, TableState] = field(default_factory=dict)
    pointers: dict[int, Pointer] = field(default_factory=dict)
    moment: int = 0
    retention: Retention = field(default_factory=Retention)

    def next_moment(self) -> int:
        """Returns the time of a commit, in microseconds since 1970 UTC: later than that of the one before."""
        self.moment = max(time.time_ns() // 1000, self.moment + 1)
        return self.moment

    # ---- reading

    def load_all(self, catalogs: Catalogs, pointers: Mapping[int, Pointer]) -> tuple[Catalogs, LiveFiles]:
        """Returns the catalogs with their tables' files, and all files of those."""
        self.pointers = dict(pointers)
        live: LiveFiles = {}
        return {name: self._load_tables(catalog, live) for name, catalog in catalogs.items()}, live

    def _load_tables(self, catalog: Catalog, live: LiveFiles) -> Catalog:
        relations = dict(catalog.relations)
        snapshots: dict[int, tuple[TableSnapshot, ...]] = {}
        for key, table in catalog.relations.items():
            if isinstance(table, Table):
                relations[key] = loaded = self._load_or_mark(table)
                live[table.oid] = self._list_files(loaded)
                if loaded.is_readable:
                    snapshots[table.oid] = self.states[table.oid].snapshots
        return replace(catalog, relations=MappingProxyType(relations), snapshots=MappingProxyType(snapshots))

    def load_again(self, table: Table, pointer: Pointer | None, known: Relation | None) -> Table:
        """Returns a table that another coordinator has changed with its files.

        `known` is the table as it was here before, of which nothing that is still there is read again.
        """
        previous = self.pointers.pop(table.oid, None)
        if pointer is not None:
            self.pointers[table.oid] = pointer
        earlier = None
        if isinstance(known, Table) and known.is_readable and table.oid in self.states and pointer is not None:
            from gpudb.storage.iceberg.metadata_reader import EarlierState

            if previous is not None and previous.location == pointer.location:
                return replace(table, files=known.files, metadata_location=known.metadata_location)
            earlier = EarlierState(self.states[table.oid], tuple(known.files))
        return self._load_or_mark(table, earlier)

    def _load_or_mark(self, table: Table, earlier: EarlierState | None = None) -> Table:
        """Returns a table with its files; one that cannot be read raises the error wherever its files are needed."""
        try:
            return self._load(table, earlier)
        except GpudbError as error:
            _LOG.error('table "%s.%s" cannot be read: %s', table.schema, table.name, error)
            self.states.pop(table.oid, None)
            return replace(table, files=UnreadableFiles(error))

    def _load(self, table: Table, earlier: EarlierState | None) -> Table:
        from gpudb.storage.iceberg.metadata_reader import load

        pointer = self.pointers.get(table.oid)
        if pointer is None:
            message = f'the catalog has no metadata of table "{table.schema}.{table.name}"'
            raise GpudbError(message, condition="data_corrupted")
        files: tuple[DataFile, ...]
        state, files = load(self.folder / str(table.oid), pointer.file, table, decode, earlier)
        self.states[table.oid] = state
        self.moment = max([self.moment, *(each.committed for each in state.snapshots)])
        return replace(table, files=files, metadata_location=str(state.location))

    def list_live(self, tables: Iterable[Table]) -> LiveFiles:
        """Returns the files of tables and their kept snapshots."""
        return {table.oid: self._list_files(table) for table in tables}

    def _list_files(self, table: Table) -> frozenset[Path] | None:
        state = self.states.get(table.oid)
        if state is None or not state.is_readable or not table.is_readable:
            return None
        paths = list_data_files(state.snapshots) | {file.path for file in table.files}
        return state.files | {Path(path) for path in paths}

    def list_expired(self, tables: Iterable[Table]) -> list[tuple[Table, int]]:
        """Returns the tables with snapshots that are kept no longer, and how many those are."""
        now = self.next_moment()
        found = []
        for table in tables:
            state = self.states.get(table.oid)
            if state is not None:
                gone = len(state.snapshots) - len(select_kept(state.snapshots, now, self.retention))
                if gone:
                    found.append((table, gone))
        return found

    # ---- commits

    def stage(
        self,
        tables: Iterable[Table],
        properties: Mapping[str, str],
        pending: Mapping[int, Sequence[TableSnapshot]],
        *,
        compacting: bool,
    ) -> dict[int, TableState]:
        """Writes and syncs new Iceberg metadata, which a commit makes current, or whose new files are removed.

        `pending` are snapshots of tables that the metadata lists before the commit's own.
        """
        staged: dict[int, TableState] = {}
        new = False
        moment = self.next_moment()
        for table in tables:
            from gpudb.storage.iceberg.metadata import Commit, stage

            commit = Commit(moment, self.retention, compacting, properties)
            definition = encode(replace(table, statistics=()))
            folder = self.folder / str(table.oid)
            known = self.states.get(table.oid)
            staged[table.oid] = stage(known, folder, table, definition, commit, pending.get(table.oid, ()))
            if known is None:  # later versions add nothing to the folder itself
                sync(folder)
                new = True
        if new:
            sync(self.folder)
        return staged

    def list_new(self, staged: Mapping[int, TableState]) -> list[Path]:
        """Returns the metadata files that `staged` adds to those that are committed."""
        new: list[Path] = []
        for oid, state in staged.items():
            old = self.states.get(oid)
            new += state.files - (old.files if old is not None else frozenset())
        return new

    def list_unused(self, changes: Iterable[Change], staged: Mapping[int, TableState]) -> dict[int, list[Path]]:
        """Returns the files that are no longer part of the state once `staged` is, by their table's OID.

        Those of a table with a snapshot that cannot be read stay: it may be that they are part of that.
        """
        unused: dict[int, list[Path]] = {}
        for change in changes:
            old, new = change.old, change.new
            before = {file.path for file in old.files} if isinstance(old, Table) and old.is_readable else set()
            after = {file.path for file in new.files} if isinstance(new, Table) else set()
            if new is None and isinstance(old, Table):
                unused[change.oid] = [self.folder / str(change.oid)]
                continue
            found: list[Path] = []
            previous, state = self.states.get(change.oid), staged.get(change.oid)
            if previous is not None and not previous.is_readable:
                continue
            if previous is not None and state is not None:
                found += previous.files - state.files
                gone = {each.id for each in previous.snapshots} - {each.id for each in state.snapshots}
                before |= list_data_files(each for each in previous.snapshots if each.id in gone)
            dropped = before - after
            if dropped and state is not None:
                dropped -= list_data_files(state.snapshots)
            unused[change.oid] = found + [Path(path) for path in dropped]
        return unused

    def set_pointers(self, pointers: Mapping[int, Pointer | None]) -> None:
        """Sets the pointers of tables, None for those that are gone."""
        for oid, pointer in pointers.items():
            if pointer is None:
                self.pointers.pop(oid, None)
            else:
                self.pointers[oid] = pointer

    def set_states(self, changes: Iterable[Change], staged: Mapping[int, TableState]) -> None:
        """Makes staged metadata the committed one, and forgets the tables that are gone."""
        for change in changes:
            if change.oid in staged:
                self.states[change.oid] = staged[change.oid]
            elif change.new is None and isinstance(change.old, Table):
                self.states.pop(change.oid, None)

    def forget(self, oids: Iterable[int]) -> None:
        """Forgets tables that another coordinator has dropped."""
        for oid in oids:
            self.states.pop(oid, None)
            self.pointers.pop(oid, None)
