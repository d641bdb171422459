"""Multiranges: constructors, bounds, containment, arithmetic and aggregates (multirangetypes.c).

A multirange is a list of ranges in canonical form; operations on its ends use the range that spans it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpudb.functions.let_binding import let, raises
from gpudb.functions.multirange_lists import (
    canonical,
    complement,
    hull,
    intersection,
    none_of,
    of_range,
    scales_of,
    value_of,
)
from gpudb.functions.operands import pack
from gpudb.functions.ranges import adjacent, after, before, overleft, overright
from gpudb.functions.registry import Operands, Template, declare, fill
from gpudb.types import SqlType


def _ranged(item: SqlType) -> SqlType:
    ranged = item.range_type
    assert ranged is not None
    return ranged


def _list(operands: Operands, place: int) -> str:
    """Returns an operand as a list of ranges: a multirange, or a range as one."""
    item = operands.types[place]
    return operands.sql[place] if item.range_type else of_range(operands.sql[place], operands.scales[place], item)


# ---------------------------------------------------------------------------------------------- constructors


def _made(operands: Operands) -> str:
    ranged = _ranged(operands.result)
    if not operands.sql:
        return none_of(ranged)
    listed = operands.sql[0]
    if operands.types[0].element is None:
        listed = f"[{', '.join(map(pack, operands.sql, operands.scales, operands.types))}]"
        if len(operands.sql) == 1:
            return canonical(listed, ranged)
    null = raises("22004", "'multirange values cannot contain null members'", f"{ranged.duckdb}[]")
    missing = f"len(list_filter({{0}}, lambda pg_e: {value_of('pg_e', ranged)} IS NULL)) > 0"
    return let(lambda v: f"(CASE WHEN {missing.format(v)} THEN {null} ELSE {canonical(v, ranged)} END)", listed)


declare("int4multirange int8multirange nummultirange datemultirange tsmultirange tstzmultirange", _made)
declare("multirange(anyrange)", lambda o: _list(o, 0))
declare("unnest(anymultirange)", "{0}")

# ---------------------------------------------------------------------------------------------- bounds


def _of_hull(template: str) -> Callable[[Operands], str]:
    return lambda o: template.format(hull(o.sql[0], _ranged(o.types[0])))


def _end_scale(place: str, side: int) -> Callable[[Operands], str]:
    return lambda o: scales_of(f"{o.sql[0]}[{place.format(o.sql[0])}]", _ranged(o.types[0]))[side]


def _around_scale(operands: Operands) -> str:
    return f"({_end_scale('1', 0)(operands)} * 64 + {_end_scale('len({0})', 1)(operands)})"


declare("lower(anymultirange)", _of_hull("({0}).l.v"), scale=_end_scale("1", 0))
declare("upper(anymultirange)", _of_hull("({0}).u.v"), scale=_end_scale("len({0})", 1))
declare("isempty(anymultirange)", "(len({0}) = 0)")
declare("lower_inc(anymultirange)", _of_hull("(({0}).l.k = 1 AND ({0}).l.s = 0)"))
declare("upper_inc(anymultirange)", _of_hull("(({0}).u.k = 1 AND ({0}).u.s = 0)"))
declare("lower_inf(anymultirange)", _of_hull("(({0}).l.k = 0)"))
declare("upper_inf(anymultirange)", _of_hull("(({0}).u.k = 2)"))
declare("range_merge(anymultirange)", _of_hull("{0}"), scale=_around_scale)

# ---------------------------------------------------------------------------------------------- containment


def _known(operands: Operands, test: str) -> str:
    """Returns a test that is NULL if an operand is NULL."""
    nulls = " OR ".join(f"{each} IS NULL" for each in operands.sql)
    return f"(CASE WHEN {nulls} THEN NULL ELSE {test} END)"


def _any(ranges: str, test: str) -> str:
    return f"coalesce(list_bool_or(list_transform({ranges}, lambda pg_a: {test})), false)"


def _every(ranges: str, test: str) -> str:
    return f"coalesce(list_bool_and(list_transform({ranges}, lambda pg_b: {test})), true)"


def _holds(held: int) -> Callable[[Operands], str]:
    """Whether a multirange contains an element; `held` is the multirange's position."""

    def render(operands: Operands) -> str:
        ranged = _ranged(operands.types[held])
        assert ranged.subtype is not None
        value = f"CAST({operands.sql[1 - held]} AS {ranged.subtype.duckdb_value})"
        each = value_of("pg_a", ranged)

        def tested(m: str, v: str) -> str:
            point = f"struct_pack(k := CAST(1 AS TINYINT), v := {v}, s := CAST(0 AS TINYINT))"
            found = _any(m, f"({each}).l <= {point} AND ({each}).u >= {point}")
            return f"(CASE WHEN {m} IS NULL OR {v} IS NULL THEN NULL ELSE {found} END)"

        return let(tested, operands.sql[held], value)

    return render


def _contains(outer: int) -> Callable[[Operands], str]:
    """Whether one operand contains every range of the other; `outer` is the position of the containing one."""

    def render(operands: Operands) -> str:
        ranged = operands.types[0].range_type or operands.types[0]
        a, b = (value_of(sql, ranged) for sql in ("pg_a", "pg_b"))

        def tested(x: str, y: str) -> str:
            every = _every(y, _any(x, f"({a}).l <= ({b}).l AND ({a}).u >= ({b}).u"))
            return f"(CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL ELSE {every} END)"

        return let(tested, _list(operands, outer), _list(operands, 1 - outer))

    return render


def _overlaps(operands: Operands) -> str:
    ranged = operands.types[0].range_type or operands.types[0]
    a, b = (value_of(sql, ranged) for sql in ("pg_a", "pg_b"))

    def tested(x: str, y: str) -> str:
        apart = _every(y, f"NOT {_any(x, f'({a}).l <= ({b}).u AND ({b}).l <= ({a}).u')}")
        return f"(CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL ELSE NOT {apart} END)"

    return let(tested, _list(operands, 0), _list(operands, 1))


declare("multirange_contains_elem", _holds(0))
declare("elem_contained_by_multirange", _holds(1))
declare("multirange_contains_range multirange_contains_multirange range_contains_multirange", _contains(0))
declare("range_contained_by_multirange multirange_contained_by_multirange multirange_contained_by_range", _contains(1))
declare("range_overlaps_multirange multirange_overlaps_range multirange_overlaps_multirange", _overlaps)


def _by_hulls(template: Template) -> Callable[[Operands], str]:
    """Applies a test of two ranges to the ranges that span both operands."""

    def render(operands: Operands) -> str:
        made = [
            hull(sql, item.range_type) if item.range_type is not None else sql
            for sql, item in zip(operands.sql, operands.types, strict=True)
        ]
        return fill(template, replace(operands, sql=tuple(made)))

    return render


for _name, _test in {
    "before": before, "after": after, "overleft": overleft, "overright": overright, "adjacent": adjacent,
}.items():  # fmt: skip
    _pairs = (f"range_{_name}_multirange", f"multirange_{_name}_range", f"multirange_{_name}_multirange")
    declare(" ".join(_pairs), _by_hulls(_test))

# ---------------------------------------------------------------------------------------------- arithmetic


def _union(operands: Operands) -> str:
    whole = canonical(f"list_concat({operands.sql[0]}, {operands.sql[1]})", _ranged(operands.result))
    return _known(operands, whole)


def _difference(operands: Operands) -> str:
    ranged = _ranged(operands.result)
    return _known(operands, intersection(operands.sql[0], complement(operands.sql[1], ranged), ranged))


declare("multirange_union", _union)
declare("multirange_minus", _difference)
declare("multirange_intersect", lambda o: _known(o, intersection(o.sql[0], o.sql[1], _ranged(o.result))))

# ---------------------------------------------------------------------------------------------- aggregates


def _collected(operands: Operands) -> str:
    """Collects the values of a group without NULLs; NULL if there are none."""
    item = operands.types[0]
    value = pack(operands.sql[0], operands.scales[0], item)
    there = value_of("pg_e", item) if item.subtype is not None else "pg_e"
    listed = operands.call("list", value)
    return f"nullif(list_filter({listed}, lambda pg_e: {there} IS NOT NULL), [])"


def _aggregated(operands: Operands) -> str:
    ranges = _collected(operands)
    if operands.types[0].range_type is not None:
        ranges = f"flatten({ranges})"
    return canonical(ranges, _ranged(operands.result))


def _common(operands: Operands) -> str:
    shared = intersection("pg_x", "pg_y", _ranged(operands.result))
    return f"list_reduce({_collected(operands)}, lambda pg_x, pg_y: {shared})"


declare("range_agg(anyrange) range_agg(anymultirange)", _aggregated)
declare("range_intersect_agg(anymultirange)", _common)
