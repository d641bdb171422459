"""Ranges: parsed from text, brought into canonical form, and formatted.

Source: PostgreSQL 16's rangetypes.c (range_parse, make_range, the canonical functions, range_deparse).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from gpudb.errors import InvalidText, SqlError
from gpudb.types import SqlType
from gpudb.values import calendar
from gpudb.values.numbers import SPACE

_LAST = {"int4": (2**31 - 1, "integer"), "int8": (2**63 - 1, "bigint")}
_SPECIAL = frozenset('"\\()[],' + SPACE)


@dataclass(frozen=True, slots=True)
class Range:
    """A range in its canonical form. A bound that is None is infinite; an empty range has no bounds."""

    lower: object = None
    upper: object = None
    lower_inc: bool = False
    upper_inc: bool = False
    empty: bool = False

    def __str__(self) -> str:
        """Formats the range as PostgreSQL does."""
        return format_range(self, str)


EMPTY = Range(empty=True)


def make_range(type_: SqlType, lower: object, upper: object, lower_inc: bool, upper_inc: bool) -> Range:
    """Returns the canonical range between two bounds; 22000 if they are crossed, 22003 or 22008 beyond the last
    value.
    """
    lower_inc, upper_inc = lower_inc and lower is not None, upper_inc and upper is not None
    if _is_empty(lower, upper, lower_inc, upper_inc):
        return EMPTY
    if type_.name not in {"int4range", "int8range", "daterange"}:
        return Range(lower, upper, lower_inc, upper_inc)
    if lower is not None and not lower_inc and _has_successor(lower):
        lower, lower_inc = _get_successor(type_, lower), True
    if upper is not None and upper_inc and _has_successor(upper):
        upper, upper_inc = _get_successor(type_, upper), False
    return EMPTY if _is_empty(lower, upper, lower_inc, upper_inc) else Range(lower, upper, lower_inc, upper_inc)


def _is_empty(lower: object, upper: object, lower_inc: bool, upper_inc: bool) -> bool:
    if lower is None or upper is None:
        return False
    first, last = to_comparable(lower), to_comparable(upper)
    if first > last:
        message = "range lower bound must be less than or equal to range upper bound"
        raise SqlError.of("data_exception", message)
    return bool(first == last and not (lower_inc and upper_inc))


def to_comparable(value: object) -> Any:
    """Returns a bound in comparable form: dates and times as the integers that represent them."""
    match value:
        case dt.datetime():
            return calendar.microseconds_from_timestamp(value)
        case dt.date():
            return calendar.days_from_date(value)
        case str() if value.endswith("infinity"):
            return -(2**63) if value[0] == "-" else 2**63
        case str():
            return calendar.microseconds_from_timestamp(value) if ":" in value else calendar.days_from_date(value)
    return value


def _has_successor(value: object) -> bool:
    """Whether a value has a successor: the infinite dates have none."""
    return not (isinstance(value, str) and value.endswith("infinity"))


def _get_successor(type_: SqlType, value: Any) -> object:
    if type_.name == "daterange":
        days = calendar.days_from_date(value) + 1
        if days > calendar.days_from_civil(5_874_897, 12, 31):
            raise SqlError.of("datetime_field_overflow", "date out of range")
        return calendar.date_from_days(days)
    assert type_.subtype is not None
    last, type_name = _LAST[type_.subtype.name]
    if value == last:
        raise SqlError.of("numeric_value_out_of_range", f"{type_name} out of range")
    return value + 1


# ---- text


def parse_range(type_: SqlType, text: str, parse_bound: Callable[[str], object]) -> Range:
    """Parses a range; `parse_bound` parses a bound. 22P02 for invalid text."""
    at = len(text) - len(text.lstrip(SPACE))
    if text[at : at + 5].lower() == "empty":
        if text[at + 5 :].strip(SPACE):
            raise _malformed_error(text, 'Junk after "empty" key word.')
        return EMPTY
    if text[at : at + 1] not in {"[", "("}:
        raise _malformed_error(text, "Missing left parenthesis or bracket.")
    lower_inc = text[at] == "["
    lower, at = _parse_bound(text, at + 1)
    if text[at] != ",":
        raise _malformed_error(text, "Missing comma after lower bound.")
    upper, at = _parse_bound(text, at + 1)
    if text[at] == ",":
        raise _malformed_error(text, "Too many commas.")
    if text[at + 1 :].strip(SPACE):
        raise _malformed_error(text, "Junk after right parenthesis or bracket.")
    low = None if lower is None else parse_bound(lower)
    high = None if upper is None else parse_bound(upper)
    return make_range(type_, low, high, lower_inc, text[at] == "]")


def _parse_bound(text: str, at: int) -> tuple[str | None, int]:
    """Returns a bound's text (None if it is absent) and the position of the delimiter after it."""
    if text[at : at + 1] in {",", ")", "]"}:
        return None, at
    chars: list[str] = []
    quoted = False
    while quoted or text[at : at + 1] not in {",", ")", "]"}:
        char, at = text[at : at + 1], at + 1
        if char == "\\":
            char, at = text[at : at + 1], at + 1
        elif char == '"':
            if quoted and text[at : at + 1] == '"':
                at += 1
            else:
                quoted = not quoted
                continue
        if not char:
            raise _malformed_error(text, "Unexpected end of input.")
        chars.append(char)
    return "".join(chars), at


def _malformed_error(text: str, detail: str) -> SqlError:
    return InvalidText(f'malformed range literal: "{text}"', detail=detail)


def format_range(value: Range, format_bound: Callable[[object], str]) -> str:
    """Formats a range; `format_bound` writes a bound."""
    if value.empty:
        return "empty"
    low, high = ("" if bound is None else _quote_bound(format_bound(bound)) for bound in (value.lower, value.upper))
    return f"{'[' if value.lower_inc else '('}{low},{high}{']' if value.upper_inc else ')'}"


def _quote_bound(text: str) -> str:
    if text and _SPECIAL.isdisjoint(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '""') + '"'


def pack_scales(value: Range) -> int:
    """Returns the display scales of a numrange's bounds in one integer (see `gpudb.types`)."""
    low, high = (
        max(0, -int(bound.as_tuple().exponent)) if isinstance(bound, Decimal) else 0
        for bound in (value.lower, value.upper)
    )
    return low * 64 + high


def to_bounds(value: Range) -> tuple[tuple[int, Any, int], tuple[int, Any, int]]:
    """Returns the two bounds `(k, v, s)` that represent a range (see `gpudb.types`)."""
    if value.empty:
        return (-1, None, 0), (-1, None, 0)
    low, high = value.lower, value.upper
    return (
        (0, None, 0) if low is None else (1, low, 0 if value.lower_inc else 1),
        (2, None, 0) if high is None else (1, high, 0 if value.upper_inc else -1),
    )
