"""Splits a rules file into lines of fields, and fields into words, by the rules of PostgreSQL's pg_hba.conf."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_BLANKS = " \t\r"


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a field. Within quotes it loses its meaning as a keyword."""

    text: str
    quoted: bool = False

    def is_keyword(self, *keywords: str) -> bool:
        """Whether it is one of these words, without quotes."""
        return not self.quoted and self.text in keywords


Field = tuple[Word, ...]
"""A field: several words where commas separate them."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that has fields. `number` counts from 1; of a continued line it is the first line's."""

    number: int
    fields: tuple[Field, ...]


def split_lines(text: str) -> Iterator[Line]:
    """Yields the lines of a file that are neither empty nor comments; a backslash at a line's end continues it."""
    lines = iter(enumerate(text.split("\n"), 1))
    for number, line in lines:
        joined = line.removesuffix("\r")
        while joined.endswith("\\"):
            joined = joined[:-1] + next(lines, (0, ""))[1].removesuffix("\r")
        if fields := tuple(_split_fields(joined)):
            yield Line(number, fields)


def _split_fields(line: str) -> Iterator[Field]:
    at = 0
    while True:
        field: list[Word] = []
        is_continued = True
        while is_continued:
            word, at, is_continued = _next_word(line, at)
            if word is None:
                break
            field.append(word)
        if not field:
            return
        yield tuple(field)


def _next_word(line: str, at: int) -> tuple[Word | None, int, bool]:
    """Returns the word at or after `at`, the position behind it, and whether a comma ends it."""
    while at < len(line) and line[at] in _BLANKS + ",":
        at += 1
    text = ""
    is_in_quotes = was_quote = has_quotes = begins_quoted = ends_with_comma = False
    while at < len(line) and (is_in_quotes or line[at] not in _BLANKS):
        character = line[at]
        if character == "#" and not is_in_quotes:
            at = len(line)
            break
        at += 1
        if character == "," and not is_in_quotes:
            ends_with_comma = True
            break
        if character != '"' or was_quote:  # two quotes within quotes are one of the text
            text += character
        was_quote = is_in_quotes and character == '"' and not was_quote
        if character == '"':
            is_in_quotes = not is_in_quotes
            has_quotes = True
            begins_quoted = begins_quoted or not text
    return (Word(text, begins_quoted) if text or has_quotes else None), at, ends_with_comma
