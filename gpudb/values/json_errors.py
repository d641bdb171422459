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


def find_json_error(text: str, *, unescaped: bool) -> GpudbError:
    """Returns the error of invalid JSON; with `unescaped`, as for jsonb, escapes must denote characters.

    22P02, or 22P05 for a character that text cannot represent.
    """
    try:
        _Parser(text, unescaped).run()
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

    def run(self) -> None:
        self._read_token()
        self._parse_value()
        if not self._ended:
            self._fail_expecting("end of input")

    def _fail(self, detail: str) -> NoReturn:
        raise InvalidText(MESSAGE, detail=detail)

    def _fail_expecting(self, expected: str) -> NoReturn:
        if self._ended:
            self._fail("The input string ended unexpectedly.")
        self._fail(f'Expected {expected}, but found "{self._token}".')

    def _take(self, token: str, expected: str) -> None:
        if self._token != token:
            self._fail_expecting(expected)
        self._read_token()

    # ------------------------------------------------------------------------------------------- grammar

    def _parse_value(self) -> None:
        if self._token == "{":
            self._parse_object()
        elif self._token == "[":
            self._parse_array()
        elif not self._token or self._token in "}],:":
            self._fail_expecting("JSON value")
        else:
            self._read_token()

    def _parse_object(self) -> None:
        self._read_token()
        if self._token.startswith('"'):
            self._parse_member()
            while self._token == ",":
                self._read_token()
                self._parse_member()
        elif self._token != "}":
            self._fail_expecting('string or "}"')
        self._take("}", '"," or "}"')

    def _parse_member(self) -> None:
        if not self._token.startswith('"'):
            self._fail_expecting("string")
        self._read_token()
        self._take(":", '":"')
        self._parse_value()

    def _parse_array(self) -> None:
        self._read_token()
        if self._token != "]":
            self._parse_value()
            while self._token == ",":
                self._read_token()
                self._parse_value()
        self._take("]", '"," or "]"')

    # -------------------------------------------------------------------------------------------- tokens

    def _read_token(self) -> None:
        start = _match_end(_BLANK, self._text, self._at)
        self._token = ""
        self._ended = start == len(self._text)
        if self._ended:
            return
        first = self._text[start]
        if first in "{}[],:":
            self._at = start + 1
        elif first == '"':
            self._at = self._scan_string(start)
        elif first == "-" or first in "0123456789":
            self._at = _match_end(_WORD, self._text, _match_end(_NUMBERED, self._text, start))
            if not _NUMBER.fullmatch(self._text, start, self._at):
                self._fail(f'Token "{self._text[start : self._at]}" is invalid.')
        else:
            self._at = _match_end(_WORD, self._text, start)
            word = self._text[start : self._at]
            if word not in {"true", "false", "null"}:
                self._fail(f'Token "{word or first}" is invalid.')
        self._token = self._text[start : self._at]

    def _scan_string(self, start: int) -> int:
        """Returns the end of a string that begins at `start`."""
        text, at, high = self._text, start + 1, False
        while at < len(text) and (char := text[at]) != '"':
            escaped = char == "\\"
            if escaped:
                at += 1
                char = text[at : at + 1]
            if escaped and char == "u":
                high = self._check_code_unit(start, at + 1, high)
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

    def _check_code_unit(self, start: int, at: int, high: bool) -> bool:
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


def _match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
