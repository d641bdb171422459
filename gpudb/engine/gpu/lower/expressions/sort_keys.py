"""Sort keys of arrays, rows, ranges and documents: bytes that are equal for equal values, and sort as they do."""

from __future__ import annotations

from gpudb.functions.equality import render_sort_key
from gpudb.functions.let_binding import bind_values
from gpudb.types import SqlType


def sort_key(value: str, kind: SqlType) -> str:
    """Renders a value's sort key as DuckDB SQL; `value` must not be NULL."""
    # With a text column after it the key is always bytes, whatever the types of its parts.
    key = _with_comparable_intervals(render_sort_key(value, kind), kind)
    return f"create_sort_key({key}, 'ASC NULLS LAST', '', 'ASC NULLS LAST')"


def _with_comparable_intervals(sql: str, kind: SqlType) -> str:
    """Converts intervals to comparable microseconds: their own sort keys compare months, then days."""
    if kind.name == "interval":
        days = f"CAST(pg_interval_months({sql}) AS HUGEINT) * 30 + pg_interval_days({sql})"
        return f"(({days}) * 86400000000 + pg_interval_us({sql}))"
    if not _has_intervals(kind):
        return sql
    if kind.item is not None:
        return f"list_transform({sql}, lambda pg_e: {_with_comparable_intervals('pg_e', kind.item)})"

    def render(row: str) -> str:
        fields = (
            _with_comparable_intervals(f"struct_extract_at({row}, {place})", field)
            for place, (_, field) in enumerate(kind.fields, 1)
        )
        return f"(CASE WHEN {row} IS NOT NULL THEN row({', '.join(fields)}) END)"

    return bind_values(render, sql)


def _has_intervals(kind: SqlType) -> bool:
    if kind.item is not None:
        return _has_intervals(kind.item)
    return kind.name == "interval" or any(_has_intervals(field) for _, field in kind.fields)
