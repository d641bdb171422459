"""Ranges: constructors, bounds, containment and arithmetic (PostgreSQL's manual, 9.20; rangetypes.c).

A bound is a struct in PostgreSQL's order of bounds (see `gpudb.types`), also between a lower and an upper one; so every
operator is a comparison of bounds.
"""

from __future__ import annotations

from collections.abc import Callable

from gpudb.errors import SqlError
from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.registry import MISSING, Operands, declare
from gpudb.types import SqlType

_FLAGS = ("[]", "[)", "(]", "()")


def _get_subtype(item: SqlType) -> SqlType:
    assert item.subtype is not None
    return item.subtype


def _make_bound(kind: str, value: str, side: str, item: SqlType) -> str:
    value = f"CAST({value} AS {_get_subtype(item).duckdb_value})"
    return f"struct_pack(k := CAST({kind} AS TINYINT), v := {value}, s := CAST({side} AS TINYINT))"


def _make_pair(lower: str, upper: str) -> str:
    return f"struct_pack(l := {lower}, u := {upper})"


def _make_empty(item: SqlType) -> str:
    return _make_pair(_make_bound("-1", "NULL", "0", item), _make_bound("-1", "NULL", "0", item))


def _make_checked(lower: str, upper: str, item: SqlType) -> str:
    """Returns the range between two bounds: empty if they are crossed."""
    return bind_values(
        lambda low, high: f"(CASE WHEN {low} > {high} THEN {_make_empty(item)} ELSE {_make_pair(low, high)} END)",
        lower,
        upper,
    )


# ---------------------------------------------------------------------------------------------- constructors


def _render_constructor(operands: Operands) -> str:
    item = operands.result
    flags = operands.constants[2] if len(operands.sql) == 3 else "[)"
    no_flags = "range constructor flags argument must not be null"
    if flags is None:
        raise SqlError.of("data_exception", no_flags)
    if flags is MISSING:
        missing = render_error("22000", f"'{no_flags}'", item.duckdb_value)
        error = render_error("42601", "'invalid range bound flags'", item.duckdb_value)
        first, last = "left({}, 1) = '['", "right({}, 1) = ']'"
        return bind_values(
            lambda low, high, f: (
                f"(CASE WHEN {f} IS NULL THEN {missing} WHEN {f} NOT IN {_FLAGS} THEN {error}"
                f" ELSE {_make_canonical(low, high, first.format(f), last.format(f), item)} END)"
            ),
            *operands.sql,
        )
    if flags not in _FLAGS:
        hint = 'Valid values are "[]", "[)", "(]", and "()".'
        raise SqlError.of("syntax_error", "invalid range bound flags", hint=hint)
    lower_inc, upper_inc = (str(flag).lower() for flag in (flags[0] == "[", flags[1] == "]"))
    return bind_values(lambda low, high: _make_canonical(low, high, lower_inc, upper_inc, item), *operands.sql[:2])


def _make_canonical(low: str, high: str, lower_inc: str, upper_inc: str, item: SqlType) -> str:
    """Returns the canonical range of two values; NULL is an infinite bound."""
    error = render_error(
        "22000", "'range lower bound must be less than or equal to range upper bound'", item.duckdb_value
    )
    lower_value, upper_value, after, before = low, high, f"CASE WHEN {lower_inc} THEN 0 ELSE 1 END", "0"
    before = f"CASE WHEN {high} IS NULL OR {upper_inc} THEN 0 ELSE -1 END"
    if item.name in {"int4range", "int8range", "daterange"}:
        # for discrete values the lower bound is the first value, the upper one the first value beyond
        lower_value, upper_value = (
            _step(v, when, item) for v, when in ((low, f"NOT ({lower_inc})"), (high, upper_inc))
        )
        finite = item.name == "daterange"
        after = f"CASE WHEN {lower_inc} OR isfinite({low}) THEN 0 ELSE 1 END" if finite else "0"
        stays = f" OR ({upper_inc} AND NOT isfinite({high}))" if finite else ""
        before = f"CASE WHEN {high} IS NULL{stays} THEN 0 ELSE -1 END"
    after = f"CASE WHEN {low} IS NULL THEN 0 ELSE {after} END"
    lower = _make_bound(f"CASE WHEN {low} IS NULL THEN 0 ELSE 1 END", lower_value, after, item)
    upper = _make_bound(f"CASE WHEN {high} IS NULL THEN 2 ELSE 1 END", upper_value, before, item)
    return (
        f"(CASE WHEN {low} > {high} THEN {error}"
        f" WHEN {low} = {high} AND NOT ({lower_inc} AND {upper_inc}) THEN {_make_empty(item)}"
        f" ELSE {_make_checked(lower, upper, item)} END)"
    )


def _step(value: str, when: str, item: SqlType) -> str:
    step = f"pg_date_add({value}, 1)" if item.name == "daterange" else f"{value} + 1::{_get_subtype(item).duckdb}"
    return value if when in {"false", "NOT (true)"} else f"CASE WHEN {when} THEN {step} ELSE {value} END"


_CONSTRUCTORS = "int4range int8range numrange daterange tsrange tstzrange"
declare(_CONSTRUCTORS, _render_constructor, scale=lambda o: _pack_scales(*(f"coalesce({s}, 0)" for s in o.scales[:2])))

# ---------------------------------------------------------------------------------------------- scales of numranges


def _pack_scales(lower: str, upper: str) -> str:
    # A column of scales is too narrow for it.
    return f"(({lower})::SMALLINT * 64 + {upper})"


def _get_scales(scale: str) -> tuple[str, str]:
    return f"({scale} // 64)", f"({scale} % 64)"


# ---------------------------------------------------------------------------------------------- bounds

declare("lower(anyrange)", "({0}).l.v", scale=lambda o: _get_scales(o.scales[0])[0])
declare("upper(anyrange)", "({0}).u.v", scale=lambda o: _get_scales(o.scales[0])[1])
declare("isempty(anyrange)", "(({0}).l.k = -1)")
declare("lower_inc(anyrange)", "(({0}).l.k = 1 AND ({0}).l.s = 0)")
declare("upper_inc(anyrange)", "(({0}).u.k = 1 AND ({0}).u.s = 0)")
declare("lower_inf(anyrange)", "(({0}).l.k = 0)")
declare("upper_inf(anyrange)", "(({0}).u.k = 2)")

# ---------------------------------------------------------------------------------------------- containment

Test = Callable[[str, str], str]


def _make_test(test: Test, empty: str = "false") -> Callable[[Operands], str]:
    """Returns a test of two ranges; `empty` is its result if either is empty."""

    def body(a: str, b: str) -> str:
        return (
            f"(CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL WHEN ({a}).l.k = -1 OR ({b}).l.k = -1 THEN {empty}"
            f" ELSE {test(a, b)} END)"
        )

    return lambda operands: bind_values(body, *operands.sql)


def _render_overlap(a: str, b: str) -> str:
    return f"({a}).l <= ({b}).u AND ({b}).l <= ({a}).u"


def _render_touch(a: str, b: str) -> str:
    """Whether the end of one and the start of the other are adjacent and do not overlap."""
    sides = (
        f"(({x}).u.k = 1 AND ({y}).l.k = 1 AND ({x}).u.v = ({y}).l.v AND ({x}).u.s + 1 = ({y}).l.s)"
        for x, y in ((a, b), (b, a))
    )
    return " OR ".join(sides)


def _render_containment(a: str, b: str) -> str:
    """Every range contains an empty one."""
    return f"(CASE WHEN {a} IS NOT NULL THEN ({b}).l.k = -1 OR (({a}).l <= ({b}).l AND ({a}).u >= ({b}).u) END)"


def _make_element_test(range_index: int) -> Callable[[Operands], str]:
    """Whether a range contains an element; `range_index` is the range's position."""

    def render(operands: Operands) -> str:
        value = operands.sql[1 - range_index]
        return bind_values(
            lambda r, v, p: f"(CASE WHEN {v} IS NOT NULL THEN ({r}).l <= {p} AND ({r}).u >= {p} END)",
            operands.sql[range_index],
            value,
            _make_bound("1", value, "0", operands.types[range_index]),
        )

    return render


declare("range_contains_elem", _make_element_test(0))
declare("elem_contained_by_range", _make_element_test(1))
declare("range_contains", lambda o: bind_values(_render_containment, *o.sql))
declare("range_contained_by", lambda o: bind_values(lambda a, b: _render_containment(b, a), *o.sql))
declare("range_overlaps", _make_test(_render_overlap))
adjacent = _make_test(_render_touch)
before = _make_test(lambda a, b: f"({a}).u < ({b}).l")
after = _make_test(lambda a, b: f"({a}).l > ({b}).u")
overleft = _make_test(lambda a, b: f"({a}).u <= ({b}).u")
overright = _make_test(lambda a, b: f"({a}).l >= ({b}).l")
declare("range_adjacent", adjacent)
declare("range_before", before)
declare("range_after", after)
declare("range_overleft", overleft)
declare("range_overright", overright)

# ---------------------------------------------------------------------------------------------- arithmetic


def _render_intersection(operands: Operands) -> str:
    item = operands.result
    return _make_test(
        lambda a, b: _make_checked(f"greatest(({a}).l, ({b}).l)", f"least(({a}).u, ({b}).u)", item), _make_empty(item)
    )(operands)


def _make_union(strict: bool) -> Callable[[Operands], str]:
    """Returns the union of both ranges; with `strict`, 22000 if there is a gap between them."""

    def render(operands: Operands) -> str:
        duckdb_type = operands.result.duckdb_value
        error = render_error("22000", "'result of range union would not be contiguous'", duckdb_type)

        def body(a: str, b: str) -> str:
            gap = f" WHEN NOT ({_render_overlap(a, b)} OR {_render_touch(a, b)}) THEN {error}" if strict else ""
            union = _make_pair(f"least(({a}).l, ({b}).l)", f"greatest(({a}).u, ({b}).u)")
            return (
                f"(CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL WHEN ({a}).l.k = -1 THEN {b}"
                f" WHEN ({b}).l.k = -1 THEN {a}{gap} ELSE {union} END)"
            )

        return bind_values(body, *operands.sql)

    return render


def _render_difference(operands: Operands) -> str:
    item = operands.result
    error = render_error("22000", "'result of range difference would not be contiguous'", item.duckdb_value)

    def flipped(bound: str, by: str) -> str:
        return f"struct_pack(k := {bound}.k, v := {bound}.v, s := CAST({bound}.s {by} AS TINYINT))"

    def body(a: str, b: str) -> str:
        return (
            f"(CASE WHEN {a} IS NULL OR {b} IS NULL THEN NULL"
            f" WHEN ({a}).l.k = -1 OR ({b}).l.k = -1 OR NOT ({_render_overlap(a, b)}) THEN {a}"
            f" WHEN ({a}).l < ({b}).l AND ({a}).u > ({b}).u THEN {error}"
            f" WHEN ({a}).l >= ({b}).l AND ({a}).u <= ({b}).u THEN {_make_empty(item)}"
            f" WHEN ({a}).l < ({b}).l THEN {_make_pair(f'({a}).l', flipped(f'({b}).l', '- 1'))}"
            f" ELSE {_make_pair(flipped(f'({b}).u', '+ 1'), f'({a}).u')} END)"
        )

    return bind_values(body, *operands.sql)


def _make_scale_choice(lower: str, upper: str) -> Callable[[Operands], str]:
    """Returns the scales of a range whose bounds come from the first operand if the tests of bounds hold."""

    def render(operands: Operands) -> str:
        (low, high), (other_low, other_high) = map(_get_scales, operands.scales)

        def body(a: str, b: str) -> str:
            takes_lower, takes_upper = lower.format(a=a, b=b), upper.format(a=a, b=b)
            return _pack_scales(
                f"CASE WHEN {takes_lower} THEN {low} ELSE {other_low} END",
                f"CASE WHEN {takes_upper} THEN {high} ELSE {other_high} END",
            )

        return bind_values(body, *operands.sql)

    return render


declare("range_intersect", _render_intersection, scale=_make_scale_choice("({a}).l >= ({b}).l", "({a}).u <= ({b}).u"))
_WIDER = _make_scale_choice(
    "({b}).l.k = -1 OR (({a}).l.k <> -1 AND ({a}).l < ({b}).l)", "({b}).u.k = -1 OR ({a}).u > ({b}).u"
)
declare("range_union", _make_union(True), scale=_WIDER)
declare("range_merge(anyrange,anyrange)", _make_union(False), scale=_WIDER)


def _render_difference_scales(operands: Operands) -> str:
    (low, high), (other_low, other_high) = map(_get_scales, operands.scales)
    return bind_values(
        lambda a, b: (
            f"(CASE WHEN ({b}).l.k = -1 OR NOT ({_render_overlap(a, b)}) THEN {operands.scales[0]}"
            f" WHEN ({a}).l < ({b}).l THEN {_pack_scales(low, other_low)} ELSE {_pack_scales(other_high, high)} END)"
        ),
        *operands.sql,
    )


declare("range_minus", _render_difference, scale=_render_difference_scales)


def _render_range_intersect_agg(operands: Operands) -> str:
    """Returns the intersection of a group's ranges: between the greatest lower bound and the least upper one."""
    value = operands.sql[0]
    low, high = operands.call("max", f"({value}).l"), operands.call("min", f"({value}).u")
    range_sql = bind_values(
        lambda p: f"(CASE WHEN ({p}).l > ({p}).u THEN {_make_empty(operands.result)} ELSE {p} END)",
        _make_pair(low, high),
    )
    return f"(CASE WHEN {operands.call('count', value)} > 0 THEN {range_sql} END)"


def _render_range_intersect_agg_scales(operands: Operands) -> str:
    value = operands.sql[0]
    low, high = _get_scales(operands.scales[0])
    return _pack_scales(operands.call("arg_max", low, f"({value}).l"), operands.call("arg_min", high, f"({value}).u"))


declare("range_intersect_agg(anyrange)", _render_range_intersect_agg, scale=_render_range_intersect_agg_scales)
