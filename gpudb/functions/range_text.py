"""Ranges as text: formatted and parsed."""

from __future__ import annotations

from collections.abc import Callable

from gpudb.functions.let_binding import let
from gpudb.types import SqlType


def range_text(sql: str, scale: str, item: SqlType, text: Callable[[str, str, SqlType], str]) -> str:
    """Formats a range; `text` formats one bound, from its value, its scale and its type."""
    subtype = item.subtype
    assert subtype is not None
    scales = (f"({scale} // 64)", f"({scale} % 64)") if item.is_carried else ("0", "0")

    def body(r: str) -> str:
        low, high = (
            f"coalesce({_escaped(text(f'({r}).{side}.v', shown, subtype), subtype)}, '')"
            for side, shown in zip(("l", "u"), scales)
        )
        opening, closing = (f"({r}).{side}.k = 1 AND ({r}).{side}.s = 0" for side in ("l", "u"))
        return (
            f"(CASE WHEN ({r}).l.k = -1 THEN 'empty' ELSE (CASE WHEN {opening} THEN '[' ELSE '(' END)"
            f" || {low} || ',' || {high} || (CASE WHEN {closing} THEN ']' ELSE ')' END) END)"
        )

    return let(lambda r: f"(CASE WHEN {r} IS NOT NULL THEN {body(r)} END)", sql)


def _escaped(text: str, subtype: SqlType) -> str:
    """Whether a bound contains a blank: timestamps do, except infinities, and dates BC; numbers never do."""
    if subtype.name not in {"date", "timestamp", "timestamptz"}:
        return text
    return let(lambda t: f"(CASE WHEN contains({t}, ' ') THEN '\"' || {t} || '\"' ELSE {t} END)", text)


def range_in(text: str, item: SqlType) -> str:
    """Parses a range into `SqlType.duckdb`."""
    return f"pg_{item.name}_in({text}, current_setting('TimeZone'))"
