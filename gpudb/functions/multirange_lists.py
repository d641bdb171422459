"""Multiranges as lists of ranges in DuckDB SQL: canonical form, intersection, complement."""

from __future__ import annotations

from gpudb.functions.let_binding import bind_values
from gpudb.functions.operands import pack, unpack
from gpudb.types import SqlType


def get_value(sql: str, ranged: SqlType) -> str:
    """Returns a range's two bounds, without the scales that a numrange carries."""
    return unpack(sql, ranged)[0]


def get_scales(sql: str, ranged: SqlType) -> tuple[str, str]:
    """Returns the display scales of a numrange's bounds."""
    scale = unpack(sql, ranged)[1]
    return f"({scale} // 64)", f"({scale} % 64)"


def make_range(lower: str, upper: str, low: str, high: str, ranged: SqlType) -> str:
    """Returns a range of two bounds and their display scales."""
    return pack(f"struct_pack(l := {lower}, u := {upper})", f"({low} * 64 + {high})", ranged)


def make_empty(ranged: SqlType) -> str:
    """Returns the empty multirange."""
    return f"CAST([] AS {ranged.duckdb}[])"


def from_range(sql: str, scale: str, ranged: SqlType) -> str:
    """Returns a range as a multirange."""
    packed = pack("{0}", scale, ranged)
    return bind_values(
        lambda v: (
            f"(CASE WHEN {v} IS NULL THEN NULL WHEN ({v}).l.k = -1 THEN {make_empty(ranged)}"
            f" ELSE [{packed.format(v)}] END)"
        ),
        sql,
    )


def _sort(ranges: str, ranged: SqlType) -> str:
    """Sorts ranges; the sort is stable, as equal ranges may have different display scales."""
    if not ranged.is_carried:
        return f"list_sort({ranges})"
    placed = "lambda pg_e, pg_i: struct_pack(v := (pg_e).v, n := pg_i, s := (pg_e).s)"
    ordered = f"list_sort(list_transform({ranges}, {placed}))"
    return f"list_transform({ordered}, lambda pg_e: struct_pack(v := (pg_e).v, s := (pg_e).s))"


def make_canonical(ranges: str, ranged: SqlType) -> str:
    """Returns a list of ranges in canonical form: sorted, without NULLs and empty ranges, overlapping and adjacent ones
    merged.
    """
    value = get_value("pg_e", ranged)
    ranges_sql = _sort(f"list_filter({ranges}, lambda pg_e: ({value}).l.k <> -1)", ranged)
    last, next_value = (get_value(sql, ranged) for sql in ("pg_a[len(pg_a)]", "pg_b[1]"))
    finite = f"({last}).u.k = 1 AND ({next_value}).l.k = 1"
    touches = f"{finite} AND ({last}).u.v = ({next_value}).l.v AND ({last}).u.s + 1 = ({next_value}).l.s"
    # of equal bounds, which may differ in display scale, the second range's
    (low, high), (next_low, next_high) = (get_scales(sql, ranged) for sql in ("pg_a[len(pg_a)]", "pg_b[1]"))
    low = f"(CASE WHEN ({last}).l < ({next_value}).l THEN {low} ELSE {next_low} END)"
    high = f"(CASE WHEN ({last}).u > ({next_value}).u THEN {high} ELSE {next_high} END)"
    merged = make_range(f"({last}).l", f"greatest(({last}).u, ({next_value}).u)", low, high, ranged)
    step = (
        f"(CASE WHEN ({next_value}).l <= ({last}).u OR ({touches}) THEN list_concat(pg_a[:len(pg_a) - 1], [{merged}])"
        " ELSE list_concat(pg_a, pg_b) END)"
    )
    return bind_values(
        lambda v: (
            f"(CASE WHEN {v} IS NULL THEN NULL WHEN len({v}) = 0 THEN {make_empty(ranged)} ELSE"
            f" list_reduce(list_transform({v}, lambda pg_e: [pg_e]), lambda pg_a, pg_b: {step}) END)"
        ),
        ranges_sql,
    )


def render_intersection(one: str, other: str, ranged: SqlType) -> str:
    """Returns the intersection of two lists of ranges."""
    a, b = (get_value(sql, ranged) for sql in ("pg_a", "pg_b"))
    (low, high), (other_low, other_high) = (get_scales(sql, ranged) for sql in ("pg_a", "pg_b"))
    common = make_range(
        f"greatest(({a}).l, ({b}).l)",
        f"least(({a}).u, ({b}).u)",
        f"(CASE WHEN ({a}).l >= ({b}).l THEN {low} ELSE {other_low} END)",
        f"(CASE WHEN ({a}).u <= ({b}).u THEN {high} ELSE {other_high} END)",
        ranged,
    )
    meets = f"list_filter({other}, lambda pg_b: ({a}).l <= ({b}).u AND ({b}).l <= ({a}).u)"
    return make_canonical(
        f"flatten(list_transform({one}, lambda pg_a: list_transform({meets}, lambda pg_b: {common})))", ranged
    )


def render_complement(ranges: str, ranged: SqlType) -> str:
    """Returns the complement of a canonical list of ranges."""
    assert ranged.subtype is not None
    nothing = f"CAST(NULL AS {ranged.subtype.duckdb_value})"

    def infinite(kind: int) -> str:
        return f"struct_pack(k := CAST({kind} AS TINYINT), v := {nothing}, s := CAST(0 AS TINYINT))"

    def next_bound(bound: str, by: str) -> str:
        return f"struct_pack(k := ({bound}).k, v := ({bound}).v, s := CAST(({bound}).s {by} AS TINYINT))"

    def body(m: str) -> str:
        before, after = (f"{m}[pg_i]", f"{m}[pg_i + 1]")
        end = next_bound(f"{get_value(before, ranged)}.u", "+ 1")
        start = next_bound(f"{get_value(after, ranged)}.l", "- 1")
        lower = f"(CASE WHEN pg_i = 0 THEN {infinite(0)} ELSE {end} END)"
        upper = f"(CASE WHEN pg_i = len({m}) THEN {infinite(2)} ELSE {start} END)"
        low, high = f"coalesce({get_scales(before, ranged)[1]}, 0)", f"coalesce({get_scales(after, ranged)[0]}, 0)"
        first, last = get_value(f"{m}[1]", ranged), get_value(f"{m}[len({m})]", ranged)
        # nothing precedes a range without a lower bound, or follows one without an upper one
        is_present = f"NOT coalesce((pg_i = 0 AND ({first}).l.k = 0) OR (pg_i = len({m}) AND ({last}).u.k = 2), false)"
        indices = f"list_filter(range(0, len({m}) + 1), lambda pg_i: {is_present})"
        return f"list_transform({indices}, lambda pg_i: {make_range(lower, upper, low, high, ranged)})"

    return bind_values(body, ranges)


def get_hull(sql: str, ranged: SqlType) -> str:
    """Returns the bounds from the first range's start to the last one's end; those of an empty range if there
    are none.
    """
    assert ranged.subtype is not None
    nothing = f"CAST(NULL AS {ranged.subtype.duckdb_value})"
    bound = f"struct_pack(k := CAST(-1 AS TINYINT), v := {nothing}, s := CAST(0 AS TINYINT))"
    return bind_values(
        lambda m: (
            f"(CASE WHEN {m} IS NULL THEN NULL WHEN len({m}) = 0 THEN struct_pack(l := {bound}, u := {bound})"
            f" ELSE struct_pack(l := ({get_value(m + '[1]', ranged)}).l,"
            f" u := ({get_value(f'{m}[len({m})]', ranged)}).u) END)"
        ),
        sql,
    )
