"""Clauses of Postgres-XL that PostgreSQL's grammar does not know: DISTRIBUTE BY after CREATE TABLE, and in ALTER TABLE.

They are taken out of the text (blanked, so that positions stay) before it is parsed. As an action of ALTER TABLE one
leaves SET TABLESPACE behind, an action that no table here has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudb.errors import FeatureNotSupported

_CLAUSE = re.compile(
    r"\bDISTRIBUTE\s+BY\s+(?P<kind>HASH|REPLICATION|ROUNDROBIN|MODULO|RANGE)\b\s*(\((?P<columns>[^()]*)\))?",
    re.I,
)
_ALTERED = re.compile(r"\bALTER\s+(?:FOREIGN\s+)?TABLE\b[^;]*\Z", re.I)
TABLESPACE = "spread"
_ACTION = f"SET TABLESPACE {TABLESPACE}"
QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|\$(\w*)\$.*?\$\1\$", re.S)


@dataclass(frozen=True, slots=True)
class Distributed:
    """A DISTRIBUTE BY clause, and the byte offset at which it stood; `alters` if it is an action of ALTER TABLE."""

    kind: str
    columns: tuple[str, ...]
    offset: int
    alters: bool = False


def take_distribution(text: str) -> tuple[str, list[Distributed]]:
    """The text with its DISTRIBUTE BY clauses blanked, and those clauses."""
    if "distribute" not in text.lower():
        return text, []
    hidden = QUOTED.sub(lambda match: "x" * len(match.group()), text)
    found = []
    for match in _CLAUSE.finditer(hidden):
        kind = match["kind"].lower()
        if kind in {"modulo", "range"}:
            raise FeatureNotSupported(f"DISTRIBUTE BY {kind.upper()} is not supported")
        raw = text[match.start("columns") : match.end("columns")] if match["columns"] else ""
        columns = tuple(name for part in raw.split(",") if (name := identifier(part.strip())))
        alters = _ALTERED.search(hidden, 0, match.start()) is not None
        found.append(Distributed(kind, columns, len(text[: match.start()].encode()), alters))
        blank = (_ACTION if alters else "").ljust(len(match.group()))
        text = text[: match.start()] + blank + text[match.end() :]
    return text, found


def identifier(text: str) -> str:
    """The name that an identifier is written for."""
    return text[1:-1].replace('""', '"') if text[:1] == text[-1:] == '"' and len(text) > 1 else text.lower()
