"""tsvector: the lexemes of a document with their positions and weights, and PostgreSQL's text and binary forms of it.

A value is its text in the form that PostgreSQL prints, so that equal vectors are equal texts: each lexeme once, quoted,
in the order of their bytes, with its positions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gpudb.errors import SqlError
from gpudb.text_search.configurations import LONGEST_LEXEME, MOST_POSITIONS, Configuration

MOST_PLACES = 255
"""Positions of one lexeme; further ones are left out."""
WEIGHTS = "DCBA"
"""The letters of the weights, by their numbers. D is the default, and is not printed."""
_MOST_BYTES = 1 << 20


class Place(NamedTuple):
    """A position of a lexeme from 1, and its weight as a number: 0 is D, 3 is A."""

    position: int
    weight: int


Vector = dict[str, tuple[Place, ...]]
"""The places of each lexeme; none if the vector was stripped of them."""

_LEXEME = re.compile(r"'((?:[^'\\]|''|\\.)*)'(?::([0-9A-C,]+))?", re.S)
_UNQUOTED = re.compile(r"''|\\(.)", re.S)


def read_vector(text: str) -> Vector:
    """Returns the lexemes of a vector in its printed form."""
    return {
        unescape(word) if "'" in word or "\\" in word else word: _read_places(places) if places else ()
        for word, places in _LEXEME.findall(text)
    }


def unescape(word: str) -> str:
    """Returns what a quoted word stands for."""
    return _UNQUOTED.sub(lambda found: found[1] or "'", word)


def _read_places(text: str) -> tuple[Place, ...]:
    return tuple(
        Place(int(each[:-1]), WEIGHTS.index(each[-1])) if each[-1] > "9" else Place(int(each), 0)
        for each in text.split(",")
    )


def format_vector(vector: Vector) -> str:
    """Prints a vector; 54000 for one of more than a megabyte."""
    if sum(len(word.encode()) + 2 * len(places) + 4 for word, places in vector.items()) > _MOST_BYTES:
        raise SqlError.of("program_limit_exceeded", f"string is too long for tsvector ({_MOST_BYTES - 1} bytes max)")
    return " ".join(
        quote(word) + (":" + ",".join(map(_format_place, vector[word])) if vector[word] else "")
        for word in sorted(vector, key=str.encode)
    )


def quote(word: str) -> str:
    """Quotes a lexeme."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _format_place(place: Place) -> str:
    return f"{place.position}{WEIGHTS[place.weight] if place.weight else ''}"


def merge_places(places: Iterable[Place]) -> tuple[Place, ...]:
    """Returns the places of a lexeme in their order: of one position the greatest weight, of all the first 255."""
    best: dict[int, int] = {}
    for position, weight in places:
        at = min(position, MOST_POSITIONS)
        best[at] = max(best.get(at, 0), weight)
    return tuple(Place(position, best[position]) for position in sorted(best)[:MOST_PLACES])


# ---- a vector's text as users write it


def parse_vector(text: str) -> str:
    """Returns the printed form of a vector that a user wrote; 42601."""
    vector: dict[str, list[Place]] = {}
    for word, places in iter_words(text):
        if len(word.encode()) > LONGEST_LEXEME:
            message = f"word is too long ({len(word.encode())} bytes, max {LONGEST_LEXEME} bytes)"
            raise SqlError.of("program_limit_exceeded", message)
        vector.setdefault(word, []).extend(places)
    return format_vector({word: merge_places(places) for word, places in vector.items()})


def iter_words(text: str) -> Iterator[tuple[str, list[Place]]]:
    """Yields the words of a vector as a user wrote it, quoted or not, each with its places."""
    at, end = 0, len(text)
    while True:
        while at < end and text[at].isspace():
            at += 1
        if at == end:
            return
        word, at = read_word(text, at, lambda letter: letter.isspace() or letter == ":", _make_error)
        places: list[Place] = []
        if at < end and text[at] == ":":
            while True:
                found = _PLACE.match(text, at + 1)
                if found is None:
                    raise _make_error(text)
                if int(found[1]) == 0:
                    message = f'wrong position info in tsvector: "{text}"'
                    raise SqlError.of("syntax_error", message)
                letter = found[2].upper().replace("*", "A")
                places.append(Place(min(int(found[1]), MOST_POSITIONS), WEIGHTS.index(letter) if letter else 0))
                at = found.end()
                if at == end or text[at] != ",":
                    break
            if at < end and not text[at].isspace():
                raise _make_error(text)
        yield word, places


_PLACE = re.compile(r"(\d+)([a-dA-D*]?)", re.A)


def read_word(
    text: str, at: int, ends: Callable[[str], bool], make_error: Callable[[str], SqlError]
) -> tuple[str, int]:
    """Reads a word that is quoted, or of which a character `ends` the text; returns it and where it ends."""
    letters: list[str] = []
    quoted, end = text[at] == "'", len(text)
    at += quoted
    while at < end:
        letter = text[at]
        if letter == "\\":
            if at + 1 == end:
                raise SqlError.of("syntax_error", f'there is no escaped character: "{text}"')
            letters.append(text[at + 1])
            at += 2
        elif quoted and letter == "'":
            if text[at + 1 : at + 2] != "'":
                break
            letters.append("'")
            at += 2
        elif not quoted and ends(letter):
            break
        else:
            letters.append(letter)
            at += 1
    if (quoted and at == end) or not letters:
        raise make_error(text)
    return "".join(letters), at + quoted


def _make_error(text: str) -> SqlError:
    return SqlError.of("syntax_error", f'syntax error in tsvector: "{text}"')


# ---- vectors of documents, and of other vectors


def make_vector(configuration: Configuration, text: str) -> str:
    """Returns the vector of a document."""
    return format_vector(collect_lexemes(configuration, [text]))


def collect_lexemes(configuration: Configuration, texts: Iterable[str], gap: int = 1) -> Vector:
    """Returns the lexemes of several texts, one after the other; `gap` positions stay free between two of them."""
    found: dict[str, list[Place]] = {}
    before = 0
    for text in texts:
        last = before
        for lexeme, position in configuration.iter_lexemes(text):
            last = before + position
            if lexeme:
                found.setdefault(lexeme, []).append(Place(min(last, MOST_POSITIONS), 0))
        before = last + gap
    return {word: merge_places(places) for word, places in found.items()}


def concatenate(first: Vector, second: Vector) -> Vector:
    """Returns the lexemes of both; the positions of the second begin after the last of the first."""
    shift = max((place.position for places in first.values() for place in places), default=0)
    joined = dict(first)
    for word, places in second.items():
        moved = [
            Place(place.position + shift, place.weight) for place in places if place.position + shift <= MOST_POSITIONS
        ]
        before = joined.get(word)
        joined[word] = merge_places([*(before or ()), *moved])
    return joined


def set_weight(vector: Vector, weight: int, words: Iterable[str] | None = None) -> Vector:
    """Returns a vector with the weight of all its lexemes set, or of some."""
    chosen = vector.keys() if words is None else set(words)
    return {
        word: tuple(Place(place.position, weight) for place in places) if word in chosen else places
        for word, places in vector.items()
    }


def parse_weight(letter: str) -> int:
    """Returns the number of a weight; 22023 for no letter of one."""
    number = WEIGHTS.find(letter.upper()) if len(letter) == 1 else -1
    if number < 0:
        code = ord(letter[0]) if letter else 0
        raise SqlError.of("invalid_parameter_value" if letter else "internal_error", f"unrecognized weight: {code}")
    return number
