"""Rows of parameters of INSERT … VALUES, as pandas and ORMs send them: `VALUES ($1, $2), ($3, $4)`.

A text whose rows are alike but for their parameters' numbers means its first row, for every row of the parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudb.sql.parse.literal_rows import HEAD

_CELL = re.compile(
    r"(\s*\$(\d{1,5})((?:::[a-z_][\w ]*(?:\(\s*\d+\s*(?:,\s*\d+\s*)?\))?(?:[\w ]*)(?:\[\])?)?)\s*"
    r"(,|\)\s*,\s*\(|\)\s*;?\s*\Z))",
    re.IGNORECASE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class ParameterRows:
    """The rows of a text: `text` is that of the first of them alone, which has `width` parameters, as all others."""

    text: str
    width: int
    count: int


def take_parameter_rows(text: str) -> ParameterRows | None:
    """Returns the rows of parameters of an INSERT, two at least; None for a text that is anything else."""
    head = HEAD.match(text)
    if head is None or text[head.end() : head.end() + 1] != "$":
        return None
    found = _CELL.findall(text, head.end())
    if not found or sum([len(cell[0]) for cell in found]) != len(text) - head.end():
        return None  # something lies between the parameters
    width = next((place for place, cell in enumerate(found, 1) if cell[3] != ","), len(found))
    count, rest = divmod(len(found), width)
    if rest or count < 2:
        return None
    if [cell[3][0] for cell in found] != ([","] * (width - 1) + [")"]) * count:
        return None
    if [int(cell[1]) for cell in found] != list(range(1, len(found) + 1)):
        return None
    casts = [cell[2] for cell in found]
    if casts != casts[:width] * count:
        return None
    end = head.end() + sum([len(cell[0]) for cell in found[:width]]) - len(found[width - 1][3])
    return ParameterRows(text[:end] + ")", width, count)
