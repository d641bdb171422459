"""Functions in FROM that run statements, for each row of the relations to their left.

The engine computes the rows on the left; the function runs once for each, in their order; both together are a frame
that takes the place of the join.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.execution.routines.literals import literal
from gpudb.session.execution.routines.routine_calls import call_function
from gpudb.session.execution.session_calls import has_session_calls
from gpudb.sql.bound import (
    Column,
    Constant,
    Derived,
    Expr,
    FrameScan,
    FunctionScan,
    Join,
    OutputColumn,
    Query,
    Select,
)
from gpudb.sql.traverse import outer_columns, replace_nodes, walk

Run = Callable[[Query], pa.Table]
"""Runs a query; its rows."""
AddFrame = Callable[[pa.Table, Sequence[OutputColumn]], FrameScan]
"""Makes rows a frame; a scan of it."""


def replace_lateral_calls(context: Context, query: Select, run: Run, add_frame: AddFrame) -> Select:
    """Returns the query with a frame in the place of each join with a function that runs for each row."""
    while (join := _find_join(query.source)) is not None:
        query = _replace_join(context, query, join, run, add_frame)
    return query


def _find_join(source: Any) -> Join | None:
    """Returns the first join, from the left, whose right side calls a function with columns of the left side."""
    if not isinstance(source, Join):
        return None
    found = _find_join(source.left) or _find_join(source.right)
    if found is None and isinstance(source.right, Derived) and source.right.lateral:
        query = source.right.query
        return source if has_session_calls(query) and outer_columns(query) else None
    return found


def list_relations(source: Any) -> set[int]:
    """Returns the numbers of the relations of a FROM item."""
    if isinstance(source, Join):
        return list_relations(source.left) | list_relations(source.right)
    return {source.rel}


def _replace_join(context: Context, query: Select, join: Join, run: Run, add_frame: AddFrame) -> Select:
    assert isinstance(join.right, Derived)
    inside, left = join.right.query, list_relations(join.left)
    is_true = join.on is None or (isinstance(join.on, Constant) and join.on.value is True)
    if join.kind in {"RIGHT", "FULL"} or (join.kind == "LEFT" and not is_true):
        raise FeatureNotSupported("this join with a function that runs for each row is not supported")
    if any(rel not in left for rel, _ in outer_columns(inside)):
        raise FeatureNotSupported("a function that runs for each row of an outer query is not supported in FROM")
    used = list(dict.fromkeys(node for node in walk(query) if type(node) is Column and node.rel in left))
    used = list({(each.rel, each.index): each for each in used}.values())
    outputs = tuple(OutputColumn(f"k{number}", each.type) for number, each in enumerate(used, 1))
    rows = run(Select(outputs, tuple(used), join.left, ctes=query.ctes)).combine_chunks()
    places, tables = [], []
    for row in range(rows.num_rows):
        context.cancel.check()
        values = {
            (each.rel, each.index): literal(context, each.type, rows.column(place).slice(row, 1).combine_chunks())
            for place, each in enumerate(used)
        }
        found = _run_for_row(context, inside, values, run)
        if not found.num_rows and join.kind == "LEFT":
            found = pa.table([pa.nulls(1, field.type) for field in found.schema], names=found.column_names)
        places += [row] * found.num_rows
        tables.append(found)
    names = [f"r{number}" for number in range(1, len(inside.columns) + 1)]
    types = [each.type.arrow for each in inside.columns]
    results = pa.concat_tables([each.rename_columns(names) for each in tables]) if tables else None
    taken = rows.take(pa.array(places, pa.int64()))
    columns = [*taken.columns, *(results.columns if results is not None else [pa.nulls(0, item) for item in types])]
    every = (*outputs, *(OutputColumn(name, each.type) for name, each in zip(names, inside.columns, strict=True)))
    joined = pa.table(columns, names=[each.name for each in every])
    scan = add_frame(joined, every)
    at = {(each.rel, each.index): place for place, each in enumerate(used)}
    at |= {(join.right.rel, place): len(used) + place for place in range(len(inside.columns))}

    def change(node: Any) -> Any:
        if node is join:
            return scan
        if type(node) is Column and (node.rel, node.index) in at:
            return replace(node, rel=scan.rel, index=at[node.rel, node.index])
        return None

    if not is_true:
        # Rows are filtered here: a join around this one may add rows with NULLs, which its condition does not concern
        condition = replace_nodes(join.on, change)
        targets = tuple(Column(scan.rel, place, each.type) for place, each in enumerate(every))
        scan = add_frame(run(Select(every, targets, scan, condition, ctes=query.ctes)), every)
    result: Select = replace_nodes(query, change)
    return result


def _run_for_row(context: Context, query: Query, values: dict[tuple[int, int], Expr], run: Run) -> pa.Table:
    """Returns the rows of the right side for one row of the left side."""

    def change(node: Any) -> Any:
        return values.get((node.rel, node.index)) if type(node) is Column else None

    found: Query = replace_nodes(query, change)
    match found:
        case Select(source=FunctionScan(function=function, args=args, ordinality=False), where=None, limit=None) if (
            all(isinstance(each, Constant) for each in args)
            and [each for each in found.targets if type(each) is not Column] == []
        ):
            return call_function(context, function, args)
    return run(found)
