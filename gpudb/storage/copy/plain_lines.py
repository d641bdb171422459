"""Leaves lines of csv out that are no rows: the first ones and comments. Blank lines take their place, so that errors
keep the numbers of the file's lines.
"""

from __future__ import annotations

import re

_END = re.compile(rb"\r\n|\n|\r")
_ENDS = b"\r\n"


class PlainLines:
    """Puts `blank` in the place of the first `skip` lines, and of lines that begin with `comment`, after spaces or not.

    A comment is none within quotes: as for COPY, each quote opens or closes a field. `skip` counts lines alone.
    """

    def __init__(self, skip: int, comment: str, quote: str, blank: str = "") -> None:
        self._skip = skip
        self._blank = blank.encode()
        self._quote = quote.encode()
        self._mark = comment.encode()
        self._comment = re.compile(rb"(?:\A|(?<=[\r\n]))[ \t]*" + re.escape(self._mark) + rb"[^\r\n]*")
        self._rest = b""
        self._inside = False

    def feed(self, data: bytes) -> bytes:
        """Returns what is known of the lines up to the end of some more bytes."""
        data = self._rest + data if self._rest else data
        if not self._skip and not self._mark:
            self._rest = b""
            return data
        end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
        self._rest = data[end:]
        return self._empty(data[:end])

    def finish(self) -> bytes:
        """Returns the last line."""
        data, self._rest = self._rest, b""
        return self._empty(data)

    def _empty(self, data: bytes) -> bytes:
        parts: list[bytes] = []
        at = 0
        while self._skip and at < len(data):
            end = _END.search(data, at)
            if end is None:
                return b"".join(parts)
            parts += [self._blank, end.group()]
            at = end.end()
            self._skip -= 1
        rest = data[at:] if at else data
        parts.append(self._empty_comments(rest) if self._mark else rest)
        return b"".join(parts) if at else parts[0]

    def _empty_comments(self, data: bytes) -> bytes:
        parts: list[bytes] = []
        start = at = 0
        for found in self._comment.finditer(data) if self._mark in data else ():
            self._inside ^= bool(data.count(self._quote, at, found.start()) & 1)
            at = found.start()
            if not self._inside:
                parts += [data[start:at], self._blank]
                start = at = found.end()
        self._inside ^= bool(data.count(self._quote, at) & 1)
        return b"".join([*parts, data[start:]]) if start else data
