"""Options in parentheses, `name = value, …`, of statements that PostgreSQL's grammar lacks."""

from __future__ import annotations

import re

from gpudb.errors import SqlError

_OPTION = re.compile(r"\s*(\w+)(?:\s*=\s*('(?:[^']|'')*'|[\w.%-]+))?\s*(?:,|\Z)")


def read_options(written: str, of: str) -> dict[str, str]:
    """Returns values by lower-case names, `true` for a name alone; 42601, in which `of` names the statement's object.

    Of a name that is written twice the last value counts.
    """
    options: dict[str, str] = {}
    place = 0
    while place < len(written.rstrip()):
        one = _OPTION.match(written, place)
        if one is None or not one.group():
            raise SqlError.of("syntax_error", f"syntax error in the options of {of}")
        value = one[2] or "true"
        options[one[1].lower()] = value[1:-1].replace("''", "'") if value[0] == "'" else value
        place = one.end()
    return options
