"""Equality and order of values whose representation does not have PostgreSQL's.

Equal numerics may have different display scales, equal jsonb documents may spell numbers differently; the same holds
for items of arrays and fields of rows. `key` is equal for equal values, `order` sorts as the values do.
"""

from __future__ import annotations

from gpudb.functions.let_binding import let
from gpudb.functions.records import member
from gpudb.types import SqlType

# A number with a point that ends in 0, or such characters in a string.
_TRAILING_ZERO = r"\.[0-9]*0([^0-9]|$)"


def several_forms(item: SqlType) -> bool:
    """Whether equal values of a type may have different representations."""
    if item.fields:
        return any(several_forms(field) for _, field in item.fields)
    if item.item is not None:
        return several_forms(item.item)
    return item.is_carried or item.name == "jsonb"


def key(sql: str, item: SqlType) -> str:
    """Returns SQL that is equal for equal values; `sql` is the value alone, which for a carried numeric is equal
    already.
    """
    return _form(sql, item, ordering=False) if several_forms(item) else sql


def order(sql: str, item: SqlType) -> str:
    """Returns SQL that sorts as PostgreSQL sorts the values; `sql` as for `key`."""
    return _form(sql, item, ordering=True) if several_forms(item) else sql


def _form(sql: str, item: SqlType, *, ordering: bool) -> str:
    if item.name == "jsonb":
        if ordering:
            return f"pg_jsonb_order({sql})"
        return let(lambda v: f"(CASE WHEN regexp_matches({v}, '{_TRAILING_ZERO}') THEN pg_jsonb_key({v}) ELSE {v} END)",
                   sql)  # fmt: skip
    inner = item.item
    if inner is not None:
        if not several_forms(inner):
            return sql
        value = "(pg_e).v" if inner.is_carried else _form("pg_e", inner, ordering=ordering)
        return f"list_transform({sql}, lambda pg_e: {value})"
    if not item.fields:
        return sql

    def made(value: str) -> str:
        fields = (
            _form(member(value, item, index)[0], field, ordering=ordering)
            for index, (_, field) in enumerate(item.fields)
        )
        return f"(CASE WHEN {value} IS NOT NULL THEN row({', '.join(fields)}) END)"

    return let(made, sql)


def _named_alike(one: SqlType, other: SqlType) -> bool:
    """Whether two types are one to DuckDB, which also compares the names of rows' fields."""
    if one.fields and other.fields:
        return one.members == other.members and all(
            _named_alike(a, b) for (_, a), (_, b) in zip(one.fields, other.fields, strict=True)
        )
    if one.item is not None and other.item is not None:
        return _named_alike(one.item, other.item)
    return True


def compared(left: str, right: str, one: SqlType, other: SqlType, *, ordering: bool = False) -> tuple[str, str]:
    """Returns two values in forms that DuckDB compares as PostgreSQL does; `ordering` is for < and >."""
    if _named_alike(one, other) and not several_forms(one) and not several_forms(other):
        return left, right
    return _form(left, one, ordering=ordering), _form(right, other, ordering=ordering)


def unmerged(symbol: str, left: str, right: str) -> str:
    """Compares lists, rows or ranges. DuckDB would combine two comparisons into BETWEEN, which it lacks for these
    types.
    """
    if symbol not in {"<", "<="}:
        return f"({left} {symbol} {right})"
    above = ">=" if symbol == "<" else ">"
    return let(lambda a, b: f"(CASE WHEN {a} {symbol} {b} THEN true WHEN {a} {above} {b} THEN false END)", left, right)
