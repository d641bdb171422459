"""Tokens of a PL/pgSQL body, from PostgreSQL's own scanner."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import postgast
from postgast import pg_query_pb2 as pg

from gpudb.errors import SqlError, SyntaxError_
from gpudb.values.text import NAME_BYTES

_COMMENTS = {pg.SQL_COMMENT, pg.C_COMMENT}
_WORDS = {pg.IDENT, pg.UIDENT}
_STRINGS = {pg.SCONST, pg.USCONST}


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its text as written, and its offsets in the body.

    `word` is the folded identifier, keyword or parameter `$1`, None for any other token; `quoted` whether it is written
    in quotes.
    """

    text: str
    start: int
    end: int
    word: str | None = None
    quoted: bool = False
    is_string: bool = False
    is_number: bool = False

    def is_keyword(self, *words: str) -> bool:
        """Whether the token is one of these words, not in quotes."""
        return self.word in words and not self.quoted


class Scanner:
    """The tokens of a text, with a position that moves on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = [n for n, each in enumerate(text) if each == "\n"]
        self._tokens = _scan(text)
        self._end = Token("", len(text), len(text))
        self._at = 0

    @property
    def token(self) -> Token:
        """The next token; an empty one at the end."""
        return self.peek(0)

    def peek(self, ahead: int) -> Token:
        """Returns the token that lies so many tokens ahead."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else self._end

    def next(self) -> Token:
        """Returns the next token and moves on."""
        found = self.token
        self._at += 1
        return found

    def take(self, *words: str) -> bool:
        """Moves on if the next tokens are these words or signs, all of them."""
        for ahead, each in enumerate(words):
            found = self.peek(ahead)
            if not (found.is_keyword(each) or (found.word is None and found.text == each)):
                return False
        self._at += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Moves on over these words or signs; 42601 if another comes."""
        for each in words:
            if not self.take(each):
                raise self.error()

    def mark(self) -> int:
        """Returns the position, for `reset`."""
        return self._at

    def reset(self, mark: int) -> None:
        """Moves back to a position."""
        self._at = mark

    def line(self, offset: int) -> int:
        """Returns the number of the line, from 1, in which an offset lies."""
        return bisect_right(self._lines, offset - 1) + 1

    def error(self, token: Token | None = None, message: str = "syntax error") -> SqlError:
        """Returns the error for a token that the grammar does not allow, the next one by default."""
        found = token or self.token
        if not found.text:
            return self.error_at(f"{message} at end of input", found)
        return self.error_at(f'{message} at or near "{found.text}"', found)

    def error_at(self, message: str, token: Token, condition: str = "syntax_error", **more: str) -> SqlError:
        """Returns an error at a token."""
        return SqlError.of(condition, message, position=token.start + 1 or None, **more)


def _fold(word: str) -> str:
    """Returns a word in lower case, as PostgreSQL folds it: letters of ASCII alone."""
    return word.lower() if word.isascii() else "".join(each.lower() if each.isascii() else each for each in word)


def _truncate(name: str) -> str:
    """Returns the bytes of a name that PostgreSQL keeps."""
    return name if len(name) * 4 <= NAME_BYTES else name.encode()[:NAME_BYTES].decode(errors="ignore")


def _scan(text: str) -> list[Token]:
    try:
        found = postgast.scan(text).tokens
    except postgast.PgQueryError as error:
        raise SyntaxError_(error.message, position=error.cursorpos or None) from None
    data = text.encode()
    ascii_only = len(data) == len(text)
    result: list[Token] = []
    characters, at = 0, 0
    for each in found:
        if each.token in _COMMENTS:
            continue
        if ascii_only:
            start, end = each.start, each.end
            part = text[start:end]
        else:
            characters += len(data[at : each.start].decode())
            part = data[each.start : each.end].decode()
            start, end, at = characters, characters + len(part), each.end
            characters = end
        quoted = part[:1] == '"'
        word = None
        if quoted:
            word = _truncate(part[1:-1].replace('""', '"'))
        elif each.token == pg.PARAM:
            word = part  # the name of a parameter, which statements assign to as to any variable
        elif each.token in _WORDS or each.keyword_kind != pg.NO_KEYWORD:
            word = _truncate(_fold(part))
        result.append(
            Token(part, start, end, word, quoted, each.token in _STRINGS, each.token in {pg.ICONST, pg.FCONST})
        )
    return result
