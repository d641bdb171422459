"""The first rows of a result as an HTML table, as notebooks show it: names, types, escaped values, and the count."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpudb.api.display import RIGHT_ALIGNED_TYPES
from gpudb.session.results import ResultColumn

MAX_COLUMNS = 50
MAX_CHARACTERS = 200
"""Longer values are cut."""
_RIGHT = ' style="text-align: right"'
_LEFT = ' style="text-align: left"'


def format_html(
    fields: Sequence[ResultColumn], rows: Sequence[tuple[str | None, ...]], count: int, *, note: str = ""
) -> str:
    """Returns the first rows of `count` as a table; NULL is a word in italics. `note` follows the count."""
    shown = fields[:MAX_COLUMNS]
    styles = [_RIGHT if field.type.name in RIGHT_ALIGNED_TYPES else _LEFT for field in shown]
    names = "".join(f"<th{style}>{escape(field.name)}</th>" for field, style in zip(shown, styles))
    types = "".join(f"<td{style}><em>{escape(str(field.type))}</em></td>" for field, style in zip(shown, styles))
    lines = ["<div>", '<table border="1" class="dataframe">', f"<thead><tr>{names}</tr><tr>{types}</tr></thead>"]
    lines.append("<tbody>")
    for row in rows:
        cells = "".join(f"<td{style}>{_format_cell(value)}</td>" for value, style in zip(row, styles))
        lines.append(f"<tr>{cells}</tr>")
    lines += ["</tbody>", "</table>", f"<p>{escape(_format_count(fields, rows, count))}{escape(note)}</p>", "</div>"]
    return "\n".join(lines)


def _format_cell(value: str | None) -> str:
    if value is None:
        return "<em>NULL</em>"
    text = value if len(value) <= MAX_CHARACTERS else value[: MAX_CHARACTERS - 1] + "…"
    return escape(text).replace("\n", "<br>")


def _format_count(fields: Sequence[ResultColumn], rows: Sequence[object], count: int) -> str:
    columns = f"{len(fields)} column{'' if len(fields) == 1 else 's'}"
    text = f"{count:,} row{'' if count == 1 else 's'}, {columns}"
    if len(rows) < count:
        text += f"; the first {len(rows)} rows are shown"
    if len(fields) > MAX_COLUMNS:
        text += f"; the first {MAX_COLUMNS} columns are shown"
    return text
