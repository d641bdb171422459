"""Calls of functions in FROM over queries: the engine computes the rows, and a child process what is made of them.

The process ends with its statement. What it needs beside the rows' own memory counts against a limit of its own, which
is the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.processes.pool import ProcessPool
from gpudb.session.context import Context
from gpudb.session.execution.routines.literals import get_literal_value
from gpudb.sql.bound import Constant, Expr, Query, TableFunction

Run = Callable[[Query], pa.Table]
"""Runs a query; its rows."""

_LIBRARY_BYTES = 1 << 30
"""What a process may take beside the limit: the libraries themselves."""


@cache
def _get_pool(memory_bytes: int) -> ProcessPool:
    return ProcessPool("gpudb.analytics.table_functions", memory_bytes=memory_bytes + _LIBRARY_BYTES)


def call_table_function(context: Context, node: TableFunction, run: Run) -> pa.Table:
    """Returns the rows of a call: the rows of its query with what was found for each, or rows of its own.

    22004 for an argument that is NULL. None reads columns any more.
    """
    options = {name: _evaluate(context, node, name, arg) for name, arg in zip(node.names, node.args, strict=True)}
    pool = _get_pool(context.session.database.cpu.memory_limit)
    pool.start()  # it imports its library while the engine computes the rows
    rows = [run(query) for query in node.queries]
    read = [_name_features(table, kept, node.features) for table, kept in zip(rows, node.kept, strict=True)]
    found: pa.Table = pool.call(node.function.name, (*read, len(node.features), options), context.cancel.check)
    if (notice := (found.schema.metadata or {}).get(b"notice")) is not None:
        context.notice(notice.decode())
    if len(rows) == 1:
        columns = [*rows[0].columns[: node.kept[0]], *found.columns]
    else:  # rows of the second query, each with some of the first
        first, second = (table.column(0) for table in rows)
        columns = [second.take(found.column(0)), first.take(found.column(1)), *found.columns[2:]]
    wanted = zip(columns, node.columns, strict=True)
    return pa.table([column.cast(each.type.arrow) for column, each in wanted], names=_number(len(columns)))


def _name_features(rows: pa.Table, kept: int, features: Sequence[str]) -> pa.Table:
    """Returns what the function reads of the rows of a query, the features under their names."""
    columns = rows.columns[kept:]
    return pa.table(columns, names=[*features, *_number(len(columns) - len(features))])


def _number(count: int) -> list[str]:
    return [f"k{number}" for number in range(1, count + 1)]


def _evaluate(context: Context, node: TableFunction, name: str, arg: Expr) -> object:
    value = arg.value if isinstance(arg, Constant) else get_literal_value(context, arg)
    if value is None:
        raise SqlError.of("null_value_not_allowed", f"{name} of {node.function.name} must not be null")
    return value
