r"""PostgreSQL's error for text that is not JSON (its jsonapi.c, step by step).

Used only for text that the decoder has rejected, since PostgreSQL may report another position than the decoder does.
"""

from __future__ import annotations

import re
from typing import NoReturn

from gpudb.errors import GpudbError, InvalidText, SqlError

MESSAGE = "invalid input syntax for type json"

_BLANK = re.compile(r"[ \t\n\r]*")
_WORD = re.compile(r"[A-Za-z0-9_\x80-\U0010ffff]*")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NUMBERED = re.compile(r"-?[0-9]*(\.[0-9]*)?([eE][+-]?[0-9]*)?")
_HEX = frozenset("0123456789abcdefABCDEF")
_LOW = "Unicode low surrogate must follow a high surrogate."


def json_error(text: str, *, unescaped: bool) -> GpudbError:
    """Returns the error of invalid JSON; with `unescaped`, as for jsonb, escapes must denote characters.

    22P02, or 22P05 for a character that text cannot represent.
    """
    try:
        _Parser(text, unescaped).value_alone()
    except GpudbError as error:
        return error
    except RecursionError:
        pass
    return InvalidText(MESSAGE)


class _Parser:
    def __init__(self, text: str, unescaped: bool) -> None:
        self._text = text
        self._unescaped = unescaped
        self._at = 0
        self._token = ""
        self._ended = False

    def value_alone(self) -> None:
        self._next()
        self._value()
        if not self._ended:
            self._expected("end of input")

    def _fail(self, detail: str) -> NoReturn:
        raise InvalidText(MESSAGE, detail=detail)

    def _expected(self, what: str) -> NoReturn:
        if self._ended:
            self._fail("The input string ended unexpectedly.")
        self._fail(f'Expected {what}, but found "{self._token}".')

    def _take(self, wanted: str, what: str) -> None:
        if self._token != wanted:
            self._expected(what)
        self._next()

    # ------------------------------------------------------------------------------------------- grammar

    def _value(self) -> None:
        if self._token == "{":
            self._object()
        elif self._token == "[":
            self._array()
        elif not self._token or self._token in "}],:":
            self._expected("JSON value")
        else:
            self._next()

    def _object(self) -> None:
        self._next()
        if self._token.startswith('"'):
            self._field()
            while self._token == ",":
                self._next()
                self._field()
        elif self._token != "}":
            self._expected('string or "}"')
        self._take("}", '"," or "}"')

    def _field(self) -> None:
        if not self._token.startswith('"'):
            self._expected("string")
        self._next()
        self._take(":", '":"')
        self._value()

    def _array(self) -> None:
        self._next()
        if self._token != "]":
            self._value()
            while self._token == ",":
                self._next()
                self._value()
        self._take("]", '"," or "]"')

    # -------------------------------------------------------------------------------------------- tokens

    def _next(self) -> None:
        start = _end(_BLANK, self._text, self._at)
        self._token = ""
        self._ended = start == len(self._text)
        if self._ended:
            return
        first = self._text[start]
        if first in "{}[],:":
            self._at = start + 1
        elif first == '"':
            self._at = self._string(start)
        elif first == "-" or first in "0123456789":
            self._at = _end(_WORD, self._text, _end(_NUMBERED, self._text, start))
            if not _NUMBER.fullmatch(self._text, start, self._at):
                self._fail(f'Token "{self._text[start : self._at]}" is invalid.')
        else:
            self._at = _end(_WORD, self._text, start)
            word = self._text[start : self._at]
            if word not in {"true", "false", "null"}:
                self._fail(f'Token "{word or first}" is invalid.')
        self._token = self._text[start : self._at]

    def _string(self, start: int) -> int:
        """Returns the end of a string that begins at `start`."""
        text, at, high = self._text, start + 1, False
        while at < len(text) and (char := text[at]) != '"':
            escaped = char == "\\"
            if escaped:
                at += 1
                char = text[at : at + 1]
            if escaped and char == "u":
                high = self._code(start, at + 1, high)
                at += 4
            elif high:
                self._fail(_LOW)
            elif escaped and char and char not in '"\\/bfnrt':
                self._fail(f'Escape sequence "\\{char}" is invalid.')
            elif not escaped and char < " ":
                self._fail(f"Character with value 0x{ord(char):02x} must be escaped.")
            at += 1
        if at >= len(text):
            self._fail(f'Token "{text[start:]}" is invalid.')
        if high:
            self._fail(_LOW)
        return at + 1

    def _code(self, start: int, at: int, high: bool) -> bool:
        r"""Whether the digits of a `\u` at `at` are a high surrogate, which must be followed by a low one."""
        digits = self._text[at : at + 4]
        if any(digit not in _HEX for digit in digits):
            self._fail(r'"\u" must be followed by four hexadecimal digits.')
        if len(digits) < 4:
            self._fail(f'Token "{self._text[start:]}" is invalid.')
        if not self._unescaped:
            return False
        code = int(digits, 16)
        if 0xD800 <= code < 0xDC00:
            if high:
                self._fail("Unicode high surrogate must not follow a high surrogate.")
            return True
        if (0xDC00 <= code < 0xE000) != high:
            self._fail(_LOW)
        if code == 0:
            detail = r"\u0000 cannot be converted to text."
            raise SqlError.of("untranslatable_character", "unsupported Unicode escape sequence", detail=detail)
        return False


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
