"""The store: a data directory, the last committed catalogs, and the single place where transactions commit.

    DIR/lock                        held while the store is open
    DIR/catalog.db                  SQLite: Iceberg's pointers, gpudb's definitions, states of sequences
    DIR/tables/OID/data/*.parquet   rows; immutable
    DIR/tables/OID/metadata/        Iceberg's metadata files
    DIR/spill/                      temporary files of operations that exceed memory, unless they have a directory of
                                    their own; emptied at opening
    DIR/lost+found/                 files that belong to no table, found at an opening (see `lost_and_found`)

A commit syncs data files, then metadata files, then SQLite's transaction, in this order. Nothing refers to what a crash
leaves incomplete, and the next opening moves it to lost+found. A table whose metadata cannot be read is kept as it is:
it raises XX001 and can only be dropped.
"""

from __future__ import annotations

import itertools
import logging
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpudb.catalog.model import FIRST_DATABASE, Catalog, make_initial_catalog
from gpudb.catalog.predefined_roles import with_predefined_roles
from gpudb.catalog.relations import Sequence
from gpudb.catalog.secured_objects import get_database
from gpudb.catalog.tables import DataFile, Table, TableSnapshot, UnreadableFiles
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.storage.activity import StoreActivity
from gpudb.storage.catalog.database import (
    CatalogChanges,
    CatalogDatabase,
    Catalogs,
    Pointer,
    get_home,
    is_temporary_schema,
)
from gpudb.storage.catalog.databases import add_changes, list_changed_databases, move_pointers, spread
from gpudb.storage.catalog.merge import Change, Compaction, MergeResult, merge
from gpudb.storage.catalog.records import decode, encode
from gpudb.storage.catalog.sequences import Sequences
from gpudb.storage.compaction import Compactor
from gpudb.storage.constraints.keys import KeyChecker
from gpudb.storage.constraints.references import check_commit
from gpudb.storage.exported_snapshots import ExportedSnapshots
from gpudb.storage.garbage import Garbage, remove
from gpudb.storage.iceberg.checksums import forget_verified
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.iceberg.history import Retention, list_data_files, select_kept
from gpudb.storage.lockfile import LockFile
from gpudb.storage.locks import LockManager, Locks
from gpudb.storage.lost_and_found import KEEP_SECONDS as KEEP_LOST_SECONDS
from gpudb.storage.lost_and_found import move_orphans, purge
from gpudb.storage.private_files import make_data_directory, make_directory
from gpudb.storage.recovery.opening import (
    COMMIT_PROPERTY,
    COMMIT_TABLES_PROPERTY,
    DATABASE_PROPERTY,
    read_current_catalogs,
    require_catalog,
)
from gpudb.storage.transaction import Transaction

if TYPE_CHECKING:
    from gpudb.storage.iceberg.table_state import TableState

KEEP_SECONDS = 30.0
"""How long unused files stay on disk for other programs that read the tables."""
_LOG = logging.getLogger(__name__)
_NO_PAST = Retention()
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True, slots=True)
class FrozenState:
    """The files of one commit: `files` in the data directory, and `external` ones, which were added without a copy."""

    commit: int
    files: frozenset[Path]
    external: frozenset[Path]


class Store:
    """All tables and definitions of the databases of a data directory; thread-safe."""

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        compaction: bool = True,
        keep_seconds: float = KEEP_SECONDS,
        retention: Retention = _NO_PAST,
        spill_dir: Path | None = None,
    ) -> None:
        """Opens a data directory and creates it if it is missing; None creates one that is removed with the store.

        It is for its owner alone. Raises 58030 or 42501 if it cannot be created, 55000 if others have access to it and
        this user cannot take it away, 55006 if another process has it open, XX001 if its catalog cannot be read, and
        0A000 for an address. `compaction` runs in a thread. `retention` is of earlier snapshots of durable tables.
        `spill_dir` has the temporary files instead of the data directory.
        """
        if data_dir is not None and _ADDRESS.match(str(data_dir)):
            raise FeatureNotSupported(f'data directories at addresses are not supported: "{data_dir}"')
        self._spill_dir = None if spill_dir is None else spill_dir.absolute()
        self.retention = retention
        self._last_moment = 0
        self.durable = data_dir is not None
        self.directory = Path(tempfile.mkdtemp(prefix="gpudb-")) if data_dir is None else data_dir.absolute()
        self._tables_folder = self.directory / "tables"
        self._commit_lock = threading.RLock()
        self._catalog_lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._states: dict[int, TableState] = {}
        self._pointers: dict[int, Pointer] = {}
        self._compactions: list[Compaction] = []
        self._database: CatalogDatabase | None = None
        self._closed = False
        try:
            make_data_directory(self.directory)
            make_directory(self._tables_folder)
        except OSError as error:
            condition = "insufficient_privilege" if isinstance(error, PermissionError) else "io_error"
            message = f'could not create data directory "{self.directory}": {error.strerror}'
            raise GpudbError(message, condition=condition) from error
        self._lock = LockFile(self.directory / "lock")
        try:
            self._catalogs: Catalogs = self._open()
        except BaseException:
            self._lock.close()
            raise
        self._commits = 0 if self._database is None else self._database.last_commit()
        self.activity = StoreActivity()
        self._versions = itertools.count(max(each.version for each in self._catalogs.values()) + 1)
        self._oids = itertools.count(max(each.next_oid for each in self._catalogs.values()))
        self._catalogs = MappingProxyType(
            {name: replace(each, oids=self._oids.__next__) for name, each in self._catalogs.items()}
        )
        self.sequences = Sequences(self.directory / "catalog.db" if self.durable else None)
        sequences = (each for catalog in self._catalogs.values() for each in catalog.sequences())
        self.sequences.retain({sequence.file for sequence in sequences})
        self.garbage = Garbage(self._tables_folder, keep_seconds if self.durable else 0.0)
        self.exported_snapshots = ExportedSnapshots(self.garbage)
        self.locks: LockManager = Locks()
        self.key_checker = KeyChecker(self.spill)
        self.followers: list[Callable[[Table], None]] = []
        """What is called after a commit with each changed table that has files with deleted rows; raises nothing."""
        self._compactor = Compactor(self) if compaction else None
        if self._compactor is not None and any(
            len(kept) > 1 for catalog in self._catalogs.values() for kept in catalog.snapshots.values()
        ):
            self._compactor.start()
        if self.durable and not self._states:
            # The import takes half a second, which the first commit should not wait for.
            threading.Thread(target=import_module, args=("gpudb.storage.iceberg.metadata",), daemon=True).start()

    @property
    def spill(self) -> Path:
        """Folder for engines' temporary files; emptied at opening."""
        return (self._spill_dir or self.directory) / "spill"

    def catalog(self, database: str = FIRST_DATABASE) -> Catalog:
        """Returns the last committed catalog of a database; 3D000 if there is none.

        To read its tables' files, begin a transaction: it keeps them on disk.
        """
        found = self._catalogs.get(database)
        if found is None:
            raise SqlError.of("invalid_catalog_name", f'database "{database}" does not exist')
        return found

    def catalogs(self) -> Catalogs:
        """Returns the last committed catalog of each database, by name."""
        return self._catalogs

    def begin(self, database: str = FIRST_DATABASE) -> Transaction:
        """Begins a transaction over the committed state of a database; 3D000 if there is none."""
        self.catalog(database)
        number = next(self._numbers)
        return Transaction(self, number, self.open_snapshot(number, database))

    @contextmanager
    def freeze(self, catalog: Path) -> Iterator[FrozenState]:
        """Copies the catalog of the last commit to `catalog`, and keeps that commit's files during the block.

        Commits go on. Raises XX001 if a table cannot be read.
        """
        number = next(self._numbers)
        with self._commit_lock:
            if self._database is None:
                raise GpudbError("the store has no data directory", condition="object_not_in_prerequisite_state")
            self.open_snapshot(number)
            tables = [table for table in self._iter_tables() if self.is_durable(table)]
            try:
                data = {Path(file.path) for table in tables for file in table.files}
                for table in tables:
                    data |= {Path(path) for path in list_data_files(self._states[table.oid].snapshots)}
                metadata = {path for table in tables for path in self._states[table.oid].files}
                commit = self._commits
                self._database.copy_to(catalog)
            except BaseException:
                self.garbage.unregister_reader(number)
                raise
        try:
            own = frozenset(path for path in data if path.is_relative_to(self._tables_folder))
            yield FrozenState(commit, own | metadata, frozenset(data - own))
        finally:
            self.garbage.unregister_reader(number)
            self.garbage.collect()

    def close(self) -> None:
        """Stops compaction and releases the data directory; idempotent. Open transactions must have ended."""
        if self._closed:
            return
        self._closed = True
        if self._compactor is not None:
            self._compactor.stop()
        with self._commit_lock:
            self.garbage.collect(at_once=True)
            for table in self._iter_tables():
                if table.temporary:
                    remove(self.folder(table.oid))
            self.key_checker.close()
            self.sequences.close()
            if self._database is not None:
                self._database.back_up()
                self._database.close()
            shutil.rmtree(self.spill, ignore_errors=True)
            self._lock.close()
            if not self.durable:
                shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Store:
        """Returns the store."""
        return self

    def __exit__(self, *error: object) -> None:
        """Closes the store."""
        self.close()

    # ---- interface for transactions

    def open_snapshot(self, number: int, database: str = FIRST_DATABASE) -> Catalog:
        """Returns a database's committed catalog and registers the transaction of that number as its reader."""
        with self._catalog_lock:
            catalog = self.catalog(database)
            self.garbage.register_reader(number, self._commits)
            return catalog

    def _iter_tables(self) -> Iterator[Table]:
        return (table for catalog in self._catalogs.values() for table in catalog.tables())

    def end_transaction(self, transaction: Transaction) -> None:
        """Releases an ended transaction's locks and the files that only it read."""
        if self.locks.is_used:
            self.locks.release(transaction.number)
        if self.exported_snapshots.known:
            self.exported_snapshots.end_transaction(transaction.number)
        self.garbage.unregister_reader(transaction.number)
        self.garbage.collect()

    def next_version(self) -> int:
        """Returns a new catalog version."""
        return next(self._versions)

    def is_durable(self, table: Table) -> bool:
        """Returns whether the table outlives the store."""
        return self.durable and not table.temporary

    def find_state(self, table: Table) -> TableState | None:
        """Returns the committed Iceberg metadata of a durable table; None for others."""
        return self._states.get(table.oid)

    def folder(self, oid: int) -> Path:
        """Returns the folder of a table."""
        return self._tables_folder / str(oid)

    def data_folder(self, table: Table) -> Path:
        """Returns the folder of a table's data files; creates and syncs it if needed."""
        path = self.folder(table.oid) / "data"
        if not path.is_dir():
            make_directory(path)
            if self.is_durable(table):
                sync(path.parent)
                sync(self._tables_folder)
        return path

    def sync_folder(self, path: Path) -> None:
        """Syncs a folder's entries to disk."""
        sync(path)

    def commit(self, transaction: Transaction) -> None:
        """Commits a transaction; called by the transaction alone."""
        with self._commit_lock:
            if self._closed:
                raise GpudbError("the store is closed", condition="object_not_in_prerequisite_state")
            merged = self._merge(transaction)
            for change in merged.changes:
                if isinstance(change.new, Table) and change.concurrent:
                    fresh = [file for file in change.added if file.path not in transaction.known_keys]
                    self.key_checker.check(change.new, fresh, change.concurrent, distinct=True)
            check_commit(self.key_checker, transaction.base, merged.catalog, merged.changes)
            self._publish(transaction, self._drop_contents(merged))
        if self._compactor is not None and not transaction.compacting:
            for change in merged.changes:
                if isinstance(change.new, Table) and change.new.is_readable:
                    self._compactor.schedule(transaction.base.database, change.new)
        for change in merged.changes:
            if (
                isinstance(change.new, Table)
                and change.new.is_readable
                and any(each.deleted for each in change.new.files)
            ):
                for follow in self.followers:
                    follow(change.new)

    def expire_snapshots(self, oid: int | None = None) -> int:
        """Discards the snapshots of a table, or of all, that `retention` keeps no longer; returns their number."""
        with self._commit_lock:
            now = self._next_moment()
            expired = 0
            for catalog in self._catalogs.values():
                changes = []
                for table in catalog.tables():
                    state = self._states.get(table.oid)
                    if state is None or oid not in (None, table.oid):
                        continue
                    gone = len(state.snapshots) - len(select_kept(state.snapshots, now, self.retention))
                    if gone:
                        expired += gone
                        changes.append(Change(table.oid, table, table))
                if changes and not self._closed:
                    self._publish(None, MergeResult(catalog, tuple(changes), {}))
        self.garbage.collect()
        return expired

    def _drop_contents(self, merged: MergeResult) -> MergeResult:
        """Adds to a merge the end of all relations of the databases that it drops."""
        before = self._catalogs[merged.catalog.database]
        gone = [old for old, new in list_changed_databases(before, merged.catalog) if old is not None and new is None]
        relations = (each for old in gone for each in self._catalogs[old.name].relations.values())
        return replace(merged, changes=(*merged.changes, *(Change(each.oid, each, None) for each in relations)))

    def _publish(self, transaction: Transaction | None, merged: MergeResult) -> None:
        """Makes a merged catalog the committed one: on disk first, then for all who begin afterwards."""
        states = self._stage(merged, compacting=transaction is not None and transaction.compacting)
        try:
            catalogs = self._write(transaction, merged, states)
        except BaseException:
            for oid, state in states.items():
                old = self._states.get(oid)
                for path in state.files - (old.files if old is not None else frozenset()):
                    remove(path)
            raise
        with self._catalog_lock:
            self._catalogs = catalogs
            self._commits += 1
        added = [file for change in merged.changes for file in change.added]
        rows, size = sum(file.rows for file in added), sum(file.bytes for file in added)
        self.activity.add_commit(rows, size, compacting=transaction is not None and transaction.compacting)
        self._discard_unused(transaction, merged, states)

    def _next_moment(self) -> int:
        """Returns the time of a commit, in microseconds since 1970 UTC: later than that of the one before."""
        self._last_moment = max(time.time_ns() // 1000, self._last_moment + 1)
        return self._last_moment

    def _merge(self, transaction: Transaction) -> MergeResult:
        current = self.catalog(transaction.base.database)
        return merge(transaction.base, transaction.catalog, current, self._compactions)

    def _stage(self, merged: MergeResult, *, compacting: bool) -> dict[int, TableState]:
        """Writes and syncs new Iceberg metadata for every durable table that changed."""
        staged: dict[int, TableState] = {}
        new = (change.new for change in merged.changes)
        tables = [each for each in new if isinstance(each, Table) and self.is_durable(each)]
        properties = {
            COMMIT_PROPERTY: str(self._commits + 1),
            COMMIT_TABLES_PROPERTY: str(len(tables)),
            DATABASE_PROPERTY: str(get_database(merged.catalog).oid),
        }
        moment = self._next_moment()
        for table in tables:
            from gpudb.storage.iceberg.metadata import Commit, stage

            commit = Commit(moment, self.retention, compacting, properties)
            definition = encode(replace(table, statistics=()))
            staged[table.oid] = stage(self._states.get(table.oid), self.folder(table.oid), table, definition, commit)
            sync(self.folder(table.oid))
        if staged:
            sync(self._tables_folder)
        return staged

    def _write(self, transaction: Transaction | None, merged: MergeResult, states: dict[int, TableState]) -> Catalogs:
        """Runs the transaction of the catalog's file; returns the resulting catalogs."""
        database = merged.catalog.database
        current = self._catalogs[database]
        version = self.next_version() if merged.changes_definitions else current.version
        relations = dict(merged.catalog.relations)
        snapshots = dict(current.snapshots)
        next_oid = max(merged.catalog.next_oid, *(each.next_oid for each in self._catalogs.values()))
        write = CatalogChanges(version, next_oid, self._commits + 1)
        for (kind, name), value in merged.objects.items():
            if kind != "schemas" or not is_temporary_schema(name):
                write.objects[get_home(database, kind), kind, name] = value
        pointers: dict[int, Pointer | None] = {}
        for change in merged.changes:
            new = change.new
            if isinstance(new, Table):
                state = states.get(change.oid)
                if state is not None:
                    new = replace(new, metadata_location=str(state.location))
                    pointers[change.oid] = Pointer(new.schema, new.name, f"file://{state.location}", database)
                    snapshots[change.oid] = state.snapshots
                relations[new.schema, new.name] = new
            elif change.oid in self._pointers:
                pointers[change.oid] = None
                snapshots.pop(change.oid, None)
            temporary = any(isinstance(r, Table | Sequence) and r.temporary for r in (change.old, new))
            if not temporary and not is_temporary_schema((new or change.old).schema):  # type: ignore[union-attr]
                write.relations[database, change.oid] = new
        changed = replace(
            merged.catalog,
            version=version,
            relations=MappingProxyType(relations),
            snapshots=MappingProxyType(snapshots),
            oids=current.oids,
        )
        catalogs = spread(self._catalogs, changed, self.next_version)
        add_changes(write, self._catalogs, catalogs, database)
        pointers |= move_pointers(self._pointers, self._catalogs, catalogs, database)
        write.pointers = [(self._pointers.get(oid), pointer) for oid, pointer in pointers.items()]
        if self._database is not None and (write.relations or write.objects or write.pointers):
            self._database.commit(write)
            if write.objects or not all(isinstance(each, Table) for each in write.relations.values()):
                self._database.back_up()
        if transaction is not None:
            # From here on the files belong to the table, whatever happens.
            transaction.committed = True
        for oid, pointer in pointers.items():
            if pointer is None:
                del self._pointers[oid]
            else:
                self._pointers[oid] = pointer
        return catalogs

    def _discard_unused(
        self, transaction: Transaction | None, merged: MergeResult, states: dict[int, TableState]
    ) -> None:
        """Discards, after the commit, the files that are no longer part of the state."""
        discarded: list[Path] = []
        live: set[str] = set()
        for change in merged.changes:
            old, new = change.old, change.new
            before = {file.path for file in old.files} if isinstance(old, Table) and old.is_readable else set()
            after = {file.path for file in new.files} if isinstance(new, Table) else set()
            live |= after
            if new is None and isinstance(old, Table):
                self._states.pop(change.oid, None)
                discarded.append(self.folder(change.oid))
                continue
            previous, state = self._states.get(change.oid), states.get(change.oid)
            if previous is not None and state is not None:
                discarded += previous.files - state.files
                gone = {each.id for each in previous.snapshots} - {each.id for each in state.snapshots}
                before |= list_data_files(each for each in previous.snapshots if each.id in gone)
            unused = before - after
            if unused and state is not None:
                unused -= list_data_files(state.snapshots)
            discarded += map(Path, unused)
            if state is not None:
                self._states[change.oid] = state
        if transaction is not None:
            # Files that the transaction wrote and dropped again.
            for path in transaction.written:
                if str(path) not in live:
                    remove(path)
            # A snapshot whose files are the table's again may have been discarded meanwhile.
            self.garbage.restore(Path(file.path) for change in merged.changes for file in change.added)
        self.garbage.restore(Path(path) for path in merged.reverted)
        self.garbage.discard(discarded, self._commits)
        if transaction is not None:
            self._remember_compactions(transaction, merged)

    def _remember_compactions(self, transaction: Transaction, merged: MergeResult) -> None:
        oldest = self.garbage.oldest_commit_read()
        self._compactions = [c for c in self._compactions if oldest is not None and c.commit > oldest]
        if transaction.compacting:
            for change in merged.changes:
                if isinstance(change.old, Table) and isinstance(change.new, Table):
                    after = {file.id for file in change.new.files}
                    inputs = tuple(file for file in change.old.files if file.id not in after)
                    self._compactions.append(Compaction(self._commits, change.oid, inputs, change.added))

    # ---- opening

    def _open(self) -> Catalogs:
        if not self.durable:
            make_directory(self.spill)
            first = with_predefined_roles(make_initial_catalog())
            versions = enumerate(first.databases, first.version)
            return {name: replace(first, database=name, version=version) for version, name in versions}
        require_catalog(self.directory)
        shutil.rmtree(self.spill, ignore_errors=True)
        make_directory(self.spill)
        database = CatalogDatabase(self.directory / "catalog.db")
        try:
            catalogs = self._read(database)
        except BaseException:
            database.close()
            raise
        self._database = database
        return catalogs

    def _read(self, database: CatalogDatabase) -> Catalogs:
        sync(self.directory)
        forget_verified()
        catalogs, pointers = read_current_catalogs(self.directory, database)
        self._pointers = dict(pointers)
        live: dict[int, frozenset[Path] | None] = {}
        loaded = {name: self._load_tables(catalog, live) for name, catalog in catalogs.items()}
        purge(self.directory, KEEP_LOST_SECONDS)
        move_orphans(self._tables_folder, live)
        return loaded

    def _load_tables(self, catalog: Catalog, live: dict[int, frozenset[Path] | None]) -> Catalog:
        """Returns a catalog with its tables' files; adds those to `live`, None for a table that cannot be read."""
        relations = dict(catalog.relations)
        snapshots: dict[int, tuple[TableSnapshot, ...]] = {}
        for key, table in catalog.relations.items():
            if isinstance(table, Table):
                try:
                    relations[key] = loaded = self._load(table)
                except GpudbError as error:
                    _LOG.error('table "%s.%s" cannot be read: %s', table.schema, table.name, error)
                    relations[key] = replace(table, files=UnreadableFiles(error))
                    live[table.oid] = None
                    continue
                state = self._states[table.oid]
                paths = list_data_files(state.snapshots) | {file.path for file in loaded.files}
                live[table.oid] = state.files | {Path(path) for path in paths}
                snapshots[table.oid] = state.snapshots
                self._last_moment = max([self._last_moment, *(each.committed for each in state.snapshots)])
        return replace(catalog, relations=MappingProxyType(relations), snapshots=MappingProxyType(snapshots))

    def _load(self, table: Table) -> Table:
        from gpudb.storage.iceberg.metadata_reader import load

        pointer = self._pointers.get(table.oid)
        if pointer is None:
            message = f'the catalog has no metadata of table "{table.schema}.{table.name}"'
            raise GpudbError(message, condition="data_corrupted")
        files: tuple[DataFile, ...]
        state, files = load(self.folder(table.oid), pointer.file, table, decode)
        self._states[table.oid] = state
        return replace(table, files=files, metadata_location=str(state.location))
