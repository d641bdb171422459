"""Identifiers in PostgreSQL's spelling."""

from __future__ import annotations

import re
from functools import cache

from gpudb import pgdata

_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*")


@cache
def load_reserved_words() -> frozenset[str]:
    """Returns the keywords that are reserved somewhere, which quote_identifier quotes."""
    keywords = pgdata.load_table("keywords").select("word", "catcode")
    return frozenset(word for word, category in keywords if category != "U")


def quote_name(name: str) -> str:
    """Returns an identifier, quoted if PostgreSQL's quote_identifier quotes it."""
    if _PLAIN.fullmatch(name) and name not in load_reserved_words():
        return name
    return '"' + name.replace('"', '""') + '"'
