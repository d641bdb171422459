"""Reads a psql script: its statements with the rows of COPY FROM STDIN, and its backslash commands, in order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import postgast

_COPY_IN = re.compile(r"\s*copy\b.*\bfrom\s+stdin\b", re.I)
_END_OF_DATA = "\\."
_LEADING = re.compile(r"\A(?:\s+|--[^\n]*\n|/\*.*?\*/)+", re.S)


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement, or the text of a backslash command; `data` are the rows that follow a COPY FROM STDIN."""

    line: int
    text: str
    data: str | None = None

    @property
    def is_command(self) -> bool:
        """Whether it is a backslash command of psql."""
        return self.text.startswith("\\")


def read(text: str) -> list[Entry]:
    """Returns the entries of a script, without its comments between statements."""
    lines = text.splitlines(keepends=True)
    copies = _find_copies(lines)
    found: list[Entry] = []
    number, chunk = 0, 0
    while number < len(lines):
        if number in copies:
            found += _split("".join(lines[chunk : number + 1]), chunk)
            end = copies[number]
            found.append(Entry(found[-1].line, found.pop().text, "".join(lines[number + 1 : end])))
            chunk = number = end + 1
        elif lines[number].startswith("\\"):
            found += _split("".join(lines[chunk:number]), chunk)
            found.append(Entry(number + 1, lines[number].strip()))
            chunk = number = number + 1
        else:
            number += 1
    return [*found, *_split("".join(lines[chunk:]), chunk)]


def _find_copies(lines: list[str]) -> dict[int, int]:
    """Returns the line of each end of data by the line of its COPY, which is the nearest one before it."""
    found: dict[int, int] = {}
    copy = None
    for number, line in enumerate(lines):
        if _COPY_IN.match(line):
            copy = number
        elif line.rstrip() == _END_OF_DATA and copy is not None:
            found[copy] = number
    return found


def _split(text: str, first: int) -> Iterator[Entry]:
    """Yields the statements of text that begins at line `first`, counted from 0."""
    start = 0
    for statement in postgast.split(text, method="scanner"):
        start = text.index(statement, start)
        leading = _LEADING.match(statement)
        begins = leading.end() if leading else 0
        if statement[begins:].strip():
            yield Entry(first + text.count("\n", 0, start + begins) + 1, statement[begins:].strip())
        start += len(statement)
