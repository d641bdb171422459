"""Postgres-XL's DISTRIBUTE BY, after CREATE TABLE and in ALTER TABLE, which PostgreSQL's grammar lacks.

The clauses are blanked before the text is parsed, so that positions stay. In ALTER TABLE a SET TABLESPACE action takes
the place of the clause: gpudb's tables have no tablespaces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudb.errors import FeatureNotSupported
from gpudb.sql.parse.clause_text import hide_quoted

_CLAUSE = re.compile(
    r"\bDISTRIBUTE\s+BY\s+(?P<kind>HASH|REPLICATION|ROUNDROBIN|MODULO|RANGE)\b\s*(\((?P<columns>[^()]*)\))?",
    re.I,
)
_ALTERED = re.compile(r"\bALTER\s+(?:FOREIGN\s+)?TABLE\b[^;]*\Z", re.I)
TABLESPACE = "spread"
_ACTION = f"SET TABLESPACE {TABLESPACE}"


@dataclass(frozen=True, slots=True)
class DistributeBy:
    """A DISTRIBUTE BY clause and its byte offset; `alters` if it is an action of ALTER TABLE."""

    kind: str
    columns: tuple[str, ...]
    offset: int
    alters: bool = False


def extract_distribution(text: str) -> tuple[str, list[DistributeBy]]:
    """Returns the text with its DISTRIBUTE BY clauses blanked, and those clauses."""
    if "distribute" not in text.lower():
        return text, []
    hidden = hide_quoted(text)
    found = []
    for match in _CLAUSE.finditer(hidden):
        kind = match["kind"].lower()
        if kind in {"modulo", "range"}:
            raise FeatureNotSupported(f"DISTRIBUTE BY {kind.upper()} is not supported")
        raw = text[match.start("columns") : match.end("columns")] if match["columns"] else ""
        columns = tuple(name for part in raw.split(",") if (name := fold_identifier(part.strip())))
        alters = _ALTERED.search(hidden, 0, match.start()) is not None
        found.append(DistributeBy(kind, columns, len(text[: match.start()].encode()), alters))
        blank = (_ACTION if alters else "").ljust(len(match.group()))
        text = text[: match.start()] + blank + text[match.end() :]
    return text, found


def fold_identifier(text: str) -> str:
    """Returns the name that an identifier denotes: unquoted, or folded to lower case."""
    return text[1:-1].replace('""', '"') if text[:1] == text[-1:] == '"' and len(text) > 1 else text.lower()
