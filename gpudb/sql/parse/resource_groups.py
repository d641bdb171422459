"""Greenplum's CREATE, ALTER and DROP RESOURCE GROUP, and RESOURCE GROUP in CREATE and ALTER ROLE.

PostgreSQL's grammar lacks them: a placeholder statement of the same length replaces each statement before the text is
parsed, and the clause of a role is blanked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpudb.errors import SqlError
from gpudb.sql.parse.clause_text import hide_quoted
from gpudb.sql.parse.distribute_by import fold_identifier
from gpudb.sql.parse.with_options import read_options

_NAME = r'(?:"(?:[^"]|"")*"|[^\s;(",]+)'
_STATEMENT = re.compile(
    r"(?:\A|;)\s*(?P<all>(?P<verb>CREATE|ALTER|DROP)\s+RESOURCE\s+GROUP\s+(?P<exists>IF\s+(?:NOT\s+)?EXISTS\s+)?"
    rf"(?P<name>{_NAME})"
    r"(?:\s+(?:WITH|SET)\s*\((?P<options>[^()]*)\)|\s+SET\s+(?P<option>\w+)\s+(?P<value>x+|[\w.%-]+))?)\s*(?=;|\Z)",
    re.I,
)
_CLAUSE = re.compile(
    r"(?:\A|;)\s*(?:CREATE|ALTER)\s+(?:ROLE|USER|GROUP)\b[^;]*?"
    rf"(?P<clause>\bRESOURCE\s+GROUP\s+(?P<name>{_NAME}))",
    re.I,
)
_STAND_IN = "CHECKPOINT"


@dataclass(frozen=True, slots=True)
class ResourceGroupStatement:
    """CREATE, ALTER or DROP RESOURCE GROUP. `options` maps lower-case names to values.

    `lenient` is IF NOT EXISTS of CREATE, and IF EXISTS of DROP.
    """

    verb: Literal["create", "alter", "drop"]
    name: str
    options: tuple[tuple[str, str], ...] = ()
    lenient: bool = False


@dataclass(frozen=True, slots=True)
class ResourceGroupClause:
    """RESOURCE GROUP of a role, and its byte offset; no `name` for NONE."""

    name: str | None
    offset: int


def extract_resource_groups(
    text: str,
) -> tuple[str, list[tuple[int, ResourceGroupStatement]], list[ResourceGroupClause]]:
    """Returns the text without them, the statements with their byte offsets, and the clauses; 42601."""
    if "resource" not in text.lower():
        return text, [], []
    hidden = _hide(text)
    statements: list[tuple[int, ResourceGroupStatement]] = []
    clauses: list[ResourceGroupClause] = []
    for match in _STATEMENT.finditer(hidden):
        start, end = match.span("all")
        statements.append((len(text[:start].encode()), _read_statement(match, text)))
        text = text[:start] + _STAND_IN.ljust(end - start) + text[end:]
    for match in _CLAUSE.finditer(hidden):
        start, end = match.span("clause")
        written = text[slice(*match.span("name"))]
        name = None if written.lower() == "none" else fold_identifier(written)
        clauses.append(ResourceGroupClause(name, len(text[:start].encode())))
        text = text[:start] + " " * (end - start) + text[end:]
    return text, statements, clauses


def _hide(text: str) -> str:
    """Returns the text with quoted text hidden, but for quotation marks around names."""
    hidden = hide_quoted(text, comments=" ")
    names = re.finditer(r"'(?:[^']|'')*'|\"((?:[^\"]|\"\")*)\"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\2\$", text, re.S)
    for each in names:
        if each[1] is not None:
            hidden = f'{hidden[: each.start()]}"{"x" * len(each[1])}"{hidden[each.end() :]}'
    return hidden


def _read_statement(match: re.Match[str], text: str) -> ResourceGroupStatement:
    verb = match["verb"].lower()
    name = fold_identifier(text[slice(*match.span("name"))])
    options: dict[str, str] = {}
    if match["options"] is not None:
        options = read_options(text[slice(*match.span("options"))], f'resource group "{name}"')
    elif match["option"] is not None:
        value = text[slice(*match.span("value"))]
        options = read_options(f"{match['option']} = {value}", f'resource group "{name}"')
    exists = " ".join((match["exists"] or "").upper().split())
    allowed = {"create": "IF NOT EXISTS", "drop": "IF EXISTS"}.get(verb)
    if (exists and exists != allowed) or (verb == "drop" and options) or (verb == "alter" and not options):
        raise SqlError.of("syntax_error", f"syntax error in {verb.upper()} RESOURCE GROUP")
    return ResourceGroupStatement(verb, name, tuple(options.items()), bool(exists))  # type: ignore[arg-type]
