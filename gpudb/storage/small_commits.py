"""Commits that add few rows alone: written together as one file a table, and as one record of the commit log.

What waits at the same time is one `SmallGroup`. Its rows are everybody's at once; Iceberg's metadata follows when the
log is folded (`folding`). Until then each table has `pending` snapshots, which the next metadata lists.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from gpudb.catalog.copies import copy_with
from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import DataFile, Table, TableSnapshot, list_added_rows
from gpudb.errors import GpudbError
from gpudb.storage.catalog.merge import Change, MergeResult, has_same_definition
from gpudb.storage.commit_log import CommitLog, LoggedCommit, LoggedFile, LoggedTable
from gpudb.storage.committed_state import CommittedState
from gpudb.storage.constraints.key_lookup import (
    are_keys_new,
    are_references_known,
    list_key_digests,
    remember_keys,
)
from gpudb.storage.constraints.keys import KeyChecker
from gpudb.storage.data_directory import DataDirectory
from gpudb.storage.iceberg.append import write_files
from gpudb.storage.iceberg.file_writer import disk_condition, sync_all
from gpudb.storage.iceberg.history import select_kept
from gpudb.storage.pending_rows import Columns, PendingFiles
from gpudb.storage.transaction import Transaction


@dataclass(slots=True)
class SmallGroup:
    """The rows of transactions of one database that are committed together, by their tables' OIDs.

    `keys` are the digests of their keys by the tables' OIDs and the keys' columns.
    """

    catalog: Catalog
    rows: dict[int, list[PendingFiles]] = field(default_factory=dict)
    keys: dict[tuple[int, Columns], set[object]] = field(default_factory=dict)


class SmallCommits:
    """The small commits of a store. Whoever calls it holds the lock of commits."""

    def __init__(
        self, directory: DataDirectory, committed: CommittedState, key_checker: KeyChecker, log: CommitLog | None
    ) -> None:
        """Without a `log` nothing outlives the store."""
        self.pending: dict[int, list[TableSnapshot]] = {}
        """The snapshots of tables that no metadata lists yet, oldest first."""
        self.database = ""
        """The database of those tables."""
        self.since = 0.0
        """The time of the first of those commits."""
        self._unsynced: dict[Path, None] = {}
        self._directory, self._committed = directory, committed
        self._keys, self._log = key_checker, log

    @property
    def log_bytes(self) -> int:
        """The bytes of the commits in the log that are not folded."""
        return 0 if self._log is None else self._log.size

    def begin_group(self, database: str) -> SmallGroup:
        """Returns a group without rows over the committed state."""
        return SmallGroup(self._committed.catalog(database))

    def join(self, transaction: Transaction, group: SmallGroup) -> bool:
        """Adds the rows of a transaction to a group; returns False if it has to be committed by itself.

        It has to where its rows may conflict with what others have committed since its snapshot, or with the group's.
        """
        rows, catalog = transaction.few_rows, group.catalog
        if rows is None or self._committed.is_closed or transaction.lost_roles:
            return False
        keys: dict[tuple[int, Columns], set[object]] = {}
        for oid, files in rows.items():
            table, before = catalog.find_relation_by_oid(oid), transaction.base.find_relation_by_oid(oid)
            if not isinstance(table, Table) or not table.is_readable or not isinstance(before, Table):
                return False
            if table.exclusions or (table is not before and not has_same_definition(table, before)):
                return False
            if not self._has_new_keys(table, before, files, group, keys):
                return False
            if not self._has_references(transaction, catalog, table, files):
                return False
        for oid, files in rows.items():
            group.rows.setdefault(oid, []).append(files)
        for place, digests in keys.items():
            group.keys.setdefault(place, set()).update(digests)
        return True

    def _has_new_keys(
        self,
        table: Table,
        before: Table,
        files: PendingFiles,
        group: SmallGroup,
        found: dict[tuple[int, Columns], set[object]],
    ) -> bool:
        """Returns whether keys of rows are none that others have added since the snapshot, or add in this group."""
        joined = () if table is before else list_added_rows(table.files, before.files)
        if not table.keys or not (joined or table.oid in group.rows):
            for key in table.keys:
                digests = list_key_digests(table, key, files)
                found[table.oid, key.columns] = {_UNKNOWN} if digests is None else digests
            return True
        for key in table.keys:
            digests = list_key_digests(table, key, files)
            others = group.keys.get((table.oid, key.columns), set())
            if digests is None or _UNKNOWN in others or not others.isdisjoint(digests):
                return False
            if not are_keys_new(self._keys.index, table, key, digests, joined):
                return False
            found[table.oid, key.columns] = digests
        return True

    def _has_references(self, transaction: Transaction, catalog: Catalog, table: Table, files: PendingFiles) -> bool:
        """Returns whether rows refer to rows that are still there, as far as others may have taken them."""
        for foreign in table.foreign_keys:
            referenced = catalog.find_relation_by_oid(foreign.table)
            if isinstance(referenced, Table) and referenced.partitioned_by is not None:
                return False  # its partitions have the rows
            if referenced is transaction.origin.find_relation_by_oid(foreign.table):
                continue
            if not isinstance(referenced, Table) or foreign.table == table.oid:
                return False
            if not any(set(key.columns) == set(foreign.referenced) for key in referenced.keys):
                return False
            if not are_references_known(self._keys.index, table, files.parts, foreign, referenced):
                return False
        return True

    def publish(self, group: SmallGroup) -> MergeResult:
        """Commits a group; raises if nothing of it is committed."""
        catalog, states = group.catalog, self._committed.states
        moment = states.next_moment()
        changes: list[Change] = []
        relations, snapshots = dict(catalog.relations), dict(catalog.snapshots)
        logged: list[LoggedTable] = []
        made: dict[int, TableSnapshot] = {}
        try:
            for oid, parts in group.rows.items():
                table = catalog.find_relation_by_oid(oid)
                assert isinstance(table, Table)
                files = self._write(table, parts)
                new = table.with_files(table.files + files)
                changes.append(Change(oid, table, new, files))
                relations[table.key] = new
                if self._directory.is_durable(table):
                    made[oid] = snapshot = TableSnapshot(uuid.uuid4().int >> 65, moment, "append", new)
                    snapshots[oid] = select_kept((*snapshots.get(oid, ()), snapshot), moment, states.retention)
                    logged.append(self._describe(oid, snapshot.id, files))
            if logged and self._log is not None:
                number = self._committed.commits + 1
                self._log.append(LoggedCommit(number, moment, catalog.database, tuple(logged)))
        except BaseException as error:
            for change in changes:
                for file in change.added:
                    Path(file.path).unlink(missing_ok=True)
            if isinstance(error, OSError):
                message = f"could not write the log of commits: {error}"
                raise GpudbError(message, condition=disk_condition(error)) from error
            raise
        for oid, snapshot in made.items():
            self.add(catalog.database, oid, snapshot, self._list_added(changes, oid))
        made_relations, made_snapshots = MappingProxyType(relations), MappingProxyType(snapshots)
        changed = copy_with(catalog, relations=made_relations, snapshots=made_snapshots)
        self._committed.install(MappingProxyType({**self._committed.catalogs, catalog.database: changed}))
        return MergeResult(changed, tuple(changes), {})

    def _list_added(self, changes: Sequence[Change], oid: int) -> list[Path]:
        return [Path(file.path) for change in changes if change.oid == oid for file in change.added]

    def _write(self, table: Table, parts: Sequence[PendingFiles]) -> tuple[DataFile, ...]:
        """Writes rows of a table into a file that is not synced: the log has it until the file is."""
        folder = self._directory.data_folder(table)
        batches = [batch for part in parts for batch in part.batches]
        files = write_files(folder, table, batches, durable=False, stored=True).files
        if len(files) == 1:
            remember_keys(self._keys.index, table, files[0], batches)
        return files

    def _describe(self, oid: int, snapshot: int, files: Sequence[DataFile]) -> LoggedTable:
        root = self._directory.tables
        logged = [
            LoggedFile(str(Path(file.path).relative_to(root)), file.bucket, Path(file.path).read_bytes())
            for file in files
        ]
        return LoggedTable(oid, snapshot, tuple(logged))

    def add(self, database: str, oid: int, snapshot: TableSnapshot, files: Sequence[Path]) -> None:
        """Notes a snapshot of a table, and its files that are not synced, until they are folded."""
        if not self.pending:
            self.since, self.database = time.monotonic(), database
        self.pending.setdefault(oid, []).append(snapshot)
        self._unsynced.update(dict.fromkeys(files))

    def sync_files(self) -> None:
        """Syncs the files of commits in the log, and their folders."""
        taken = list(self._unsynced)
        sync_all(taken)
        sync_all(list({path.parent for path in taken}))
        for path in taken:
            self._unsynced.pop(path, None)

    def list_folded(self, catalog: Catalog, changes: Sequence[Change]) -> list[Change]:
        """Returns the changes that fold the tables with pending snapshots, without those that change anyway."""
        known = {change.oid for change in changes}
        tables = (catalog.find_relation_by_oid(oid) for oid in self.pending if oid not in known)
        return [Change(table.oid, table, table) for table in tables if isinstance(table, Table)]

    def clear(self) -> None:
        """Forgets the commits in the log: all are folded."""
        self.pending.clear()
        if self._log is not None:
            self._log.clear()

    def close(self) -> None:
        """Closes the log."""
        if self._log is not None:
            self._log.close()


_UNKNOWN = object()
"""Stands for the digests of keys of types that have none."""
