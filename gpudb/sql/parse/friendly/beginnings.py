"""Where the query of a level of parentheses begins: at its first token, or behind what may stand before a query.

That is a set operation's ALL or DISTINCT, EXPLAIN, CREATE … AS, PREPARE … AS, DECLARE … FOR, BEGIN ATOMIC, a list of
WITH, and INSERT with its target and columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SET_OPERATIONS = frozenset({"union", "intersect", "except"})
_NOWHERE = -1
_EXPLAINED = frozenset({"analyze", "analyse", "verbose"})


def find_beginning(words: Sequence[str], partners: Mapping[int, int], level: int) -> int:
    """Returns the token at which the query of a level begins, from the level's first token; -1 if it can have none.

    `partners` has the parenthesis that closes one.
    """
    reader = _Reader(words, partners, level)
    before = reader.word(-1)
    if before == "[" or (before == "(" and reader.word(-2) == "trim"):
        return _NOWHERE
    if before in SET_OPERATIONS and reader.word() in ("all", "distinct"):
        reader.place += 1
    reader.skip_statement()
    if reader.word() == "with" and not reader.skip_with():
        return _NOWHERE
    if reader.word() == "insert" and reader.word(1) == "into":
        reader.skip_target()
    return reader.place


class _Reader:
    """Reads the tokens of a level from `place` on."""

    def __init__(self, words: Sequence[str], partners: Mapping[int, int], place: int) -> None:
        self._words, self._partners, self.place = words, partners, place

    def word(self, offset: int = 0) -> str:
        """Returns the word of a token from `place` on; '' outside the text."""
        number = self.place + offset
        return self._words[number] if 0 <= number < len(self._words) else ""

    def skip_statement(self) -> None:
        """Skips what makes a statement of a query."""
        if self.word() == "explain":
            self.place += 1
            while self.word() in _EXPLAINED:
                self.place += 1
            self._skip_parentheses()
        if self.word() in ("create", "prepare"):
            self._skip_to("as")
        elif self.word() == "declare":
            self._skip_to("for")

    def skip_with(self) -> bool:
        """Skips WITH and its list; whether it is one."""
        self.place += 2 if self.word(1) == "recursive" and self.word(2) not in ("as", "(") else 1
        while True:
            self.place += 1
            self._skip_parentheses()
            if self.word() != "as":
                return False
            self.place += 1
            while self.word() in ("not", "materialized"):
                self.place += 1
            if not self._skip_parentheses():
                return False
            for clause, end in (("search", "set"), ("cycle", "using")):
                if self.word() == clause:
                    self._skip_to(end)
                    self.place += 1
            if self.word() != ",":
                return True
            self.place += 1

    def skip_target(self) -> None:
        """Skips INSERT INTO, its table and columns."""
        self.place += 3
        while self.word() == ".":
            self.place += 2
        if self.word() == "as":
            self.place += 2
        self._skip_parentheses()
        if self.word() == "overriding":
            self.place += 3

    def _skip_parentheses(self) -> bool:
        closing = self._partners.get(self.place) if self.word() == "(" else None
        if closing is not None:
            self.place = closing + 1
        return closing is not None

    def _skip_to(self, end: str) -> None:
        """Skips a word, and all before it; or BEGIN ATOMIC; or the level."""
        while self.place < len(self._words) and self.word() not in (")", "]", ";"):
            if self.word() == end or (self.word(-1), self.word()) == ("begin", "atomic"):
                self.place += 1
                return
            if not self._skip_parentheses():
                self.place += 1
