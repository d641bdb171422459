"""Rows of a SELECT with FOR UPDATE or its like: they are computed with their positions, locked, and then returned.

A query whose rows are not rows of its own tables' scans locks the whole tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from gpudb.catalog.tables import DataFile
from gpudb.session.context import Context
from gpudb.session.execution.locks_and_snapshots.row_waits import (
    MAX_ROWS,
    lock_rows,
    lock_whole_table,
    make_nowait_error,
    read_base,
    try_lock_row,
    try_lock_table,
)
from gpudb.session.execution.session_calls import is_session_call
from gpudb.sql.bound import ALL_ROWS, Column, Constant, Expr, From, Join, OutputColumn, RowLock, Scan, Select
from gpudb.sql.traverse import outer_columns, replace_nodes, walk
from gpudb.types import BOOL, INT8, TEXT

_SLACK = 16
"""How many more rows than SKIP LOCKED has to return are computed at first."""


class FetchedRows:
    """Stream of rows that are in memory."""

    def __init__(self, rows: pa.Table) -> None:
        self.schema = rows.schema
        self._rows = rows

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._rows.to_batches()

    def close(self) -> None:
        """Does nothing: the rows are there."""


def lock_tables(context: Context, query: Any) -> Any:
    """Returns a query without the locks of its SELECTs that cannot lock rows; the tables of those are locked."""

    def change(node: Any) -> Any:
        if not isinstance(node, Select) or not node.locks or _can_lock_rows(node):
            return None
        kept = node
        for lock in node.locks:
            if not lock.skips:
                lock_whole_table(context, lock.table, nowait=lock.nowait)
            elif not try_lock_table(context, lock.table):
                kept = replace(kept, where=Constant(value=False, type=BOOL))
        return replace_nodes(replace(kept, locks=()), change)

    return replace_nodes(query, change)


def _can_lock_rows(query: Select) -> bool:
    scans = {each.rel for each in _list_scans(query.source)}
    if not all(lock.rel in scans for lock in query.locks) or outer_columns(query):
        return False
    return not any(is_session_call(each) for target in query.targets for each in walk(target))


def _list_scans(source: From | None) -> list[Scan]:
    if isinstance(source, Join):
        return _list_scans(source.left) + _list_scans(source.right)
    return [source] if isinstance(source, Scan) else []


def fetch_locked_rows(
    context: Context, query: Select, fetch: Callable[[Select], pa.Table], evaluate: Callable[[Expr], object]
) -> pa.Table:
    """Returns the rows of a SELECT that `_can_lock_rows`, which it locks.

    `fetch` runs a query without locks, `evaluate` an expression without columns. Raises as `lock_rows` does.
    """
    width = len(query.columns)
    located = _add_positions(query)
    if not any(lock.skips for lock in query.locks):
        found = fetch(located)
    else:
        found = _skip_locked(context, query, located, fetch, evaluate)
    for lock, positions in _list_positions(query, found):
        if lock.nowait:
            _lock_at_once(context, lock, positions)
        elif not lock.skips:
            lock_rows(context, lock.table, positions, shared=lock.shared)
    return found.select(range(width))


def _add_positions(query: Select) -> Select:
    """The query without locks and with the positions of the rows that it locks, two columns for each lock."""
    locked = {lock.rel for lock in query.locks}

    def change(node: Any) -> Any:
        return replace(node, row_ids=True) if isinstance(node, Scan) and node.rel in locked else None

    columns, targets = list(query.columns), list(query.targets)
    for number, lock in enumerate(query.locks):
        place = len(lock.table.columns)
        columns += [OutputColumn(f"gpudb$file{number}", TEXT), OutputColumn(f"gpudb$row{number}", INT8)]
        targets += [Column(lock.rel, place, TEXT, "file"), Column(lock.rel, place + 1, INT8, "row")]
    source = replace_nodes(query.source, change)
    return replace(query, columns=tuple(columns), targets=tuple(targets), source=source, locks=())


def _list_positions(query: Select, found: pa.Table) -> Iterator[tuple[RowLock, pa.Table]]:
    """Yields each lock with the positions of its rows; the other side of an outer join has none."""
    width = len(query.columns)
    for number, lock in enumerate(query.locks):
        positions = found.select([width + 2 * number, width + 2 * number + 1]).rename_columns(["file", "row"])
        yield lock, positions.filter(positions.column(0).is_valid())


def _lock_at_once(context: Context, lock: RowLock, positions: pa.Table) -> None:
    if positions.num_rows > min(MAX_ROWS, context.transaction.count_free_items()):
        lock_whole_table(context, lock.table, nowait=True)
        return
    files = {file.path: file for file in read_base(context, lock.table).files}
    for path, row in zip(*(column.to_pylist() for column in positions.columns), strict=True):
        if not try_lock_row(context, lock.table, files.get(path), row, shared=lock.shared):
            raise make_nowait_error(lock.table)


def _skip_locked(
    context: Context,
    query: Select,
    located: Select,
    fetch: Callable[[Select], pa.Table],
    evaluate: Callable[[Expr], object],
) -> pa.Table:
    """The rows of SKIP LOCKED, of which OFFSET and LIMIT count those that could be locked."""
    limit = None if query.limit is None else evaluate(query.limit)
    offset = 0 if query.offset is None else evaluate(query.offset) or 0
    assert isinstance(offset, int)
    if offset < 0 or (isinstance(limit, int) and limit < 0):
        return fetch(located)  # which says what is wrong
    wanted = offset + limit if isinstance(limit, int) and limit < ALL_ROWS else None
    size = None if wanted is None else 2 * wanted + _SLACK
    tables = {lock.table.oid: lock.table for lock in query.locks}
    files = {oid: {file.path: file for file in read_base(context, table).files} for oid, table in tables.items()}
    while True:
        bound = None if size is None else Constant(size, INT8)
        found = fetch(replace(located, limit=bound, offset=None))
        kept = _lock_some(context, query, found, files, wanted)
        if size is None or len(kept) == wanted or found.num_rows < size:
            return found.take(pa.array(kept[offset:], pa.int64()))
        size *= 4


def _lock_some(
    context: Context,
    query: Select,
    found: pa.Table,
    files: Mapping[int, Mapping[str, DataFile]],
    wanted: int | None,
) -> list[int]:
    """Locks rows that nobody has locked, `wanted` of them at most; returns their places.

    Rows beyond what a transaction may lock are skipped as well.
    """
    width, kept = len(query.columns), list[int]()
    columns = [found.column(place).to_pylist() for place in range(width, found.num_columns)]
    free = context.transaction.count_free_items()
    for place in range(found.num_rows):
        if len(kept) == wanted or len(kept) >= free:
            break
        context.cancel.check()
        if all(
            not lock.skips
            or columns[2 * number][place] is None
            or try_lock_row(
                context,
                lock.table,
                files[lock.table.oid].get(columns[2 * number][place]),
                columns[2 * number + 1][place],
                shared=lock.shared,
            )
            for number, lock in enumerate(query.locks)
        ):
            kept.append(place)
    return kept
