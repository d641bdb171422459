"""Results as text for \\pset format and --format: unaligned, csv, json, markdown and html, beside psql's own table."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable

from gpudb.api.display import RIGHT_ALIGNED_TYPES
from gpudb.api.files import list_objects
from gpudb.api.rows import Rows


def format_unaligned(rows: Rows, null: str, *, headed: bool) -> str:
    """Returns values between `|`, a line a row, as psql's format unaligned."""
    lines = ["|".join(rows.columns)] if headed else []
    lines += ["|".join(null if value is None else value for value in row) for row in rows.texts()]
    lines += [f"({len(rows)} row{'' if len(rows) == 1 else 's'})"] if headed else []
    return "".join(f"{line}\n" for line in lines)


def format_csv(rows: Rows, null: str, *, headed: bool) -> str:
    """Returns comma-separated values with a line of names; a value that could be mistaken is in quotes."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    if headed:
        writer.writerow(rows.columns)
    writer.writerows([null if value is None else value for value in row] for row in rows.texts())
    return target.getvalue()


def format_json(rows: Rows, null: str, *, headed: bool) -> str:
    """Returns an array of one object a row. Numbers, booleans and JSON stay what they are; all else is text."""
    return "[" + ",\n ".join(list_objects(rows)) + "]\n"


def format_markdown(rows: Rows, null: str, *, headed: bool) -> str:
    """Returns a table of Markdown, which has a line of names always."""
    marks = ["---:" if each.name in RIGHT_ALIGNED_TYPES else "---" for each in rows.types]
    lines = [[_escape_markdown(name) for name in rows.columns], marks]
    lines += [[_escape_markdown(null if value is None else value) for value in row] for row in rows.texts()]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _escape_markdown(text: str) -> str:
    return html.escape(text, quote=False).replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>")


def format_html(rows: Rows, null: str, *, headed: bool) -> str:
    """Returns a table of HTML."""
    lines = [_format_html_row("th", list(rows.columns))] if headed else []
    lines += [_format_html_row("td", [null if value is None else value for value in row]) for row in rows.texts()]
    return "<table>\n" + "".join(lines) + "</table>\n"


def _format_html_row(tag: str, values: list[str]) -> str:
    cells = (f"<{tag}>{html.escape(value).replace(chr(10), '<br>')}</{tag}>" for value in values)
    return f"<tr>{''.join(cells)}</tr>\n"


FORMATS: dict[str, Callable[..., str]] = {
    "unaligned": format_unaligned,
    "csv": format_csv,
    "json": format_json,
    "markdown": format_markdown,
    "html": format_html,
}
"""The formats beside `aligned`, by name."""
