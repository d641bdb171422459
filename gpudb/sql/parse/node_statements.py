"""Postgres-XL's CREATE, ALTER and DROP NODE and EXECUTE DIRECT, which PostgreSQL's grammar lacks.

A placeholder statement of the same length replaces each before the text is parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpudb.errors import SqlError
from gpudb.sql.parse.clause_text import hide_quoted
from gpudb.sql.parse.distribute_by import fold_identifier
from gpudb.sql.parse.with_options import read_options

_STATEMENT = re.compile(
    r"(?:\A|;)\s*(?P<all>(?P<verb>CREATE|ALTER|DROP)\s+NODE\s+(?P<name>[^\s;(]+)(?:\s+WITH\s*\((?P<options>[^()]*)\))?"
    r"|EXECUTE\s+DIRECT\s+ON\s*\((?P<nodes>[^()]*)\)\s*(?P<text>x+))\s*(?=;|\Z)",
    re.I,
)
_STAND_IN = "CHECKPOINT"
_LITERAL = re.compile(r"'(?:[^']|'')*'|\$(\w*)\$(.*)\$\1\$", re.S)


@dataclass(frozen=True, slots=True)
class NodeStatement:
    """CREATE, ALTER or DROP NODE. `options` maps lower-case names to values; the default is `true`."""

    verb: Literal["create", "alter", "drop"]
    name: str
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ExecuteDirect:
    """EXECUTE DIRECT: a statement for a single node."""

    node: str
    text: str


Taken = list[tuple[int, NodeStatement | ExecuteDirect]]
"""Statements with their byte offsets."""


def extract_node_statements(text: str) -> tuple[str, Taken]:
    """Returns the text with placeholders, and the statements that they replace; 42601 for a syntax error."""
    lower = text.lower()
    if "node" not in lower and "direct" not in lower:
        return text, []
    hidden = hide_quoted(text, comments=" ")
    found: Taken = []
    for match in _STATEMENT.finditer(hidden):
        start, end = match.span("all")
        at = len(text[:start].encode())
        found.append((at, _execute_direct(match, text) if match["nodes"] is not None else _node_statement(match, text)))
        text = text[:start] + _STAND_IN.ljust(end - start) + text[end:]
    return text, found


def _node_statement(match: re.Match[str], text: str) -> NodeStatement:
    verb = match["verb"].lower()
    name = fold_identifier(text[slice(*match.span("name"))])
    written = text[slice(*match.span("options"))] if match["options"] is not None else ""
    options = read_options(written, f'node "{name}"')
    if verb == "drop" and options:
        raise SqlError.of("syntax_error", "DROP NODE has no options")
    return NodeStatement(verb, name, tuple(options.items()))  # type: ignore[arg-type]


def _execute_direct(match: re.Match[str], text: str) -> ExecuteDirect:
    nodes = text[slice(*match.span("nodes"))].strip()
    literal = _LITERAL.fullmatch(text[slice(*match.span("text"))])
    if not nodes or literal is None:
        raise SqlError.of("syntax_error", "EXECUTE DIRECT needs a node and a statement in quotes")
    if "," in nodes:
        raise SqlError.of("syntax_error", "EXECUTE DIRECT is for one node at a time")
    body = literal[2] if literal[2] is not None else literal[0][1:-1].replace("''", "'")
    return ExecuteDirect(fold_identifier(nodes), body)
