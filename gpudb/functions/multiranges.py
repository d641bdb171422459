"""Multiranges: constructors, bounds, containment, arithmetic and aggregates (multirangetypes.c).

A multirange is a list of ranges in canonical form; operations on its ends use the range that spans it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpudb.functions.let_binding import bind_values, render_error
from gpudb.functions.multirange_lists import (
    from_range,
    get_hull,
    get_scales,
    get_value,
    make_canonical,
    make_empty,
    render_complement,
    render_intersection,
)
from gpudb.functions.operands import pack
from gpudb.functions.ranges import adjacent, after, before, overleft, overright
from gpudb.functions.registry import Operands, Template, declare, fill_template
from gpudb.types import SqlType


def _get_range_type(item: SqlType) -> SqlType:
    ranged = item.range_type
    assert ranged is not None
    return ranged


def _to_list(operands: Operands, index: int) -> str:
    """Returns an operand as a list of ranges: a multirange, or a range as one."""
    item = operands.types[index]
    return operands.sql[index] if item.range_type else from_range(operands.sql[index], operands.scales[index], item)


# ---------------------------------------------------------------------------------------------- constructors


def _render_constructor(operands: Operands) -> str:
    ranged = _get_range_type(operands.result)
    if not operands.sql:
        return make_empty(ranged)
    ranges = operands.sql[0]
    if operands.types[0].element is None:
        ranges = f"[{', '.join(map(pack, operands.sql, operands.scales, operands.types))}]"
        if len(operands.sql) == 1:
            return make_canonical(ranges, ranged)
    null = render_error("22004", "'multirange values cannot contain null members'", f"{ranged.duckdb}[]")
    missing = f"len(list_filter({{0}}, lambda pg_e: {get_value('pg_e', ranged)} IS NULL)) > 0"
    return bind_values(
        lambda v: f"(CASE WHEN {missing.format(v)} THEN {null} ELSE {make_canonical(v, ranged)} END)", ranges
    )


declare("int4multirange int8multirange nummultirange datemultirange tsmultirange tstzmultirange", _render_constructor)
declare("multirange(anyrange)", lambda o: _to_list(o, 0))
declare("unnest(anymultirange)", "{0}")

# ---------------------------------------------------------------------------------------------- bounds


def _apply_to_hull(template: str) -> Callable[[Operands], str]:
    return lambda o: template.format(get_hull(o.sql[0], _get_range_type(o.types[0])))


def _get_end_scale(position: str, side: int) -> Callable[[Operands], str]:
    return lambda o: get_scales(f"{o.sql[0]}[{position.format(o.sql[0])}]", _get_range_type(o.types[0]))[side]


def _get_hull_scale(operands: Operands) -> str:
    return f"({_get_end_scale('1', 0)(operands)} * 64 + {_get_end_scale('len({0})', 1)(operands)})"


declare("lower(anymultirange)", _apply_to_hull("({0}).l.v"), scale=_get_end_scale("1", 0))
declare("upper(anymultirange)", _apply_to_hull("({0}).u.v"), scale=_get_end_scale("len({0})", 1))
declare("isempty(anymultirange)", "(len({0}) = 0)")
declare("lower_inc(anymultirange)", _apply_to_hull("(({0}).l.k = 1 AND ({0}).l.s = 0)"))
declare("upper_inc(anymultirange)", _apply_to_hull("(({0}).u.k = 1 AND ({0}).u.s = 0)"))
declare("lower_inf(anymultirange)", _apply_to_hull("(({0}).l.k = 0)"))
declare("upper_inf(anymultirange)", _apply_to_hull("(({0}).u.k = 2)"))
declare("range_merge(anymultirange)", _apply_to_hull("{0}"), scale=_get_hull_scale)

# ---------------------------------------------------------------------------------------------- containment


def _null_if_unknown(operands: Operands, test: str) -> str:
    """Returns a test that is NULL if an operand is NULL."""
    nulls = " OR ".join(f"{operand} IS NULL" for operand in operands.sql)
    return f"(CASE WHEN {nulls} THEN NULL ELSE {test} END)"


def _render_any(ranges: str, test: str) -> str:
    return f"coalesce(list_bool_or(list_transform({ranges}, lambda pg_a: {test})), false)"


def _render_every(ranges: str, test: str) -> str:
    return f"coalesce(list_bool_and(list_transform({ranges}, lambda pg_b: {test})), true)"


def _make_element_test(multirange: int) -> Callable[[Operands], str]:
    """Whether a multirange contains an element; `multirange` is the multirange's position."""

    def render(operands: Operands) -> str:
        ranged = _get_range_type(operands.types[multirange])
        assert ranged.subtype is not None
        value = f"CAST({operands.sql[1 - multirange]} AS {ranged.subtype.duckdb_value})"
        range_ = get_value("pg_a", ranged)

        def tested(m: str, v: str) -> str:
            point = f"struct_pack(k := CAST(1 AS TINYINT), v := {v}, s := CAST(0 AS TINYINT))"
            contains = _render_any(m, f"({range_}).l <= {point} AND ({range_}).u >= {point}")
            return f"(CASE WHEN {m} IS NULL OR {v} IS NULL THEN NULL ELSE {contains} END)"

        return bind_values(tested, operands.sql[multirange], value)

    return render


def _make_containment(outer: int) -> Callable[[Operands], str]:
    """Whether one operand contains every range of the other; `outer` is the position of the containing one."""

    def render(operands: Operands) -> str:
        ranged = operands.types[0].range_type or operands.types[0]
        a, b = (get_value(sql, ranged) for sql in ("pg_a", "pg_b"))

        def tested(x: str, y: str) -> str:
            contains_all = _render_every(y, _render_any(x, f"({a}).l <= ({b}).l AND ({a}).u >= ({b}).u"))
            return f"(CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL ELSE {contains_all} END)"

        return bind_values(tested, _to_list(operands, outer), _to_list(operands, 1 - outer))

    return render


def _render_overlaps(operands: Operands) -> str:
    ranged = operands.types[0].range_type or operands.types[0]
    a, b = (get_value(sql, ranged) for sql in ("pg_a", "pg_b"))

    def tested(x: str, y: str) -> str:
        apart = _render_every(y, f"NOT {_render_any(x, f'({a}).l <= ({b}).u AND ({b}).l <= ({a}).u')}")
        return f"(CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL ELSE NOT {apart} END)"

    return bind_values(tested, _to_list(operands, 0), _to_list(operands, 1))


declare("multirange_contains_elem", _make_element_test(0))
declare("elem_contained_by_multirange", _make_element_test(1))
declare("multirange_contains_range multirange_contains_multirange range_contains_multirange", _make_containment(0))
declare(
    "range_contained_by_multirange multirange_contained_by_multirange multirange_contained_by_range",
    _make_containment(1),
)
declare("range_overlaps_multirange multirange_overlaps_range multirange_overlaps_multirange", _render_overlaps)


def _make_hull_test(template: Template) -> Callable[[Operands], str]:
    """Applies a test of two ranges to the ranges that span both operands."""

    def render(operands: Operands) -> str:
        hulls = [
            get_hull(sql, item.range_type) if item.range_type is not None else sql
            for sql, item in zip(operands.sql, operands.types, strict=True)
        ]
        return fill_template(template, replace(operands, sql=tuple(hulls)))

    return render


for _name, _test in {
    "before": before, "after": after, "overleft": overleft, "overright": overright, "adjacent": adjacent,
}.items():  # fmt: skip
    _pairs = (f"range_{_name}_multirange", f"multirange_{_name}_range", f"multirange_{_name}_multirange")
    declare(" ".join(_pairs), _make_hull_test(_test))

# ---------------------------------------------------------------------------------------------- arithmetic


def _render_union(operands: Operands) -> str:
    merged = make_canonical(f"list_concat({operands.sql[0]}, {operands.sql[1]})", _get_range_type(operands.result))
    return _null_if_unknown(operands, merged)


def _render_difference(operands: Operands) -> str:
    ranged = _get_range_type(operands.result)
    return _null_if_unknown(
        operands, render_intersection(operands.sql[0], render_complement(operands.sql[1], ranged), ranged)
    )


declare("multirange_union", _render_union)
declare("multirange_minus", _render_difference)
declare(
    "multirange_intersect",
    lambda o: _null_if_unknown(o, render_intersection(o.sql[0], o.sql[1], _get_range_type(o.result))),
)

# ---------------------------------------------------------------------------------------------- aggregates


def _collect(operands: Operands) -> str:
    """Collects the values of a group without NULLs; NULL if there are none."""
    item = operands.types[0]
    value = pack(operands.sql[0], operands.scales[0], item)
    is_present = get_value("pg_e", item) if item.subtype is not None else "pg_e"
    values = operands.call("list", value)
    return f"nullif(list_filter({values}, lambda pg_e: {is_present} IS NOT NULL), [])"


def _render_range_agg(operands: Operands) -> str:
    ranges = _collect(operands)
    if operands.types[0].range_type is not None:
        ranges = f"flatten({ranges})"
    return make_canonical(ranges, _get_range_type(operands.result))


def _render_range_intersect_agg(operands: Operands) -> str:
    common = render_intersection("pg_x", "pg_y", _get_range_type(operands.result))
    return f"list_reduce({_collect(operands)}, lambda pg_x, pg_y: {common})"


declare("range_agg(anyrange) range_agg(anymultirange)", _render_range_agg)
declare("range_intersect_agg(anymultirange)", _render_range_intersect_agg)
