"""format() of columns: texts of one format are joined piece by piece, without a loop over rows."""

from __future__ import annotations

import re
from functools import cache, lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.functions.keywords import QUOTED_KEYWORDS

_PIECE = re.compile(r"%(?:(%)|(?:(\d{1,4})\$)?([sIL]))|([^%]+)")
_PLAIN = r"^[a-z_][a-z0-9_$]*$"

Piece = tuple[str, int]


@cache
def _list_keywords() -> pa.Array:
    return pa.array(sorted(QUOTED_KEYWORDS))  # late: the first array of a process imports pandas, where it is installed


@lru_cache(maxsize=256)
def _parse(text: str) -> tuple[Piece, ...] | None:
    """Returns constant texts (place -1), and the kind and place of each argument; None for a format with widths or
    errors.
    """
    pieces: list[Piece] = []
    at = used = 0
    while at < len(text):
        found = _PIECE.match(text, at)
        if found is None:
            return None
        percent, position, kind, literal = found.groups()
        if kind is None:
            pieces.append((percent or literal, -1))
        else:
            used = int(position) if position else used + 1
            if not used:
                return None
            pieces.append((kind, used - 1))
        at = found.end()
    return tuple(pieces)


def format_columns(text: str, arguments: pa.ListArray) -> pa.StringArray | None:
    """Returns the texts of one format for each row's arguments; None if rows must be formatted one by one: for widths,
    and for what raises an error.
    """
    pieces = _parse(text)
    lengths = pc.min_max(pc.list_value_length(arguments)).as_py()
    if pieces is None or arguments.null_count or any(place >= lengths["min"] for _, place in pieces):
        return None
    parts: list[pa.Array | pa.Scalar] = []
    for kind, place in pieces:
        if place < 0:
            parts.append(pa.scalar(kind))
            continue
        values = pc.list_element(arguments, place)
        if kind == "I":
            if values.null_count:
                return None
            parts.append(_quote_identifiers(values))
        else:
            parts.append(pc.fill_null(values, "") if kind == "s" else _quote_literals(values))
    if all(isinstance(part, pa.Scalar) for part in parts):
        return None
    return pc.binary_join_element_wise(*parts, "")


def _quote_identifiers(values: pa.StringArray) -> pa.StringArray:
    """Quotes identifiers where necessary."""
    plain = pc.and_not(pc.match_substring_regex(values, _PLAIN), pc.is_in(values, _list_keywords()))
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(values, '"', '""'), '"', "")
    return pc.if_else(plain, values, quoted)


def _quote_literals(values: pa.StringArray) -> pa.StringArray:
    """Quotes string literals; NULL is the word."""
    escaped = pc.match_substring(values, "\\")
    doubled = pc.replace_substring(pc.replace_substring(values, "\\", "\\\\"), "'", "''")
    prefix = pc.if_else(escaped, "E'", "'")
    return pc.fill_null(pc.binary_join_element_wise(prefix, doubled, "'", ""), "NULL")
