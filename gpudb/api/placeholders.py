"""The placeholders `$1`, `$2` … of a query: with other numbers, or values in their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from gpudb.api.parameters import format_parameter, get_parameter_type
from gpudb.catalog.parse_trees import walk_messages
from gpudb.errors import GpudbError
from gpudb.sql.parse.parser import RawStatement, parse

_PLACEHOLDER = re.compile(rb"\$(\d+)")
_REMEMBERED = 256


class Place(NamedTuple):
    """A placeholder of a number, at characters of the query."""

    start: int
    end: int
    number: int


def shift_parameters(query: str, by: int) -> str:
    """Returns a query whose placeholders have numbers that are greater by `by`."""
    return _replace(query, _find_places(query), lambda number: f"${number + by}") if by else query


def insert_parameters(query: str, places: Sequence[Place], values: Sequence[object]) -> str | None:
    """Returns a query with literals in the places of its parameters (`list_places`), of the types that are sent.

    None if a literal would mean something else than a parameter, or if their numbers differ.
    """
    if not values:
        return query
    if {place.number for place in places} != set(range(1, len(values) + 1)):
        return None
    if not all(map(_is_plain, values)):
        return None
    return _replace(query, places, lambda number: _format_literal(values[number - 1]))


def restore_position(places: Sequence[Place], values: Sequence[object], position: int) -> int:
    """Returns the position (from 1) in a query for one in what `insert_parameters` makes of it."""
    moved = 0
    for place in places if values else ():
        start, length = place.start + moved, len(_format_literal(values[place.number - 1]))
        if position <= start:
            break
        if position <= start + length:
            return place.start + 1
        moved += length - (place.end - place.start)
    return position - moved


@lru_cache(_REMEMBERED)
def _find_places(query: str) -> tuple[Place, ...]:
    """Returns the placeholders in order, as PostgreSQL's grammar finds them; none in a text that it rejects."""
    if "$" not in query:
        return ()
    try:
        statements = parse(query)
    except GpudbError:
        return ()  # running it raises the error
    return tuple(
        Place(place.start + each.start, place.end + each.start, place.number)
        for each in statements
        for place in list_places(each)
    )


def list_places(statement: RawStatement) -> tuple[Place, ...]:
    """Returns the placeholders of a parsed statement in order, at characters of its text."""
    text = statement.text.encode()
    found = set()
    for message in walk_messages(statement.node):
        if message.DESCRIPTOR.name == "ParamRef" and message.number:
            match = _PLACEHOLDER.match(text, message.location)
            if match is not None and int(match[1]) == message.number:
                start = len(text[: match.start()].decode())
                found.add(Place(start, start + len(match[0]), message.number))
    return tuple(sorted(found))


def _replace(query: str, places: Sequence[Place], make: Callable[[int], str]) -> str:
    made, done = "", 0
    for place in places:
        made += query[done : place.start] + make(place.number)
        done = place.end
    return made + query[done:]


def _is_plain(value: object) -> bool:
    """Whether a literal is what the parameter would be; psycopg may send other types too, and no text has a NUL."""
    try:
        get_parameter_type(value)
    except GpudbError:
        return False
    return not (isinstance(value, str) and "\0" in value)


def _format_literal(value: object) -> str:
    if value is None:
        return "NULL"
    quoted = format_parameter(value).replace("'", "''")
    kind = get_parameter_type(value)
    return f"('{quoted}')" if kind is None else f"(CAST('{quoted}' AS {kind}))"
