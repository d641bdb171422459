"""Vertical tabs as PostgreSQL 16 reads them.

libpg_query's later grammar takes them for blanks and knows `E'\\v'`.
"""

from __future__ import annotations

import re

import postgast
from postgast import pg_query_pb2 as pg

from gpudb.errors import SyntaxError_
from gpudb.sql.parse.nesting import TOKEN

_ESCAPE = re.compile(rb"\\\\|\\v")


def check_vertical_tabs(text: str) -> None:
    """Raises 42601 for a vertical tab between tokens, which is no blank."""
    at = 0
    for token in TOKEN.finditer(text):
        if "\v" in text[at : token.start()]:
            place = text.index("\v", at) + 1
            raise SyntaxError_('syntax error at or near "\v"', position=place)
        at = token.end()


def replace_escapes(text: str) -> str:
    """Returns the text with a plain `v` for each `\\v` in strings with escapes, padded with blanks."""
    encoded = bytearray(text.encode())
    try:
        tokens = postgast.scan(text).tokens
    except postgast.PgQueryError:
        return text  # and the grammar says why
    for token in tokens:
        written = encoded[token.start : token.end]
        if token.token == pg.SCONST and written[:1] in b"eE":
            plain = _ESCAPE.sub(lambda found: b"v" if found[0] == rb"\v" else found[0], written)
            encoded[token.start : token.end] = plain.ljust(len(written))
    return encoded.decode()
