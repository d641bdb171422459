"""Ranges as text: formatted and parsed."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.let_binding import bind_values
from gpudb.types import SqlType


def format_range(sql: str, scale: str, item: SqlType, format_bound: Callable[[str, str, SqlType], str]) -> str:
    """Formats a range; `format_bound` formats one bound, from its value, its scale and its type."""
    subtype = item.subtype
    assert subtype is not None
    scales = (f"({scale} // 64)", f"({scale} % 64)") if item.is_carried else ("0", "0")

    def body(r: str) -> str:
        low, high = (
            f"coalesce({_quote_bound(format_bound(f'({r}).{side}.v', bound_scale, subtype), subtype)}, '')"
            for side, bound_scale in zip(("l", "u"), scales)
        )
        opening, closing = (f"({r}).{side}.k = 1 AND ({r}).{side}.s = 0" for side in ("l", "u"))
        return (
            f"(CASE WHEN ({r}).l.k = -1 THEN 'empty' ELSE (CASE WHEN {opening} THEN '[' ELSE '(' END)"
            f" || {low} || ',' || {high} || (CASE WHEN {closing} THEN ']' ELSE ')' END) END)"
        )

    return bind_values(lambda r: f"(CASE WHEN {r} IS NOT NULL THEN {body(r)} END)", sql)


def _quote_bound(text: str, subtype: SqlType) -> str:
    """Whether a bound contains a blank: timestamps do, except infinities, and dates BC; numbers never do."""
    if subtype.name not in {"date", "timestamp", "timestamptz"}:
        return text
    return bind_values(lambda t: f"(CASE WHEN contains({t}, ' ') THEN '\"' || {t} || '\"' ELSE {t} END)", text)


def parse_range(text: str, item: SqlType) -> str:
    """Parses a range into `SqlType.duckdb`."""
    return f"pg_{item.name}_in({text}, current_setting('TimeZone'), pg_style())"
