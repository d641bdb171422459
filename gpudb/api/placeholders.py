"""The placeholders `$1`, `$2` … of a query: with other numbers, or values in their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gpudb.api.parameters import format_parameter, get_parameter_type
from gpudb.sql.parse.clause_text import hide_quoted

_PLACEHOLDER = re.compile(r"(?<![\w$])\$(\d+)")


def shift_parameters(query: str, by: int) -> str:
    """Returns a query whose placeholders have numbers that are greater by `by`."""
    return _replace(query, lambda number: f"${number + by}") if by else query


def insert_parameters(query: str, values: Sequence[object]) -> str:
    """Returns a query with literals in the places of its parameters, of the types that they are sent as."""

    def insert(number: int) -> str:
        return _format_literal(values[number - 1]) if 0 < number <= len(values) else f"${number}"

    return _replace(query, insert) if values else query


def _replace(query: str, make: Callable[[int], str]) -> str:
    hidden, made, done = hide_quoted(query), "", 0
    for match in _PLACEHOLDER.finditer(hidden):
        made += query[done : match.start()] + make(int(match[1]))
        done = match.end()
    return made + query[done:]


def _format_literal(value: object) -> str:
    if value is None:
        return "NULL"
    quoted = format_parameter(value).replace("'", "''")
    kind = get_parameter_type(value)
    return f"'{quoted}'" if kind is None else f"'{quoted}'::{kind}"
