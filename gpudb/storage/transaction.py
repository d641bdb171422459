"""Transaction: its view of the catalog, the files that it wrote, and its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Protocol

import pyarrow as pa

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.large_objects import LargeObject
from gpudb.catalog.model import Catalog
from gpudb.catalog.model_contents import check_definitions, make_content_error
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.newest_rights import take_rights
from gpudb.catalog.partition_trees import assemble, find_root, list_partitions
from gpudb.catalog.tables import DataFile, Exclusion, ForeignKey, Table, list_added_rows
from gpudb.errors import InternalError, UndefinedTable
from gpudb.storage.activity import StoreActivity
from gpudb.storage.catalog.merge import Compaction, merge
from gpudb.storage.constraints.exclusions import IsDeferred, never
from gpudb.storage.constraints.joined_keys import check_joined_keys
from gpudb.storage.constraints.key_lookup import are_references_known
from gpudb.storage.constraints.keys import KeyChecker
from gpudb.storage.constraints.references import check_references
from gpudb.storage.exported_snapshots import ExportedSnapshots
from gpudb.storage.iceberg.append import write_files
from gpudb.storage.locks import Lockable, LockManager
from gpudb.storage.partitions.write import PartitionWriter, check_rows, write_partitions
from gpudb.storage.pending_rows import PendingFiles, take_few
from gpudb.storage.plain_rows import PlainRows, has_null, table_schema
from gpudb.storage.row_processes import RowProcesses
from gpudb.storage.schema_evolution import evolve
from gpudb.storage.uncommitted_rows import UncommittedRows


@dataclass(slots=True)
class CommitOutcome:
    """How a commit ends. Once it `is_written`, or may be, the files that the transaction wrote are its tables'.

    What fails afterwards is its `error`.
    """

    is_written: bool = False
    error: BaseException | None = None


class TransactionHost(Protocol):
    """The store that a transaction changes; `store.Store` implements it."""

    activity: StoreActivity
    exported_snapshots: ExportedSnapshots
    key_checker: KeyChecker
    locks: LockManager
    row_processes: RowProcesses
    takes_few_rows: bool
    """Whether `commit` takes transactions whose rows are in memory alone."""

    @property
    def compactions(self) -> Sequence[Compaction]:
        """Those that open transactions may not have seen."""

    def catalog(self, database: str) -> Catalog:
        """Returns the last committed catalog of a database; 3D000 if there is none."""

    def open_snapshot(self, number: int, database: str) -> Catalog:
        """Returns a database's committed catalog and registers the transaction of that number as its reader."""

    def end_transaction(self, transaction: Transaction) -> None:
        """Releases an ended transaction's locks and the files that only it read."""

    def commit(self, transaction: Transaction) -> CommitOutcome:
        """Commits a transaction; raises if nothing of it is committed. Called by the transaction alone."""

    def next_version(self) -> int:
        """Returns a new catalog version."""

    def is_durable(self, table: Table) -> bool:
        """Returns whether the table outlives the store."""

    def data_folder(self, table: Table) -> Path:
        """Returns the folder of a table's data files; creates and syncs it if needed."""


def _list_changed(table: Table, removed: Iterable[DataFile], deleted: Mapping[str, DeletedRows]) -> list[DataFile]:
    """Returns the files of a table that go, or of which rows go; without any, its files are not read."""
    gone = {file.id for file in removed}
    return [file for file in table.files if file.id in gone or file.path in deleted] if gone or deleted else []


_NOTHING: Mapping[str, DeletedRows] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Savepoint:
    """State of the transaction of a number, to which it can roll back: `catalog` is None without changes.

    `locks` is how many locks it held.
    """

    number: int
    catalog: Catalog | None
    written: int
    base: Catalog
    locks: int


class Transaction:
    """Reads one snapshot with its own changes, and changes tables and definitions atomically.

    open -commit()→ committed;  open -rollback(), a failed commit()→ rolled back. After its end only `commit` and
    `rollback` may be called, and do nothing. As a context manager it rolls back unless it was committed.

    Keep it open while results of its snapshot are being read: it keeps their files on disk. Used by one thread at a
    time. `party` is the holder of its locks: owners of one party do not wait for each other.
    Once its snapshot is exported, or is an imported one, it `shares_snapshot` and keeps it. `lost_roles` are names of
    roles that its snapshot had, and that others have dropped or renamed since. It `keeps_places` once addresses of rows
    were read, which its later statements may name: it writes no file anew. `origin` is the state that its first change
    was made to: foreign keys are checked at COMMIT against all that others have committed since. At COMMIT `few_rows`
    are its rows in memory by their tables' OIDs, if they are all that it has changed. Exclusions that are deferred
    (`is_deferred`) are left to `check_exclusion` and to the commit.
    """

    def __init__(self, store: TransactionHost, number: int, base: Catalog) -> None:
        """Called by `Store.begin` alone."""
        self._store = store
        self._base = base
        self._catalog = base
        self.origin = base
        self.written_paths: list[Path] = []
        self._open = True
        self.number = self.party = number
        self.compacting = False
        self.is_deferred: IsDeferred = never
        self.shares_snapshot = False
        self.keeps_places = False
        self.known_keys: set[str] = set()
        self.unsynced_folders: set[Path] = set()
        self.few_rows: Mapping[int, PendingFiles] | None = None
        self._rows = UncommittedRows(store, self)
        self.lost_roles: frozenset[str] = frozenset()
        self._rights_version = base.version
        self._newest = base

    @property
    def catalog(self) -> Catalog:
        """The snapshot of its beginning with its own changes."""
        return self._catalog

    @property
    def base(self) -> Catalog:
        """The snapshot of its beginning."""
        return self._base

    @property
    def changed(self) -> bool:
        """Whether there is anything to commit."""
        return self._catalog is not self._base

    @property
    def written(self) -> tuple[Path, ...]:
        """The data files that it wrote, including those that it no longer needs."""
        return tuple(self.written_paths)

    def set_catalog(self, catalog: Catalog) -> None:
        """Installs changed definitions, made from `catalog` with `Catalog.with_…()`, under a new version.

        Columns with `field_id` 0 get a fresh one. A column's type may change under its id only as `is_widening` allows;
        for any other change give the new column id 0 and `replace` all files in the same transaction. Raises 23502 or
        23505 if the existing rows violate a new NOT NULL or key.
        """
        self._check_open()
        check_definitions(self._catalog, catalog)
        relations = dict(catalog.relations)
        for key, relation in catalog.relations.items():
            old = self._catalog.relations.get(key)
            if isinstance(relation, Table) and relation is not old:
                before = self._catalog.find_relation_by_oid(relation.oid)
                relations[key] = evolve(relation, before, catalog, self._store.key_checker)
        version = self._store.next_version()
        self._catalog = replace(catalog, relations=MappingProxyType(relations), version=version)

    def append(self, oid: int, batches: Iterable[pa.RecordBatch], *, check_keys: bool = True) -> int:
        """Appends rows to a table; returns their number. A RecordBatchReader is a valid iterable.

        Batches have exactly the table's columns in order, each of `SqlType.arrow`. Raises 23502 for a NULL in a NOT
        NULL column and 23505 for a duplicate key. After an error nothing remains of the rows.
        """
        rows = self.replace(oid, (), batches, check_keys=check_keys)
        self._store.activity.add_changes(oid, inserted=rows)
        return rows

    def append_plain(self, oid: int, rows: PlainRows) -> int:
        """Appends plain rows to a table as `append` does."""
        self._check_open()
        table = self.table(oid)
        is_simple = table.partitioned_by is None and table.partition_bound is None and not self.compacting
        if (
            is_simple
            and table.schema != CONTENT_SCHEMA
            and not has_null(table, rows)
            and self._rows.add_plain(table, rows)
        ):
            self._store.activity.add_changes(oid, inserted=rows.num_rows)
            return rows.num_rows
        return self.append(oid, [rows.to_batch(table_schema(table))])

    def replace(
        self,
        oid: int,
        removed: Sequence[DataFile],
        batches: Iterable[pa.RecordBatch],
        *,
        deleted: Mapping[str, DeletedRows] = _NOTHING,
        check_keys: bool = True,
    ) -> int:
        """Replaces whole files, and rows `deleted` from others, by `batches`; returns the number of rows written.

        `deleted` are all deleted rows of a file, by its path. `check_keys=False` asserts that no row has a new key.
        Raises as `append` does.
        """
        self._check_open()
        self._check_rows(self.table(oid))
        return self._replace(oid, removed, batches, deleted, check_keys=check_keys)

    def replace_pages(
        self, oid: int, batches: Iterable[pa.RecordBatch], deleted: Mapping[str, DeletedRows] = _NOTHING
    ) -> None:
        """Replaces rows of the table of large objects' pages, which no statement changes; as `replace` does."""
        self._check_open()
        self._replace(oid, (), batches, deleted, check_keys=False)

    def allocate_oid(self) -> int:
        """Returns a new OID."""
        oid, self._catalog = self._catalog.allocate_oid()
        return oid

    def put_large_object(self, found: LargeObject) -> None:
        """Adds or replaces a large object, on which no plan depends."""
        self._check_open()
        self._catalog = self._catalog.put(found)

    def drop_large_object(self, found: LargeObject) -> None:
        """Removes a large object, whose pages are gone."""
        self._check_open()
        self._catalog = self._catalog.drop(found)

    def find_committed(self, key: str) -> LargeObject | None:
        """Returns a large object as it was committed last, whatever the snapshot is."""
        return self._store.catalog(self._base.database).large_objects.get(key)

    def adopt_table(self, schema: str, name: str) -> bool:
        """Takes a table that was made since the snapshot into it, without rows; returns whether there is one."""
        self._check_open()
        newest = self._store.catalog(self._base.database).relation(schema, name)
        if not isinstance(newest, Table):
            return False
        empty = replace(newest, files=(), metadata_location=None, statistics=())
        changed, base = self.changed, replace(self._base.put(empty), version=self._store.next_version())
        self._catalog = replace(self._catalog.put(empty), version=self._store.next_version()) if changed else base
        self._base = base
        return True

    def _replace(
        self,
        oid: int,
        removed: Sequence[DataFile],
        batches: Iterable[pa.RecordBatch],
        deleted: Mapping[str, DeletedRows],
        *,
        check_keys: bool,
    ) -> int:
        batches = iter(batches)
        few, are_all = ([], False) if self.compacting else take_few(batches)
        batches = few if are_all else chain(few, batches)
        table = self.table(oid)  # functions that computed the rows may have moved it to another state
        if table.partitioned_by is not None:
            if are_all:
                return self._replace_few_in_partitions(table, removed, few, deleted, check_keys=check_keys)
            return self._replace_in_partitions(table, removed, batches, deleted, check_keys=check_keys)
        if table.partition_bound is not None and not self.compacting:
            batches = check_rows(self._find_root(table).tree, table, batches)  # type: ignore[arg-type]
        kept = self._keep_files(table, removed, deleted)
        if are_all:
            known = not check_keys and self._has_committed_keys(oid, _list_changed(table, removed, deleted))
            return self._rows.add(table, kept, batches, check_keys=check_keys, known_keys=known)
        folder, durable = self._store.data_folder(table), self._store.is_durable(table)
        written = write_files(folder, table, batches, durable=durable, processes=self._store.row_processes)
        table = self.table(oid)  # functions that computed the rows may have moved it to another state
        kept = self._keep_files(table, removed, deleted)
        if not check_keys and self._has_committed_keys(oid, _list_changed(table, removed, deleted)):
            self.known_keys |= {file.path for file in written.files}
        self._set_files(table, tuple(kept), written.files, check_keys=check_keys, distinct=written.ascending)
        return written.rows

    def _keep_files(
        self, table: Table, removed: Sequence[DataFile], deleted: Mapping[str, DeletedRows]
    ) -> tuple[DataFile, ...]:
        """Returns the files that stay, with their deleted rows; without any to remove, not even read."""
        if not removed and not deleted:
            return table.files
        gone, known = {file.id for file in removed}, {file.id for file in table.files}
        if not gone <= known or not deleted.keys() <= {file.path for file in table.files if file.id not in gone}:
            raise InternalError(f"a file to replace is not one of table {table.name}'s")
        kept = (file.with_deleted(deleted.get(file.path)) for file in table.files if file.id not in gone)
        return tuple(file for file in kept if file.rows)

    def _find_root(self, table: Table) -> Table:
        return assemble(self._catalog, find_root(self._catalog, table))

    def _replace_in_partitions(
        self,
        table: Table,
        removed: Sequence[DataFile],
        batches: Iterable[pa.RecordBatch],
        deleted: Mapping[str, DeletedRows],
        *,
        check_keys: bool,
    ) -> int:
        """Replaces files and rows of a partitioned table's partitions by rows that are routed to theirs."""
        root = self._find_root(table).tree
        assert root is not None
        leaves = {each.oid: each for each in list_partitions(self._catalog, table) if each.partitioned_by is None}
        durable = self._store.is_durable(table)
        writer = PartitionWriter(
            root,
            table,
            leaves,
            lambda oid: self._store.data_folder(leaves[oid]),
            durable=durable,
            processes=self._store.row_processes,
        )
        written = write_partitions(writer, batches)
        leaves = {oid: self.table(oid) for oid in leaves}
        before, gone = self._catalog, {file.id for file in removed}
        try:
            for oid, leaf in leaves.items():
                own = [file for file in leaf.files if file.id in gone or file.path in deleted]
                if not own and oid not in written:
                    continue
                kept = tuple(f.with_deleted(deleted.get(f.path)) for f in leaf.files if f.id not in gone)
                files = written[oid].files if oid in written else ()
                if not check_keys and self._has_committed_keys(oid, own):
                    self.known_keys |= {file.path for file in files}
                ascending = oid in written and written[oid].ascending
                kept = tuple(file for file in kept if file.rows)
                self._set_files(leaf, kept, files, check_keys=check_keys, distinct=ascending)
        except BaseException:
            self._catalog = before
            self._remove(Path(file.path) for each in written.values() for file in each.files)
            raise
        return sum(each.rows for each in written.values())

    def _replace_few_in_partitions(
        self,
        table: Table,
        removed: Sequence[DataFile],
        batches: Sequence[pa.RecordBatch],
        deleted: Mapping[str, DeletedRows],
        *,
        check_keys: bool,
    ) -> int:
        """Does the same for rows that are few enough for memory."""
        root = self._find_root(table).tree
        assert root is not None
        leaves = {each.oid: each for each in list_partitions(self._catalog, table) if each.partitioned_by is None}
        router = PartitionWriter(root, table, leaves, lambda oid: self._store.data_folder(leaves[oid]), durable=False)
        parts: dict[int, list[pa.RecordBatch]] = defaultdict(list)
        for batch in batches:
            for oid, part in router.split(batch):
                parts[oid].append(part)
        gone = {file.id for file in removed}
        before, written = self._catalog, len(self.written_paths)
        try:
            for oid, leaf in leaves.items():
                own: tuple[DataFile, ...] = ()
                if gone or deleted:
                    own = tuple(file for file in leaf.files if file.id in gone or file.path in deleted)
                if own or oid in parts:
                    here = {file.path: deleted[file.path] for file in own if file.path in deleted}
                    kept = self._keep_files(leaf, [file for file in own if file.id in gone], here)
                    known = not check_keys and self._has_committed_keys(oid, own)
                    self._rows.add(leaf, kept, parts[oid], check_keys=check_keys, known_keys=known)
        except BaseException:
            self._catalog = before
            self._remove_since(written, before)
            raise
        return sum(part.num_rows for each in parts.values() for part in each)

    def put_table(self, table: Table) -> None:
        """Replaces a table in the transaction's catalog."""
        self._catalog = self._catalog.put(table)

    def list_joined(self, table: Table) -> tuple[DataFile, ...]:
        """Returns the files that others have added to a table since the snapshot."""
        newest = self._store.catalog(self._base.database).find_relation_by_oid(table.oid)
        before = self._base.find_relation_by_oid(table.oid)
        if newest is before or not isinstance(newest, Table):
            return ()
        return list_added_rows(newest.files, before.files if isinstance(before, Table) else ())

    def _check_rows(self, table: Table) -> None:
        """42809 for a table that keeps a model, which only gets its rows once, unless its files are compacted."""
        if table.schema == CONTENT_SCHEMA and table.files and not self.compacting:
            raise make_content_error(table.name)

    def _has_committed_keys(self, oid: int, files: Iterable[DataFile]) -> bool:
        """Returns whether all rows of a table's files have keys that were in it before this transaction."""
        before = self._base.find_relation_by_oid(oid)
        added = list_added_rows(files, before.files if isinstance(before, Table) else ())
        return all(file.path in self.known_keys for file in added)

    def adopt(self, oid: int, pattern: str) -> int:
        """Adds the Parquet files that a path or glob names, unchanged; returns their number of rows.

        Raises as `load.adoption.adopt_files` does.
        """
        from gpudb.storage.load.adoption import adopt_files

        self._check_open()
        table = self.table(oid)
        self._check_rows(table)
        files = adopt_files(pattern, table, self._store.data_folder(table), durable=self._store.is_durable(table))
        self._set_files(table, table.files, files)
        rows = sum(file.rows for file in files)
        self._store.activity.add_changes(oid, inserted=rows)
        return rows

    def _set_files(
        self,
        table: Table,
        kept: tuple[DataFile, ...],
        files: tuple[DataFile, ...],
        *,
        check_keys: bool = True,
        distinct: bool = False,
    ) -> None:
        """Sets the table's files to `kept` and the new `files`, which lie in the table's folder; removes those on
        failure.
        """
        try:
            if files and self._store.is_durable(table):
                self.unsynced_folders.add(self._store.data_folder(table))
            if check_keys:
                self._store.key_checker.check(
                    self._catalog, table, files, kept, distinct=distinct, is_deferred=self.is_deferred
                )
        except BaseException:
            for file in files:
                Path(file.path).unlink(missing_ok=True)
            raise
        self.written_paths += [Path(file.path) for file in files]
        if kept + files != table.files:
            self._catalog = self._catalog.put(replace(table, files=kept + files))
            if check_keys and files and (table.keys or table.exclusions):
                self.check_newest_keys(table.oid)

    def check_newest_keys(self, oid: int) -> None:
        """Raises 23505 at once for keys that others have added to a table since the snapshot, as the commit would."""
        newest = self._store.catalog(self._base.database)
        if newest.find_relation_by_oid(oid) is self._base.find_relation_by_oid(oid):
            return
        merged = merge(self._base, self._catalog, newest, self._store.compactions, self.lost_roles)
        own = (change for change in merged.changes if change.oid == oid)
        check_joined_keys(self._store.key_checker, merged.catalog, own, self.known_keys, self.is_deferred)

    def restore(self, oid: int, files: tuple[DataFile, ...]) -> None:
        """Makes the files of one of a table's kept snapshots its files; 23502 or 23505 if its rows violate a key."""
        self._check_open()
        self._check_rows(self.table(oid))
        table = replace(self.table(oid), files=files)
        self._store.key_checker.check(self._catalog, table, files, ())
        for column in table.columns:
            if column.not_null:
                self._store.key_checker.check_no_nulls(table, column.name)
        self._catalog = self._catalog.put(table)

    def check_references(self, oid: int, known: Iterable[DataFile], foreign: ForeignKey) -> None:
        """Raises 23503 if a row of the table's files, except the `known` ones, references no row visible to this
        transaction.
        """
        table, referenced = self.table(oid), self.table(foreign.table)
        added = table.files.list_since(known) if isinstance(table.files, PendingFiles) else None
        if added is not None and (
            not added or are_references_known(self._store.key_checker.index, table, added, foreign, referenced)
        ):
            return
        fresh = list_added_rows(table.files, known)
        check_references(self._store.key_checker, table, fresh, foreign, referenced)

    def check_exclusion(self, oid: int, exclusion: Exclusion) -> None:
        """Raises 23505 or 23P01 if rows of a table that were added since the first change violate an exclusion."""
        table, before = self.table(oid), self.origin.find_relation_by_oid(oid)
        new = list_added_rows(table.files, before.files if isinstance(before, Table) else ())
        added = {file.path for file in new}
        existing = [file for file in table.files if file.path not in added]
        self._store.key_checker.check_exclusion(self._catalog, table, exclusion, new, existing)

    def truncate(self, oid: int) -> None:
        """Removes all rows of a table."""
        self._check_open()
        table = self.table(oid)
        self._check_rows(table)
        for each in (table, *list_partitions(self._catalog, table)):
            if each.partitioned_by is None and (isinstance(each.files, PendingFiles) or each.files):
                self._catalog = self._catalog.put(replace(each, files=()))

    def table(self, oid: int) -> Table:
        """Returns the table of an OID as this transaction sees it; raises 42P01 if there is none.

        A partitioned table has the files of its partitions.
        """
        found = self._catalog.find_relation_by_oid(oid)
        if not isinstance(found, Table):
            raise UndefinedTable(f"relation with OID {oid} does not exist")
        return assemble(self._catalog, found)

    def savepoint(self) -> Savepoint:
        """Returns the current state for `rollback_to`; any number may be kept."""
        locks, changed = self._store.locks.count_held(self.number), self._catalog if self.changed else None
        return Savepoint(self.number, changed, len(self.written_paths), self._base, locks)

    def rollback_to(self, savepoint: Savepoint, *, keeps_locks: bool = False) -> None:
        """Undoes all changes since a savepoint of this transaction; releases its locks since, unless it keeps them."""
        self._check_open()
        if savepoint.number != self.number:
            raise InternalError("the savepoint is of another transaction")
        if not keeps_locks:
            self.release_locks(savepoint.locks)
        self._remove_since(savepoint.written, savepoint.catalog)
        # Without changes, the transaction may have moved to another snapshot since
        if savepoint.catalog is None:
            self._catalog = self._base
        else:
            self._catalog, self._base, self._newest = savepoint.catalog, savepoint.base, savepoint.base
            self._rights_version = -1

    def lock(
        self,
        oid: int,
        timeout: float | None = None,
        check: Callable[[], None] | None = None,
        *,
        shared: bool = False,
    ) -> bool:
        """Waits for a table's lock and holds it until the transaction ends.

        For statements that replace files: lock, then `refresh` where the isolation level allows it, then read. Returns
        True if it had to wait, or if others have committed to the table since this transaction's snapshot: replacing
        files of that snapshot would conflict. Raises 55P03 after `timeout` seconds and 40P01 on a deadlock; `check` is
        called while waiting and may raise.
        """
        self._check_open()
        waited = self._store.locks.acquire(oid, self.number, timeout, check, party=self.party, shared=shared)
        return waited or self._is_outdated(oid)

    def try_lock(self, oid: int, *, shared: bool = False) -> bool | None:
        """Takes a table's lock if nobody has to be waited for.

        Returns what `lock` returns, or None if the lock is not free.
        """
        self._check_open()
        taken = self._store.locks.try_acquire(oid, self.number, party=self.party, shared=shared)
        return self._is_outdated(oid) if taken else None

    def _is_outdated(self, oid: int) -> bool:
        committed = self._store.catalog(self._base.database)
        return committed.find_relation_by_oid(oid) is not self._base.find_relation_by_oid(oid)

    def refresh(self, *, reads_on: bool = False) -> None:
        """Moves a transaction without changes to the last committed state.

        A shared snapshot is kept. If it `reads_on`, something still reads the state that it leaves, whose files stay
        on disk until it ends.
        """
        self._check_open()
        if self.changed:
            raise InternalError("a transaction with changes cannot take another snapshot")
        if self.shares_snapshot:
            return
        database = self._base.database
        moved = self._store.catalog(database) if reads_on else self._store.open_snapshot(self.number, database)
        self._base = self._catalog = self._newest = self.origin = moved
        self._rights_version = moved.version

    def advance(self, *, rows_alone: bool = False) -> bool:
        """Moves to the last committed state, with this transaction's changes on top; returns whether it is another one.

        With `rows_alone` not to one with other definitions, in the midst of a statement that is bound to these. What
        still reads the state that it leaves may go on: the files stay on disk until the transaction ends. As `commit`
        would, raises 40001 if others have changed what this transaction has, and 23505 if they have added its keys.
        """
        newest = self._store.catalog(self._base.database)
        if newest is self._newest or (rows_alone and newest.version != self._base.version):
            return False
        self._check_open()
        self.take_rights()
        if self.changed:
            own, pending = self._rows.detach(self._catalog, self._base, newest)
            merged = merge(self._base, own, newest, self._store.compactions, self.lost_roles)
            # The commit no longer compares keys with those of the state that is taken now
            check_joined_keys(
                self._store.key_checker, merged.catalog, merged.changes, self.known_keys, self.is_deferred
            )
            for oid in self._rows.find_clashes(pending):
                self.check_newest_keys(oid)
            defines = self._catalog.version != self._base.version
            version = self._store.next_version() if defines else newest.version
            self._catalog = replace(merged.catalog, version=version)
            self._rows.attach(pending)
        else:
            self._catalog = self.origin = newest
        self._base = self._newest = newest
        self._rights_version = newest.version
        return True

    def lock_items(
        self,
        wanted: Sequence[tuple[Lockable, bool]],
        timeout: float | None = None,
        check: Callable[[], None] | None = None,
    ) -> bool:
        """Waits for locks, each shared or not, and holds them until the transaction ends; returns whether it waited.

        Raises as `lock` does.
        """
        self._check_open()
        return self._store.locks.acquire_all(wanted, self.number, timeout, check, party=self.party)

    def try_lock_item(self, target: Lockable, *, shared: bool = False) -> bool:
        """Takes a lock if nobody has to be waited for; returns whether it did."""
        self._check_open()
        return self._store.locks.try_acquire(target, self.number, party=self.party, shared=shared)

    def release_locks(self, kept: int = 0) -> None:
        """Releases its locks but the first ones, once what they were for is to be undone."""
        self._store.locks.release_last(self.number, kept)

    def holds_lock(self, target: Lockable) -> bool:
        """Returns whether it holds a lock alone."""
        return self._store.locks.holds(target, self.party)

    def count_free_items(self) -> int:
        """Returns how many more items it may lock."""
        return self._store.locks.max_items - self._store.locks.count_held(self.number)

    def newest_table(self, oid: int) -> Table | None:
        """Returns the table of an OID as it was committed last, without this transaction's changes; None if gone."""
        newest = self._store.catalog(self._base.database)
        found = newest.find_relation_by_oid(oid)
        return assemble(newest, found) if isinstance(found, Table) else None

    def list_compacted(self) -> set[str]:
        """Returns the paths of files that compactions have merged which open transactions may not have seen."""
        return {file.path for each in self._store.compactions for file in each.inputs}

    def take_rights(self) -> None:
        """Takes over what others have committed of rights: privileges are those of now, whatever the snapshot is."""
        newest = self._store.catalog(self._base.database)
        if not self._open or newest.version == self._rights_version:
            return
        self._rights_version = newest.version
        base, own = take_rights(self._base, self._catalog, newest)
        if base is self._base:
            return
        self.lost_roles |= self._base.roles.keys() - base.roles.keys()
        base = replace(base, version=self._store.next_version())
        self._catalog = replace(own, version=self._store.next_version()) if self.changed else base
        self._base = base

    def export_snapshot(self) -> str:
        """Returns an identifier under which others can import the snapshot, without this transaction's changes."""
        self._check_open()
        self.shares_snapshot = True
        return self._store.exported_snapshots.add(self.number, self._base)

    def import_snapshot(self, identifier: str) -> bool:
        """Moves a transaction without changes to an exported snapshot; returns whether there is one.

        Raises 0A000 for the snapshot of another database.
        """
        self._check_open()
        if self.changed:
            raise InternalError("a transaction with changes cannot take another snapshot")
        found = self._store.exported_snapshots.open(identifier, self.number, self._base.database)
        if found is None:
            return False
        self._base = self._catalog = found
        self._rights_version = -1
        self.shares_snapshot = True
        return True

    def commit(self) -> None:
        """Makes all changes durable and visible at once, or rolls back and raises.

        Raises 40001 if another transaction changed the same files or definitions first; 42P07, 42P06 or 42710 if it
        created the same name; 23505 if it inserted the same key; 53100 or 58030 if writing to disk fails.
        """
        if not self._open:
            return
        outcome = CommitOutcome()
        try:
            if self.changed:
                self.few_rows = self._rows.list_few() if self._store.takes_few_rows else None
                if self.few_rows is None:
                    self.settle()
                outcome = self._store.commit(self)
        except BaseException:
            self.rollback()
            raise
        self._end()
        if outcome.error is not None:
            raise outcome.error

    def settle(self) -> None:
        """Writes and syncs the rows that are in memory; called by the store for `few_rows` that it does not take."""
        self.few_rows = None
        self._rows.settle()

    def rollback(self) -> None:
        """Discards all changes and removes the files that it wrote."""
        if not self._open:
            return
        self._remove(self.written_paths)
        self._end()

    def _remove_since(self, number: int, catalog: Catalog | None) -> None:
        """Removes the files written after the first `number`, but those of a catalog's rows in memory."""
        kept = set[Path]() if catalog is None else self._rows.list_files(catalog)
        since = self.written_paths[number:]
        self._remove(path for path in since if path not in kept)
        self.written_paths[number:] = [path for path in since if path in kept]

    def _remove(self, paths: Iterable[Path]) -> None:
        for path in paths:
            path.unlink(missing_ok=True)

    def _end(self) -> None:
        self._open = False
        self._store.end_transaction(self)

    def _check_open(self) -> None:
        if not self._open:
            raise InternalError("the transaction has ended")

    def __enter__(self) -> Transaction:
        """Returns the transaction."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Rolls back unless committed."""
        self.rollback()
