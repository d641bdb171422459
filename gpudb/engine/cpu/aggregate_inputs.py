"""Moves the inputs of aggregates or window functions into a derived table, if they contain subqueries or outer columns.

DuckDB 2.0 cannot copy an aggregate of a subquery into a lambda, plans a repeated one as several joins, and takes
`max(outer.a) FILTER (WHERE x IN (SELECT …))` for an aggregate of the outer query; `max(outer.a)` as well, where a
function's body has it over an argument.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.duckdb.aggregate_frames import guard_arguments
from gpudb.engine.cpu.regrouping import clauses_over_groups, map_clauses_over_groups, read_relations, walk_level
from gpudb.sql import bound
from gpudb.sql.traverse import children, replace_nodes, walk


def has_movable_inputs(query: bound.Select) -> bool:
    """Returns whether an aggregate of the query, or a window function over its rows, has inputs to be moved."""
    return any(
        _is_movable(each, query, is_direct=True) for part in clauses_over_groups(query) for each in walk_level(part)
    )


def compute_inputs_first(query: bound.Select, rel: int) -> bound.Select:
    """Returns the query over a derived table `rel` with the inputs of its keys and aggregates, one column each."""
    own = read_relations(query)
    direct = {id(each) for part in clauses_over_groups(query) for each in walk_level(part)}
    values: list[Any] = []

    def column(node: Any) -> bound.Column:
        if node not in values:
            values.append(node)
        return bound.Column(rel, values.index(node), node.type, "")

    def to_column(node: Any) -> Any:
        return node if isinstance(node, bound.Constant) else column(node)

    def change(node: Any) -> Any:
        if isinstance(node, bound.Column):
            return column(node) if node.rel in own else None
        if not _is_movable(node, query, is_direct=id(node) in direct):
            return None
        if isinstance(node, bound.Window):
            return replace(
                node,
                args=tuple(map(to_column, guard_arguments(node.args, node.filter))),
                partition_by=tuple(map(to_column, node.partition_by)),
                order_by=tuple(replace(key, expr=to_column(key.expr)) for key in node.order_by),
                filter=to_column(node.filter) if node.filter is not None else None,
            )
        args = node.args
        if not node.within_group:  # its arguments are the group's, not a row's
            args = tuple(map(to_column, guard_arguments(args, node.filter)))
        keys = (*node.order_by, *node.within_group)
        sorts = guard_arguments([key.expr for key in keys], node.filter)
        result = tuple(replace(key, expr=to_column(each)) for key, each in zip(keys, sorts, strict=True))
        return replace(
            node,
            args=tuple(replace_nodes(each, change) for each in args) if node.within_group else args,
            order_by=result[: len(node.order_by)],
            within_group=result[len(node.order_by) :],
            filter=to_column(node.filter) if node.filter is not None else None,
        )

    outer = map_clauses_over_groups(query, change)
    keys = tuple(replace_nodes(key, change) for key in query.group_by)
    columns = tuple(bound.OutputColumn(f"c{number}", value.type) for number, value in enumerate(values, 1))
    inner = bound.Select(columns, tuple(values), query.source, query.where)
    return replace(outer, source=bound.Derived(rel, inner), where=None, group_by=keys)


def _is_movable(node: Any, query: bound.Select, *, is_direct: bool) -> bool:
    """Returns whether an aggregate's or window function's inputs need to be moved, and can be.

    One that `is_direct` is the query's own, in no subquery.

    A column of an enclosing lambda cannot be moved.
    """
    if not isinstance(node, bound.Aggregate if query.grouped else bound.Window):
        return False
    inputs = list(children(node))
    if isinstance(node, bound.Aggregate) and node.within_group:
        inputs = [each for each in inputs if each not in node.args]
    inside = [each for part in inputs for each in walk(part)]
    if any(isinstance(each, bound.Column) and each.rel < 0 for each in inside):
        return False
    if any(isinstance(each, bound.SUBQUERIES) for each in inside):
        return True
    columns = {each.rel for each in inside if isinstance(each, bound.Column)}
    return is_direct and query.grouped and bool(columns) and columns.isdisjoint(read_relations(query))
