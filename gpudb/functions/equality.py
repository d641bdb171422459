"""Equality and order of values whose representation does not have PostgreSQL's.

Equal numerics may have different display scales, equal jsonb documents may spell numbers differently; the same holds
for items of arrays and fields of rows. `render_equality_key` is equal for equal values, `render_sort_key` sorts as the
values do.
"""

from __future__ import annotations

from gpudb.functions.let_binding import bind_values
from gpudb.functions.records import get_member
from gpudb.types import SqlType

# A number with a point that ends in 0, or such characters in a string.
_TRAILING_ZERO = r"\.[0-9]*0([^0-9]|$)"


def has_many_representations(item: SqlType) -> bool:
    """Whether equal values of a type may have different representations."""
    if item.fields:
        return any(has_many_representations(field) for _, field in item.fields)
    if item.item is not None:
        return has_many_representations(item.item)
    return item.is_carried or item.name == "jsonb"


def render_equality_key(sql: str, item: SqlType) -> str:
    """Returns SQL that is equal for equal values; `sql` is the value alone, which for a carried numeric is equal
    already.
    """
    return _normalize(sql, item, ordering=False) if has_many_representations(item) else sql


def render_sort_key(sql: str, item: SqlType) -> str:
    """Returns SQL that sorts as PostgreSQL sorts the values; `sql` as for `render_equality_key`."""
    return _normalize(sql, item, ordering=True) if has_many_representations(item) else sql


def _normalize(sql: str, item: SqlType, *, ordering: bool) -> str:
    if item.name == "jsonb":
        if ordering:
            return f"pg_jsonb_order({sql})"
        return bind_values(
            lambda v: f"(CASE WHEN regexp_matches({v}, '{_TRAILING_ZERO}') THEN pg_jsonb_key({v}) ELSE {v} END)", sql
        )
    inner = item.item
    if inner is not None:
        if not has_many_representations(inner):
            return sql
        value = "(pg_e).v" if inner.is_carried else _normalize("pg_e", inner, ordering=ordering)
        return f"list_transform({sql}, lambda pg_e: {value})"
    if not item.fields:
        return sql

    def body(value: str) -> str:
        fields = (
            _normalize(get_member(value, item, index)[0], field, ordering=ordering)
            for index, (_, field) in enumerate(item.fields)
        )
        return f"(CASE WHEN {value} IS NOT NULL THEN row({', '.join(fields)}) END)"

    return bind_values(body, sql)


def _has_same_field_names(one: SqlType, other: SqlType) -> bool:
    """Whether two types are one to DuckDB, which also compares the names of rows' fields."""
    if one.fields and other.fields:
        return one.members == other.members and all(
            _has_same_field_names(a, b) for (_, a), (_, b) in zip(one.fields, other.fields, strict=True)
        )
    if one.item is not None and other.item is not None:
        return _has_same_field_names(one.item, other.item)
    return True


def normalize_operands(
    left: str, right: str, one: SqlType, other: SqlType, *, ordering: bool = False
) -> tuple[str, str]:
    """Returns two values in forms that DuckDB compares as PostgreSQL does; `ordering` is for < and >."""
    if _has_same_field_names(one, other) and not has_many_representations(one) and not has_many_representations(other):
        return left, right
    return _normalize(left, one, ordering=ordering), _normalize(right, other, ordering=ordering)


def compare_unmerged(symbol: str, left: str, right: str) -> str:
    """Compares lists, rows or ranges. DuckDB would combine two comparisons into BETWEEN, which it lacks for these
    types.
    """
    if symbol not in {"<", "<="}:
        return f"({left} {symbol} {right})"
    above = ">=" if symbol == "<" else ">"
    return bind_values(
        lambda a, b: f"(CASE WHEN {a} {symbol} {b} THEN true WHEN {a} {above} {b} THEN false END)", left, right
    )
