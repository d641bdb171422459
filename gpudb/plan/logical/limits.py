"""ORDER BY with LIMIT and OFFSET: a sort where the counts are known in advance, else numbered rows."""

from __future__ import annotations

from typing import Any

from gpudb.functions.row_counts import LIMIT_ROWS, OFFSET_ROWS
from gpudb.plan.tree.functions import find_function
from gpudb.plan.tree.nodes import Filter, Node, Project, Sort, Window, column
from gpudb.sql import bound
from gpudb.sql.traverse import walk
from gpudb.types import BOOL, INT8


def is_constant_count(expr: Any | None) -> bool:
    """Returns whether a LIMIT or OFFSET reads no row: a constant, a parameter, or an expression over them."""
    reading = (bound.Column, *bound.SUBQUERIES)
    return expr is None or not any(isinstance(each, reading) for each in walk(expr))


def apply_limit(node: Node, width: int, keys: tuple[bound.SortKey, ...], limit: Any | None, offset: Any | None) -> Node:
    """Sorts a node's rows and applies LIMIT and OFFSET.

    Under a domain, whose columns are the first `width`, they apply to the rows of each of its rows.
    """
    limit, offset = (None if isinstance(e, bound.Constant) and e.value is None else e for e in (limit, offset))
    if width == 0 and is_constant_count(limit) and is_constant_count(offset):
        return Sort(node, keys, limit, offset) if keys or limit is not None or offset is not None else node
    if limit is None and offset is None:
        # An aggregate over the subquery reads its rows in order.
        return Sort(node, keys) if keys else node
    every = tuple(column(index, kind, name) for index, (kind, name) in enumerate(zip(node.types, node.names)))
    made: Node = Window(node, (bound.Window(find_function("row_number"), (), INT8, every[:width], keys),))
    place: Any = column(len(every), INT8)
    before: Any = bound.Constant(0, INT8) if offset is None else bound.Call(OFFSET_ROWS, (offset,), INT8)
    conditions: list[Any] = []
    if offset is not None:
        conditions.append(bound.Call(find_function("int8gt", INT8, INT8), (place, before), BOOL))
    if limit is not None:
        last = bound.Call(LIMIT_ROWS, (limit,), INT8)
        last = last if offset is None else bound.Call(find_function("int8pl", INT8, INT8), (before, last), INT8)
        conditions.append(bound.Call(find_function("int8le", INT8, INT8), (place, last), BOOL))
    made = Filter(made, conditions[0] if len(conditions) == 1 else bound.BoolOp("AND", tuple(conditions)))
    if width == 0:
        made = Sort(made, (bound.SortKey(place, False, False),))
    return Project(made, every)
