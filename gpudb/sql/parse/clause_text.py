"""The text of clauses that PostgreSQL's grammar lacks: where quoted text hides words, and where a clause ends."""

from __future__ import annotations

import re

QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$", re.S)
"""Strings, quoted names and comments."""


def hide_quoted(text: str, comments: str = "x") -> str:
    """Returns a text of the same length in which no word stands in a string, a quoted name or a comment.

    The characters of comments become `comments`, those of all else x.
    """
    return QUOTED.sub(lambda match: (comments if match.group()[0] in "-/" else "x") * len(match.group()), text)


def find_clause_end(hidden: str, start: int, ends: re.Pattern[str]) -> int:
    """Returns where a clause that begins at `start` ends: at the first match of `ends` outside parentheses, or the end.

    The groups `open` and `close` of `ends` are the parentheses; one that closes more than the clause opened ends it.
    """
    depth = 0
    for match in ends.finditer(hidden, start):
        if match.lastgroup == "open":
            depth += 1
        elif match.lastgroup == "close" and depth:
            depth -= 1
        elif not depth:
            return match.start()
    return len(hidden)
