"""Splits DISTINCT aggregates over groups of more rows than a worker holds: distinct values first, then each call over
them.

    count(DISTINCT a), count(DISTINCT b), sum(c)
    → one row each of count(a) over (… GROUP BY a), count(b) over (… GROUP BY b), and sum(c), joined side by side

Grouping by the values is distributed by their hash, and the calls over them have a small state, so the rows of a group
never meet on one worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import Node, column
from gpudb.sql import bound

_GROUPABLE = frozenset(
    "bool int2 int4 int8 numeric float4 float8 text varchar bpchar date timestamp timestamptz uuid".split()
)
"""Types whose values are equal to a DISTINCT aggregate exactly if GROUP BY puts them into one group."""


Mergeable = Callable[[bound.Aggregate], bool]
"""Returns whether workers' partial states of an aggregate's call can be merged."""


def split_distinct(node: nodes.Aggregate, is_mergeable: Mergeable, reuse: Callable[[Node], Node]) -> Node | None:
    """Returns the same rows by aggregates that are all mergeable, else None.

    None for calls of other kinds, and for groups by keys whose calls are not all over the same values. `reuse` returns
    the input for several readers.
    """
    plain: list[int] = []
    over: dict[tuple[Any, Any], list[int]] = {}
    for place, call in enumerate(node.calls):
        if is_mergeable(call):
            plain.append(place)
        elif _is_over_distinct(call) and is_mergeable(replace(call, distinct=False)):
            over.setdefault((call.args[0], call.filter), []).append(place)
        else:
            return None
    if not over or (node.keys and (plain or len(over) > 1 or any(chosen is not None for _, chosen in over))):
        return None
    source = node.input if len(over) + bool(plain) == 1 else reuse(node.input)
    parts = [
        (_aggregate_values(node, source, value, chosen, places), places) for (value, chosen), places in over.items()
    ]
    if plain:
        parts.append((replace(node, input=source, calls=tuple(node.calls[place] for place in plain)), plain))
    if len(parts) == 1 and parts[0][1] == list(range(len(node.calls))):
        return parts[0][0]
    made = reduce(lambda left, right: nodes.Join("INNER", left, right), (part for part, _ in parts))
    order = [place for _, places in parts for place in places]
    return nodes.Project(
        made, tuple(column(order.index(n), call.type) for n, call in enumerate(node.calls)), node.names
    )


def _is_over_distinct(call: bound.Aggregate) -> bool:
    if not call.distinct or len(call.args) != 1 or call.order_by or call.within_group:
        return False
    return call.args[0].type.name in _GROUPABLE


def _aggregate_values(
    node: nodes.Aggregate, source: Node, value: bound.Expr, chosen: bound.Expr | None, places: list[int]
) -> Node:
    """Returns the calls at some positions, over their common distinct values."""
    rows = source if chosen is None else nodes.Filter(source, chosen)
    # No other columns of the rows have to be moved.
    read = nodes.Project(rows, (*node.keys, value))
    columns = tuple(column(n, kind) for n, kind in enumerate(read.types))
    calls = tuple(replace(node.calls[place], args=columns[-1:], distinct=False, filter=None) for place in places)
    return nodes.Aggregate(nodes.Aggregate(read, columns), columns[:-1], calls)
