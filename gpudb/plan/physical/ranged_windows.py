"""Windows over one partition of more rows than a worker holds, by ranges of its order.

    rows by ranges → each range's calls by themselves ─┬→ its rows and totals → those of all ranges before it ─┐
                                                       └────────────────────────────────────────── join ───────┴→ calls

A rank is the rank within the range plus the rows before the range; a running sum adds the sums of the ranges before it.
Rows that lag and lead take from another range are among the rows at the ranges' ends, which are broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpudb.plan.tree import nodes
from gpudb.plan.tree.functions import cast_to, count_rows, find_function
from gpudb.plan.tree.nodes import Exchange, Node, column
from gpudb.sql import bound
from gpudb.types import INT4, INT8, SqlType
from gpudb.types.facts import EXACT_NUMBERS

MAX_OFFSET = 1000
"""Maximum offset of lag and lead: that many rows at each range's ends are broadcast."""
_NUMBERS_PER_RANGE = 1 << 48
"""A row's number divided by this is the number of its range."""
_WIDE_NUMERIC = SqlType("numeric", digits=(38, 0))
_RANK_FUNCTIONS, _OFFSET_FUNCTIONS = {"row_number", "rank", "dense_rank"}, {"lag", "lead"}
_RUNNING_FUNCTIONS = {"count", "sum", "min", "max"}
_BEFORE_CURRENT = bound.Frame("ROWS", "UNBOUNDED PRECEDING", None, "PRECEDING", bound.Constant(1, INT8))


def can_split_by_range(node: nodes.Window) -> bool:
    """Returns whether all calls share one order of one partition and can be combined from their ranges."""
    order = node.calls[0].order_by
    return bool(order) and all(
        not call.partition_by and call.order_by == order and _can_combine(call) for call in node.calls
    )


def _can_combine(call: bound.Window) -> bool:
    name = call.function.name
    if call.distinct:
        return False
    if name in _OFFSET_FUNCTIONS:
        return len(call.args) < 2 or 0 <= _constant_offset(call) <= MAX_OFFSET
    if name in _RUNNING_FUNCTIONS:
        summed = name != "sum" or (call.args[0].type.name in EXACT_NUMBERS and not call.type.is_carried)
        return summed and _is_running(call.frame)
    return name in _RANK_FUNCTIONS


def _constant_offset(call: bound.Window) -> int:
    """Returns the offset of lag or lead; -1 if it is not constant."""
    if len(call.args) < 2:
        return 1
    offset = call.args[1]
    known = isinstance(offset, bound.Constant) and isinstance(offset.value, int)
    return offset.value if known else -1  # type: ignore[union-attr, return-value]


def _is_running(frame: bound.Frame | None) -> bool:
    if frame is None:
        return True
    return frame.start == "UNBOUNDED PRECEDING" and frame.end == "CURRENT ROW" and frame.exclude is None


def _has_peers(call: bound.Window) -> bool:
    """Returns whether peers (rows equal by the order) have one value, which requires them in one range."""
    name = call.function.name
    if name in _RUNNING_FUNCTIONS:
        return call.frame is None or call.frame.unit != "ROWS"
    return name in {"rank", "dense_rank"}


def split_by_range(node: nodes.Window, below: Node, fresh: Callable[[], int]) -> Node:
    """Computes a window by ranges; `below` is its input with exchanges, `fresh` numbers shared subplans."""
    order, width = node.calls[0].order_by, len(node.input.types)
    # row_number is the row's position, which all calls need.
    calls = tuple(call for call in node.calls if call.function.name != "row_number")
    rows = nodes.AssignUniqueId(Exchange(below, "range", order=order, keep_peers=any(map(_has_peers, calls))))
    first = bound.Window(find_function("row_number"), (), INT8, order_by=order)
    local = nodes.Window(rows, (first, *calls))
    every = _output_columns(local)
    range_of = _call("int8div", every[width], bound.Constant(_NUMBERS_PER_RANGE, INT8))
    # The input's columns, the range, the position in it, and the calls over the range.
    own = nodes.Shared(nodes.Project(local, (*every[:width], range_of, *every[width + 1 :])), fresh())
    before = nodes.Shared(_range_totals(calls, own, width), fresh())
    joined = nodes.Join("INNER", own, Exchange(before, "broadcast"), ((column(width, INT8), column(0, INT8)),))
    every = _output_columns(joined)
    place, made = every[width + 1], every[width + 2 : width + 2 + len(calls)]
    _, size, passed, *carried = every[width + 2 + len(calls) :]
    whole = _call("int8pl", place, passed)
    values = [_combine(*each, passed) for each in zip(calls, made, carried, strict=True)]
    if any(call.function.name in _OFFSET_FUNCTIONS for call in calls):
        placed = nodes.Project(joined, (*every[:width], whole, place, size, *values))
        joined, whole, values = _add_offsets(calls, placed, width, fresh)
    found = iter(values)
    call_values = (whole if call.function.name == "row_number" else next(found) for call in node.calls)
    return nodes.Project(joined, (*_output_columns(joined)[:width], *call_values), node.names)


def _range_totals(calls: Sequence[bound.Window], own: Node, width: int) -> Node:
    """Returns for each range its number, its rows, the rows before it, and for each call the total of the ranges
    before it.
    """
    totals = tuple(_total_of_range(call, column(width + 2 + n, call.type)) for n, call in enumerate(calls))
    groups = nodes.Aggregate(own, (column(width, INT8),), (count_rows(), *totals))
    share, *held = _output_columns(groups)
    each_of = (None, *calls)
    # Counts of a range's rows are cast to 32 bits, so that their sum has 64.
    totalled = nodes.Project(
        groups, (share, *(_cast_count(each, call) for each, call in zip(held, each_of, strict=True)))
    )
    order = (bound.SortKey(column(0, INT8), descending=False, nulls_first=False),)
    _, *held = _output_columns(totalled)
    sums = tuple(_running_total(each, call, order) for each, call in zip(held, each_of, strict=True))
    made = nodes.Window(Exchange(totalled, "gather"), sums)
    share, size, *_ = _output_columns(made)
    passed, *carried = _output_columns(made)[1 + len(held) :]
    known = bound.Choice("COALESCE", (passed, bound.Constant(0, INT8)), INT8)
    kept = (_cast_total(each, call) for each, call in zip(carried, calls, strict=True))
    return nodes.Project(made, (share, bound.Cast(size, INT8), known, *kept))


def _is_count(call: bound.Window | None) -> bool:
    return call is None or call.function.name not in {"sum", "min", "max"}


def _cast_count(held: Any, call: bound.Window | None) -> Any:
    return bound.Cast(held, INT4) if _is_count(call) else held


def _total_of_range(call: bound.Window, local: Any) -> bound.Aggregate:
    """Returns the aggregate of a range that later ranges need for a call."""
    name = call.function.name
    if name in _RUNNING_FUNCTIONS:
        return bound.Aggregate(call.function, call.args, call.type, filter=call.filter, star=call.star)
    if name == "dense_rank":
        return bound.Aggregate(find_function("max", INT8), (local,), INT8)
    return count_rows()


def _running_total(held: Any, call: bound.Window | None, order: tuple[bound.SortKey, ...]) -> bound.Window:
    """Returns a total over the ranges before each range."""
    if call is not None and call.function.name in {"min", "max"}:
        return bound.Window(call.function, (held,), call.type, order_by=order, frame=_BEFORE_CURRENT)
    kind = INT8 if held.type.name == "int4" else call.type if held.type.name == "numeric" and call else _WIDE_NUMERIC
    name = SqlType(held.type.name)
    return bound.Window(find_function("sum", name), (held,), kind, order_by=order, frame=_BEFORE_CURRENT)


def _cast_total(held: Any, call: bound.Window) -> Any:
    """Casts the total before a range to the call's own type: NULL for an empty sum, else 0."""
    if not _is_count(call):
        return cast_to(held, call.type)
    return bound.Choice("COALESCE", (held, bound.Constant(0, INT8)), INT8)


def _combine(call: bound.Window, local: Any, before: Any, passed: Any) -> Any:
    """Returns a call's value: its range's combined with the total before it; lag and lead keep the range's."""
    name = call.function.name
    if name == "rank":
        return _call("int8pl", local, passed)
    if name in {"dense_rank", "count"}:
        return _call("int8pl", local, before)
    if name in {"min", "max"}:
        return bound.Choice("LEAST" if name == "min" else "GREATEST", (local, before), call.type)
    if name == "sum":
        both = (bound.Test(local, "NULL"), before), (bound.Test(before, "NULL"), local)
        add = "int8pl" if call.type.name == "int8" else "numeric_add"
        return bound.Case(both, _call(add, local, before), call.type)
    return local


def _add_offsets(
    calls: Sequence[bound.Window], rows: Node, width: int, fresh: Callable[[], int]
) -> tuple[nodes.Join, Any, list[Any]]:
    """Adds the values of lag and lead that come from other ranges.

    Returns the rows, a row's position among all, and the calls' values. `rows` has the input's `width` columns, the
    position among all rows, the position in the range, the range's rows, and the calls.
    """
    moved = [(n, call) for n, call in enumerate(calls) if call.function.name in _OFFSET_FUNCTIONS]
    every = _output_columns(rows)
    whole, place, size = every[width : width + 3]
    values: list[Any] = list(every[width + 3 :])
    far = bound.Constant(max(_constant_offset(call) for _, call in moved), INT8)
    left = _call("int8mi", size, place)
    ends = bound.BoolOp(
        "OR", (_less_or_equal(place, far), _less_or_equal(_call("int8pl", left, bound.Constant(1, INT8)), far))
    )
    taken = nodes.Project(nodes.Filter(rows, ends), (whole, *(call.args[0] for _, call in moved)))
    shared = nodes.Shared(taken, fresh())
    made: Node = rows
    for turn, (n, call) in enumerate(moved):
        reach = bound.Constant(_constant_offset(call), INT8)
        back = call.function.name == "lag"
        beyond = _less_or_equal(place, reach) if back else _less(left, reach)
        target = _call("int8mi" if back else "int8pl", whole, reach)
        key = bound.Case(((beyond, target),), bound.Constant(None, INT8), INT8)
        start = len(made.types)
        made = nodes.Join("LEFT", made, Exchange(shared, "broadcast"), ((key, column(0, INT8)),))
        matched = bound.Test(column(start, INT8), "NULL", negated=True)
        default = cast_to(call.args[2], call.type) if len(call.args) > 2 else bound.Constant(None, call.type)
        found = column(start + 1 + turn, taken.types[1 + turn])
        chosen = bound.Case(((matched, cast_to(found, call.type)),), default, call.type)
        values[n] = bound.Case(((beyond, chosen),), values[n], call.type)
    assert isinstance(made, nodes.Join)
    return made, whole, values


def _output_columns(node: Node) -> tuple[bound.Column, ...]:
    return tuple(column(place, kind) for place, kind in enumerate(node.types))


def _call(name: str, left: Any, right: Any) -> bound.Call:
    """Returns an operator over two values of one type, which its result also has."""
    kind = SqlType(left.type.name)
    return bound.Call(find_function(name, kind, kind), (left, right), left.type)


def _less_or_equal(left: Any, right: Any) -> bound.Call:
    return replace(_call("int8le", left, right), type=_BOOL)


def _less(left: Any, right: Any) -> bound.Call:
    return replace(_call("int8lt", left, right), type=_BOOL)


_BOOL = SqlType("bool")
