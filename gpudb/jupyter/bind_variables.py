"""Python variables in SQL: each `:name` becomes a parameter `$n` with its value, never text of the statement.

A colon is one only where PostgreSQL's scanner sees a colon by itself: not in strings, comments and casts (`x::int`),
nor in array slices (`a[1:n]`), where it follows a value directly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import postgast
from postgast import pg_query_pb2 as pg

from gpudb.errors import SqlError
from gpudb.sql.parse.parser import parse


@dataclass(frozen=True, slots=True)
class _Reference:
    """A `:name` from character `start` up to `end`."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """One statement with `$n` for its variables, their values, and where its text was written."""

    text: str
    values: tuple[object, ...]
    start: int
    shifts: tuple[tuple[int, int], ...] = ()
    """(offset in `text`, characters that it is longer than what was written up to there)"""

    def find_position(self, position: int) -> int:
        """Returns the 1-based position in the written text for one in `text`."""
        moved = next((by for offset, by in reversed(self.shifts) if offset < position), 0)
        return self.start + position - moved


def bind_variables(text: str, variables: Mapping[str, object]) -> list[BoundStatement]:
    """Splits a text into its statements and binds their variables.

    42601 if the text is no SQL, 42P02 for a name that is no variable, or for `$1` beside names.
    """
    references, numbers = _scan(text)
    masked = list(text)
    for each in references:
        masked[each.start : each.end] = "$1".ljust(each.end - each.start)
    starts = [statement.start for statement in parse("".join(masked))]
    bound = []
    for start, end in zip(starts, [*starts[1:], len(text)]):
        own = [each for each in references if start <= each.start < end]
        number = next((at for at in numbers if start <= at < end), None)
        if own and number is not None:
            message = "numbered parameters cannot be mixed with variables"
            raise SqlError.of("undefined_parameter", message, position=number + 1)
        bound.append(_bind(text, start, end, own, variables))
    return bound


def _bind(
    text: str, start: int, end: int, references: list[_Reference], variables: Mapping[str, object]
) -> BoundStatement:
    names: list[str] = []
    pieces: list[str] = []
    shifts: list[tuple[int, int]] = []
    at, moved = start, 0
    for each in references:
        if each.name not in variables:
            message = f'there is no Python variable "{each.name}"'
            raise SqlError.of("undefined_parameter", message, position=each.start + 1)
        if each.name not in names:
            names.append(each.name)
        number = f"${names.index(each.name) + 1}".ljust(each.end - each.start)
        pieces += text[at : each.start], number
        at = each.end
        if grown := len(number) - (each.end - each.start):
            moved += grown
            shifts.append((at - start + moved, moved))
    pieces.append(text[at:end])
    return BoundStatement("".join(pieces), tuple(variables[name] for name in names), start, tuple(shifts))


def _scan(text: str) -> tuple[list[_Reference], list[int]]:
    """Returns the references of a text, and where it has numbered parameters."""
    try:
        tokens = postgast.scan(text).tokens
    except postgast.PgQueryError:
        return [], []  # and the grammar says why
    encoded = text.encode()

    def find_character(offset: int) -> int:
        return offset if len(encoded) == len(text) else len(encoded[:offset].decode())

    references = []
    for colon, word in pairwise(tokens):
        if colon.token != pg.ASCII_58 or word.start != colon.end:
            continue
        start, end = find_character(colon.start), find_character(word.end)
        name = text[start + 1 : end]
        if name.isidentifier() and not _ends_value(text[:start]):
            references.append(_Reference(start, end, name))
    return references, [find_character(each.start) for each in tokens if each.token == pg.PARAM]


def _ends_value(before: str) -> bool:
    last = before[-1:]
    return last.isalnum() or last in {"_", ")", "]", '"', "'", "$"}
