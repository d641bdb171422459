"""Rows in psql's format: aligned columns, numbers to the right, and the count of rows."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from gpudb.session.results import ResultColumn

RIGHT_ALIGNED_TYPES = frozenset("int2 int4 int8 float4 float8 numeric oid xid cid money".split())


def format_aligned(
    fields: Sequence[ResultColumn], rows: Iterable[tuple[str | None, ...]], *, more: bool = False
) -> str:
    """Returns the table, ending with `(n rows)`; with `more` the last line says that there are further rows."""
    cells = [[_split_lines("" if value is None else value) for value in row] for row in rows]
    heads = [_split_lines(field.name) for field in fields]
    widths = [
        max(
            [get_display_width(line) for line in heads[i]]
            + [get_display_width(line) for row in cells for line in row[i]]
        )
        for i in range(len(fields))
    ]
    out: list[str] = []
    for number in range(max((len(head) for head in heads), default=0)):
        out.append("|".join(_format_heading(head, number, w) for head, w in zip(heads, widths)))
    out.append("-+-".join("-" * w for w in widths).join(("-", "-")) if widths else "--")
    for row in cells:
        out += _format_row(fields, row, widths)
    count = len(cells)
    label = "1 row" if count == 1 else f"{count} rows"
    out.append(f"({label}; there are more)" if more else f"({label})")
    return "\n".join(out)


def _format_heading(lines: list[str], number: int, cell_width: int) -> str:
    text = lines[number] if number < len(lines) else ""
    indent = (cell_width - get_display_width(text)) // 2
    return (
        " "
        + " " * indent
        + text
        + " " * (cell_width - get_display_width(text) - indent)
        + ("+" if number < len(lines) - 1 else " ")
    )


def _format_row(fields: Sequence[ResultColumn], row: list[list[str]], widths: list[int]) -> list[str]:
    out = []
    height = max((len(lines) for lines in row), default=1)
    last = len(row) - 1
    for number in range(height):
        line = ""
        for index, (field, lines) in enumerate(zip(fields, row)):
            text = lines[number] if number < len(lines) else ""
            gap = " " * (widths[index] - get_display_width(text))
            padded = gap + text if field.type.name in RIGHT_ALIGNED_TYPES else text + gap
            continuation = "+" if number < len(lines) - 1 else " "
            if index == last:
                tail = (
                    padded.rstrip(" ") if field.type.name not in RIGHT_ALIGNED_TYPES and continuation == " " else padded
                )
                line += " " + tail + ("+" if continuation == "+" else "")
            else:
                line += " " + padded + continuation + "|"
        out.append(line)
    return out


def _split_lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").split("\n")


def get_display_width(text: str) -> int:
    """Returns the terminal width of a text: wide characters count two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def format_expanded(fields: Sequence[ResultColumn], rows: Iterable[tuple[str | None, ...]]) -> str:
    """Returns the rows in psql's expanded form: a line for each column, a heading before each row."""
    heads = [_split_lines(field.name) for field in fields]
    cells = [[_split_lines("" if value is None else value) for value in row] for row in rows]
    if not cells or not heads:
        return f"({len(cells)} row{'' if len(cells) == 1 else 's'})"
    head_width = max(get_display_width(line) for lines in heads for line in lines)
    width = max(get_display_width(line) for row in cells for lines in row for line in lines)
    out: list[str] = []
    for number, row in enumerate(cells, 1):
        out.append(_format_record_line(number, head_width, width))
        for head, lines in zip(heads, row):
            for index in range(max(len(head), len(lines))):
                name = head[index] if index < len(head) else ""
                name += " " * (head_width - get_display_width(name)) + ("+" if index < len(head) - 1 else " ")
                value = ""
                if index < len(lines):
                    value = " " + lines[index]
                if index < len(lines) - 1:  # the mark of a value that goes on in the next line
                    value += " " * (width - get_display_width(lines[index])) + "+"
                out.append(f"{name}|{value}")
    return "\n".join(out)


def _format_record_line(number: int, head_width: int, width: int) -> str:
    """The heading of a row, with the line between names and values where it does not cover it."""
    heading = f"-[ RECORD {number} ]"
    line = "-" * (head_width + 1) + "+" + "-" * (width + 1)
    return heading + line[len(heading) :]
