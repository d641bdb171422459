"""A text rewritten piece by piece, of which every byte knows where the user wrote it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from gpudb.sql.parse.locations import location_fields

Part = str | tuple[int, int]
"""A part of an edit: new text, or the bytes of the text from a start to an end."""


class Edit(NamedTuple):
    """The bytes from `start` to `end` become these parts."""

    start: int
    end: int
    parts: tuple[Part, ...]


class _Piece(NamedTuple):
    """Bytes and their place in the user's text; what was inserted has that of what it was inserted before."""

    data: bytes
    origin: int
    written: bool


class Rewritten:
    """A text, at first as the user wrote it, after `edits` edits."""

    def __init__(self, text: str) -> None:
        self.text, self.edits = text, 0
        self._user = text.encode()
        self._size = len(self._user)
        """Bytes of the text now."""
        self._pieces = [_Piece(self._user, 0, True)]
        self._starts = [0]

    def apply(self, edits: Sequence[Edit]) -> None:
        """Applies edits that do not overlap; their offsets are those of the text now."""
        pieces, place = list[_Piece](), 0
        for edit in sorted(edits, key=lambda each: each.start):
            pieces += self._slice(place, edit.start)
            anchor = self.locate(edit.start)[0]
            for part, following in zip(edit.parts, (*edit.parts[1:], ""), strict=True):
                if not isinstance(part, str):
                    pieces += self._slice(*part)
                    continue
                origin = anchor if isinstance(following, str) else self.locate(following[0])[0]
                pieces.append(_Piece(part.encode(), origin, False))
            place = edit.end
        pieces += self._slice(place, self._size)
        self._pieces = [each for each in pieces if each.data]
        self._starts = list(accumulate((len(each.data) for each in self._pieces), initial=0))
        self._size = self._starts.pop()
        self.text = b"".join(each.data for each in self._pieces).decode()
        self.edits += len(edits)

    def locate(self, offset: int) -> tuple[int, bool]:
        """Returns the byte offset in the user's text of one in the text now, and whether the user wrote what is there.

        The offset behind the text is the one behind the user's.
        """
        number = bisect_right(self._starts, offset) - 1
        piece, inside = self._pieces[number], offset - self._starts[number]
        if not piece.written:
            return piece.origin, False
        return piece.origin + inside, True

    def locate_statement(self, start: int, end: int) -> tuple[int, int]:
        """Returns the bytes of a statement in the user's text. It begins at 0 or behind a semicolon, and ends at one or
        at the text's end; no edit moves a semicolon.
        """
        begin = self.locate(start - 1)[0] + 1 if start else 0
        return begin, len(self._user) if end >= self._size else self.locate(end)[0]

    def locate_position(self, position: int | None, start: int, begin: int, *, written: bool = False) -> int | None:
        """Returns PostgreSQL's position in the user's text for one now: those of a statement at `start` and `begin`.

        None if it is unknown or, asked for what is `written`, where the user wrote nothing.
        """
        if not position:
            return None
        now, user = self.text.encode()[start:], self._user[begin:]
        place, known = self.locate(start + len(now.decode()[: position - 1].encode()))
        return None if written and not known else len(user[: place - begin].decode()) + 1

    def relocate(self, message: Any, start: int, begin: int) -> None:
        """Gives all nodes of a statement's tree their places in the user's text, counted from `begin` there."""
        for name in location_fields(message):
            place = getattr(message, name)
            if place >= 0:
                setattr(message, name, max(self.locate(start + place)[0] - begin, 0))
        for field, value in message.ListFields():
            if field.message_type is not None:
                for each in value if field.is_repeated else (value,):
                    self.relocate(each, start, begin)

    def _slice(self, start: int, end: int) -> list[_Piece]:
        found = []
        for number in range(max(bisect_right(self._starts, start) - 1, 0), len(self._pieces)):
            piece, place = self._pieces[number], self._starts[number]
            if place >= end:
                break
            first, last = max(start - place, 0), min(end - place, len(piece.data))
            if first < last:
                origin = piece.origin + first if piece.written else piece.origin
                found.append(_Piece(piece.data[first:last], origin, piece.written))
        return found
