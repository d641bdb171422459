"""Locks of rows, by their file and number: a statement waits for those who change its rows.

Rows of a transaction's own files need none. A statement of many rows locks their whole table. Whoever has locked a row
looks whether it is still a row of the newest state; files are immutable, and compaction waits for locks of rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.catalog.partition_trees import assemble
from gpudb.catalog.tables import DataFile, Table
from gpudb.errors import SerializationFailure, SqlError
from gpudb.session.context import Context
from gpudb.session.execution.locks_and_snapshots.restarts import StatementRestart
from gpudb.storage.locks import Item, Lockable

MAX_ROWS = 1000
"""A statement that locks more rows of a table locks the table."""
Rows = npt.NDArray[np.int64]


def group_rows(positions: pa.Table) -> Iterator[tuple[str, Rows]]:
    """Yields the path of each file among positions, a table of `file` and `row`, and the numbers of its rows."""
    # The paths of all rows together may be too long for one array.
    files = positions.column(0).dictionary_encode().combine_chunks()
    codes, rows = files.indices.to_numpy(), positions.column(1).to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(files.dictionary)))[:-1]
    yield from zip(files.dictionary.to_pylist(), np.split(rows[order], ends), strict=True)


def lock_rows(context: Context, table: Table, positions: pa.Table, *, shared: bool = False) -> None:
    """Waits for those who change or lock rows of a table at `positions`, a table of `file` and `row`, and locks them.

    55P03, 40P01; StatementRestart, or 40001 in a transaction that keeps its snapshot, for a row that is gone.
    """
    if table.temporary or not positions.num_rows:
        return
    rows = _find_committed(context, table, positions)
    if not rows:
        return
    files = {file.path: file for file in read_base(context, table).files}
    count = sum(len(each) for each in rows.values())
    tables = sorted({files[path].partition or table.oid for path in rows})
    wanted: list[tuple[Lockable, bool]] = [(oid, True) for oid in tables]
    if count <= min(MAX_ROWS, context.transaction.count_free_items()):
        items = {item for path, numbers in rows.items() for item in _list_items(files[path], table, numbers)}
        wanted += [(item, shared) for item in sorted(items)]
    else:
        wanted = [(oid, False) for oid in tables]
    context.transaction.lock_items(wanted, context.lock_seconds, context.cancel.check)
    check_current(context, table, rows)


def try_lock_row(context: Context, table: Table, file: DataFile | None, row: int, *, shared: bool) -> bool:
    """Locks one row of a file if nobody has to be waited for; returns whether it did.

    As in PostgreSQL, the lock of its table is waited for. `file` is the snapshot's; None stands for the transaction's
    own. Raises as `lock_rows` does if the row is gone.
    """
    transaction = context.transaction
    if file is None or table.temporary:
        return True
    rows = {file.path: np.array([row], dtype=np.int64)}
    if not context.session.transactions.keeps_snapshot:
        check_current(context, table, rows)
    wanted: list[tuple[Lockable, bool]] = [(file.partition or table.oid, True)]
    transaction.lock_items(wanted, context.lock_seconds, context.cancel.check)
    (item,) = _list_items(file, table, rows[file.path])
    if not transaction.try_lock_item(item, shared=shared):
        return False
    check_current(context, table, rows)
    return True


def try_lock_table(context: Context, table: Table) -> bool:
    """Locks all rows of a table if nobody has to be waited for; returns whether it did. Raises as `lock_rows` does."""
    if table.temporary:
        return True
    if not all(context.transaction.try_lock_item(oid) for oid in _list_tables(context, table)):
        return False
    _check_unchanged(context, table)
    return True


def lock_whole_table(context: Context, table: Table, *, nowait: bool = False) -> None:
    """Locks all rows of a table, also those to come; raises as `lock_rows` does. 55P03 with `nowait`."""
    if nowait:
        if not try_lock_table(context, table):
            raise make_nowait_error(table)
    elif not table.temporary:
        wanted: list[tuple[Lockable, bool]] = [(oid, False) for oid in _list_tables(context, table)]
        context.transaction.lock_items(wanted, context.lock_seconds, context.cancel.check)
        _check_unchanged(context, table)


def _list_tables(context: Context, table: Table) -> list[int]:
    return sorted({file.partition for file in read_base(context, table).files} - {0} | {table.oid})


def _check_unchanged(context: Context, table: Table) -> None:
    """Raises as `lock_rows` does if the table has another state than the snapshot, which lacks rows of it."""
    before, now = read_base(context, table), context.transaction.newest_table(table.oid)
    if now is before or before is _EMPTY:
        return
    if not context.session.transactions.keeps_snapshot:
        raise StatementRestart
    if now is None or not {file.id for file in before.files} <= {file.id for file in now.files}:
        raise _conflict_error()


def holds_rows_alone(context: Context, table: Table, file: DataFile) -> bool:
    """Whether no other transaction has locked rows of a file, nor will: it is the transaction's own, or its table is.

    A statement outside a block locks the table if that takes no wait: it ends at once. Others that have found rows of
    the file find them again once they have the lock.
    """
    transaction, session = context.transaction, context.session
    if table.temporary or all(each.path != file.path for each in read_base(context, table).files):
        return True
    oid = file.partition or table.oid
    if session.transactions.explicit or session.running.part:
        return transaction.holds_lock(oid)
    return transaction.try_lock_item(oid)


def make_nowait_error(table: Table) -> SqlError:
    """Returns the error of NOWAIT for a row that another transaction has locked."""
    return SqlError.of("lock_not_available", f'could not obtain lock on row in relation "{table.name}"')


def check_current(context: Context, table: Table, rows: Mapping[str, Rows]) -> None:
    """Raises as `lock_rows` does if a row is not in the newest state, by the path of its file and its number."""
    transaction = context.transaction
    now = transaction.newest_table(table.oid)
    if now is not None and now is read_base(context, table):
        return
    files = {} if now is None else {file.path: file for file in now.files}
    lost = [path for path, numbers in rows.items() if not _has_rows(files.get(path), numbers)]
    if not lost:
        return
    if not context.session.transactions.keeps_snapshot:
        raise StatementRestart
    if not transaction.list_compacted().issuperset(lost):
        raise _conflict_error()


def _has_rows(file: DataFile | None, numbers: Rows) -> bool:
    if file is None:
        return False
    return file.deleted is None or not np.isin(numbers, file.deleted.rows).any()


def _conflict_error() -> SerializationFailure:
    return SerializationFailure(
        "could not serialize access due to concurrent update", hint="The transaction might succeed if retried."
    )


def read_base(context: Context, table: Table) -> Table:
    """Returns the table as the transaction's snapshot has it, without its own changes; an empty one if it is new."""
    base = context.transaction.base
    found = base.find_relation_by_oid(table.oid)
    return assemble(base, found) if isinstance(found, Table) else _EMPTY


def _find_committed(context: Context, table: Table, positions: pa.Table) -> dict[str, Rows]:
    """The rows at positions by file, without those of files that the transaction itself has put into the table.

    A function of the statement may have moved the transaction to a state without the files: StatementRestart.
    """
    known = {file.path for file in read_base(context, table).files}
    rows = dict(group_rows(positions))
    others = rows.keys() - known
    others -= {str(path) for path in context.transaction.written} if others else set()
    if others and not others <= {file.path for file in context.transaction.table(table.oid).files}:
        raise StatementRestart
    return {path: rows[path] for path in rows if path in known}


def _list_items(file: DataFile, table: Table, numbers: Rows) -> Iterator[Item]:
    name = file.path.rpartition("/")[2]
    for number in numbers.tolist():
        digest = hashlib.blake2b(f"{name} {number}".encode(), digest_size=8).digest()
        yield Item(file.partition or table.oid, "row", int.from_bytes(digest, "big"))


_EMPTY = Table(0, "", "", (), "")
