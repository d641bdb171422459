"""The few rows of a transaction: in memory, in unsynced files once something reads them, in one file a table at COMMIT.

Rows in memory are `pending_rows.PendingFiles` of their table in the transaction's catalog, so that savepoints and
statements that still read an older state have them as they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from gpudb.catalog.lazy_files import Files, LazyFiles
from gpudb.catalog.model import Catalog
from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.storage.catalog.merge import has_same_definition
from gpudb.storage.constraints.exclusions import IsDeferred
from gpudb.storage.constraints.key_lookup import digest_new_keys, digest_plain_keys
from gpudb.storage.constraints.keys import KeyChecker
from gpudb.storage.iceberg.append import convert_rows, write_files
from gpudb.storage.iceberg.column_layout import stored_schema
from gpudb.storage.iceberg.file_writer import disk_errors, sync
from gpudb.storage.pending_rows import MAX_BYTES, MAX_ROWS, Columns, PendingFiles, Rows
from gpudb.storage.plain_rows import PlainRows


class RowsHost(Protocol):
    """The store, as far as rows need it."""

    key_checker: KeyChecker

    def is_durable(self, table: Table) -> bool:
        """Returns whether the table outlives the store."""

    def data_folder(self, table: Table) -> Path:
        """Returns the folder of a table's data files; creates and syncs it if needed."""


FEW_BYTES = 1 << 20
"""More bytes of rows than these are written by their transaction, since the log of commits would have them twice."""


class RowsOwner(Protocol):
    """The transaction, as far as its rows need it."""

    written_paths: list[Path]
    known_keys: set[str]
    unsynced_folders: set[Path]
    is_deferred: IsDeferred

    @property
    def base(self) -> Catalog:
        """The snapshot."""

    @property
    def catalog(self) -> Catalog:
        """The snapshot with the transaction's changes."""

    def put_table(self, table: Table) -> None:
        """Replaces a table in the transaction's catalog."""

    def list_joined(self, table: Table) -> Files:
        """Returns the files that others have added to a table since the snapshot."""

    def check_newest_keys(self, oid: int) -> None:
        """Raises 23505 at once for keys that others have added to a table since the snapshot, as the commit would."""


class UncommittedRows:
    """Few rows of one transaction. Paths of the files are its `written_paths`, which a rollback removes."""

    def __init__(self, store: RowsHost, transaction: RowsOwner) -> None:
        """Begins without rows."""
        self._store, self._owner = store, transaction
        self._unsynced: dict[str, tuple[Column, ...]] = {}
        """The columns of the files that are written anew at COMMIT, by path."""
        self._tables: set[int] = set()

    def add(
        self, table: Table, kept: Files, batches: Iterable[pa.RecordBatch], *, check_keys: bool, known_keys: bool
    ) -> int:
        """Makes `kept` files and few rows the rows of a table; returns the number of rows.

        With `known_keys` the rows' keys were the table's before. Raises as `Transaction.append` does.
        """
        waiting = kept if isinstance(kept, PendingFiles) and _has_form(kept, table) else None
        schema = stored_schema(table.columns) if waiting is None else waiting.schema
        stored = [convert_rows(table, schema, batch) for batch in batches]
        stored = [batch for batch in stored if batch.num_rows]
        rows: int = sum(batch.num_rows for batch in stored)
        if not rows:
            if kept is not table.files:
                self._owner.put_table(replace(table, files=tuple(kept)))
            return 0
        self._tables.add(table.oid)
        pending = waiting if waiting is not None else PendingFiles(table, schema, tuple(kept), self._write)
        keys: Mapping[Columns, list[object]] | None = {}
        if check_keys and (table.keys or table.exclusions):
            joined = self._owner.list_joined(table)
            keys = digest_new_keys(self._store.key_checker.index, table, stored, pending, joined)
        if keys is None:
            self._add_checked(table, pending, stored)
        else:
            self._append(table, pending, stored, keys, known=known_keys)
        return rows

    def add_plain(self, table: Table, rows: PlainRows) -> bool:
        """Adds plain rows to a table; returns False if `add` has to, since their keys are not told apart so quickly.

        No NOT NULL column has a NULL.
        """
        if table.exclusions:
            return False
        files = table.files
        pending = files if isinstance(files, PendingFiles) and _has_form(files, table) else None
        if pending is None:
            pending = PendingFiles(table, stored_schema(table.columns), tuple(files), self._write)
        keys: Mapping[Columns, list[object]] | None = {}
        if table.keys:
            joined = self._owner.list_joined(table)
            keys = digest_plain_keys(self._store.key_checker.index, table, rows, pending, joined)
        if keys is None:
            return False
        self._tables.add(table.oid)
        self._append(table, pending, [rows], keys, known=False)
        return True

    def _append(
        self,
        table: Table,
        pending: PendingFiles,
        rows: Sequence[Rows],
        keys: Mapping[Columns, list[object]],
        *,
        known: bool,
    ) -> None:
        """Adds rows to those in memory, or writes all of them if they become too many."""
        pending = pending.append(rows, keys, known=known)
        files: Files = pending
        if pending.rows > MAX_ROWS or pending.bytes > MAX_BYTES:
            files = pending.stored + self._write_synced(table, *pending.split())
        self._owner.put_table(table.with_files(files))

    def _add_checked(self, table: Table, pending: PendingFiles, batches: Sequence[pa.RecordBatch]) -> None:
        """Adds rows whose keys a query compares."""
        kept = pending.resolve() if pending.rows else pending.stored
        folder = self._store.data_folder(table)
        written = write_files(folder, table, batches, durable=False, stored=True)
        self._owner.written_paths += [Path(file.path) for file in written.files]
        self._note_unsynced(table, written.files)
        self._store.key_checker.check(
            self._owner.catalog,
            table,
            written.files,
            kept,
            distinct=written.ascending,
            is_deferred=self._owner.is_deferred,
        )
        self._owner.put_table(replace(table, files=kept + written.files))
        self._owner.check_newest_keys(table.oid)

    def _write(self, pending: PendingFiles) -> Files:
        """Writes rows in memory for those who read them before COMMIT."""
        files = self._write_sides(pending.table, *pending.split(), durable=False)
        self._note_unsynced(pending.table, files)
        return files

    def _note_unsynced(self, table: Table, files: Files) -> None:
        self._unsynced |= {file.path: table.columns for file in files}

    def _write_sides(
        self, table: Table, new: Iterable[pa.RecordBatch], known: Iterable[pa.RecordBatch], *, durable: bool
    ) -> Files:
        """Writes rows with new keys, and in files of their own those with keys that the table had before."""
        folder = self._store.data_folder(table)
        fresh, old = (write_files(folder, table, each, durable=durable, stored=True).files for each in (new, known))
        self._owner.written_paths += [Path(file.path) for file in fresh + old]
        self._owner.known_keys |= {file.path for file in old}
        return fresh + old

    def _write_synced(self, table: Table, new: Iterable[pa.RecordBatch], known: Iterable[pa.RecordBatch]) -> Files:
        durable = self._store.is_durable(table)
        files = self._write_sides(table, new, known, durable=durable)
        if files and durable:
            self._owner.unsynced_folders.add(self._store.data_folder(table))
        return files

    def list_files(self, catalog: Catalog) -> set[Path]:
        """Returns the files of rows in memory that are written for tables of a catalog."""
        found = (catalog.find_relation_by_oid(oid) for oid in self._tables)
        made = (each.files for each in found if isinstance(each, Table))
        return {Path(file.path) for files in made if isinstance(files, LazyFiles) and files.is_made for file in files}

    def detach(
        self, catalog: Catalog, base: Catalog, newest: Catalog
    ) -> tuple[Catalog, list[tuple[int, PendingFiles]]]:
        """Returns a catalog whose tables lack the rows in memory, and those rows by table, for `attach`.

        Rows stay in tables that others have defined anew or dropped since `base`: the merge with `newest` refuses them.
        """
        found = []
        for oid in self._tables:
            table = catalog.find_relation_by_oid(oid)
            if not isinstance(table, Table) or not isinstance(table.files, PendingFiles):
                continue
            same = has_same_definition(base.find_relation_by_oid(oid), newest.find_relation_by_oid(oid))
            if same and _has_form(table.files, table):
                found.append((oid, table.files))
                catalog = catalog.put(replace(table, files=table.files.stored))
        return catalog, found

    def attach(self, pending: Iterable[tuple[int, PendingFiles]]) -> None:
        """Adds rows in memory to the files that their tables now have."""
        for oid, files in pending:
            table = self._owner.catalog.find_relation_by_oid(oid)
            assert isinstance(table, Table)
            self._owner.put_table(replace(table, files=files.rebase(table, tuple(table.files))))

    def find_clashes(self, pending: Iterable[tuple[int, PendingFiles]]) -> Iterator[int]:
        """Yields the tables of which rows in memory may have keys that others have added since the snapshot."""
        for oid, files in pending:
            table = self._owner.catalog.find_relation_by_oid(oid)
            new, _ = files.split()
            if not isinstance(table, Table) or not (table.keys or table.exclusions) or not new:
                continue
            joined = self._owner.list_joined(table)
            if joined and digest_new_keys(self._store.key_checker.index, table, new, (), joined) is None:
                yield oid

    def list_few(self) -> Mapping[int, PendingFiles] | None:
        """Returns the rows in memory by table, if a transaction has changed nothing else; None otherwise."""
        catalog, base = self._owner.catalog, self._owner.base
        if catalog.version != base.version or self._owner.written_paths:
            return None
        found: dict[int, PendingFiles] = {}
        for key, table in catalog.relations.items():
            before = base.relations.get(key)
            if table is before:
                continue
            if not isinstance(table, Table) or not isinstance(before, Table) or not _adds_few(table, before):
                return None
            found[table.oid] = table.files  # type: ignore[assignment]
        if len(catalog.relations) != len(base.relations) or sum(each.bytes for each in found.values()) > FEW_BYTES:
            return None
        return found or None

    def settle(self) -> None:
        """Writes and syncs the rows of tables as they are at COMMIT."""
        for oid in sorted(self._tables):
            table = self._owner.catalog.find_relation_by_oid(oid)
            if isinstance(table, Table):
                with disk_errors():
                    files = self._settle(table)
                if files is not table.files:
                    self._owner.put_table(replace(table, files=files))

    def _settle(self, table: Table) -> Files:
        new: Sequence[pa.RecordBatch] = ()
        known: Sequence[pa.RecordBatch] = ()
        files = table.files
        if isinstance(files, PendingFiles) and _has_form(files, table):
            (new, known), files = files.split(), files.stored
        files = tuple(files)
        unsynced = [file for file in files if file.path in self._unsynced]
        merged = [file for file in unsynced if self._unsynced[file.path] == table.columns]
        if len(merged) == 1 and not new and not known and merged[0].deleted is None:
            merged = []  # it is what would be written
        if self._store.is_durable(table) and len(unsynced) > len(merged):
            for file in unsynced:
                if file not in merged:
                    sync(Path(file.path))
            self._owner.unsynced_folders.add(self._store.data_folder(table))
        if not merged and not new and not known:
            return files
        old = [file for file in merged if file.path in self._owner.known_keys]
        fresh = [file for file in merged if file.path not in self._owner.known_keys]
        written = self._write_synced(table, chain(_read_rows(table, fresh), new), chain(_read_rows(table, old), known))
        return tuple(file for file in files if file not in merged) + written


def _has_form(files: PendingFiles, table: Table) -> bool:
    """Returns whether more rows of a table can be added to those in memory, which no file has yet."""
    own = files.table
    if files.is_made:
        return False
    return own is table or (own.columns == table.columns and own.distribution == table.distribution)


def _adds_few(table: Table, before: Table) -> bool:
    """Returns whether a table differs in rows in memory alone, which nothing has read."""
    files = table.files
    if (
        not isinstance(files, PendingFiles)
        or not files.rows
        or files.has_known_keys
        or files.stored is not before.files
    ):
        return False
    return _has_form(files, table) and has_same_definition(table, before)


def _read_rows(table: Table, files: Iterable[DataFile]) -> Iterator[pa.RecordBatch]:
    """Yields the live rows of files with a table's columns, in stored form."""
    import numpy as np
    import pyarrow.parquet as pq

    schema = stored_schema(table.columns)
    for file in files:
        with pq.ParquetFile(file.path) as source:
            rows = source.read()
        if file.deleted is not None:
            rows = rows.take(pa.array(np.setdiff1d(np.arange(rows.num_rows), file.deleted.rows)))
        yield from rows.cast(schema).to_batches()
