"""Text forms of geometric values: all that PostgreSQL reads, and what it writes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa

from gpudb.errors import InvalidText, NumericOutOfRange
from gpudb.types.facts import GEOMETRIC_WIDTHS
from gpudb.values.geometry.boxes import make_box
from gpudb.values.geometry.floats import EPSILON
from gpudb.values.geometry.forms import Shape, pack, read_shape, unpack, write_shape
from gpudb.values.geometry.lines import make_line_through
from gpudb.values.numbers import SPACE, format_float8

_NUMBER = re.compile(
    r"[+-]?(?:0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?\d+)?"
    r"|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|infinity|inf|nan)",
    re.IGNORECASE | re.ASCII,
)
_ZERO = re.compile(r"[+-]?(?:0x)?[0.]*(?:[ep].*)?", re.IGNORECASE)


class _Reader:
    """Reads a text of a type from its start; 22P02 where something else is there."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text, self.at = name, text, 0

    def fail(self) -> InvalidText:
        """Returns the error of the whole text."""
        return InvalidText(f'invalid input syntax for type {self.name}: "{self.text}"')

    def skip_space(self) -> None:
        """Skips blanks."""
        while self.at < len(self.text) and self.text[self.at] in SPACE:
            self.at += 1

    def peek(self) -> str:
        """Returns the next character, '' at the end."""
        return self.text[self.at : self.at + 1]

    def skip(self, mark: str) -> bool:
        """Skips a mark if it is next."""
        found = self.peek() == mark
        self.at += found
        return found

    def take(self, mark: str) -> None:
        """Reads a mark."""
        if not self.skip(mark):
            raise self.fail()

    def number(self) -> float:
        """Reads a number with the blanks around it; 22003."""
        self.skip_space()
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            raise self.fail()
        word = match[0]
        is_hex = "x" in word.lower()
        try:
            value = float.fromhex(word) if is_hex else float(word)
        except OverflowError:
            value = math.inf
        is_zero = value == 0 and not _ZERO.fullmatch(word)
        if is_zero or (math.isinf(value) and "n" not in word.lower()):
            raise NumericOutOfRange(f'"{word}" is out of range for type double precision')
        self.at = match.end()
        self.skip_space()
        return value

    def pair(self) -> tuple[float, float]:
        """Reads `x,y` or `(x,y)`."""
        self.skip_space()
        has_parenthesis = self.skip("(")
        x = self.number()
        self.take(",")
        y = self.number()
        if has_parenthesis:
            self.take(")")
            self.skip_space()
        return x, y

    def pairs(self, count: int, *, may_be_open: bool) -> tuple[list[tuple[float, float]], bool]:
        """Reads points with the parentheses or brackets around them; returns them, and whether there were brackets."""
        self.skip_space()
        depth = 0
        is_open = self.peek() == "["
        if is_open:
            if not may_be_open:
                raise self.fail()
            depth, self.at = 1, self.at + 1
        elif self.peek() == "(":
            depth = self._enter()
        found = []
        for _ in range(count):
            found.append(self.pair())
            self.skip(",")
        while depth:
            if not (self.skip(")") or (is_open and depth == 1 and self.skip("]"))):
                raise self.fail()
            depth -= 1
            self.skip_space()
        return found, is_open

    def _enter(self) -> int:
        """Reads a parenthesis that is around all points; returns 1, or 0 if it is around the first alone."""
        after = self.at + 1
        while after < len(self.text) and self.text[after] in SPACE:
            after += 1
        if self.text[after : after + 1] == "(" or self.text.rfind("(") == self.at:
            self.at = after
            return 1
        return 0

    def end(self) -> None:
        """Checks that nothing is left."""
        if self.at != len(self.text):
            raise self.fail()


def parse_geometry(name: str, text: str) -> bytes:
    """Parses a text of a type; 22P02, 22003."""
    return _PARSERS[name](_Reader(name, text))


def _parse_point(reader: _Reader) -> bytes:
    found = reader.pair()
    reader.end()
    return pack(found)


def _parse_segment(reader: _Reader) -> bytes:
    (one, other), _ = reader.pairs(2, may_be_open=True)
    reader.end()
    return pack((*one, *other))


def _parse_box(reader: _Reader) -> bytes:
    (one, other), _ = reader.pairs(2, may_be_open=False)
    reader.end()
    return pack(make_box(np.array(one), np.array(other)).tolist())


def _parse_line(reader: _Reader) -> bytes:
    reader.skip_space()
    if not reader.skip("{"):
        (one, other), _ = reader.pairs(2, may_be_open=True)
        reader.end()
        made = make_line_through(np.array([one]), np.array([other]), "invalid_text_representation")
        return pack(made[0].tolist())
    values = [reader.number()]
    for _ in range(2):
        reader.take(",")
        values.append(reader.number())
    reader.take("}")
    reader.skip_space()
    reader.end()
    if abs(values[0]) <= EPSILON and abs(values[1]) <= EPSILON:
        raise InvalidText("invalid line specification: A and B cannot both be zero")
    return pack(values)


def _count_pairs(reader: _Reader) -> int:
    commas = reader.text.count(",")
    if commas % 2 == 0:
        raise reader.fail()
    return (commas + 1) // 2


def _parse_path(reader: _Reader) -> bytes:
    count = _count_pairs(reader)
    reader.skip_space()
    is_inside = reader.peek() == "(" and reader.text.rfind("(") == reader.at
    reader.at += is_inside
    found, is_open = reader.pairs(count, may_be_open=True)
    if is_inside:
        reader.take(")")
        reader.skip_space()
    reader.end()
    return write_shape("path", Shape(np.array(found), not is_open))


def _parse_polygon(reader: _Reader) -> bytes:
    found, _ = reader.pairs(_count_pairs(reader), may_be_open=False)
    reader.end()
    return write_shape("polygon", Shape(np.array(found)))


def _parse_circle(reader: _Reader) -> bytes:
    reader.skip_space()
    depth = int(reader.skip("<"))
    if not depth and reader.peek() == "(":
        after = reader.at + 1
        while after < len(reader.text) and reader.text[after] in SPACE:
            after += 1
        if reader.text[after : after + 1] == "(":
            depth, reader.at = 1, after
    x, y = reader.pair()
    reader.skip(",")
    radius = reader.number()
    if radius < 0:
        raise reader.fail()
    if depth:
        if not (reader.skip(">") or reader.skip(")")):
            raise reader.fail()
        reader.skip_space()
    reader.end()
    return pack((x, y, radius))


_PARSERS: dict[str, Callable[[_Reader], bytes]] = {
    "point": _parse_point,
    "line": _parse_line,
    "lseg": _parse_segment,
    "box": _parse_box,
    "path": _parse_path,
    "polygon": _parse_polygon,
    "circle": _parse_circle,
}


def format_geometry(name: str, value: bytes) -> str:
    """Returns the text of a value."""
    if name in GEOMETRIC_WIDTHS:
        return _format_numbers(name, [format_float8(each) for each in unpack(value)])
    shape = read_shape(name, value)
    pairs = ",".join(f"({format_float8(x)},{format_float8(y)})" for x, y in shape.points.tolist())
    return f"({pairs})" if shape.closed else f"[{pairs}]"


_TEMPLATES = {
    "point": "({},{})",
    "line": "{{{},{},{}}}",
    "lseg": "[({},{}),({},{})]",
    "box": "({},{}),({},{})",
    "circle": "<({},{}),{}>",
}


def _format_numbers(name: str, words: Iterable[str]) -> str:
    return _TEMPLATES[name].format(*words)


def format_geometry_column(name: str, column: pa.Array) -> pa.StringArray:
    """Returns the texts of a column."""
    values: Sequence[bytes | None] = column.to_pylist()
    return pa.array([None if value is None else format_geometry(name, value) for value in values], pa.string())
