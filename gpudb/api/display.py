"""Rows in psql's format: aligned columns, numbers to the right, and the count of rows."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from gpudb.session.results import ResultColumn

RIGHT = frozenset("int2 int4 int8 float4 float8 numeric oid xid cid money".split())


def aligned(fields: Sequence[ResultColumn], rows: Iterable[tuple[str | None, ...]], *, more: bool = False) -> str:
    """Returns the table, ending with `(n rows)`; with `more` the last line says that there are further rows."""
    cells = [[_lines("" if value is None else value) for value in row] for row in rows]
    heads = [_lines(field.name) for field in fields]
    widths = [
        max([width(line) for line in heads[i]] + [width(line) for row in cells for line in row[i]])
        for i in range(len(fields))
    ]
    out: list[str] = []
    for number in range(max((len(head) for head in heads), default=0)):
        out.append("|".join(_head_cell(head, number, w) for head, w in zip(heads, widths)))
    out.append("-+-".join("-" * w for w in widths).join(("-", "-")) if widths else "--")
    for row in cells:
        out += _row(fields, row, widths)
    count = len(cells)
    label = "1 row" if count == 1 else f"{count} rows"
    out.append(f"({label}; there are more)" if more else f"({label})")
    return "\n".join(out)


def _head_cell(lines: list[str], number: int, wanted: int) -> str:
    text = lines[number] if number < len(lines) else ""
    left = (wanted - width(text)) // 2
    return " " + " " * left + text + " " * (wanted - width(text) - left) + ("+" if number < len(lines) - 1 else " ")


def _row(fields: Sequence[ResultColumn], row: list[list[str]], widths: list[int]) -> list[str]:
    out = []
    height = max((len(lines) for lines in row), default=1)
    last = len(row) - 1
    for number in range(height):
        line = ""
        for index, (field, lines) in enumerate(zip(fields, row)):
            text = lines[number] if number < len(lines) else ""
            gap = " " * (widths[index] - width(text))
            shown = gap + text if field.type.name in RIGHT else text + gap
            goes_on = "+" if number < len(lines) - 1 else " "
            if index == last:
                tail = shown.rstrip(" ") if field.type.name not in RIGHT and goes_on == " " else shown
                line += " " + tail + ("+" if goes_on == "+" else "")
            else:
                line += " " + shown + goes_on + "|"
        out.append(line)
    return out


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def width(text: str) -> int:
    """Returns the terminal width of a text: wide characters count two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
