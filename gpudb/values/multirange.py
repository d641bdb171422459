"""Multiranges: parsed from text, and brought into canonical form.

Source: PostgreSQL 16's multirangetypes.c (multirange_in, multirange_canonicalize).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from gpudb.errors import InvalidText, SqlError
from gpudb.values.numbers import SPACE
from gpudb.values.range import Range, comparable, held_bounds

_Bound = tuple[int, Any, int]


@dataclass(frozen=True, slots=True)
class Multirange:
    """A multirange in canonical form: sorted ranges, none empty, no two overlapping or adjacent."""

    ranges: tuple[Range, ...] = ()

    def __iter__(self) -> Iterator[Range]:
        return iter(self.ranges)

    def __len__(self) -> int:
        return len(self.ranges)

    def __str__(self) -> str:
        """Formats the multirange as PostgreSQL does."""
        return "{" + ",".join(map(str, self.ranges)) + "}"


def parse_multirange(text: str, element: Callable[[str], object]) -> Multirange:
    """Parses a multirange into canonical form; `element` parses a bound. 22P02 for invalid text."""
    body = text.lstrip(SPACE)
    if not body.startswith("{"):
        raise _malformed(text, "Missing left brace.")
    ranges: list[Range] = []
    at, wanted = len(text) - len(body) + 1, True
    at = _blank(text, at)
    if text[at : at + 1] == "}":
        return _ended(text, at + 1, ranges)
    while wanted:
        end = _range_end(text, at)
        value = element(text[at:end])
        assert isinstance(value, Range)
        ranges.append(value)
        at = _blank(text, end)
        wanted = text[at : at + 1] == ","
        if not wanted and text[at : at + 1] != "}":
            raise _malformed(text, "Expected comma or end of multirange." if text[at:] else "Unexpected end of input.")
        at = _blank(text, at + 1)
    return _ended(text, at, ranges)


def _ended(text: str, at: int, ranges: list[Range]) -> Multirange:
    if text[at:].strip(SPACE):
        raise _malformed(text, "Junk after closing right brace.")
    return canonical(ranges)


def _blank(text: str, at: int) -> int:
    return at + len(text[at:]) - len(text[at:].lstrip(SPACE))


def _range_end(text: str, at: int) -> int:
    """Returns the end of the range that starts at a position: after its parenthesis, or after `empty`."""
    if text[at : at + 5].lower() == "empty":
        return at + 5
    if text[at : at + 1] not in {"[", "("}:
        raise _malformed(text, "Expected range start." if text[at:] else "Unexpected end of input.")
    quoted = False
    at += 1
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == '"':
            quoted = not quoted
        elif not quoted and char in "])":
            return at + 1
        at += 1
    raise _malformed(text, "Unexpected end of input.")


def canonical(ranges: Sequence[Range]) -> Multirange:
    """Returns the same values as sorted ranges, none empty, no two overlapping or adjacent."""
    made: list[Range] = []
    for each in _in_order(ranges):
        last = made[-1] if made else None
        if last is None or not _joins(held_bounds(last)[1], held_bounds(each)[0]):
            made.append(each)
        else:
            made[-1] = _joined(last, each)
    return Multirange(tuple(made))


def _joined(one: Range, other: Range) -> Range:
    """Returns the union of two ranges; of equal bounds, which may differ in display scale, the second range's."""
    first = one if _compared(held_bounds(one)[0], held_bounds(other)[0]) < 0 else other
    last = one if _compared(held_bounds(one)[1], held_bounds(other)[1]) > 0 else other
    return Range(first.lower, last.upper, first.lower_inc, last.upper_inc)


def _in_order(ranges: Sequence[Range]) -> Iterator[Range]:
    def order(one: Range, other: Range) -> int:
        pairs = zip(held_bounds(one), held_bounds(other), strict=True)
        return next((found for a, b in pairs if (found := _compared(a, b))), 0)

    return iter(sorted((each for each in ranges if not each.empty), key=cmp_to_key(order)))


def _compared(one: _Bound, other: _Bound) -> int:
    """Returns -1, 0 or 1: bounds compare by kind, value and side."""
    if one[0] != other[0] or one[0] != 1:
        return (one[0] > other[0]) - (one[0] < other[0])
    a, b = (comparable(one[1]), one[2]), (comparable(other[1]), other[2])
    return (a > b) - (a < b)


def _joins(upper: _Bound, lower: _Bound) -> bool:
    """Whether one range's end and the next one's start are adjacent."""
    if _compared(lower, upper) <= 0:
        return True
    return upper[0] == lower[0] == 1 and comparable(upper[1]) == comparable(lower[1]) and upper[2] + 1 == lower[2]


def _malformed(text: str, detail: str) -> SqlError:
    return InvalidText(f'malformed multirange literal: "{text}"', detail=detail)
