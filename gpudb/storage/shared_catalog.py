"""The catalog that several coordinators share, in PostgreSQL: commits wait for each other, and are applied by all."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Table
from gpudb.config.storage import StorageSettings
from gpudb.storage.catalog.catch_up import apply
from gpudb.storage.catalog.changes import CatalogChanges, Catalogs, CommittedChanges, Coordinator
from gpudb.storage.catalog.commit_errors import LEASE_LOST, WAIT_SECONDS, ConnectionLost, LeaseLost
from gpudb.storage.catalog.copying import write_catalog
from gpudb.storage.catalog.merge import Compaction, MergeResult, changes_shared, find_compactions
from gpudb.storage.catalog.postgres import PostgresCatalog
from gpudb.storage.catalog.postgres_connection import COMMITS_NAME, SEQUENCES_NAME
from gpudb.storage.catalog.postgres_locks import PostgresLocks
from gpudb.storage.catalog.postgres_notifications import Message, PostgresNotifications
from gpudb.storage.catalog.postgres_sequences import PostgresSequences
from gpudb.storage.catalog.sequences import Sequences
from gpudb.storage.commit_log import CommitLog, LoggedCommit
from gpudb.storage.committed_state import CommittedState
from gpudb.storage.coordination import Coordination
from gpudb.storage.data_directory import DataDirectory
from gpudb.storage.locks import LockManager
from gpudb.storage.lost_and_found import list_old_files, move_orphans
from gpudb.storage.opening import load_tables
from gpudb.storage.private_files import make_directory
from gpudb.storage.recovery.opening import check_commits, check_own_catalog, claim_directory
from gpudb.storage.transaction import Transaction

CATCH_UP_SECONDS = 0.2
"""How long applying others' commits waits for a commit here."""
FollowCommit = Callable[[str, Table], None]
"""Called with a database's name and one of its tables."""


class SharedCatalog:
    """One coordinator's view of the catalog (see `CatalogStore`), and the host of its `Coordination`."""

    def __init__(
        self,
        settings: StorageSettings,
        directory: DataDirectory,
        committed: CommittedState,
        keep_seconds: float,
        follow: FollowCommit,
        compact: FollowCommit,
    ) -> None:
        """Makes this coordinator known, and loads the catalog's tables into the committed state.

        `follow` gets the tables that others have changed, `compact` all tables once this coordinator leads.
        With `read_only` in the settings it never leads. Raises
        08001 if PostgreSQL does not answer, 55000 if the directory is another catalog's.
        """
        check_own_catalog(directory.path)
        self.leads = False
        self.is_alone = False
        self.log: CommitLog | None = None
        self.logged: Sequence[LoggedCommit] = ()
        self._directory, self._committed, self._keep_seconds = directory, committed, keep_seconds
        self._follow, self._compact = follow, compact
        self._coordination: Coordination | None = None
        self._first_valid = 0
        """Transactions with lower numbers began before this coordinator was taken for gone."""
        url = settings.catalog
        assert url is not None
        self._lease, self._read_only = settings.catalog_lease, settings.read_only
        self._database = PostgresCatalog(url, lease=self._lease)
        try:
            self._database.coordinators.register(*_name_process())
            self._coordinator = self._database.coordinators.own
            self._identifier = self._database.identifier
            self.spill = directory.spill / str(self._coordinator)
            catalogs = self._load()
            first_number = (self._coordinator << 32) + 1
            committed.open(catalogs, self._reached, new_oid=self._database.new_oid, first_number=first_number)
        except BaseException:
            self._database.coordinators.unregister()
            self._database.close()
            raise
        self._reading = threading.Lock()
        self._marks = deque([(committed.commits, self._reached)])
        """Pairs of the number of a commit here and the number of the last commit of any coordinator then."""
        self.sequences: Sequences = PostgresSequences(url, name=f"{SEQUENCES_NAME}{self._coordinator}")
        self.locks: LockManager = PostgresLocks(
            url, self._identifier, self._catch_up_with, coordinator=self._coordinator
        )

    def _load(self) -> Catalogs:
        """Reads the catalog with its tables; the first coordinator moves files that belong to no table."""
        database, directory = self._database, self._directory
        may_clean = not self._read_only
        with database.exclusive() if may_clean and database.coordinators.is_alone() else database.snapshot():
            catalogs, pointers = database.read()
            claim_directory(directory.path, self._identifier, is_new=not pointers)
            self._reached = database.last_commit()
            self._remove_folders_of_others()
            make_directory(self.spill)
            alone = database.is_exclusive and database.coordinators.is_alone()
            if alone:
                check_commits(directory.path, catalogs, pointers, self._reached, "catalog in PostgreSQL")
                database.coordinators.remove_others()
                self.remove_files(database.list_garbage())
            loaded = load_tables(directory, self._committed.states, catalogs, pointers, alone=alone)
            if alone:
                database.retain({each.file for catalog in loaded.values() for each in catalog.sequences()})
        return loaded

    def _remove_folders_of_others(self) -> None:
        """Removes the folders of coordinators that live no longer."""
        living = {str(number) for number in self._database.coordinators.list_numbers()}
        for folder in (self._directory.spill, self._directory.path / "coordinators"):
            make_directory(folder)
            for path in folder.iterdir():
                if path.name not in living:
                    shutil.rmtree(path, ignore_errors=True)

    @property
    def written_commit(self) -> int:
        """The number of the last commit of any coordinator that is applied here."""
        return self._reached

    @property
    def last_commit(self) -> int:
        """The number of the last commit of any coordinator that is applied here."""
        return self._reached

    @property
    def private_directory(self) -> Path:
        """This coordinator's folder in the data directory."""
        folder = self._directory.path / "coordinators" / str(self._coordinator)
        make_directory(folder)
        return folder

    # ---- commits

    @contextmanager
    def exclusive(self, transaction: Transaction | None = None) -> Iterator[None]:
        """Keeps other coordinators from committing, after their commits have been applied here.

        A transaction with changes of temporary objects alone needs neither. Raises 40001 for one that wrote files
        before the others took this coordinator for gone, since they may have removed them.
        """
        if transaction is not None and not changes_shared(transaction.base, transaction.catalog):
            yield
            return
        with self._database.exclusive():
            tables = self._apply(self._database.read_changes(self._reached))
            if transaction is not None and transaction.number < self._first_valid:
                raise LeaseLost(LEASE_LOST, hint="The transaction might succeed if retried.")
            if transaction is not None:
                self.locks.check_held(transaction.party)
            yield
        self._follow_all(tables)

    def write(
        self,
        changes: CatalogChanges,
        merged: MergeResult,
        unused: Mapping[int, list[Path]],
        compactions: Sequence[Compaction],
    ) -> None:
        """Writes a commit with what the other coordinators have to know of its files.

        Raises `CommitUnknown` if PostgreSQL does not come back to tell whether the commit has taken place.
        """
        own = {change.oid for change in merged.changes if self.is_collected_here(change.old)}
        discarded = (path for oid, paths in unused.items() if oid not in own for path in paths)
        changes.discarded = self._directory.list_below_tables(discarded)
        restored = [Path(path) for path in merged.reverted]
        restored += [Path(file.path) for change in merged.changes for file in change.added]
        changes.restored = self._directory.list_below_tables(restored)
        changes.compactions = [
            (each.oid, [file.id for file in each.inputs], [file.id for file in each.outputs]) for each in compactions
        ]
        self._database.commit(changes)
        self._mark(changes.commit)
        self._reached = changes.commit

    def _mark(self, commit: int) -> None:
        """Notes the last commit of any coordinator that the next committed state contains."""
        with self._reading:
            self._marks.append((self._committed.commits + 1, commit))

    def is_collected_here(self, relation: Relation | None) -> bool:
        """Returns whether a relation is a temporary table: the leader removes the files of all others."""
        return isinstance(relation, Table) and relation.temporary

    def last_definition(self) -> int:
        """Returns the time of the last commit that changed more than rows (see `CatalogStore`), within `exclusive`."""
        return self._database.last_definition()

    def copy_to(self, path: Path) -> None:
        """Writes the catalog of the last commit to a file."""
        catalogs = self._committed.catalogs
        known = [each for catalog in catalogs.values() for each in catalog.sequences() if not each.temporary]
        states = {each: self.sequences.get(each) for each in known}
        write_catalog(path, catalogs, self._committed.states.pointers, self._reached, states)

    # ---- what others have committed

    def _catch_up_with(self, commit: int) -> None:
        """Applies what others have committed, at least up to a commit."""
        ends = time.monotonic() + WAIT_SECONDS
        while self._reached < commit:
            with self._committed.lock:
                if self._committed.is_closed:
                    return
                try:
                    self._apply(self._database.read_changes(self._reached, waits=True))
                except ConnectionLost:
                    if time.monotonic() >= ends:
                        raise

    def catch_up(self) -> None:
        """Applies what other coordinators have committed, unless a commit is under way, which does so itself."""
        if self._committed.lock.acquire(timeout=CATCH_UP_SECONDS):
            self._catch_up(waits=False)

    def refresh(self) -> None:
        """Has later transactions see all that other coordinators have committed; 08006 without PostgreSQL."""
        self._committed.lock.acquire()
        self._catch_up(waits=True)

    def _catch_up(self, *, waits: bool) -> None:
        """Applies what others have committed, and releases the lock of commits, which the caller has."""
        try:
            closed = self._committed.is_closed
            tables = [] if closed else self._apply(self._database.read_changes(self._reached, waits=waits))
        finally:
            self._committed.lock.release()
        self._follow_all(tables)

    def _follow_all(self, tables: Iterable[tuple[str, Table]]) -> None:
        for database, table in tables:
            self._follow(database, table)

    def _apply(self, changes: CommittedChanges | None) -> list[tuple[str, Table]]:
        """Makes others' commits the state that transactions see from here on; returns the tables that they changed."""
        if changes is None:
            return []
        committed = self._committed
        states = committed.states
        if not changes.is_complete:
            changes = self._database.read_all(committed.catalogs)
        before = {each.oid: each for catalog in committed.catalogs.values() for each in catalog.relations.values()}
        relations = dict(changes.relations)
        tables: list[tuple[str, Table]] = []
        for (database, oid), relation in changes.relations.items():
            if isinstance(relation, Table):
                loaded = states.load_again(relation, changes.pointers.get(oid), before.get(oid))
                relations[database, oid] = loaded
                if loaded.is_readable:
                    tables.append((database, loaded))
        there = {oid for (_, oid), relation in relations.items() if relation is not None}
        states.forget({oid for _, oid in relations} - there)
        snapshots = {table.oid: states.states[table.oid].snapshots for _, table in tables}
        catalogs = apply(
            committed.catalogs, changes.objects, relations, snapshots, changes.next_oid, committed.next_version
        )
        after = {table.oid: table for _, table in tables}
        compactions = find_compactions(changes.compactions, before, after, committed.commits + 1)
        self._mark(changes.commit)
        committed.install(catalogs)
        self._reached = changes.commit
        committed.compactions += compactions
        return tables

    # ---- the other coordinators

    def announce(self, host: str, port: int) -> None:
        """Makes the address known at which this server's clients connect."""
        with self._committed.lock:
            self._database.coordinators.announce(host, port)

    def list_coordinators(self) -> tuple[int, list[Coordinator]]:
        """Returns this server's number and the servers over its catalog."""
        with self._committed.lock:
            return self._coordinator, self._database.coordinators.list_addresses()

    def open_notifications(self, deliver: Callable[[int, Iterable[Message]], None]) -> PostgresNotifications:
        """Returns what sends NOTIFY to the other servers over the catalog.

        `deliver` gets a database's OID and the notifications of another server's sessions. The caller closes it first.
        """
        return PostgresNotifications(self._database.url, self._identifier, self._catch_up_with, deliver)

    def start(self) -> None:
        """Begins to listen to the others, and to show that this coordinator lives."""
        # From here on it beats, so that others may end what it holds when it no longer does
        with self._committed.lock:
            self._database.name_connection(f"{COMMITS_NAME}{self._coordinator}")
        self._coordination = Coordination(
            self,
            self._database.url,
            self._coordinator,
            self._keep_seconds,
            beat_seconds=min(1.0, self._lease / 4),
            may_lead=not self._read_only,
        )

    def stop(self) -> None:
        """Tells the others that this coordinator is gone."""
        if self._coordination is not None:
            self._coordination.close()

    def close(self) -> None:
        """Closes the connections, and removes this coordinator's folders."""
        self.locks.close()
        self.sequences.close()
        shutil.rmtree(self.spill, ignore_errors=True)
        shutil.rmtree(self.private_directory, ignore_errors=True)
        self._database.close()

    # ---- interface for coordination

    def describe_oldest_read(self) -> tuple[int, float]:
        """Returns the number of the oldest commit that is read here, and for how many seconds it has been read."""
        oldest = self._committed.oldest_commit_read()
        with self._reading:
            while len(self._marks) > 1 and self._marks[1][0] <= oldest:
                self._marks.popleft()
            return self._marks[0][1], self._committed.garbage.oldest_reader_seconds()

    def register_again(self) -> None:
        """Makes this coordinator known again, after the others have taken it for gone."""
        with self._committed.lock:
            if self._committed.is_closed or self._coordination is None:
                return
            self._first_valid = self._committed.next_number()
            self._database.coordinators.register(*_name_process(), oldest=self.describe_oldest_read()[0])

    def begin_to_lead(self) -> None:
        """Looks for tables to compact, which another coordinator would have."""
        for name, catalog in self._committed.catalogs.items():
            for table in catalog.tables():
                if table.is_readable:
                    self._compact(name, table)

    def list_temporary_tables(self) -> list[int]:
        """Returns the OIDs of the temporary tables here, which no other coordinator knows."""
        return [table.oid for table in self._committed.iter_tables() if table.temporary]

    def list_live_files(self) -> dict[int, frozenset[Path] | None]:
        """Returns the files of each table and its kept snapshots by OID; None for one that cannot be read."""
        with self._committed.lock:
            return self._committed.states.list_live(self._committed.iter_tables())

    def list_old_files(self, age: float) -> set[Path]:
        """Returns the files of tables that were written, or put there, at least `age` seconds ago."""
        return list_old_files(self._directory.tables, age)

    def remove_files(self, paths: Iterable[str]) -> None:
        """Removes files and folders by their paths below `tables`."""
        for path in paths:
            self._directory.table_files.remove(self._directory.tables / path)

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
        kept = {self._directory.tables / path for path in discarded}
        orphans = {path for path in among if kept.isdisjoint((path, *path.parents))}
        move_orphans(self._directory.tables, {**live, **dict.fromkeys(others)}, orphans)


def _name_process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()
