"""The session's DateStyle and IntervalStyle in functions that DuckDB calls, as their last operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from gpudb.values.datetime_style import DateTimeStyle, parse_style, use_style

Result = TypeVar("Result")

_BETWEEN = "; "


def render_style(style: DateTimeStyle, zone: str) -> str:
    """Returns a style and a session's TimeZone as functions take them: empty for the default style."""
    return "" if style.is_default else _BETWEEN.join((style.date_style, style.interval, zone))


def _read_style(text: str) -> DateTimeStyle:
    return parse_style(*text.split(_BETWEEN)[:2]) if text else DateTimeStyle()


def read_zone(text: str, zone: str) -> str:
    """Returns the TimeZone as the session names it: the engine's own name of a fixed offset has no abbreviation."""
    return text.split(_BETWEEN)[2] if text else zone


def in_style(function: Callable[..., Result]) -> Callable[..., Result]:
    """Returns a function of values whose last operand is the style that texts have while it runs."""

    def call(*operands: str) -> Result:
        with use_style(_read_style(operands[-1])):
            return function(*operands[:-1])

    return call


def over_style(function: Callable[..., pa.Array]) -> Callable[..., pa.Array]:
    """Returns a function of columns whose last column is the style that texts have while it runs, one for all rows."""

    def call(*columns: pa.Array) -> pa.Array:
        style = columns[-1]
        with use_style(_read_style(style[0].as_py() if len(style) else "")):
            return function(*columns[:-1])

    return call
