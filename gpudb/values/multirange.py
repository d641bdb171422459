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
from gpudb.values.range import Range, to_bounds, to_comparable

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


def parse_multirange(text: str, parse_range_text: Callable[[str], object]) -> Multirange:
    """Parses a multirange into canonical form; `parse_range_text` parses a bound. 22P02 for invalid text."""
    body = text.lstrip(SPACE)
    if not body.startswith("{"):
        raise _malformed_error(text, "Missing left brace.")
    ranges: list[Range] = []
    at, is_expected = len(text) - len(body) + 1, True
    at = _skip_space(text, at)
    if text[at : at + 1] == "}":
        return _finish(text, at + 1, ranges)
    while is_expected:
        end = _find_range_end(text, at)
        value = parse_range_text(text[at:end])
        assert isinstance(value, Range)
        ranges.append(value)
        at = _skip_space(text, end)
        is_expected = text[at : at + 1] == ","
        if not is_expected and text[at : at + 1] != "}":
            raise _malformed_error(
                text, "Expected comma or end of multirange." if text[at:] else "Unexpected end of input."
            )
        at = _skip_space(text, at + 1)
    return _finish(text, at, ranges)


def _finish(text: str, at: int, ranges: list[Range]) -> Multirange:
    if text[at:].strip(SPACE):
        raise _malformed_error(text, "Junk after closing right brace.")
    return make_multirange(ranges)


def _skip_space(text: str, at: int) -> int:
    return at + len(text[at:]) - len(text[at:].lstrip(SPACE))


def _find_range_end(text: str, at: int) -> int:
    """Returns the end of the range that starts at a position: after its parenthesis, or after `empty`."""
    if text[at : at + 5].lower() == "empty":
        return at + 5
    if text[at : at + 1] not in {"[", "("}:
        raise _malformed_error(text, "Expected range start." if text[at:] else "Unexpected end of input.")
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
    raise _malformed_error(text, "Unexpected end of input.")


def make_multirange(ranges: Sequence[Range]) -> Multirange:
    """Returns the same values as sorted ranges, none empty, no two overlapping or adjacent."""
    merged: list[Range] = []
    for range_ in _sort(ranges):
        last = merged[-1] if merged else None
        if last is None or not _are_adjacent(to_bounds(last)[1], to_bounds(range_)[0]):
            merged.append(range_)
        else:
            merged[-1] = _merge(last, range_)
    return Multirange(tuple(merged))


def _merge(one: Range, other: Range) -> Range:
    """Returns the union of two ranges; of equal bounds, which may differ in display scale, the second range's."""
    first = one if _compare_bounds(to_bounds(one)[0], to_bounds(other)[0]) < 0 else other
    last = one if _compare_bounds(to_bounds(one)[1], to_bounds(other)[1]) > 0 else other
    return Range(first.lower, last.upper, first.lower_inc, last.upper_inc)


def _sort(ranges: Sequence[Range]) -> Iterator[Range]:
    def compare(one: Range, other: Range) -> int:
        pairs = zip(to_bounds(one), to_bounds(other), strict=True)
        return next((order for a, b in pairs if (order := _compare_bounds(a, b))), 0)

    return iter(sorted((range_ for range_ in ranges if not range_.empty), key=cmp_to_key(compare)))


def _compare_bounds(one: _Bound, other: _Bound) -> int:
    """Returns -1, 0 or 1: bounds compare by kind, value and side."""
    if one[0] != other[0] or one[0] != 1:
        return (one[0] > other[0]) - (one[0] < other[0])
    a, b = (to_comparable(one[1]), one[2]), (to_comparable(other[1]), other[2])
    return (a > b) - (a < b)


def _are_adjacent(upper: _Bound, lower: _Bound) -> bool:
    """Whether one range's end and the next one's start are adjacent."""
    if _compare_bounds(lower, upper) <= 0:
        return True
    return upper[0] == lower[0] == 1 and to_comparable(upper[1]) == to_comparable(lower[1]) and upper[2] + 1 == lower[2]


def _malformed_error(text: str, detail: str) -> SqlError:
    return InvalidText(f'malformed multirange literal: "{text}"', detail=detail)
