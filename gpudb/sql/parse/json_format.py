"""COPY … (FORMAT json), which PostgreSQL's lexer takes for the start of a clause of JSON functions.

A word of the same length replaces `json` before the text is parsed; in the tree the option has its value again.
"""

from __future__ import annotations

import re
from typing import Any

_FORMAT = re.compile(r"format\s+(json)\b", re.IGNORECASE)
_COPY = re.compile(r"\bcopy\b", re.IGNORECASE)
_STAND_IN = "jsoo"


def replace_json_format(text: str, place: int) -> tuple[str, int] | None:
    """Returns the text with another word for the value of FORMAT at a character, and the byte offset of FORMAT."""
    found = _FORMAT.match(text, place)
    if found is None or _COPY.search(text, 0, place) is None:
        return None
    start, end = found.span(1)
    return text[:start] + _STAND_IN + text[end:], len(text[:place].encode())


def attach_json_format(tree: Any, offset: int) -> None:
    """Gives the option FORMAT at a byte offset of a COPY statement its value."""
    statement = tree.copy_stmt if tree.WhichOneof("node") == "copy_stmt" else None
    for each in () if statement is None else statement.options:
        if each.def_elem.location == offset and each.def_elem.arg.string.sval == _STAND_IN:
            each.def_elem.arg.string.sval = "json"
