"""FOR SYSTEM_TIME AS OF and FOR SYSTEM_VERSION AS OF after a table's name, which PostgreSQL's grammar lacks.

The clause is removed from the text and kept, an alias behind it stays. Only texts that PostgreSQL's grammar rejects are
searched. In the tree the table stands below a RangeTableSample, whose method has a name that no sampling method has and
whose argument is the clause's expression. A stored view is deparsed and parsed in that form: t TABLESAMPLE "system
time"(…).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpudb.errors import SyntaxError_
from gpudb.sql.parse.clause_text import find_clause_end, hide_quoted

METHODS = {"time": "system time", "version": "system version"}
"""The names of the methods by the clause's word."""

_CLAUSE = re.compile(r"\bfor\s+system_(time|version)\s+as\s+of\b", re.I)
_END = re.compile(
    r"(?P<open>[(\[])|(?P<close>[)\]])|[,;]|\b(?:as|where|group|having|window|qualify|order|limit|offset|fetch|for|union|"
    r"intersect|except|join|inner|full|cross|natural|on|using|tablesample|returning|set|when)\b"
    r"|\b(?:left|right)\b(?!\s*\()",
    re.I,
)
_ALIAS = re.compile(r'\s(?P<alias>\s*(?:"(?:[^"]|"")+"|[a-z_][\w$]*)\s*(?:\([^()]*\))?\s*)\Z', re.I)
_NAME = re.compile(r'(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)(?:\s*\.\s*(?:"(?:[^"]|"")+"|[^\W\d][\w$]*)){0,2}\s*\Z')


@dataclass(frozen=True, slots=True)
class SystemTimeClause:
    """A clause: its word (`time` or `version`), its expression's text, and the byte offsets of itself and of that."""

    word: str
    expression: str
    start: int
    offset: int


def extract_system_times(text: str, is_expression: Callable[[str], bool]) -> tuple[str, list[SystemTimeClause]]:
    """Returns the text with its clauses blanked, of the same length in bytes, and those clauses."""
    hidden = hide_quoted(text)
    found: list[SystemTimeClause] = []
    plain, done = "", 0
    for match in _CLAUSE.finditer(hidden):
        if match.start() < done:
            continue
        start = match.end()
        end = find_clause_end(hidden, start, _END)
        if not is_expression(text[start:end]) and (alias := _ALIAS.search(text[start:end])) is not None:
            end = start + alias.start("alias")
        before, offset = (len(text[:place].encode()) for place in (match.start(), start))
        found.append(SystemTimeClause(match[1].lower(), text[start:end], before, offset))
        plain += text[done : match.start()] + " " * len(text[match.start() : end].encode())
        done = end
    return plain + text[done:], found


def attach_system_time(tree: Any, text: str, clause: SystemTimeClause, start: int, expression: Any) -> None:
    """Puts the table whose name precedes a clause below a RangeTableSample with the clause's expression.

    `text` is the blanked text of the tree's statement, which starts at byte `start`. 42601 if no name of a table in
    FROM precedes the clause.
    """
    at = clause.start - start
    encoded = text.encode()
    nodes = [each for each in _list_tables(tree) if each.range_var.location < at]
    node = max(nodes, key=lambda each: each.range_var.location, default=None)
    if node is None or not _NAME.match(encoded[node.range_var.location : at].decode()):
        raise SyntaxError_('syntax error at or near "FOR"', position=len(encoded[:at].decode()) + 1)
    table = type(node.range_var)()
    table.CopyFrom(node.range_var)
    sample = node.range_table_sample
    sample.relation.range_var.CopyFrom(table)
    sample.method.add().string.sval = METHODS[clause.word]
    sample.args.add().CopyFrom(expression)
    sample.location = at


def _list_tables(message: Any) -> list[Any]:
    """Returns the nodes of a tree that hold the name of a table in FROM."""
    if message.DESCRIPTOR.name == "RangeTableSample":
        return []
    found = [message] if message.DESCRIPTOR.name == "Node" and message.WhichOneof("node") == "range_var" else []
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                found += _list_tables(each)
    return found
