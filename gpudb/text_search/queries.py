"""tsquery: lexemes joined by operators, its text and binary forms, and whether a vector satisfies it.

A value is its text in the form that PostgreSQL prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from gpudb.errors import SqlError
from gpudb.text_search.configurations import LONGEST_LEXEME, Configuration
from gpudb.text_search.vectors import quote, read_word

EVERY_WEIGHT = 0
"""The weights of a word that any weight satisfies; else a bit for each, D is the lowest."""
MOST_DISTANCE = 16384


@dataclass(frozen=True, slots=True)
class Word:
    """A lexeme, or with `prefix` all that begin with it; of the given weights."""

    lexeme: str
    weights: int = EVERY_WEIGHT
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    """What must not match."""

    arg: Query


@dataclass(frozen=True, slots=True)
class Both:
    """Two queries: both must match (`op` is &), or one of them (|), or the second `distance` after the first (<)."""

    op: str
    left: Query
    right: Query
    distance: int = 0


Query = Word | Not | Both
_PRIORITY = {"|": 1, "&": 2, "<": 3, "!": 4}

# ---- printed form


def format_query(query: Query | None) -> str:
    """Prints a query; one without words is empty."""
    return "" if query is None else _format(query, 0, False)


def _format(query: Query, outer: int, is_right: bool) -> str:
    match query:
        case Word():
            marks = (
                "*" * query.prefix + "".join(letter for n, letter in enumerate("DCBA") if query.weights >> n & 1)[::-1]
            )
            return quote(query.lexeme) + (f":{marks}" if marks else "")
        case Not():
            return "!" + _format(query.arg, _PRIORITY["!"], False)
        case Both():
            own = _PRIORITY[query.op]
            left, right = _format(query.left, own, False), _format(query.right, own, query.op == "<")
            sign = query.op if query.op != "<" else "<->" if query.distance == 1 else f"<{query.distance}>"
            text = f"{left} {sign} {right}"
            return f"( {text} )" if own < outer or (query.op == "<" and is_right) else text


@lru_cache(4096)
def read_query(text: str) -> Query | None:
    """Returns a query from its printed form; None for an empty one, 54000 for a word of more than 2,046 bytes."""

    def push(word: str, weights: int, prefix: bool) -> Parsed:
        if len(word.encode()) > LONGEST_LEXEME:
            raise SqlError.of("program_limit_exceeded", f'word is too long in tsquery: "{text}"')
        return Word(word, weights, prefix)

    return clean(_parse(text, push))


def parse_query(text: str) -> str:
    """Returns the printed form of a query that a user wrote as lexemes; 42601."""
    return format_query(read_query(text))


# ---- parsing

_MARKS = re.compile(r":([*a-dA-D]*)")
_PHRASE = re.compile(r"<(-|\d{1,10})>", re.A)


@dataclass(frozen=True, slots=True)
class Stop:
    """The place of a word that a dictionary leaves out."""


Parsed = Word | Not | Both | Stop
Push = Callable[[str, int, bool], "Parsed"]


class _Reader:
    """The tokens of a query's text: words, operators and brackets."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def skip(self) -> str:
        """Skips blanks; returns the next character, '' at the end."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def fail(self) -> SqlError:
        return SqlError.of("syntax_error", f'syntax error in tsquery: "{self.text}"')

    def read_operand(self, push: Push) -> Parsed:
        """Reads a word, a query in brackets, or the negation of one."""
        following = self.skip()
        if following == "!":
            self.at += 1
            return Not(self.read_operand(push))  # type: ignore[arg-type]
        if following == "(":
            self.at += 1
            inside = self.read_query(push, 1)
            if self.skip() != ")":
                raise self.fail()
            self.at += 1
            return inside
        if following in ("", ":", "&", "|", ")", "<"):
            if following == "":
                raise SqlError.of("syntax_error", f'no operand in tsquery: "{self.text}"')
            raise self.fail()
        word, self.at = read_word(self.text, self.at, _ends_word, lambda _: self.fail())
        weights, prefix = EVERY_WEIGHT, False
        found = _MARKS.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            prefix = "*" in found[1]
            for letter in found[1].upper().replace("*", ""):
                weights |= 1 << "DCBA".index(letter)
        return push(word, weights, prefix)

    def read_query(self, push: Push, priority: int) -> Parsed:
        """Reads operands joined by operators of at least a priority, which join from the left."""
        left = self.read_operand(push)
        while True:
            op, distance, end = self._peek_operator()
            if op == "" or _PRIORITY[op] < priority:
                return left
            self.at = end
            right = self.read_query(push, _PRIORITY[op] + 1)
            left = Both(op, left, right, distance)  # type: ignore[arg-type]

    def _peek_operator(self) -> tuple[str, int, int]:
        following = self.skip()
        if following in ("&", "|"):
            return following, 0, self.at + 1
        if following == "<":
            found = _PHRASE.match(self.text, self.at)
            if found is None:
                raise self.fail()
            distance = 1 if found[1] == "-" else int(found[1])
            if distance > MOST_DISTANCE:
                message = (
                    f"distance in phrase operator must be an integer value between zero and {MOST_DISTANCE} inclusive"
                )
                raise SqlError.of("invalid_parameter_value", message)
            return "<", distance, found.end()
        if following not in ("", ")"):
            raise self.fail()
        return "", 0, self.at


def _ends_word(letter: str) -> bool:
    return letter.isspace() or letter in "!&|()<:"


def _parse(text: str, push: Push) -> Parsed | None:
    reader = _Reader(text)
    if reader.skip() == "":
        return None
    parsed = reader.read_query(push, 1)
    if reader.skip() != "":
        raise reader.fail()
    return parsed


def clean(parsed: Parsed | None) -> Query | None:
    """Returns a query without the places of stop words; phrases keep their distances."""
    return None if parsed is None else _drop_stops(parsed)[0]


def _drop_stops(parsed: Parsed) -> tuple[Query | None, int, int]:
    """Returns what stays, and by how much it moves what is before it and after it in a phrase."""
    match parsed:
        case Word():
            return parsed, 0, 0
        case Not():
            inner, before, after = _drop_stops(parsed.arg)
            return (None if inner is None else Not(inner)), before, after
        case Both():
            left, left_before, left_after = _drop_stops(parsed.left)
            right, right_before, right_after = _drop_stops(parsed.right)
            distance = parsed.distance if parsed.op == "<" else 0
            phrase = parsed.op == "<"
            if left is None and right is None:
                moved = left_before + distance + right_before if phrase else max(left_before, right_before)
                return None, moved, moved
            if left is None:
                return right, (left_before + distance + right_before if phrase else right_before), right_after
            if right is None:
                return left, left_before, (left_after + distance + right_after if phrase else left_after)
            if phrase:
                return Both("<", left, right, distance + left_after + right_before), left_before, right_after
            return Both(parsed.op, left, right), 0, 0
    return None, 0, 0


# ---- queries of words as a configuration reads them


def make_query(configuration: Configuration, text: str) -> str:
    """to_tsquery: words with operators, each as the configuration reads it; 42601."""
    return format_query(
        clean(_parse(text, lambda word, weights, prefix: push_words(configuration, word, "<", weights, prefix)))
    )


def make_plain_query(configuration: Configuration, text: str, op: str) -> str:
    """plainto_tsquery (`op` is &) and phraseto_tsquery (<): all words of a text."""
    return format_query(clean(push_words(configuration, text, op)))


def push_words(
    configuration: Configuration, text: str, op: str, weights: int = EVERY_WEIGHT, prefix: bool = False
) -> Parsed:
    """Returns the words of a text, joined by an operator; stop words within them keep their places."""
    joined: Parsed | None = None
    before = 0
    for lexeme, position in configuration.iter_lexemes(text):
        if not lexeme:
            continue
        if before:
            for _ in range(before + 1, position):
                joined = Both(op, joined, Stop(), int(op == "<"))  # type: ignore[arg-type]
        word = Word(lexeme, weights, prefix)
        joined = word if joined is None else Both(op, joined, word, int(op == "<"))  # type: ignore[arg-type]
        before = position
    return Stop() if joined is None else joined


def iter_words(query: Query | None) -> Iterator[Word]:
    """Yields the words of a query from left to right."""
    match query:
        case Word():
            yield query
        case Not():
            yield from iter_words(query.arg)
        case Both():
            yield from iter_words(query.left)
            yield from iter_words(query.right)


def count_nodes(query: Query | None) -> int:
    """numnode: the number of lexemes and operators."""
    match query:
        case None:
            return 0
        case Word():
            return 1
        case Not():
            return 1 + count_nodes(query.arg)
    return 1 + count_nodes(query.left) + count_nodes(query.right)
