"""Statements over which charts are drawn: in gpudb's own dialect, in the place of a name in the charts' queries."""

from __future__ import annotations

from typing import NamedTuple

from gpudb.sql.parse.tokens import split_tokens

NAME = '"gpudb source"'
"""The name in whose place a statement comes."""


class Placed(NamedTuple):
    """A text with a source of `size` characters in it, with its parentheses; `places` are where it begins there."""

    text: str
    size: int = 0
    places: tuple[int, ...] = ()

    def find_position(self, position: int) -> int | None:
        """Returns where a position of the text, from 1, was before; None for one within a source."""
        for number, place in reversed([*enumerate(self.places, 1)]):
            if position > place + self.size:
                return position - number * (self.size - len(NAME))
            if position > place:
                return None
        return position


def place_source(text: str, source: str) -> Placed:
    """Returns a translation in which the source, a query without semicolon, stands wherever its name does."""
    encoded, inserted = text.encode(), f"({source}\n)"
    pieces: list[str] = []
    places: list[int] = []
    done = size = 0
    for token in split_tokens(text):
        if token.text == NAME:
            piece = encoded[done : token.start].decode()
            pieces += (piece, inserted)
            places.append(size + len(piece))
            size += len(piece) + len(inserted)
            done = token.end
    return Placed("".join((*pieces, encoded[done:].decode())), len(inserted), tuple(places))
