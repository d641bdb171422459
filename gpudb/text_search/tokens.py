"""The default parser of full-text search: splits a text into tokens, each of a type, as PostgreSQL's does.

At each place the longest token wins. A hyphenated word is followed by its parts, and the address of a page by its host
and its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ASCIIWORD, WORD, NUMWORD, EMAIL, URL, HOST, SFLOAT, VERSION = range(1, 9)
NUMPART, PART, ASCIIPART, BLANK, TAG, PROTOCOL, NUMHWORD, ASCIIHWORD, HWORD = range(9, 18)
URL_PATH, FILE, FLOAT, INT, UINT, ENTITY = range(18, 24)

TYPES = (
    (ASCIIWORD, "asciiword", "Word, all ASCII"),
    (WORD, "word", "Word, all letters"),
    (NUMWORD, "numword", "Word, letters and digits"),
    (EMAIL, "email", "Email address"),
    (URL, "url", "URL"),
    (HOST, "host", "Host"),
    (SFLOAT, "sfloat", "Scientific notation"),
    (VERSION, "version", "Version number"),
    (NUMPART, "hword_numpart", "Hyphenated word part, letters and digits"),
    (PART, "hword_part", "Hyphenated word part, all letters"),
    (ASCIIPART, "hword_asciipart", "Hyphenated word part, all ASCII"),
    (BLANK, "blank", "Space symbols"),
    (TAG, "tag", "XML tag"),
    (PROTOCOL, "protocol", "Protocol head"),
    (NUMHWORD, "numhword", "Hyphenated word, letters and digits"),
    (ASCIIHWORD, "asciihword", "Hyphenated word, all ASCII"),
    (HWORD, "hword", "Hyphenated word, all letters"),
    (URL_PATH, "url_path", "URL path"),
    (FILE, "file", "File or path name"),
    (FLOAT, "float", "Decimal notation"),
    (INT, "int", "Signed integer"),
    (UINT, "uint", "Unsigned integer"),
    (ENTITY, "entity", "XML entity"),
)
"""Number, alias and description of each type of token."""


class Token(NamedTuple):
    """A token: a type of TYPES, and its text."""

    type: int
    text: str


_L, _A = r"[^\W\d_]", r"[^\W_]"  # a letter; a letter or a digit
_WORD = rf"\d*{_L}{_A}*"
_LABEL = r"[A-Za-z0-9][A-Za-z0-9_-]*+(?<=[A-Za-z0-9])"
_HOST = rf"{_LABEL}(?:\.{_LABEL})*\.[A-Za-z]{{2,}}(?![A-Za-z0-9])(?::\d+)?"
_MARKUP = r"""(?:[^<>"']|"[^"]*"|'[^']*')*>"""

_SIMPLE = re.compile(r"[A-Za-z]+(?=[\s,;!?)\"]|$)")
"""Most tokens of most texts: words of ASCII letters, before something that only ends a word."""
_PATH = re.compile(r"/[^\s<>\"]+")
_COMMENT, _COMMENT_END = "<!--", "-->"
_KINDS = (
    (PROTOCOL, re.compile(r"[A-Za-z]+://")),
    (NUMHWORD, re.compile(rf"{_WORD}(?:-{_WORD})+")),
    (SFLOAT, re.compile(r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d+")),
    (VERSION, re.compile(r"\d+(?:\.\d+){2,}")),
    (FLOAT, re.compile(r"[+-]?\d+\.\d+")),
    (
        FILE,
        re.compile(
            r"(?:[A-Za-z][A-Za-z0-9]*(?:\.(?=[A-Za-z0-9])|/)|\d[A-Za-z0-9]*/|\.{0,2}/|~(?=\w))"
            r"(?:[A-Za-z0-9_~]|\.(?=[A-Za-z0-9_]))(?:[A-Za-z0-9_-]|[./](?=[A-Za-z0-9_]))*"
        ),
    ),
    (NUMWORD, re.compile(_WORD)),
    (INT, re.compile(r"[+-]\d+")),
    (UINT, re.compile(r"\d+")),
    (TAG, re.compile(rf"<(?:/?[A-Za-z_:]{_MARKUP}|[!?]{_MARKUP})", re.S)),
    (ENTITY, re.compile(r"&(?:\#\d+|\#[xX][0-9A-Fa-f]+|[A-Za-z_:][A-Za-z0-9_.:-]*);")),
)
_BLANK = re.compile(r"(?:(?!\w)[^<&+/-]|_)+")


def split_text(text: str) -> Iterator[Token]:
    """Yields the tokens of a text; all of it is in tokens, blanks included, and some of it in several.

    The time is linear in the length of the text, whatever is in it.
    """
    finder = _Finder(text)
    at, end = 0, len(text)
    while at < end:
        simple = _SIMPLE.match(text, at)
        if simple is not None:
            yield Token(ASCIIWORD, simple.group())
            at = simple.end()
            continue
        kind, after, host_end = finder.find_longest(at)
        if after == at:
            blank = _BLANK.match(text, at + 1)  # after a character that begins no token, such as a hyphen
            after = at + 1 if blank is None else blank.end()
            yield Token(BLANK, text[at:after])
        elif kind == URL:
            yield Token(URL, text[at:after])
            yield Token(HOST, text[at:host_end])
            yield Token(URL_PATH, text[host_end:after])
        else:
            yield from _make_tokens(kind, text[at:after])
        at = after


_PREFERRED = frozenset({(HOST, FILE), (SFLOAT, NUMWORD)})
"""Types that win over longer tokens of another."""


class _Search:
    """Searches for a pattern that reads far before it fails, at places in ascending order.

    Where it fails, it fails at all places of the `run` of characters from there, which are not read again.
    """

    def __init__(self, pattern: str, run: str) -> None:
        self._pattern, self._run = re.compile(pattern), re.compile(run)

    def find_end(self, text: str, at: int, failed: int) -> tuple[int, int]:
        """Returns the end of the match at a place, the place if there is none, and up to where none can begin."""
        if at < failed:
            return at, failed
        found = self._pattern.match(text, at)
        if found is not None:
            return found.end(), failed
        run = self._run.match(text, at)
        return at, failed if run is None else run.end()


_HOSTS = _Search(_HOST, rf"[A-Za-z0-9][A-Za-z0-9_-]*+(?:(?<=[A-Za-z0-9])(?:\.{_LABEL})++)?")
_EMAILS = _Search(rf"[A-Za-z0-9][A-Za-z0-9._-]*+(?<=[A-Za-z0-9])@{_HOST}", r"[A-Za-z0-9][A-Za-z0-9._-]*+")


class _Finder:
    """Finds the tokens of a text, from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._no_host = self._no_email = 0
        self._last_comment: int | None = None

    def find_longest(self, at: int) -> tuple[int, int, int]:
        """Returns the type and the end of the longest token at a place, which ends there if there is none.

        Third is the end of the host that it begins with.
        """
        text = self._text
        best, longest = 0, at
        comment = self._find_comment(at)
        if comment > at:
            return TAG, comment, at
        host, self._no_host = _HOSTS.find_end(text, at, self._no_host)
        if host > at:
            path = _PATH.match(text, host)
            best, longest = (HOST, host) if path is None else (URL, path.end())
        email, self._no_email = _EMAILS.find_end(text, at, self._no_email)
        if email > longest:
            best, longest = EMAIL, email
        for kind, pattern in _KINDS:
            if (best, kind) in _PREFERRED:
                continue
            found = pattern.match(text, at)
            if found is not None and found.end() > longest:
                best, longest = kind, found.end()
        return best, longest, host

    def _find_comment(self, at: int) -> int:
        """Returns the end of the comment at a place, the place if there is none."""
        if not self._text.startswith(_COMMENT, at):
            return at
        if self._last_comment is None:
            self._last_comment = self._text.rfind(_COMMENT_END)
        begin = at + len(_COMMENT)
        return self._text.index(_COMMENT_END, begin) + len(_COMMENT_END) if begin <= self._last_comment else at


def _make_tokens(kind: int, text: str) -> Iterator[Token]:
    if kind == NUMHWORD:
        whole = max(map(_classify, text.split("-")), key=_RANKS.index)
        yield Token(_HYPHENATED[whole], text)
        for number, part in enumerate(text.split("-")):
            if number:
                yield Token(BLANK, "-")
            yield Token(_PARTS[_classify(part)], part)
    else:
        yield Token(_classify(text) if kind == NUMWORD else kind, text)


def _classify(word: str) -> int:
    if not word.isalpha():
        return NUMWORD
    return ASCIIWORD if word.isascii() else WORD


_RANKS = (ASCIIWORD, WORD, NUMWORD)
_HYPHENATED = {ASCIIWORD: ASCIIHWORD, WORD: HWORD, NUMWORD: NUMHWORD}
_PARTS = {ASCIIWORD: ASCIIPART, WORD: PART, NUMWORD: NUMPART}
