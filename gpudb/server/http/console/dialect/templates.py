"""Texts without their constants: brushing changes these alone, so that a text of the same shape is translated once.

Holes are numbers, texts and moments (`epoch_ms(n)`). The translation is made with marks in their places, and filled
with the constants of each text. Constants that a translation depends on are no holes: zero, widths of intervals,
options of regexp_matches.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import NamedTuple

from postgast import pg_query_pb2 as pg

from gpudb.sql.parse.tokens import Token

_MARK = re.compile(r"19000(\d{5})|1\.9(\d{6})e99|'§(\d+)'")
_EPOCH = dt.datetime(1970, 1, 1)
_MOST = 90_000
_FURTHEST = 8_000_000_000_000


class Shape(NamedTuple):
    """A text with marks in its holes, and what fills them. Texts with equal `key`s have the same translation."""

    key: str
    marked: str
    constants: tuple[str, ...]


def find_shape(sql: str, tokens: Sequence[Token]) -> Shape | None:
    """Returns the shape of a text; None for one that has marks of its own, or too many constants."""
    if "§" in sql or len(tokens) > _MOST:
        return None
    keeps_texts = any(token.word == "regexp_matches" for token in tokens)
    key: list[str] = []
    marked: list[str] = []
    constants: list[str] = []
    index, before, done, encoded = 0, "", 0, sql.encode()
    while index < len(tokens):
        token, width = tokens[index], 1
        number = len(constants)
        mark = constant = ""
        if token.word == "epoch_ms" and (moment := _read_moment(tokens, index)) is not None:
            (constant, width), mark = moment, f"TIMESTAMP '§{number}'"
        elif token.kind in (pg.ICONST, pg.FCONST) and before != "interval" and float(token.text.replace("_", "")):
            constant = token.text
            mark = f"19000{number:05}" if token.kind == pg.ICONST else f"1.9{number:06}e99"
        elif token.kind == pg.SCONST and before != "interval" and not keeps_texts:
            constant, mark = token.text, f"'§{number}'"
        if mark:
            marked += (encoded[done : token.start].decode(), mark)
            done = tokens[index + width - 1].end
            constants.append(constant)
            key.append(mark[:2])
        else:
            key.append(token.text)
        before, index = token.word, index + width
    marked.append(encoded[done:].decode())
    return Shape("\0".join(key), "".join(marked), tuple(constants))


def _read_moment(tokens: Sequence[Token], index: int) -> tuple[str, int] | None:
    """Returns the text of the moment that an epoch_ms is, and its number of tokens; None for one of an expression."""
    texts = [token.text for token in tokens[index + 1 : index + 5]]
    sign = 1 if texts[1:2] == ["-"] else 0
    if texts[:1] != ["("] or len(texts) < 3 + sign or texts[2 + sign] != ")" or not texts[1 + sign].isdigit():
        return None
    milliseconds = int(texts[1 + sign]) * (-1 if sign else 1)
    if abs(milliseconds) > _FURTHEST:
        return None
    moment = _EPOCH + dt.timedelta(milliseconds=milliseconds)
    return f"'{moment.isoformat(sep=' ')}'", 4 + sign


def split_marks(text: str) -> tuple[str | int, ...]:
    """Returns the parts of a marked text: texts, and the numbers of constants between them."""
    parts: list[str | int] = []
    done = 0
    for match in _MARK.finditer(text):
        parts += (text[done : match.start()], int(match[1] or match[2] or match[3]))
        done = match.end()
    return (*parts, text[done:])


def fill(parts: Sequence[str | int], constants: Sequence[str]) -> str:
    """Returns the text with constants in place of its marks."""
    return "".join(part if isinstance(part, str) else constants[part] for part in parts)
