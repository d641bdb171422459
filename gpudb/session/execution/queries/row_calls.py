"""Functions that run statements in WHERE, GROUP BY, ORDER BY and aggregates: they run for each row of FROM.

The rows of FROM, with the results of the calls beside them, become a frame that the rest of the query reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gpudb.errors import FeatureNotSupported
from gpudb.session.execution.queries.lateral_calls import AddFrame, Run, list_relations
from gpudb.session.execution.session_calls import check_always_evaluated, is_routine
from gpudb.sql.bound import (
    Aggregate,
    BoolOp,
    Call,
    Column,
    Constant,
    Expr,
    FrameScan,
    OutputColumn,
    Select,
    SetReturning,
    SortKey,
    Window,
)
from gpudb.sql.traverse import replace_nodes, walk

_OVER_ROWS = (Aggregate, Window, SetReturning)


def replace_row_calls(query: Select, run: Run, add_frame: AddFrame) -> Select:
    """Returns the query without calls of routines but those that the select list makes for each row of the result."""
    if query.source is None:
        return query
    if query.where is not None:
        query = replace(query, where=_separate_calls(query.where))
    while filtering := [each for each in _split(query.where) if _find_calls(each)]:
        # One condition after another: the calls of the next run for the rows that the ones before leave
        plain = _join([each for each in _split(query.where) if not _find_calls(each)])
        calls = {_identify(call): call for call in _find_calls(filtering[0])}
        query = _replace_calls(replace(query, where=plain), _join(filtering), calls, run, add_frame)
    if query.grouped:
        _check_windows(query)
    sorting: dict[object, Call] = {
        _identify(call): call
        for part in (*query.targets, *query.order_by, *([] if query.having is None else [query.having]))
        for node in walk(_expr(part))
        if isinstance(node, _OVER_ROWS)
        for call in _find_calls(node)
    }
    # An expression that rows are grouped or sorted by is evaluated once, with its equals in the select list
    distinct = query.distinct if isinstance(query.distinct, tuple) else ()
    keys = (*query.group_by, *query.order_by, *distinct)
    sorting |= {each: each for part in keys for each in _find_calls(_expr(part))}
    if sorting and all(_is_over_rows(each) for each in sorting.values()):
        query = _replace_calls(query, None, sorting, run, add_frame)
    return query


def _check_windows(query: Select) -> None:
    """0A000 for calls in a window over groups, outside its aggregates: what they read is no column of a group."""
    for part in (*query.targets, *query.order_by):
        for window in (node for node in walk(_expr(part)) if isinstance(node, Window)):
            inside = replace_nodes(window, lambda node: Constant(None, node.type) if type(node) is Aggregate else None)
            if _find_calls(inside):
                raise FeatureNotSupported("functions that the session calls are not supported in windows over groups")


def _expr(part: Any) -> Any:
    return part.expr if isinstance(part, SortKey) else part


def _split(condition: Expr | None) -> list[Expr]:
    if condition is None:
        return []
    if isinstance(condition, BoolOp) and condition.op == "AND":
        return [each for arg in condition.args for each in _split(arg)]
    return [condition]


def _join(conditions: list[Expr]) -> Expr | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return BoolOp("AND", tuple(conditions))


def _find_calls(node: Any) -> list[Call]:
    """Returns the outermost calls of routines in an expression; 0A000 for one that evaluation may skip."""
    if node is None:
        return []
    for each in walk(node):
        check_always_evaluated(each)
    return list(_iter_calls(node))


def _iter_calls(node: Any) -> Iterator[Call]:
    found: list[Call] = []

    def collect(each: Any) -> Any:
        if _is_routine_call(each):
            found.append(each)
            return each
        return None

    replace_nodes(node, collect)
    yield from found


def _separate_calls(condition: Expr) -> Expr:
    """Returns a condition in which no call is in two places, as that in the operand of BETWEEN is."""
    separated: Expr = replace_nodes(condition, lambda node: replace(node) if _is_routine_call(node) else None)
    return separated


def _is_routine_call(node: Any) -> bool:
    return type(node) is Call and is_routine(node.function)


def _identify(call: Call) -> object:
    """Returns a key under which equal calls are one, unless they may have different results."""
    return id(call) if call.function.volatile else call


def _is_over_rows(call: Call) -> bool:
    return not any(isinstance(each, _OVER_ROWS) for each in walk(call))


def _replace_calls(
    query: Select, where: Expr | None, calls: dict[object, Call], run: Run, add_frame: AddFrame
) -> Select:
    """Computes calls for the rows that the query's WHERE leaves; they and `where` then read a frame.

    The key of a call is itself if it stands for all its equals, else its `id`.
    """
    rels = list_relations(query.source)
    read = [node for part in (query, where) if part is not None for node in walk(part)]
    columns = {(each.rel, each.index): each for each in read if type(each) is Column and each.rel in rels}
    used = list(columns.values())
    targets: tuple[Expr, ...] = (*used, *calls.values())
    outputs = tuple(OutputColumn(f"k{number}", each.type) for number, each in enumerate(targets, 1))
    rows = run(Select(outputs, targets, query.source, query.where, ctes=query.ctes))
    scan: FrameScan = add_frame(rows, outputs)
    places = {key: place for place, key in enumerate(columns)}
    results = {key: len(used) + place for place, key in enumerate(calls)}

    def change(node: Any) -> Any:
        if type(node) is Call and (place := results.get(id(node), results.get(node))) is not None:
            return Column(scan.rel, place, node.type)
        if type(node) is Column and (node.rel, node.index) in places:
            return replace(node, rel=scan.rel, index=places[node.rel, node.index])
        return None

    condition = None if where is None else replace_nodes(where, change)
    result: Select = replace_nodes(replace(query, source=scan, where=None), change)
    return replace(result, where=condition)
