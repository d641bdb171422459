"""Literal rows of INSERT … VALUES: taken from the text as columns, before the statement is parsed.

A text whose rows are all plain literals is parsed with its first row alone, which says what every other statement
would: the table, the columns, and the first row's errors. The others are columns of texts from the beginning. Texts
that differ in their literals alone have one shape, under which what was parsed and bound of one serves the others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

_NAME = r'(?:[a-z_][\w$]*|"[^"]+")'
HEAD = re.compile(
    rf"\s*insert\s+into\s+{_NAME}(?:\.{_NAME})?\s*(?:\(\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\)\s*)?values\s*\(",
    re.IGNORECASE,
)
_LITERAL = re.compile(
    r"(\s*('[^']*(?:''[^']*)*'|-?\s?\d+(?:\.\d*)?(?:e[-+]?\d+)?|-?\s?\.\d+(?:e[-+]?\d+)?|null|true|false)"
    r"(?:::([a-z_]\w*))?\s*(,|\)\s*,\s*\(|\)\s*;?\s*\Z))",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class LiteralColumn:
    """A column of literals as they are written, and the types of the casts (`::`) that follow some of them."""

    literals: list[str]
    casts: frozenset[str]


@dataclass(slots=True)
class LiteralRows:
    """The rows of a statement, by column; `made` is what their binding made of them, with what it depends on.

    `shape` is what the text shares with all that differ from it in their literals alone.
    """

    columns: list[LiteralColumn]
    shape: str = ""
    made: tuple[Any, Any] | None = field(default=None, compare=False)

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self.columns[0].literals)


def take_literal_rows(text: str) -> LiteralRows | None:
    """Returns the literal rows of an INSERT; None for a text that is anything else."""
    head = HEAD.match(text)
    if head is None or "\0" in text:
        return None
    start = head.end()
    found = _LITERAL.findall(text, start)
    if not found or sum([len(each[0]) for each in found]) != len(text) - start:
        return None  # something lies between the literals
    width = next((place for place, each in enumerate(found, 1) if each[3] != ","), len(found))
    count, rest = divmod(len(found), width)
    if rest:
        return None
    if count > 1 and [each[3][0] for each in found] != ([","] * (width - 1) + [")"]) * count:
        return None
    columns = []
    for place in range(width):
        cells = found if width == 1 else found[place::width]
        casts = frozenset([each[2].lower() for each in cells if each[2]])
        columns.append(LiteralColumn([each[1] for each in cells], casts))
    return LiteralRows(columns, f"{text[:start]}{width}")


def take_first_row(text: str, rows: LiteralRows) -> str:
    """Returns the text of an INSERT with the first of its literal rows alone, which names the same objects."""
    if len(rows) == 1:
        return text
    head = HEAD.match(text)
    assert head is not None
    end = head.end()
    for _ in rows.columns:
        literal = _LITERAL.match(text, end)
        assert literal is not None
        end, last = literal.end(), literal.group(4)
    return text[: end - len(last)] + ")"


def shorten(text: str) -> str:
    """Returns a text with the first of its literal rows alone, which names the same objects; others unchanged."""
    rows = take_literal_rows(text)
    return text if rows is None else take_first_row(text, rows)
