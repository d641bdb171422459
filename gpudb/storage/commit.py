"""The single place where transactions commit: merged, checked, written, and seen by all who begin afterwards.

A commit syncs data files, then metadata files, then the transaction of the catalog, in this order. Nothing refers to
what a crash leaves incomplete, and the next opening moves it to lost+found. Small commits are one record of a log
(`small_commits`), and become metadata with the next other commit, or soon after.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from gpudb.catalog import relations as catalog_relations
from gpudb.catalog.model import Catalog
from gpudb.catalog.secured_objects import get_database
from gpudb.catalog.tables import Table, TableSnapshot
from gpudb.errors import GpudbError, InternalError
from gpudb.storage.activity import StoreActivity
from gpudb.storage.catalog.changes import (
    CatalogChanges,
    Catalogs,
    Pointer,
    get_home,
    is_temporary_object,
    is_temporary_schema,
)
from gpudb.storage.catalog.commit_errors import WAIT_SECONDS, CommitUnknown, ConnectionLost
from gpudb.storage.catalog.databases import add_changes, list_changed_databases, move_pointers, spread
from gpudb.storage.catalog.merge import Change, Compaction, MergeResult, has_same_definition, merge
from gpudb.storage.catalog_store import CatalogStore
from gpudb.storage.commit_group import CommitQueue, WaitingCommit, changes_rows_alone, join_results
from gpudb.storage.commit_log import LoggedCommit
from gpudb.storage.committed_state import CommittedState
from gpudb.storage.constraints.joined_keys import check_joined_keys
from gpudb.storage.constraints.keys import KeyChecker
from gpudb.storage.constraints.references import check_commit
from gpudb.storage.data_directory import DataDirectory
from gpudb.storage.folding import Folder
from gpudb.storage.garbage import remove_from_disk
from gpudb.storage.iceberg.file_writer import disk_errors, sync
from gpudb.storage.iceberg.locations import to_uri
from gpudb.storage.recovery.logged_commits import read_files
from gpudb.storage.recovery.opening import COMMIT_PROPERTY, COMMIT_TABLES_PROPERTY, DATABASE_PROPERTY
from gpudb.storage.small_commits import SmallCommits, SmallGroup
from gpudb.storage.transaction import CommitOutcome, Transaction

if TYPE_CHECKING:
    from gpudb.storage.iceberg.table_state import TableState

_LOG = logging.getLogger(__name__)
_Unused = Mapping[int, list[Path]]
"""Files that are no longer part of the state, by their table's OID."""


class Committer:
    """Commits the transactions of one store, one at a time."""

    def __init__(
        self,
        directory: DataDirectory,
        committed: CommittedState,
        catalog: CatalogStore,
        key_checker: KeyChecker,
        activity: StoreActivity,
        follow: Callable[[str, Table, bool], None],
    ) -> None:
        """`follow` is called after a commit with each table that it changed: its database, and whether it compacts."""
        self._directory, self._table_files = directory, directory.table_files
        self._committed, self._states = committed, committed.states
        self._catalog = catalog
        self._key_checker = key_checker
        self._activity = activity
        self._follow = follow
        self._small = SmallCommits(directory, committed, key_checker, catalog.log)
        self.takes_few_rows = catalog.is_alone and (catalog.log is not None or not directory.durable)
        self.folder = Folder(self.fold)
        self._queue = CommitQueue(self._commit_waiting)

    def commit(self, transaction: Transaction) -> CommitOutcome:
        """Commits a transaction; raises if nothing of it is committed.

        If the connection to a shared catalog is lost before the commit, it is tried again once that is back.
        """
        data = [] if self._table_files.url is None else self._list_new_data(transaction)
        outcome = CommitOutcome()
        try:
            self._table_files.publish(data)  # before the lock, since others' commits need not wait for it
            merged = self._commit_in_turn(transaction, outcome)
            for change in merged.changes:
                if isinstance(change.new, Table) and change.new.is_readable:
                    self._follow(transaction.base.database, change.new, transaction.compacting)
        except BaseException as error:
            if not outcome.is_written:
                self._table_files.withdraw(data)  # their copies are the transaction's
                raise
            outcome.error = error
        return outcome

    def _list_new_data(self, transaction: Transaction) -> list[Path]:
        """Returns the data files that a transaction has written, and that durable tables have at its end.

        Those of a snapshot to which it returns are committed: they are in the storage, and stay there if it fails.
        """
        written = {str(path): path for path in transaction.written}
        before = {table.oid: table for table in transaction.base.tables()} if written else {}
        new: list[Path] = []
        for table in transaction.catalog.tables() if written else ():
            if table is not before.get(table.oid) and table.is_readable and self._directory.is_durable(table):
                new += [written[file.path] for file in table.files if file.path in written]
        return new

    def _commit_in_turn(self, transaction: Transaction, outcome: CommitOutcome) -> MergeResult:
        """Commits a transaction, together with those that wait at the same time, or finds it committed by another."""
        own = WaitingCommit(transaction, outcome)
        if self._catalog.is_alone:
            self._queue.run(own)
        else:
            self._commit_shared(own)
        if own.error is not None:
            raise own.error
        assert own.merged is not None
        return own.merged

    def _commit_shared(self, own: WaitingCommit) -> None:
        """Commits a transaction by itself, since others commit to the catalog too."""
        ends = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                with self._committed.lock, self._catalog.exclusive(own.transaction):
                    self._commit_all([own])
                    return
            except ConnectionLost:
                if time.monotonic() >= ends:
                    raise

    def _commit_waiting(self, waiting: Sequence[WaitingCommit]) -> None:
        with self._committed.lock, self._catalog.exclusive():
            self._commit_all(waiting)

    def _commit_all(self, waiting: Sequence[WaitingCommit]) -> None:
        """Commits transactions in their order; those that only change rows of one database are written together."""
        group: list[WaitingCommit] = []
        for each in self._commit_few(waiting):
            if self._needs_folded_log(each.transaction):
                self._publish_group(group)
                group = []
                try:
                    self.fold()
                except BaseException as error:
                    self._fail(each, error)
                    continue
            if self._joins(each, group):
                continue
            self._publish_group(group)
            group = []
            if not self._joins(each, group):
                self._commit_alone(each)
        self._publish_group(group)

    def _commit_few(self, waiting: Sequence[WaitingCommit]) -> list[WaitingCommit]:
        """Commits the transactions that add few rows alone; returns the others, which come after them."""
        others: list[WaitingCommit] = []
        joined: list[WaitingCommit] = []
        group: SmallGroup | None = None
        for each in waiting:
            transaction = each.transaction
            if transaction.few_rows is None:
                others.append(each)
                continue
            database = transaction.base.database
            if group is not None and group.catalog.database != database:
                self._publish_few(group, joined)
                group, joined = None, []
            try:
                group = group or self._begin_few(database)
                if self._small.join(transaction, group):
                    joined.append(each)
                    continue
                transaction.settle()
            except BaseException as error:
                self._fail(each, error)
                continue
            others.append(each)
        if group is not None and joined:
            self._publish_few(group, joined)
        return others

    def _begin_few(self, database: str) -> SmallGroup:
        if self._small.pending and self._small.database != database:
            self.fold()
        return self._small.begin_group(database)

    def _publish_few(self, group: SmallGroup, joined: Sequence[WaitingCommit]) -> None:
        if not joined:
            return
        try:
            merged = self._small.publish(group)
        except BaseException as error:
            for each in joined:
                self._fail(each, error)
            return
        added = [file for change in merged.changes for file in change.added]
        rows, size = sum(file.rows for file in added), sum(file.bytes for file in added)
        self._activity.add_commit(rows, size, compacting=False)
        for number, each in enumerate(joined):
            each.merged = merged if number == 0 else replace(merged, changes=())
            each.outcome.is_written, each.done = True, True
        if self._small.pending:
            self.folder.schedule(self._small.log_bytes)

    def fold(self) -> None:
        """Writes Iceberg's metadata of the commits that only the log has."""
        if self._small.pending:
            self._small.sync_files()  # before the lock, since commits need not wait for it
        with self._committed.lock:
            catalog = self._committed.catalogs.get(self._small.database)
            if self._small.pending and catalog is not None:
                self._publish(MergeResult(catalog, tuple(self._small.list_folded(catalog, ())), {}), CommitOutcome())

    def _needs_folded_log(self, transaction: Transaction) -> bool:
        """Returns whether the metadata of a commit has no place for the commits that only the log has."""
        if not self._small.pending:
            return False
        defines = transaction.catalog.version != transaction.base.version
        return defines or transaction.compacting or transaction.base.database != self._small.database

    def recover(self, commits: Sequence[LoggedCommit], *, read_only: bool) -> None:
        """Has the rows of commits that the log had at the opening, and folds them unless the store is `read_only`."""
        with self._committed.lock:
            for commit in commits:
                catalog = self._committed.catalogs.get(commit.database)
                if catalog is None:
                    continue
                relations, snapshots = dict(catalog.relations), dict(catalog.snapshots)
                for logged in commit.tables:
                    table = catalog.find_relation_by_oid(logged.oid)
                    if not isinstance(table, Table) or not table.is_readable:
                        continue
                    known = {file.path for file in table.files}
                    files = read_files(self._directory.tables, table, logged.files)
                    new = table.with_files(table.files + tuple(file for file in files if file.path not in known))
                    snapshot = TableSnapshot(logged.snapshot, commit.moment, "append", new)
                    relations[new.key] = new
                    snapshots[new.oid] = (*snapshots.get(new.oid, ()), snapshot)
                    self._small.add(commit.database, new.oid, snapshot, [Path(file.path) for file in files])
                self._states.moment = max(self._states.moment, commit.moment)
                changed = replace(catalog, relations=MappingProxyType(relations), snapshots=MappingProxyType(snapshots))
                self._committed.restore(commit.number, changed)
            if not read_only:
                self.fold()

    def close(self) -> None:
        """Folds the log and closes it."""
        self.folder.stop()
        try:
            self.fold()
        except (GpudbError, OSError) as error:
            _LOG.warning("the log of commits is folded at the next opening: %s", error)
        self._small.close()

    def _joins(self, waiting: WaitingCommit, group: list[WaitingCommit]) -> bool:
        """Merges a transaction into the catalog that a group leaves; returns whether it is one of the group now.

        One that fails is done. What has to be written by itself joins no group.
        """
        transaction = waiting.transaction
        database = transaction.base.database
        if group and (last := group[-1].merged) is not None and last.catalog.database != database:
            return False
        try:
            last = group[-1].merged if group else None
            merged = self._merge(transaction, self._committed.catalog(database) if last is None else last.catalog)
        except BaseException as error:
            waiting.fail(error)
            return True
        if not changes_rows_alone(transaction, merged):
            return False
        waiting.merged = merged
        group.append(waiting)
        return True

    def _publish_group(self, group: Sequence[WaitingCommit]) -> None:
        if not group:
            return
        outcome = CommitOutcome()
        written = [path for each in group for path in each.transaction.written]
        try:
            _sync_folders(group)
            self._publish(join_results([each.merged for each in group if each.merged]), outcome, written=written)
        except BaseException as error:
            for each in group:
                each.outcome.is_written = outcome.is_written
                self._fail(each, error)
            return
        for each in group:
            each.outcome.is_written, each.done = True, True

    def _commit_alone(self, waiting: WaitingCommit) -> None:
        transaction = waiting.transaction
        try:
            merged = self._merge(transaction, self._committed.catalog(transaction.base.database))
            _sync_folders([waiting])
            compacting, written = transaction.compacting, transaction.written
            self._publish(self._drop_contents(merged), waiting.outcome, compacting=compacting, written=written)
        except BaseException as error:
            self._fail(waiting, error)
            return
        waiting.merged, waiting.done = merged, True

    def _fail(self, waiting: WaitingCommit, error: BaseException) -> None:
        """Ends a transaction with an error. One over a shared catalog raises it: the connection tells what it means."""
        if not self._catalog.is_alone:
            raise error
        waiting.fail(error)

    def _merge(self, transaction: Transaction, current: Catalog) -> MergeResult:
        """Merges a transaction into a catalog, and checks what both have together."""
        if self._committed.is_closed:
            raise GpudbError("the store is closed", condition="object_not_in_prerequisite_state")
        compactions = self._committed.compactions
        merged = merge(transaction.base, transaction.catalog, current, compactions, transaction.lost_roles)
        check_joined_keys(self._key_checker, merged.catalog, merged.changes, transaction.known_keys)
        check_commit(self._key_checker, transaction.origin, merged.catalog, merged.changes)
        return merged

    def _drop_contents(self, merged: MergeResult) -> MergeResult:
        """Adds to a merge the end of all relations of the databases that it drops."""
        catalogs = self._committed.catalogs
        before = catalogs[merged.catalog.database]
        gone = [old for old, new in list_changed_databases(before, merged.catalog) if old is not None and new is None]
        relations = (each for old in gone for each in catalogs[old.name].relations.values())
        return replace(merged, changes=(*merged.changes, *(Change(each.oid, each, None) for each in relations)))

    def expire_snapshots(self, oid: int | None = None) -> int:
        """Discards the snapshots of a table, or of all, that are kept no longer; returns their number."""
        expired = 0
        for database in list(self._committed.catalogs):
            with self._committed.lock:
                self.fold()
                if not self._list_expired(database, oid) or self._committed.is_closed:
                    continue
                with self._catalog.exclusive():
                    found = self._list_expired(database, oid)
                    if found:
                        changes = tuple(Change(table.oid, table, table) for table, _ in found)
                        merged = MergeResult(self._committed.catalogs[database], changes, {})
                        self._publish(merged, CommitOutcome())
                        expired += sum(gone for _, gone in found)
        self._committed.garbage.collect()
        return expired

    def _list_expired(self, database: str, oid: int | None) -> list[tuple[Table, int]]:
        catalog = self._committed.catalogs.get(database)
        tables = () if catalog is None else (each for each in catalog.tables() if oid in (None, each.oid))
        return self._states.list_expired(tables)

    def _publish(
        self,
        merged: MergeResult,
        outcome: CommitOutcome,
        *,
        compacting: bool = False,
        written: Iterable[Path] = (),
    ) -> None:
        """Makes a merged catalog the committed one: on disk first, then for all who begin afterwards.

        `written` are the files that a transaction wrote, also those that it dropped again.
        """
        if self._small.pending:
            if self._small.database != merged.catalog.database:
                raise InternalError("the log of commits is not folded")
            self._small.sync_files()
            folded = self._small.list_folded(merged.catalog, merged.changes)
            merged = replace(merged, changes=(*merged.changes, *folded))
        staged = self._stage(merged, compacting=compacting)
        unused = self._states.list_unused(merged.changes, staged)
        metadata = self._states.list_new(staged)
        compactions = merged.list_compactions(self._committed.commits + 1) if compacting else []
        try:
            self._table_files.publish(metadata)
            catalogs = self._write(merged, staged, unused, compactions)
        except CommitUnknown:
            outcome.is_written = True  # perhaps: its files stay
            raise
        except BaseException:
            for path in metadata:
                self._table_files.remove(path)
            raise
        outcome.is_written = True
        self._small.clear()
        self._committed.install(catalogs)
        added = [file for change in merged.changes for file in change.added]
        rows, size = sum(file.rows for file in added), sum(file.bytes for file in added)
        self._activity.add_commit(rows, size, compacting=compacting)
        self._states.set_states(merged.changes, staged)
        self._discard(merged, unused, written)
        self._committed.add_compactions(compactions)

    def _stage(self, merged: MergeResult, *, compacting: bool) -> dict[int, TableState]:
        """Writes and syncs new Iceberg metadata for every durable table that changed."""
        new = (change.new for change in merged.changes)
        tables = [each for each in new if isinstance(each, Table) and self._directory.is_durable(each)]
        properties = {
            COMMIT_PROPERTY: str(self._catalog.written_commit + 1),
            COMMIT_TABLES_PROPERTY: str(len(tables)),
            DATABASE_PROPERTY: str(get_database(merged.catalog).oid),
        }
        return self._states.stage(tables, properties, self._small.pending, compacting=compacting)

    def _write(
        self, merged: MergeResult, staged: Mapping[int, TableState], unused: _Unused, compactions: list[Compaction]
    ) -> Catalogs:
        """Runs the transaction of the catalog; returns the resulting catalogs."""
        before = self._committed.catalogs
        database = merged.catalog.database
        current = before[database]
        version = self._committed.next_version() if merged.changes_definitions else current.version
        next_oid = max(merged.catalog.next_oid, *(each.next_oid for each in before.values()))
        changes = CatalogChanges(version, next_oid, self._catalog.last_commit + 1)
        for (kind, name), value in merged.objects.items():
            if not is_temporary_object(kind, name):
                changes.objects[get_home(database, kind), kind, name] = value
        relations, snapshots = dict(merged.catalog.relations), dict(current.snapshots)
        pointers: dict[int, Pointer | None] = {}
        for change in merged.changes:
            new = change.new
            if isinstance(new, Table):
                state = staged.get(change.oid)
                if state is not None:
                    new = replace(new, metadata_location=str(state.location))
                    pointers[change.oid] = Pointer(new.schema, new.name, to_uri(state.location), database)
                    snapshots[change.oid] = state.snapshots
                relations[new.schema, new.name] = new
            elif change.oid in self._states.pointers:
                pointers[change.oid] = None
                snapshots.pop(change.oid, None)
            temporary = any(
                isinstance(r, Table | catalog_relations.Sequence) and r.temporary for r in (change.old, new)
            )
            if not temporary and not is_temporary_schema((new or change.old).schema):  # type: ignore[union-attr]
                changes.relations[database, change.oid] = new
                if not has_same_definition(change.old, new):
                    changes.defined = self._states.moment
        changed = replace(
            merged.catalog,
            version=version,
            relations=MappingProxyType(relations),
            snapshots=MappingProxyType(snapshots),
            oids=current.oids,
        )
        catalogs = spread(before, changed, self._committed.next_version)
        add_changes(changes, before, catalogs, database)
        pointers |= move_pointers(self._states.pointers, before, catalogs, database)
        if changes.objects:
            changes.defined = self._states.moment
        changes.pointers = [(self._states.pointers.get(oid), pointer) for oid, pointer in pointers.items()]
        if changes.relations or changes.objects or changes.pointers:
            self._catalog.write(changes, merged, unused, compactions)
        self._states.set_pointers(pointers)
        return catalogs

    def _discard(self, merged: MergeResult, unused: _Unused, written: Iterable[Path]) -> None:
        """Discards, after the commit, the files that are no longer part of the state."""
        live = {file.path for change in merged.changes if isinstance(change.new, Table) for file in change.new.files}
        for path in written:
            if str(path) not in live:
                remove_from_disk(path)
        garbage = self._committed.garbage
        # A snapshot whose files are the table's again may have been discarded meanwhile.
        added = (file.path for change in merged.changes for file in change.added)
        garbage.restore(Path(path) for path in (*added, *merged.reverted))
        own = {change.oid for change in merged.changes if self._catalog.is_collected_here(change.old)}
        garbage.discard((path for oid in own for path in unused.get(oid, ())), self._committed.commits)


def _sync_folders(waiting: Iterable[WaitingCommit]) -> None:
    """Syncs the folders in which transactions have put files, each once."""
    with disk_errors():
        for folder in {folder for each in waiting for folder in each.transaction.unsynced_folders}:
            sync(folder)
