"""The store: the databases of a data directory, and the transactions over them.

`data_directory` has the files, `committed_state` what transactions begin with, `commit` the single place where they
commit, `own_catalog` and `shared_catalog` the catalog. A table whose metadata cannot be read is kept as it is: it
raises XX001 and can only be dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from gpudb.catalog.model import FIRST_DATABASE, Catalog
from gpudb.catalog.tables import Table
from gpudb.config.storage import StorageSettings
from gpudb.errors import SqlError
from gpudb.storage.activity import StoreActivity
from gpudb.storage.catalog.changes import Catalogs, Coordinator
from gpudb.storage.catalog.merge import Compaction
from gpudb.storage.catalog_store import CatalogStore
from gpudb.storage.commit import Committer
from gpudb.storage.committed_state import CommittedState
from gpudb.storage.compaction import Compactor
from gpudb.storage.constraints.keys import KeyChecker
from gpudb.storage.data_directory import DataDirectory
from gpudb.storage.exported_snapshots import ExportedSnapshots
from gpudb.storage.iceberg.history import Retention, list_data_files
from gpudb.storage.object_stores.table_files import make_local
from gpudb.storage.own_catalog import FileCatalog, MemoryCatalog
from gpudb.storage.recovery.unfinished_restore import check_restored
from gpudb.storage.row_processes import RowProcesses
from gpudb.storage.transaction import CommitOutcome, Transaction

if TYPE_CHECKING:
    from gpudb.storage.catalog.postgres_notifications import Message, PostgresNotifications
    from gpudb.storage.iceberg.table_state import TableState

KEEP_SECONDS = 30.0
"""How long unused files stay on disk for other programs that read the tables."""
NO_PAST = StorageSettings(snapshot_retention=0)
"""Settings of a store that keeps no earlier snapshots."""


@dataclass(frozen=True, slots=True)
class FrozenState:
    """The files of one commit: `files` in the data directory, and `external` ones, which were added without a copy.

    It is the state at `moment`. From `reaches` on that of each earlier moment is among the kept snapshots, under the
    same definitions. Both are in microseconds since 1970 UTC.
    """

    commit: int
    moment: int
    reaches: int
    files: frozenset[Path]
    external: frozenset[Path]


class Store:
    """All tables and definitions of the databases of a data directory; thread-safe."""

    def __init__(
        self,
        data_dir: Path | None = None,
        settings: StorageSettings = NO_PAST,
        *,
        compaction: bool = True,
        keep_seconds: float = KEEP_SECONDS,
        restoring: bool = False,
    ) -> None:
        """Opens a data directory and creates it if it is missing; None creates one that is removed with the store.

        It is for its owner alone. Raises 58030 or 42501 if it cannot be created, 55000 if others have access to it and
        this user cannot take it away, 55006 if another process has it open, XX001 if its catalog cannot be read, and
        0A000 for an address. `compaction` runs in a thread. With a `catalog` of PostgreSQL any number of stores, the
        coordinators, may have the directory open; 08001 if it does not answer, 55000 if the directory is another
        catalog's. A directory remembers its `tables_url` (see `object_stores.table_files`). One into which a backup was
        not restored to the end raises 55000, unless this is a part of `restoring`.
        """
        self._data = DataDirectory(data_dir, settings)
        self.directory = self._data.path
        self.durable = self._data.durable
        self._compactor: Compactor | None = None
        self._committed = CommittedState(self._data, keep_seconds)
        self.read_only = settings.read_only
        """Whether every commit is refused with 25006."""
        self.retention = Retention(settings.snapshot_retention, settings.snapshot_limit)
        try:
            if not restoring:
                check_restored(self.directory)
            self.catalog_store = self._open_catalog(settings, keep_seconds)
        except BaseException:
            self._data.release()
            raise
        self.activity = StoreActivity()
        self.row_processes = RowProcesses(settings.load_processes, settings.load_processes_after)
        self.sequences = self.catalog_store.sequences
        self.locks = self.catalog_store.locks
        self.garbage = self._committed.garbage
        self.exported_snapshots = ExportedSnapshots(self.garbage)
        self.key_checker = KeyChecker(self.spill)
        self.followers: list[Callable[[Table], None]] = []
        """What is called after a commit with each changed table that has files with deleted rows; raises nothing."""
        self._committer = Committer(
            self._data, self._committed, self.catalog_store, self.key_checker, self.activity, self._follow
        )
        self.takes_few_rows = self._committer.takes_few_rows
        """Whether `commit` takes transactions whose rows are in memory alone."""
        if self.catalog_store.logged:
            self._committer.recover(self.catalog_store.logged, read_only=self.read_only)
        if compaction and not self.read_only:
            self._compactor = Compactor(self)
            catalogs = self._committed.catalogs.values()
            if any(len(kept) > 1 for each in catalogs for kept in each.snapshots.values()):
                self._compactor.start()
        self.catalog_store.start()
        if self.durable and not self._committed.states.states:
            # The import takes half a second, which the first commit should not wait for.
            threading.Thread(target=import_module, args=("gpudb.storage.iceberg.metadata",), daemon=True).start()

    def _open_catalog(self, settings: StorageSettings, keep_seconds: float) -> CatalogStore:
        if settings.catalog is None:
            if not self.durable:
                return MemoryCatalog(self._data, self._committed)
            return FileCatalog(self._data, self._committed, read_only=settings.read_only)
        from gpudb.storage.shared_catalog import SharedCatalog

        return SharedCatalog(settings, self._data, self._committed, keep_seconds, self._follow, self._schedule)

    @property
    def leads(self) -> bool:
        """Whether this store compacts, and discards old snapshots: one of several coordinators does."""
        return self.catalog_store.leads

    @property
    def retention(self) -> Retention:
        """What earlier snapshots of durable tables are kept."""
        return self._committed.states.retention

    @retention.setter
    def retention(self, retention: Retention) -> None:
        self._committed.states.retention = retention

    @property
    def spill(self) -> Path:
        """Folder for engines' temporary files; emptied at opening."""
        return self.catalog_store.spill

    @property
    def private_directory(self) -> Path:
        """The folder of files that no other coordinator writes: the data directory, or one in it."""
        return self.catalog_store.private_directory

    @property
    def last_commit(self) -> int:
        """The number of the last commit that the store has seen, its own or another server's."""
        with self._committed.lock:
            return self.catalog_store.last_commit

    def catalog(self, database: str = FIRST_DATABASE) -> Catalog:
        """Returns the last committed catalog of a database; 3D000 if there is none.

        To read its tables' files, begin a transaction: it keeps them on disk.
        """
        return self._committed.catalog(database)

    def catalogs(self) -> Catalogs:
        """Returns the last committed catalog of each database, by name."""
        return self._committed.catalogs

    def begin(self, database: str = FIRST_DATABASE) -> Transaction:
        """Begins a transaction over the committed state of a database; 3D000 if there is none."""
        number = self._committed.next_number()
        return Transaction(self, number, self._committed.open_snapshot(number, database))

    def refresh(self) -> None:
        """Has later transactions see all that other coordinators have committed; 08006 without PostgreSQL."""
        self.catalog_store.refresh()

    def fold(self) -> None:
        """Writes Iceberg's metadata of the commits that only the log has, as happens soon after each by itself."""
        self._committer.fold()

    def expire_snapshots(self, oid: int | None = None) -> int:
        """Discards the snapshots of a table, or of all, that `retention` keeps no longer; returns their number."""
        return 0 if self.read_only else self._committer.expire_snapshots(oid)

    @contextmanager
    def freeze(self, catalog: Path) -> Iterator[FrozenState]:
        """Copies the catalog of the last commit to `catalog`, and keeps that commit's files during the block.

        Commits go on. Raises XX001 if a table cannot be read, and 55000 without a data directory.
        """
        number = self._committed.next_number()
        self._committer.fold()
        with self._committed.lock, self.catalog_store.exclusive():
            self._committer.fold()
            self.open_snapshot(number)
            states = self._committed.states.states
            tables = [table for table in self._committed.iter_tables() if self.is_durable(table)]
            try:
                data = {Path(file.path) for table in tables for file in table.files}
                for table in tables:
                    data |= {Path(path) for path in list_data_files(states[table.oid].snapshots)}
                metadata = {path for table in tables for path in states[table.oid].files}
                commit, moment = self.catalog_store.last_commit, self._committed.states.next_moment()
                kept = (states[table.oid].snapshots[0].committed for table in tables if states[table.oid].snapshots)
                reaches = max(self.catalog_store.last_definition(), *kept, 0)
                self.catalog_store.copy_to(catalog)
            except BaseException:
                self.garbage.unregister_reader(number)
                raise
        try:
            own = frozenset(path for path in data if path.is_relative_to(self._data.tables))
            make_local(str(path) for path in own)
            yield FrozenState(commit, moment, reaches, own | metadata, frozenset(data - own))
        finally:
            self.garbage.unregister_reader(number)
            self.garbage.collect()

    def announce(self, host: str, port: int) -> None:
        """Makes the address known at which this server's clients connect, if it is one of several."""
        self.catalog_store.announce(host, port)

    def list_coordinators(self) -> tuple[int, list[Coordinator]]:
        """Returns this server's number and the servers over its catalog; 0 and none if it has the catalog alone."""
        return self.catalog_store.list_coordinators()

    def open_notifications(self, deliver: Callable[[int, Iterable[Message]], None]) -> PostgresNotifications | None:
        """Returns what sends NOTIFY to the other servers over the catalog; None if there can be none.

        `deliver` gets a database's OID and the notifications of another server's sessions. The caller closes it first.
        """
        return self.catalog_store.open_notifications(deliver)

    def close(self) -> None:
        """Stops compaction and releases the data directory; idempotent. Open transactions must have ended."""
        if self._committed.is_closed:
            return
        self._committed.is_closed = True
        if self._compactor is not None:
            self._compactor.stop()
        self.catalog_store.stop()
        self._committer.close()
        with self._committed.lock:
            self.garbage.collect(at_once=True)
            self._committed.remove_temporary_tables()
            self.key_checker.close()
            self.catalog_store.close()
            self._data.close()

    def __enter__(self) -> Store:
        """Returns the store."""
        return self

    def __exit__(self, *error: object) -> None:
        """Closes the store."""
        self.close()

    # ---- interface for transactions

    @property
    def compactions(self) -> Sequence[Compaction]:
        """Those that open transactions may not have seen."""
        return self._committed.compactions

    def open_snapshot(self, number: int, database: str = FIRST_DATABASE) -> Catalog:
        """Returns a database's committed catalog and registers the transaction of that number as its reader."""
        return self._committed.open_snapshot(number, database)

    def commit(self, transaction: Transaction) -> CommitOutcome:
        """Commits a transaction; raises if nothing of it is committed. Called by the transaction alone."""
        if self.read_only:
            message = "cannot commit changes on a read-only server"
            raise SqlError.of("read_only_sql_transaction", message)
        return self._committer.commit(transaction)

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
        return self._committed.next_version()

    def is_durable(self, table: Table) -> bool:
        """Returns whether the table outlives the store."""
        return self._data.is_durable(table)

    def find_state(self, table: Table) -> TableState | None:
        """Returns the committed Iceberg metadata of a durable table; None for others."""
        return self._committed.states.states.get(table.oid)

    def folder(self, oid: int) -> Path:
        """Returns the folder of a table."""
        return self._data.folder(oid)

    def data_folder(self, table: Table) -> Path:
        """Returns the folder of a table's data files; creates and syncs it if needed."""
        return self._data.data_folder(table)

    # ---- what follows a commit

    def _follow(self, database: str, table: Table, compacting: bool = False) -> None:
        """Does what follows a commit that changed a table, here or by another coordinator."""
        if not compacting and self.leads:
            self._schedule(database, table)
        if any(each.deleted for each in table.files):
            for follow in self.followers:
                follow(table)

    def _schedule(self, database: str, table: Table) -> None:
        if self._compactor is not None:
            self._compactor.schedule(database, table)
