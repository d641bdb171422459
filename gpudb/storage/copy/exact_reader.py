r"""Reads rows and fields of the text and csv formats exactly as PostgreSQL does (CopyReadLineText and others).

The slow path, for blocks that the fast path (`fast_reader`) may read differently, and for the line of an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gpudb.errors import GpudbError
from gpudb.storage.copy.errors import RowError, bad_format_error, decode_row
from gpudb.storage.copy.options import CopyOptions


class DefaultMarker:
    """Placeholder of a field that requests its column's default."""


DEFAULT: Final = DefaultMarker()
Field = str | None | DefaultMarker


@dataclass(frozen=True, slots=True)
class Line:
    """A row: `number` is that of its last physical line, counting from 1 at the block's first; it ends at `end`."""

    number: int
    raw: bytes
    end: int = 0


class Scanner:
    r"""Splits a block into rows. `eol` is the line ending, None until the first one determines it.

    `first` marks the start of the data: PostgreSQL counts no newlines in quotes before it has seen a line ending.
    `ended` is set once the end-of-data marker `\.` was read; nothing after it counts. `number` is the last row's.
    """

    def __init__(self, options: CopyOptions, eol: bytes | None, first: bool = False) -> None:
        self._csv = options.format == "csv"
        self.eol = eol
        self._counted = b"\r" if first else b""
        self.ended = False
        self.number = 0
        self._quote = options.quote.encode()
        escape = options.escape.encode()
        self._escape = b"" if escape == self._quote else escape
        special = b"\n\r" + (self._quote + self._escape if self._csv else b"\\")
        self._special = re.compile(b"[" + re.escape(special) + b"]")
        self._simple = self._quote if self._csv else b"\\"

    def lines(self, data: bytes) -> Iterator[Line]:
        """Yields the rows of a block; raises RowError for malformed lines."""
        if self.eol == b"\n" and not any(mark in data for mark in (self._simple, b"\r", b"\\.")):
            parts = data.split(b"\n")
            if not parts[-1]:
                del parts[-1]
            end = -1
            for number, raw in enumerate(parts, 1):
                end += len(raw) + 1
                self.number = number
                yield Line(number, raw, end)
            return
        start = number = 0
        while start < len(data):
            number += 1
            end, after, inner = self._line(data, start, number)
            number += inner
            self._counted = b""
            ended = self.ended
            if not ended or end > start:
                self.number = number
                yield Line(number, data[start:end], end)
            if ended:
                return
            start = after

    def _line(self, data: bytes, start: int, number: int) -> tuple[int, int, int]:
        """Returns (end, start of the next, line breaks inside) of the line at `start`."""
        at, quoted, inner = start, False, 0
        if self._csv and data.startswith(b"\\.", start) and (after := self._marker(data, start, number)):
            self.ended = True
            return start, after, 0
        while (found := self._special.search(data, at)) is not None:
            at = found.end()
            char = found.group()
            if char == b"\\" and not self._csv:
                if data.startswith(b".", at) and (after := self._marker(data, at - 1, number)):
                    self.ended = True
                    return at - 1, after, inner
                at += 1
            elif char == self._quote and self._csv:
                quoted = not quoted
            elif char == self._escape and self._csv:
                if quoted and data[at : at + 1] in (self._quote, self._escape):
                    at += 1
            elif quoted:
                inner += char == (self._counted or (b"\n" if self.eol in (b"\n", None) else b"\r"))
            elif char == b"\r":
                return at - 1, self._return(data, at, number + inner), inner
            else:
                self._newline(number + inner)
                return at - 1, at, inner
        return len(data), len(data), inner

    def _return(self, data: bytes, at: int, number: int) -> int:
        """Returns the start of the next line after a carriage return that ends at `at`."""
        if self.eol in (None, b"\r\n"):
            if data.startswith(b"\n", at):
                self.eol = b"\r\n"
                return at + 1
            if self.eol == b"\r\n":
                raise RowError(self._stray("carriage return", "r"), number)
            self.eol = b"\r"
        elif self.eol == b"\n":
            raise RowError(self._stray("carriage return", "r"), number)
        return at

    def _newline(self, number: int) -> None:
        if self.eol in (b"\r", b"\r\n"):
            raise RowError(self._stray("newline", "n"), number)
        self.eol = b"\n"

    def _stray(self, name: str, letter: str) -> GpudbError:
        if self._csv:
            return bad_format_error(f"unquoted {name} found in data", f"Use quoted CSV field to represent {name}.")
        return bad_format_error(f"literal {name} found in data", f'Use "\\{letter}" to represent {name}.')

    def _marker(self, data: bytes, at: int, number: int) -> int:
        r"""Returns the end of the line of a `\.`; 0 if it is no end-of-data marker (csv alone)."""
        place = at + 2
        char = data[place : place + 1]
        if self.eol == b"\r\n":
            if char == b"\r":
                place += 1
                char = data[place : place + 1]
            elif self._csv:
                return 0
            elif char == b"\n":
                raise RowError(self._other_style(), number)
        if not char or char not in b"\r\n":
            if self._csv:
                return 0
            raise RowError(bad_format_error("end-of-copy marker corrupt"), number)
        if self.eol is not None and char != self.eol[-1:]:
            raise RowError(self._other_style(), number)
        return place + 1

    def _other_style(self) -> GpudbError:
        return bad_format_error("end-of-copy marker does not match previous newline style")


class FieldSplitter:
    """Splits a row into its fields."""

    def __init__(self, options: CopyOptions) -> None:
        self._nulls = frozenset(options.all_nulls)
        self._default = options.default
        self._delimiter = options.delimiter
        self._quote, self._escape = options.quote, options.escape
        self._csv = options.format == "csv"
        separator = re.escape(options.delimiter)
        self._raw = re.compile(rf"(?:[^{separator}\\]|\\.|\\$)*", re.DOTALL)
        self._bare = re.compile(f"[^{separator}{re.escape(options.quote)}]*")
        self._inside = re.compile(f"[^{re.escape(options.quote)}{re.escape(options.escape)}]*")

    def split(self, line: Line, following: bytes = b"") -> list[Field]:
        """Returns the fields of a row, None for NULL; raises RowError for invalid UTF-8 and an unterminated quote."""
        text = decode_row(line.raw, line.number, following)
        if self._csv:
            return self._csv_fields(text, line.number) if self._quote in text else self._simple(text)
        return self._text_fields(text, line) if "\\" in text else self._simple(text)

    def _simple(self, text: str) -> list[Field]:
        return [self._plain(part) for part in text.split(self._delimiter)]

    def _plain(self, text: str) -> Field:
        if text in self._nulls:
            return None
        return DEFAULT if self._default is not None and text == self._default else text

    def _csv_fields(self, text: str, number: int) -> list[Field]:
        fields: list[Field] = []
        at, length = 0, len(text)
        while True:
            start, parts, quoted = at, [], False
            while True:
                bare = self._bare.match(text, at)
                assert bare is not None
                parts.append(bare.group())
                at = bare.end()
                if at >= length or text[at] == self._delimiter:
                    break
                quoted = True
                at = self._quoted(text, at + 1, parts, number)
            value = "".join(parts)
            default = self._default is not None and text[start:at] == self._default
            fields.append(DEFAULT if default else None if not quoted and value in self._nulls else value)
            if at >= length:
                return fields
            at += 1

    def _quoted(self, text: str, at: int, parts: list[str], number: int) -> int:
        """Reads on after an opening quote; returns the position after the closing one."""
        while True:
            inside = self._inside.match(text, at)
            assert inside is not None
            parts.append(inside.group())
            at = inside.end()
            if at >= len(text):
                raise RowError(bad_format_error("unterminated CSV quoted field"), number, raw=text)
            char, following = text[at], text[at + 1 : at + 2]
            at += 1
            if char == self._escape and following and following in (self._escape, self._quote):
                parts.append(following)
                at += 1
            elif char == self._quote:
                return at
            else:
                parts.append(char)

    def _text_fields(self, text: str, line: Line) -> list[Field]:
        fields: list[Field] = []
        at = 0
        while True:
            found = self._raw.match(text, at)
            assert found is not None
            raw, at = found.group(), found.end()
            plain = self._plain(raw)
            if isinstance(plain, str) and "\\" in raw:
                try:
                    plain = unescape(raw)
                except RowError as error:
                    raise RowError(error.error, line.number, raw=text) from None
            fields.append(plain)
            if at >= len(text):
                return fields
            at += 1


_ESCAPED = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.)|$)", re.DOTALL)
_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def unescape(raw: str) -> str:
    r"""Decodes backslash escapes: `\t`, `\101`, `\x41`, `\\`. Raises RowError 22021 for bytes that are not UTF-8."""
    return decode_row(_ESCAPED.sub(_decode_escape, raw.encode()), 1)


def _decode_escape(found: re.Match[bytes]) -> bytes:
    octal, hexadecimal, letter = found.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    return _LETTERS.get(letter, letter) if letter is not None else b""
