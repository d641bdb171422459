"""The identity of a statement's text: its query identifier and its text without constants, by libpg_query.

Texts that libpg_query does not parse, of gpudb's own clauses, are their own identity.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import postgast

from gpudb.lru import LruCache
from gpudb.observe.redaction import may_have_credentials, redact_credentials
from gpudb.sql.parse.literal_rows import take_literal_rows
from gpudb.values.credentials import hide_credentials

MAX_TEXT = 1 << 16
"""Characters of a text that are kept."""
_CACHED_TEXTS = 5000


class QueryText(NamedTuple):
    """A query identifier, a signed number of 64 bits, and a normalised text."""

    query_id: int
    text: str


_KINDS = {"'": "text", **dict.fromkeys("-.0123456789", "number")}
"""Kinds of literals by their first character; any other is a word of its own."""
_known: LruCache[str, QueryText] = LruCache(_CACHED_TEXTS)


def identify(sql: str) -> QueryText:
    """Returns the identity of a text."""
    if len(sql) > MAX_TEXT:
        return QueryText(_hash(sql), "" if may_have_credentials(sql) else hide_credentials(sql)[:MAX_TEXT])
    key = _name_shape(sql)
    found = _known.get(key)
    if found is None:
        found = _identify(sql)
        _known.put(key, found)
    return found


def _name_shape(sql: str) -> str:
    """Returns what a text shares with all of the same identity, of an INSERT of one literal row; others unchanged."""
    rows = take_literal_rows(sql) if sql[:6].lower() == "insert" else None
    if rows is None or len(rows) > 1 or any(column.casts for column in rows.columns):
        return sql
    kinds = [_KINDS.get(column.literals[0][0], column.literals[0].lower()) for column in rows.columns]
    return f"{rows.shape} {' '.join(kinds)}"


def _identify(sql: str) -> QueryText:
    try:
        number = postgast.fingerprint(sql).fingerprint
        text = postgast.normalize(redact_credentials(sql)).strip().removesuffix(";").rstrip()
    except (postgast.PgQueryError, RecursionError, ValueError):
        return QueryText(_hash(sql), redact_credentials(sql, failed=False))
    return QueryText(number - (1 << 64) if number >= 1 << 63 else number, text)


def _hash(sql: str) -> int:
    return int.from_bytes(hashlib.blake2b(sql.encode(), digest_size=8).digest(), "big", signed=True)
