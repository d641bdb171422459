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
import os
import re
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpudb.catalog.model import FIRST_DATABASE, Catalog, make_initial_catalog
from gpudb.catalog.predefined_roles import with_predefined_roles
from gpudb.catalog.relations import Relation, Sequence
from gpudb.catalog.secured_objects import get_database
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.storage.activity import StoreActivity
from gpudb.storage.catalog.catch_up import apply
from gpudb.storage.catalog.changes import (
    CatalogChanges,
    Catalogs,
    CommittedChanges,
    Coordinator,
    Pointer,
    get_home,
    is_temporary_object,
    is_temporary_schema,
)
from gpudb.storage.catalog.commit_errors import LEASE_LOST, WAIT_SECONDS, CommitUnknown, ConnectionLost, LeaseLost
from gpudb.storage.catalog.copying import write_catalog
from gpudb.storage.catalog.database import CatalogDatabase
from gpudb.storage.catalog.databases import add_changes, list_changed_databases, move_pointers, spread
from gpudb.storage.catalog.merge import Change, Compaction, MergeResult, changes_shared, find_compactions, merge
from gpudb.storage.catalog.sequences import Sequences
from gpudb.storage.compaction import Compactor
from gpudb.storage.constraints.keys import KeyChecker
from gpudb.storage.constraints.references import check_commit
from gpudb.storage.exported_snapshots import ExportedSnapshots
from gpudb.storage.garbage import Garbage, remove_from_disk
from gpudb.storage.iceberg.checksums import forget_verified
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.iceberg.history import Retention, list_data_files
from gpudb.storage.iceberg.locations import place_at, to_uri
from gpudb.storage.lockfile import LockFile
from gpudb.storage.locks import LockManager, Locks
from gpudb.storage.lost_and_found import KEEP_SECONDS as KEEP_LOST_SECONDS
from gpudb.storage.lost_and_found import list_old_files, move_orphans, purge
from gpudb.storage.object_stores.table_files import LocalTableFiles, TableFiles, make_local, open_table_files
from gpudb.storage.private_files import make_data_directory, make_directory
from gpudb.storage.recovery.opening import (
    COMMIT_PROPERTY,
    COMMIT_TABLES_PROPERTY,
    DATABASE_PROPERTY,
    check_commits,
    check_not_shared,
    check_own_catalog,
    claim_directory,
    read_current_catalogs,
    require_catalog,
)
from gpudb.storage.table_states import TableStates
from gpudb.storage.transaction import Transaction

if TYPE_CHECKING:
    from gpudb.storage.catalog.postgres import PostgresCatalog
    from gpudb.storage.catalog.postgres_notifications import Message, PostgresNotifications
    from gpudb.storage.coordination import Coordination
    from gpudb.storage.iceberg.table_state import TableState

CATCH_UP_SECONDS = 0.2
"""How long applying others' commits waits for a commit here."""
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
        catalog: str | None = None,
        tables_url: str | None = None,
    ) -> None:
        """Opens a data directory and creates it if it is missing; None creates one that is removed with the store.

        It is for its owner alone. Raises 58030 or 42501 if it cannot be created, 55000 if others have access to it and
        this user cannot take it away, 55006 if another process has it open, XX001 if its catalog cannot be read, and
        0A000 for an address. `compaction` runs in a thread. `retention` is of earlier snapshots of durable tables.
        `spill_dir` has the temporary files instead of the data directory. `catalog` is the URL of a PostgreSQL that has
        the catalog: any number of stores, the coordinators, may then have the directory open; 08001 if it does not
        answer, 55000 if the directory is another catalog's. `tables_url` is a prefix of an object storage where the
        tables' files lie; a directory remembers it (see `object_stores.table_files`).
        """
        if data_dir is not None and _ADDRESS.match(str(data_dir)):
            hint = "A local data directory has the catalog; its tables may lie at an address (--tables-url)."
            raise FeatureNotSupported(f'data directories at addresses are not supported: "{data_dir}"', hint=hint)
        if tables_url is not None and (catalog is not None or data_dir is None):
            what = "without a data directory" if data_dir is None else "of several coordinators"
            raise FeatureNotSupported(f"tables {what} cannot lie in an object storage")
        self._spill_dir = None if spill_dir is None else spill_dir.absolute()
        self.retention = retention
        self.durable = data_dir is not None
        self.directory = Path(tempfile.mkdtemp(prefix="gpudb-")) if data_dir is None else data_dir.absolute()
        self._tables_folder = self.directory / "tables"
        self._spill_name = "spill"
        self.leads = catalog is None
        """Whether this store compacts, and discards old snapshots: one of several coordinators does."""
        self._reached = 0
        """The number of the last commit of any coordinator that is applied here."""
        self._reached_by: dict[int, int] = {}
        """That number by the number of commits here, for those that are read."""
        self._first_number = 0
        """Transactions with lower numbers began before this coordinator was taken for gone."""
        self._commit_lock = threading.RLock()
        self._catalog_lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._states = TableStates(self._tables_folder)
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
        self._lock = LockFile(self.directory / "lock", together=catalog is not None)
        self._shared: PostgresCatalog | None = None
        self._table_files: TableFiles = LocalTableFiles()
        try:
            self._table_files = open_table_files(self.directory, tables_url)
            if catalog is not None and self._table_files.url is not None:
                raise FeatureNotSupported("tables of several coordinators cannot lie in an object storage")
            place_at(self._tables_folder, self._table_files.url)
            self._shared = self._connect(catalog)
            self._catalogs: Catalogs = self._open() if self._shared is None else self._open_shared()
        except BaseException:
            if self._shared is not None:
                self._shared.unregister()
                self._shared.close()
            self._end_table_files()
            self._lock.close()
            raise
        self._commits = self._reached if self._database is None else self._database.last_commit()
        self.activity = StoreActivity()
        self._versions = itertools.count(max(each.version for each in self._catalogs.values()) + 1)
        oids = itertools.count(max(each.next_oid for each in self._catalogs.values()))
        new_oid = oids.__next__ if self._shared is None else self._shared.new_oid
        self._catalogs = MappingProxyType({name: replace(each, oids=new_oid) for name, each in self._catalogs.items()})
        if self._shared is None:
            self.sequences = Sequences(self.directory / "catalog.db" if self.durable else None)
            self._retain_sequences()
        else:
            from gpudb.storage.catalog.postgres_sequences import PostgresSequences

            self.sequences = PostgresSequences(self._shared.url)
            self._reached_by[self._commits] = self._reached
            self._numbers = itertools.count((self._shared.coordinator << 32) + 1)
        self.garbage = Garbage(self._tables_folder, keep_seconds if self.durable else 0.0, self._table_files.remove)
        self.exported_snapshots = ExportedSnapshots(self.garbage)
        self.locks = self._make_locks()
        self.key_checker = KeyChecker(self.spill)
        self.followers: list[Callable[[Table], None]] = []
        """What is called after a commit with each changed table that has files with deleted rows; raises nothing."""
        self._compactor = Compactor(self) if compaction else None
        if self._compactor is not None and any(
            len(kept) > 1 for catalog in self._catalogs.values() for kept in catalog.snapshots.values()
        ):
            self._compactor.start()
        self._coordination: Coordination | None = None
        if self._shared is not None:
            from gpudb.storage.coordination import Coordination

            self._coordination = Coordination(self, self._shared.url, self._shared.coordinator, keep_seconds)
        if self.durable and not self._states.states:
            # The import takes half a second, which the first commit should not wait for.
            threading.Thread(target=import_module, args=("gpudb.storage.iceberg.metadata",), daemon=True).start()

    @property
    def spill(self) -> Path:
        """Folder for engines' temporary files; emptied at opening."""
        return (self._spill_dir or self.directory) / self._spill_name

    @property
    def private_directory(self) -> Path:
        """The folder of files that no other coordinator writes: the data directory, or one in it."""
        if self._shared is None:
            return self.directory
        folder = self.directory / "coordinators" / str(self._shared.coordinator)
        make_directory(folder)
        return folder

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
            if not self.durable:
                raise GpudbError("the store has no data directory", condition="object_not_in_prerequisite_state")
            self.open_snapshot(number)
            tables = [table for table in self._iter_tables() if self.is_durable(table)]
            try:
                data = {Path(file.path) for table in tables for file in table.files}
                states = [self._states.states[table.oid] for table in tables]
                for state in states:
                    data |= {Path(path) for path in list_data_files(state.snapshots)}
                metadata = {path for state in states for path in state.files}
                commit = self._commits if self._shared is None else self._reached
                self._copy_catalog(catalog, commit)
            except BaseException:
                self.garbage.unregister_reader(number)
                raise
        try:
            own = frozenset(path for path in data if path.is_relative_to(self._tables_folder))
            make_local(str(path) for path in own)
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
        if self._coordination is not None:
            self._coordination.close()
        with self._commit_lock:
            self.garbage.collect(at_once=True)
            for table in self._iter_tables():
                if table.temporary:
                    remove_from_disk(self.folder(table.oid))
            self.key_checker.close()
            self.locks.close()
            self.sequences.close()
            if self._database is not None:
                self._database.back_up()
                self._database.close()
            shutil.rmtree(self.spill, ignore_errors=True)
            if self._shared is not None:
                shutil.rmtree(self.private_directory, ignore_errors=True)
                self._shared.close()
            self._end_table_files()
            self._lock.close()
            if not self.durable:
                shutil.rmtree(self.directory, ignore_errors=True)

    def _end_table_files(self) -> None:
        self._table_files.close()
        place_at(self._tables_folder, None)

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
        if self.locks.held:
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
        return self._states.states.get(table.oid)

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
        """Commits a transaction; called by the transaction alone.

        If the connection to a shared catalog is lost before the commit, it is tried again once that is back.
        """
        data = [] if self._table_files.url is None else self._list_new_data(transaction)
        try:
            self._table_files.publish(data)  # before the lock, since others' commits need not wait for it
            merged = self._commit_in_turn(transaction)
        except BaseException:
            if not transaction.committed:
                self._table_files.withdraw(data)  # their copies are the transaction's
            raise
        if self._compactor is not None and self.leads and not transaction.compacting:
            for change in merged.changes:
                if isinstance(change.new, Table) and change.new.is_readable:
                    self._compactor.schedule(transaction.base.database, change.new)
        for change in merged.changes:
            if isinstance(change.new, Table) and change.new.is_readable:
                self._call_followers(change.new)

    def _list_new_data(self, transaction: Transaction) -> list[Path]:
        """Returns the data files that a transaction has written, and that durable tables have at its end.

        Those of a snapshot to which it returns are committed: they are in the storage, and stay there if it fails.
        """
        written = {str(path): path for path in transaction.written}
        before = {table.oid: table for table in transaction.base.tables()} if written else {}
        new: list[Path] = []
        for table in transaction.catalog.tables() if written else ():
            if table is not before.get(table.oid) and table.is_readable and self.is_durable(table):
                new += [written[file.path] for file in table.files if file.path in written]
        return new

    def _commit_in_turn(self, transaction: Transaction) -> MergeResult:
        ends = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                with self._commit_lock, self._exclusive(transaction):
                    return self._commit(transaction)
            except ConnectionLost:
                if time.monotonic() >= ends:
                    raise

    def _commit(self, transaction: Transaction) -> MergeResult:
        if self._closed:
            raise GpudbError("the store is closed", condition="object_not_in_prerequisite_state")
        merged = self._merge(transaction)
        for change in merged.changes:
            if isinstance(change.new, Table) and change.concurrent:
                fresh = [file for file in change.added if file.path not in transaction.known_keys]
                self.key_checker.check(change.new, fresh, change.concurrent, distinct=True)
        check_commit(self.key_checker, transaction.base, merged.catalog, merged.changes)
        self._publish(transaction, self._drop_contents(merged))
        return merged

    def expire_snapshots(self, oid: int | None = None) -> int:
        """Discards the snapshots of a table, or of all, that `retention` keeps no longer; returns their number."""
        expired = 0
        for database in list(self._catalogs):
            with self._commit_lock:
                if not self._list_expired(database, oid) or self._closed:
                    continue
                with self._exclusive():
                    found = self._list_expired(database, oid)
                    if found:
                        changes = tuple(Change(table.oid, table, table) for table, _ in found)
                        self._publish(None, MergeResult(self._catalogs[database], changes, {}))
                        expired += sum(gone for _, gone in found)
        self.garbage.collect()
        return expired

    def _list_expired(self, database: str, oid: int | None) -> list[tuple[Table, int]]:
        catalog = self._catalogs.get(database)
        tables = () if catalog is None else (each for each in catalog.tables() if oid in (None, each.oid))
        return self._states.list_expired(tables, self.retention)

    def _drop_contents(self, merged: MergeResult) -> MergeResult:
        """Adds to a merge the end of all relations of the databases that it drops."""
        before = self._catalogs[merged.catalog.database]
        gone = [old for old, new in list_changed_databases(before, merged.catalog) if old is not None and new is None]
        relations = (each for old in gone for each in self._catalogs[old.name].relations.values())
        return replace(merged, changes=(*merged.changes, *(Change(each.oid, each, None) for each in relations)))

    def _publish(self, transaction: Transaction | None, merged: MergeResult) -> None:
        """Makes a merged catalog the committed one: on disk first, then for all who begin afterwards."""
        states = self._stage(merged, compacting=transaction is not None and transaction.compacting)
        unused = self._states.list_unused(merged.changes, states)
        metadata = self._states.list_new(states)
        try:
            self._table_files.publish(metadata)
            catalogs = self._write(transaction, merged, states, unused)
        except CommitUnknown:
            if transaction is not None:
                transaction.committed = True  # perhaps: its files stay
            raise
        except BaseException:
            for path in metadata:
                self._table_files.remove(path)
            raise
        with self._catalog_lock:
            self._catalogs = catalogs
            self._commits += 1
            self._reached_by[self._commits] = self._reached
        added = [file for change in merged.changes for file in change.added]
        rows, size = sum(file.rows for file in added), sum(file.bytes for file in added)
        self.activity.add_commit(rows, size, compacting=transaction is not None and transaction.compacting)
        self._discard(transaction, merged, states, unused)

    def _merge(self, transaction: Transaction) -> MergeResult:
        current = self.catalog(transaction.base.database)
        return merge(transaction.base, transaction.catalog, current, self._compactions)

    @property
    def _next_commit(self) -> int:
        """The number of the next commit in the catalog's database."""
        return (self._commits if self._shared is None else self._reached) + 1

    def _stage(self, merged: MergeResult, *, compacting: bool) -> dict[int, TableState]:
        """Writes and syncs new Iceberg metadata for every durable table that changed."""
        new = (change.new for change in merged.changes)
        tables = [each for each in new if isinstance(each, Table) and self.is_durable(each)]
        properties = {
            COMMIT_PROPERTY: str(self._next_commit),
            COMMIT_TABLES_PROPERTY: str(len(tables)),
            DATABASE_PROPERTY: str(get_database(merged.catalog).oid),
        }
        return self._states.stage(tables, self.retention, properties, compacting=compacting)

    def _write(
        self,
        transaction: Transaction | None,
        merged: MergeResult,
        states: dict[int, TableState],
        unused: dict[int, list[Path]],
    ) -> Catalogs:
        """Runs the transaction of the catalog's database; returns the resulting catalogs."""
        database = merged.catalog.database
        current = self._catalogs[database]
        version = self.next_version() if merged.changes_definitions else current.version
        relations = dict(merged.catalog.relations)
        snapshots = dict(current.snapshots)
        next_oid = max(merged.catalog.next_oid, *(each.next_oid for each in self._catalogs.values()))
        write = CatalogChanges(version, next_oid, self._next_commit)
        for (kind, name), value in merged.objects.items():
            if not is_temporary_object(kind, name):
                write.objects[get_home(database, kind), kind, name] = value
        pointers: dict[int, Pointer | None] = {}
        for change in merged.changes:
            new = change.new
            if isinstance(new, Table):
                state = states.get(change.oid)
                if state is not None:
                    new = replace(new, metadata_location=str(state.location))
                    pointers[change.oid] = Pointer(new.schema, new.name, to_uri(state.location), database)
                    snapshots[change.oid] = state.snapshots
                relations[new.schema, new.name] = new
            elif change.oid in self._states.pointers:
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
        pointers |= move_pointers(self._states.pointers, self._catalogs, catalogs, database)
        write.pointers = [(self._states.pointers.get(oid), pointer) for oid, pointer in pointers.items()]
        if self._database is not None and (write.relations or write.objects or write.pointers):
            self._database.commit(write)
            if write.objects or not all(isinstance(each, Table) for each in write.relations.values()):
                self._database.back_up()
        elif self._shared is not None and (write.relations or write.objects or write.pointers):
            self._write_shared(transaction, merged, write, unused)
        if transaction is not None:
            # From here on the files belong to the table, whatever happens.
            transaction.committed = True
        self._states.set_pointers(pointers)
        return catalogs

    def _discard(
        self,
        transaction: Transaction | None,
        merged: MergeResult,
        states: dict[int, TableState],
        unused: dict[int, list[Path]],
    ) -> None:
        """Discards, after the commit, the files that are no longer part of the state, and remembers what is."""
        live: set[str] = set()
        for change in merged.changes:
            if isinstance(change.new, Table):
                live |= {file.path for file in change.new.files}
        self._states.set_states(merged.changes, states)
        if transaction is not None:
            # Files that the transaction wrote and dropped again.
            for path in transaction.written:
                if str(path) not in live:
                    remove_from_disk(path)
            # A snapshot whose files are the table's again may have been discarded meanwhile.
            self.garbage.restore(Path(file.path) for change in merged.changes for file in change.added)
        self.garbage.restore(Path(path) for path in merged.reverted)
        own = {change.oid for change in merged.changes if self._is_collected_here(change.old)}
        self.garbage.discard((path for oid in own for path in unused.get(oid, ())), self._commits)
        if transaction is not None:
            self._remember_compactions(transaction, merged)

    def _is_collected_here(self, relation: Relation | None) -> bool:
        """Returns whether the files of a relation are this store's alone to remove, and not the leader's."""
        return isinstance(relation, Table) and (self._shared is None or relation.temporary)

    def _remember_compactions(self, transaction: Transaction, merged: MergeResult) -> None:
        oldest = self.garbage.oldest_commit_read()
        self._compactions = [c for c in self._compactions if oldest is not None and c.commit > oldest]
        if transaction.compacting:
            for change in merged.changes:
                if isinstance(change.old, Table) and isinstance(change.new, Table):
                    after = {file.id for file in change.new.files}
                    inputs = tuple(file for file in change.old.files if file.id not in after)
                    self._compactions.append(Compaction(self._commits, change.oid, inputs, change.added))

    # ---- several coordinators

    @contextmanager
    def _exclusive(self, transaction: Transaction | None = None) -> Iterator[None]:
        """Keeps other coordinators from committing, after their commits have been applied here.

        A transaction with changes of temporary objects alone needs neither. Raises 40001 for one that wrote files
        before the others took this coordinator for gone, since they may have removed them.
        """
        shared = self._shared
        if shared is None or (transaction is not None and not changes_shared(transaction.base, transaction.catalog)):
            yield
            return
        with shared.exclusive():
            tables = self._apply(shared.read_changes(self._reached))
            if transaction is not None and transaction.number < self._first_number:
                raise LeaseLost(LEASE_LOST, hint="The transaction might succeed if retried.")
            if transaction is not None:
                self.locks.check_held(transaction.party)
            yield
        self._follow_others(tables)

    def _make_locks(self) -> LockManager:
        if self._shared is None:
            return Locks()
        from gpudb.storage.catalog.postgres_locks import PostgresLocks

        return PostgresLocks(
            self._shared.url, self._shared.identifier, self._catch_up_with, coordinator=self._shared.coordinator
        )

    def open_notifications(self, deliver: Callable[[int, Iterable[Message]], None]) -> PostgresNotifications | None:
        """Returns what sends NOTIFY to the other servers over the catalog; None if there can be none.

        `deliver` gets a database's OID and the notifications of another server's sessions. The caller closes it first.
        """
        if self._shared is None:
            return None
        from gpudb.storage.catalog.postgres_notifications import PostgresNotifications

        return PostgresNotifications(self._shared.url, self._shared.identifier, self._catch_up_with, deliver)

    def _catch_up_with(self, commit: int) -> None:
        """Applies what others have committed, at least up to a commit."""
        ends = time.monotonic() + WAIT_SECONDS
        while self._reached < commit:
            with self._commit_lock:
                if self._shared is None or self._closed:
                    return
                try:
                    self._apply(self._shared.read_changes(self._reached, waits=True))
                except ConnectionLost:
                    if time.monotonic() >= ends:
                        raise

    def catch_up(self) -> None:
        """Applies what other coordinators have committed, unless a commit is under way, which does so itself."""
        if self._shared is not None and self._commit_lock.acquire(timeout=CATCH_UP_SECONDS):
            self._catch_up(waits=False)

    def refresh(self) -> None:
        """Has later transactions see all that other coordinators have committed; 08006 without PostgreSQL."""
        if self._shared is not None:
            self._commit_lock.acquire()
            self._catch_up(waits=True)

    def _catch_up(self, *, waits: bool) -> None:
        """Applies what others have committed, and releases the lock of commits, which the caller has."""
        assert self._shared is not None
        try:
            tables = [] if self._closed else self._apply(self._shared.read_changes(self._reached, waits=waits))
        finally:
            self._commit_lock.release()
        self._follow_others(tables)

    def _follow_others(self, tables: Iterable[tuple[str, Table]]) -> None:
        """Does what follows a commit, for the tables that others have changed."""
        for database, table in tables:
            if self._compactor is not None and self.leads:
                self._compactor.schedule(database, table)
            self._call_followers(table)

    def _call_followers(self, table: Table) -> None:
        if any(each.deleted for each in table.files):
            for follow in self.followers:
                follow(table)

    def _apply(self, changes: CommittedChanges | None) -> list[tuple[str, Table]]:
        """Makes others' commits the state that transactions see from here on; returns the tables that they changed."""
        if changes is None or self._shared is None:
            return []
        if not changes.is_complete:
            changes = self._shared.read_all(self._catalogs)
        before = {each.oid: each for catalog in self._catalogs.values() for each in catalog.relations.values()}
        relations = dict(changes.relations)
        tables: list[tuple[str, Table]] = []
        for (database, oid), relation in changes.relations.items():
            if isinstance(relation, Table):
                loaded = self._states.load_again(relation, changes.pointers.get(oid), before.get(oid))
                relations[database, oid] = loaded
                if loaded.is_readable:
                    tables.append((database, loaded))
        there = {oid for (_, oid), relation in relations.items() if relation is not None}
        self._states.forget({oid for _, oid in relations} - there)
        snapshots = {table.oid: self._states.states[table.oid].snapshots for _, table in tables}
        catalogs = apply(self._catalogs, changes.objects, relations, snapshots, changes.next_oid, self.next_version)
        after = {table.oid: table for _, table in tables}
        compactions = find_compactions(changes.compactions, before, after, self._commits + 1)
        with self._catalog_lock:
            self._catalogs = catalogs
            self._commits += 1
            self._reached = changes.commit
            self._reached_by[self._commits] = self._reached
            self._compactions += compactions
        return tables

    def _write_shared(
        self, transaction: Transaction | None, merged: MergeResult, write: CatalogChanges, unused: dict[int, list[Path]]
    ) -> None:
        assert self._shared is not None
        own = {change.oid for change in merged.changes if self._is_collected_here(change.old)}
        discarded = (path for oid, paths in unused.items() if oid not in own for path in paths)
        write.discarded = self._list_paths_below_tables(discarded)
        restored = [Path(path) for path in merged.reverted]
        if transaction is not None:
            restored += [Path(file.path) for change in merged.changes for file in change.added]
        write.restored = self._list_paths_below_tables(restored)
        if transaction is not None and transaction.compacting:
            for change in merged.changes:
                if isinstance(change.old, Table) and isinstance(change.new, Table):
                    after = {file.id for file in change.new.files}
                    inputs = [file.id for file in change.old.files if file.id not in after]
                    write.compactions.append((change.oid, inputs, [file.id for file in change.added]))
        self._shared.commit(write)
        self._reached = write.commit

    def _list_paths_below_tables(self, paths: Iterable[Path]) -> list[str]:
        root = self._tables_folder
        return [str(path.relative_to(root)) for path in paths if path.is_relative_to(root)]

    def describe_oldest_read(self) -> tuple[int, float]:
        """Returns the number of the oldest commit that is read here, and for how many seconds it has been read."""
        with self._catalog_lock:
            oldest = self.garbage.oldest_commit_read()
            local = self._commits if oldest is None else oldest
            self._reached_by = {number: reached for number, reached in self._reached_by.items() if number >= local}
            return self._reached_by[local], self.garbage.oldest_reader_seconds()

    def register_again(self) -> None:
        """Makes this coordinator known again, after the others have taken it for gone."""
        with self._commit_lock:
            if self._shared is None or self._closed or self._coordination is None:
                return
            self._first_number = next(self._numbers)
            self._shared.register(*self._name_process(), oldest=self.describe_oldest_read()[0])

    def announce(self, host: str, port: int) -> None:
        """Makes the address known at which this server's clients connect, if it is one of several."""
        if self._shared is not None:
            with self._commit_lock:
                self._shared.announce(host, port)

    def list_coordinators(self) -> tuple[int, list[Coordinator]]:
        """Returns this server's number and the servers over its catalog; 0 and none if it has the catalog alone."""
        if self._shared is None:
            return 0, []
        with self._commit_lock:
            return self._shared.coordinator, self._shared.list_addresses()

    def _name_process(self) -> tuple[str, int]:
        return socket.gethostname(), os.getpid()

    def remove_files(self, paths: Iterable[str]) -> None:
        """Removes files and folders by their paths below `tables`."""
        for path in paths:
            self._table_files.remove(self._tables_folder / path)

    def list_temporary_tables(self) -> list[int]:
        """Returns the OIDs of the temporary tables here, which no other coordinator knows."""
        return [table.oid for table in self._iter_tables() if table.temporary]

    def list_old_files(self, age: float) -> set[Path]:
        """Returns the files of tables that were written, or put there, at least `age` seconds ago."""
        return list_old_files(self._tables_folder, age)

    def list_live_files(self) -> dict[int, frozenset[Path] | None]:
        """Returns the files of each table and its kept snapshots by OID; None for one that cannot be read."""
        with self._commit_lock:
            return self._states.list_live(self._iter_tables())

    def move_orphans(
        self,
        among: Collection[Path],
        live: Mapping[int, frozenset[Path] | None],
        discarded: Collection[str],
        others: Collection[int],
    ) -> None:
        """Moves files that belong to no table, among those given, to lost+found.

        `discarded` are files and folders by their paths below `tables`, and `others` OIDs, that stay.
        """
        kept = {self._tables_folder / path for path in discarded}
        orphans = {path for path in among if kept.isdisjoint((path, *path.parents))}
        move_orphans(self._tables_folder, {**live, **dict.fromkeys(others)}, orphans)

    def begin_to_lead(self) -> None:
        """Looks for tables to compact, which another coordinator would have."""
        if self._compactor is not None:
            for name, catalog in self._catalogs.items():
                for table in catalog.tables():
                    if table.is_readable:
                        self._compactor.schedule(name, table)

    def _copy_catalog(self, path: Path, commit: int) -> None:
        """Writes the last commit's catalog to a file."""
        if self._database is not None:
            self._database.copy_to(path)
            return
        catalogs = self._catalogs
        known = [each for catalog in catalogs.values() for each in catalog.sequences() if not each.temporary]
        states = {each: self.sequences.get(each) for each in known}
        write_catalog(path, catalogs, self._states.pointers, commit, states)

    # ---- opening

    def _retain_sequences(self) -> None:
        sequences = (each for catalog in self._catalogs.values() for each in catalog.sequences())
        self.sequences.retain({sequence.file for sequence in sequences})

    def _connect(self, url: str | None) -> PostgresCatalog | None:
        """Connects to the catalog of several coordinators, if there is an URL of one."""
        if url is None:
            return None
        from gpudb.storage.catalog.postgres import PostgresCatalog

        check_own_catalog(self.directory)
        return PostgresCatalog(url)

    def _open_shared(self) -> Catalogs:
        """Opens the catalog of several coordinators; the first one moves files that belong to no table."""
        shared = self._shared
        assert shared is not None
        shared.register(*self._name_process())
        with shared.exclusive() if shared.is_alone() else shared.snapshot():
            catalogs, pointers = shared.read()
            claim_directory(self.directory, shared.identifier, is_new=not pointers)
            self._reached = shared.last_commit()
            self._spill_name = f"spill/{shared.coordinator}"
            living = {str(number) for number in shared.list_coordinators()}
            for folder in ((self._spill_dir or self.directory) / "spill", self.directory / "coordinators"):
                make_directory(folder)
                for path in folder.iterdir():
                    if path.name not in living:
                        shutil.rmtree(path, ignore_errors=True)
            make_directory(self.spill)
            alone = shared.is_exclusive and shared.is_alone()
            if alone:
                check_commits(self.directory, catalogs, pointers, self._reached, "catalog in PostgreSQL")
                shared.begin_alone()
                self.remove_files(shared.list_garbage())
            loaded = self._load_all(catalogs, pointers, alone=alone)
            if alone:
                shared.retain({each.file for catalog in loaded.values() for each in catalog.sequences()})
        return loaded

    def _open(self) -> Catalogs:
        if not self.durable:
            make_directory(self.spill)
            first = with_predefined_roles(make_initial_catalog())
            versions = enumerate(first.databases, first.version)
            return {name: replace(first, database=name, version=version) for version, name in versions}
        check_not_shared(self.directory)
        require_catalog(self.directory, self._table_files.has_tables)
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
        catalogs, pointers = read_current_catalogs(self.directory, database)
        return self._load_all(catalogs, pointers, alone=True)

    def _load_all(self, catalogs: Catalogs, pointers: Mapping[int, Pointer], *, alone: bool) -> Catalogs:
        """Returns the catalogs with their tables' files; moves those of no table, if no other store is open."""
        sync(self.directory)
        forget_verified()
        current = {oid: self.folder(oid) / "metadata" / pointer.file for oid, pointer in pointers.items()}
        self._table_files.fetch_metadata(current)
        loaded, live = self._states.load_all(catalogs, pointers)
        if alone:
            purge(self.directory, KEEP_LOST_SECONDS)
            move_orphans(self._tables_folder, live)
            self._table_files.remove_orphans(live, max(each.next_oid for each in loaded.values()))
        return loaded
