"""The tokens of a text with its parentheses, clauses and query levels: what constructs are found by."""

from __future__ import annotations

from collections.abc import Container

from postgast import pg_query_pb2 as pg

from gpudb.sql.parse.friendly.beginnings import SET_OPERATIONS, find_beginning
from gpudb.sql.parse.tokens import split_tokens

OPEN, CLOSE = frozenset("(["), frozenset(")]")
TAIL = frozenset("order limit offset fetch for union intersect except returning".split())
"""Words that end the clauses of one SELECT."""
CLAUSES = TAIL | frozenset("where group having window qualify".split())
"""Words that end a FROM clause."""
_QUERIES = frozenset({"select", "values", "table"})
_NAMES = frozenset({pg.IDENT})


class Phrases:
    """The tokens of a text, by their numbers."""

    def __init__(self, text: str) -> None:
        self.tokens = split_tokens(text)
        self.words = [each.word for each in self.tokens]
        self.size = len(text.encode())
        self._partners: dict[int, int] = {}
        self._levels: list[int] = []
        """The first token of each token's query level."""
        self._beginnings: dict[int, int] = {}
        self._queries: dict[int, int] = {}
        self._before: dict[frozenset[str], list[int]] = {}
        self._pair()

    def _pair(self) -> None:
        """Finds parentheses and query levels: one begins behind a parenthesis, a semicolon or a set operation."""
        opened: list[tuple[int, int]] = []
        level = 0
        for number, word in enumerate(self.words):
            self._levels.append(level)
            if word in OPEN:
                opened.append((number, level))
                level = number + 1
            elif word in CLOSE and opened:
                opening, level = opened.pop()
                self._levels[number] = level
                self._partners[number], self._partners[opening] = opening, number
            elif word == ";" or (word in SET_OPERATIONS and self.word(number - 1) not in ("*", "as")):
                level = number + 1

    def __len__(self) -> int:
        """Number of tokens."""
        return len(self.tokens)

    def word(self, number: int) -> str:
        """Returns the word of a token, '' for a quoted one and outside the text."""
        return self.words[number] if 0 <= number < len(self.words) else ""

    def is_name(self, number: int) -> bool:
        """Whether a token is an identifier or a word that can be one."""
        if not 0 <= number < len(self.tokens):
            return False
        text, kind = self.tokens[number].text, self.tokens[number].kind
        return text.startswith('"') or kind in _NAMES or (text[0].isalpha() and self.words[number].isidentifier())

    def is_literal(self, number: int) -> bool:
        """Whether a token is a string."""
        return 0 <= number < len(self.tokens) and self.tokens[number].kind == pg.SCONST

    def closing(self, number: int) -> int | None:
        """Returns the parenthesis that closes one, if any does."""
        return self._partners.get(number) if self.word(number) in OPEN else None

    def opening(self, number: int) -> int | None:
        """Returns the parenthesis that one closes, if any."""
        return self._partners.get(number) if self.word(number) in CLOSE else None

    def find_end(self, number: int, ends: Container[str]) -> int:
        """Returns the first token from one on, at its level, that is one of some words or ends the level."""
        while number < len(self.tokens):
            word = self.words[number]
            if word in OPEN and (closing := self.closing(number)) is not None:
                number = closing + 1
                continue
            if word in CLOSE or word == ";" or word in ends:
                break
            number += 1
        return number

    def find_clause_end(self, number: int, ends: Container[str] = CLAUSES) -> int:
        """Returns where a clause ends that goes on at a token: at one of some words, USING SAMPLE or ON CONFLICT.

        FOR SYSTEM_TIME is part of a FROM clause.
        """
        while True:
            number = self.find_end(number, _Either(ends, _DOUBLE))
            word, following = self.word(number), self.word(number + 1)
            if (word, following) in _PAIRS or number >= len(self.tokens):
                return number
            if word in ends and not (word == "for" and following.startswith("system_")):
                return number
            if word not in _DOUBLE and word not in ends:
                return number
            number += 1

    def split(self, start: int, end: int) -> list[tuple[int, int]]:
        """Returns the items between two tokens that commas separate, each from its first token to behind its last."""
        items = []
        while start < end:
            stop = min(self.find_end(start, {","}), end)
            items.append((start, stop))
            start = stop + 1
        return items

    def find_last(self, start: int, end: int, word: str) -> int | None:
        """Returns the last token between two that is a word, outside parentheses."""
        found = None
        while start < end:
            start = self.find_end(start, {word})
            if start < end and self.word(start) == word:
                found = start
            start += 1
        return found

    def find_before(self, number: int, words: frozenset[str]) -> int:
        """Returns the last token before one that is one of some words, within its parentheses; -1 without one."""
        found = self._before.get(words)
        if found is None:
            found = self._before[words] = []
            last, opened = -1, list[int]()
            for place, word in enumerate(self.words):
                found.append(last)
                if word in OPEN:
                    opened.append(last)
                    last = -1
                elif word in CLOSE and opened:
                    last = opened.pop()
                elif word == ";":
                    last = -1
                elif word in words:
                    last = place
        return found[number]

    def follows_query(self, number: int) -> bool:
        """Whether SELECT, VALUES, TABLE or parentheses are before a token at its query level."""
        level = self._levels[number]
        if level not in self._queries:
            place = level
            while place < len(self.words) and self._levels[place] == level and self.words[place] not in _QUERIES:
                if self.words[place] == "(":
                    break
                closing = self.closing(place)
                place = place + 1 if closing is None else closing + 1
            self._queries[level] = place
        return self._queries[level] < number

    def starts_query(self, number: int) -> bool:
        """Whether a query may begin at a token, where none does in PostgreSQL's grammar."""
        level = self._levels[number]
        if level not in self._beginnings:
            self._beginnings[level] = find_beginning(self.words, self._partners, level)
        return self._beginnings[level] == number

    def slice(self, start: int, end: int) -> tuple[int, int]:
        """Returns the bytes of the tokens from one to before another, which may be none."""
        if start >= end:
            place = self.tokens[start].start if start < len(self.tokens) else self.size
            return place, place
        return self.tokens[start].start, self.tokens[end - 1].end

    def text(self, number: int) -> str:
        """Returns the text of a token, '' outside the text."""
        return self.tokens[number].text if 0 <= number < len(self.tokens) else ""


_PAIRS = frozenset({("using", "sample"), ("on", "conflict")})
_DOUBLE = frozenset({"using", "on"})


class _Either:
    """The words of two collections."""

    def __init__(self, one: Container[str], other: Container[str]) -> None:
        self._one, self._other = one, other

    def __contains__(self, word: object) -> bool:
        return word in self._one or word in self._other
