"""The tokens of an SQL text, as PostgreSQL's own scanner reads them."""

from __future__ import annotations

from typing import NamedTuple

import postgast
from postgast import pg_query_pb2 as pg

from gpudb.errors import SyntaxError_

_COMMENTS = frozenset({pg.SQL_COMMENT, pg.C_COMMENT})


class Token(NamedTuple):
    """A token, from byte `start` to `end`; `word` is its text in lower case, '' for what is quoted."""

    text: str
    kind: int
    start: int
    end: int
    word: str


def split_tokens(sql: str) -> list[Token]:
    """Returns the tokens of a text; 42601 for one that has none."""
    encoded = sql.encode()
    try:
        tokens = postgast.scan(sql).tokens
    except postgast.PgQueryError as error:
        raise SyntaxError_(str(error)) from None
    return [
        Token(text, each.token, each.start, each.end, "" if text[0] in "\"'" else text.lower())
        for each in tokens
        if each.token not in _COMMENTS and (text := encoded[each.start : each.end].decode())
    ]
