"""The first rows of a result as an HTML table, as notebooks show it: names, types, escaped values, and the count.

Its header stays while the rows scroll, and a click on a name sorts the rows that are shown, where scripts run.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gpudb.api.display import RIGHT_ALIGNED_TYPES
from gpudb.api.short_numbers import shorten_numbers
from gpudb.session.results import ResultColumn

MAX_COLUMNS = 50
MAX_CHARACTERS = 200
"""Longer values are cut."""
_RIGHT = ' style="text-align: right"'
_LEFT = ' style="text-align: left"'
_SHORTENED_TYPES = frozenset({"float4", "float8", "numeric"})
_STYLE = """\
<style>
.gpudb-rows { overflow: auto; max-height: 40em; }
.gpudb-rows thead { position: sticky; top: 0; background: var(--jp-layout-color0, Canvas); }
.gpudb-rows th[aria-sort=ascending]::after { content: " ▲"; }
.gpudb-rows th[aria-sort=descending]::after { content: " ▼"; }
</style>"""
_SORT = """\
<script type="text/javascript">
(function (table) {
  const names = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const read = (row, index, isNumber) => {
    const cell = row.cells[index], text = cell.title || cell.textContent;
    return cell.querySelector("em") ? null : isNumber ? Number(text.replace(/[$,]/g, "")) : text;
  };
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : isNaN(a) - isNaN(b) || a - b);
  names.forEach((name, index) => {
    name.style.cursor = "pointer";
    name.title = "sort the rows shown";
    name.addEventListener("click", () => {
      const isUp = name.getAttribute("aria-sort") !== "ascending", isNumber = name.style.textAlign === "right";
      names.forEach((each) => each.removeAttribute("aria-sort"));
      name.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      const rows = [...body.rows].map((row) => [read(row, index, isNumber), row]);
      const order = ([a], [b]) => (a === null) - (b === null) || compare(a, b) * (isUp ? 1 : -1);
      rows.sort(order);
      rows.forEach(([, row]) => body.append(row));
    });
  });
})(document.currentScript.previousElementSibling.querySelector("table"));
</script>"""


def format_html(
    fields: Sequence[ResultColumn], rows: Sequence[tuple[str | None, ...]], count: int, *, note: str = ""
) -> str:
    """Returns the first rows of `count` as a table; NULL is a word in italics. `note` follows the count.

    Numbers with a fraction have seven digits, and all of them in the cell's title.
    """
    shown = fields[:MAX_COLUMNS]
    styles = [_RIGHT if field.type.name in RIGHT_ALIGNED_TYPES else _LEFT for field in shown]
    names = "".join(f"<th{style}>{escape(field.name)}</th>" for field, style in zip(shown, styles))
    types = "".join(f"<td{style}><em>{escape(str(field.type))}</em></td>" for field, style in zip(shown, styles))
    lines = [_STYLE, '<div class="gpudb-rows">', '<table border="1" class="dataframe">']
    lines += [f"<thead><tr>{names}</tr><tr>{types}</tr></thead>", "<tbody>"]
    columns = [_format_column(field, [row[index] for row in rows]) for index, field in enumerate(shown)]
    for number in range(len(rows)):
        lines.append("<tr>" + "".join(column[number] for column in columns) + "</tr>")
    count_text = f"{escape(_format_count(fields, rows, count))}{escape(note)}"
    lines += ["</tbody>", "</table>", "</div>", _SORT, f"<p>{count_text}</p>"]
    return "\n".join(lines)


def _format_column(field: ResultColumn, values: Sequence[str | None]) -> list[str]:
    """Returns a column's cells."""
    style = _RIGHT if field.type.name in RIGHT_ALIGNED_TYPES else _LEFT
    texts = shorten_numbers(values) if field.type.name in _SHORTENED_TYPES else values
    return [_format_cell(value, text, style) for value, text in zip(values, texts, strict=True)]


def _format_cell(value: str | None, text: str | None, style: str) -> str:
    if value is None or text is None:
        return f"<td{style}><em>NULL</em></td>"
    shown = text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"
    exact = f' title="{escape(value)}"' if text != value else ""
    return f"<td{style}{exact}>{escape(shown).replace(chr(10), '<br>')}</td>"


def _format_count(fields: Sequence[ResultColumn], rows: Sequence[object], count: int) -> str:
    columns = f"{len(fields)} column{'' if len(fields) == 1 else 's'}"
    text = f"{count:,} row{'' if count == 1 else 's'}, {columns}"
    if len(rows) < count:
        text += f"; the first {len(rows)} rows are shown"
    if len(fields) > MAX_COLUMNS:
        text += f"; the first {MAX_COLUMNS} columns are shown"
    return text
