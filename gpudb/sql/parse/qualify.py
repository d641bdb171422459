"""QUALIFY, a condition over window functions, which PostgreSQL's grammar lacks.

The clause is removed from the text and kept. Only texts that PostgreSQL's grammar rejects are searched, so that
`qualify` stays an ordinary name. The clause ends at ORDER BY, LIMIT, OFFSET, FETCH, FOR, WINDOW, a set operation or
the query's end. The tree holds its condition as a window of its SELECT, under a name that no identifier can have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gpudb.sql.parse.clause_text import find_clause_end, hide_quoted

WINDOW = "gpudb qualify"
"""The name of the WindowDef that holds the condition, as its only sort key."""

_WORD = re.compile(r"[()]|;|\b(?:select|qualify)\b", re.I)
_END = re.compile(
    r"(?P<open>\()|(?P<close>\))|;|\b(?:order|limit|offset|fetch|for|window|union|intersect|except)\b", re.I
)


@dataclass(frozen=True, slots=True)
class QualifyClause:
    """A QUALIFY clause: the condition's text, and the byte offsets of the condition and of its SELECT."""

    condition: str
    offset: int
    select: int


def extract_qualify(text: str) -> tuple[str, list[QualifyClause]]:
    """Returns the text with its QUALIFY clauses blanked, of the same length in bytes, and those clauses."""
    hidden = hide_quoted(text)
    found: list[QualifyClause] = []
    plain, done = "", 0
    selects = [-1]
    for match in _WORD.finditer(hidden):
        word = match.group().lower()
        if word == "(":
            selects.append(-1)
        elif word == ")" and len(selects) > 1:
            selects.pop()
        elif word == ";":
            selects = [-1]
        elif word == "select":
            selects[-1] = match.start()
        elif word == "qualify" and selects[-1] >= 0:
            end = find_clause_end(hidden, match.end(), _END)
            at, select = (len(text[:place].encode()) for place in (match.end(), selects[-1]))
            found.append(QualifyClause(text[match.end() : end], at, select))
            plain += text[done : match.start()] + " " * len(text[match.start() : end].encode())
            done = end
    return plain + text[done:], found


def attach_condition(tree: Any, select: int, condition: Any) -> None:
    """Attaches a condition to the SelectStmt of a tree whose select list is the first after a byte offset."""
    found = min(
        (each for each in _selects(tree) if each.target_list[0].res_target.location > select),
        key=lambda each: each.target_list[0].res_target.location,
    )
    window = found.window_clause.add().window_def
    window.name = WINDOW
    window.order_clause.add().sort_by.node.CopyFrom(condition)


def _selects(node: Any) -> list[Any]:
    found = [node] if node.DESCRIPTOR.name == "SelectStmt" and len(node.target_list) else []
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                found += _selects(each)
    return found
