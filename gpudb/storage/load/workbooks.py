"""Sheets of Excel workbooks as Arrow tables, with the names of a header and the types that all cells of a column have.

Excel's numbers are doubles: a column of whole ones is bigint. A column of several kinds of cells is one of text. Empty
cells are NULL, rows of empty cells are left out, and so are errors such as #N/A, which are NULL.
"""

from __future__ import annotations

import datetime as dt
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.storage.copy.xlsx_writer import missing_library
from gpudb.storage.load.column_names import name_columns
from gpudb.storage.load.files import convert_errors, damaged_file_error

_WHOLE = 2.0**63
_YEARS = range(1800, 2201)
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True, slots=True)
class Sheet:
    """Rows of a sheet, its `name` and whether it `has_header`; the workbook has the sheets `others` beside it."""

    rows: pa.Table
    name: str
    has_header: bool
    others: tuple[str, ...] = ()


def read_sheet(path: Path | str, options: Mapping[str, object] | None = None) -> Sheet:
    """Returns a sheet of a workbook file (see `parse_sheet`); 58P01, 42501."""
    with convert_errors(path):
        data = Path(path).read_bytes()
    return parse_sheet(data, path, options or {})


def parse_sheet(data: bytes, path: Path | str, options: Mapping[str, object]) -> Sheet:
    """Returns the first sheet of a workbook, or that of the option `sheet`, without its first `skip` rows below empty
    ones; with `all_varchar` all cells are texts.

    Without the option `header` the first row is one unless its cells are numbers where those of the others are. 0A000
    without python-calamine; XX001; 22023 for a name that no sheet has.
    """
    try:
        import python_calamine
    except ImportError:
        raise missing_library("python-calamine") from None
    sheet = str(options["sheet"]) if "sheet" in options else None
    header = bool(options["header"]) if "header" in options else None
    skip, all_text = int(str(options.get("skip", 0))), bool(options.get("all_varchar"))
    try:
        book = python_calamine.load_workbook(io.BytesIO(data))
        names = tuple(book.sheet_names)
        chosen = _choose(names, sheet, path)
        cells: list[list[Any]] = book.get_sheet_by_name(chosen).to_python(skip_empty_area=True)
    except python_calamine.CalamineError as error:
        raise damaged_file_error(path, str(error)) from None
    found = [row for row in cells[skip:] if any(cell != "" for cell in row)]
    if not found:
        raise damaged_file_error(path, f'sheet "{chosen}" is empty')
    has_header = _find_header(found) if header is None else header
    if has_header:
        columns, body = name_columns([_show(cell) for cell in found[0]]), found[1:]
    else:
        columns, body = [f"column{number}" for number in range(1, len(found[0]) + 1)], found
    arrays = [_make_column([row[place] for row in body], all_text=all_text) for place in range(len(columns))]
    rows = pa.Table.from_arrays(arrays, names=columns)
    return Sheet(rows, chosen, has_header, tuple(name for name in names if name != chosen))


def _choose(names: Sequence[str], sheet: str | None, path: Path | str) -> str:
    if not names:
        raise damaged_file_error(path, "it has no sheets")
    if sheet is None:
        return names[0]
    if sheet not in names:
        hint = f"It has {', '.join(names)}."
        raise SqlError.of("invalid_parameter_value", f'"{path}" has no sheet "{sheet}"', hint=hint)
    return sheet


def _find_header(rows: Sequence[Sequence[Any]]) -> bool:
    """Returns whether the first row names the columns: it has no other cells than texts, or successive years."""
    if len(rows) == 1:
        return all(isinstance(cell, str) for cell in rows[0])
    first = [cell for cell in rows[0] if cell != ""]
    odd = [cell for cell in first if not isinstance(cell, str)]
    if not odd:
        kinds = [{type(row[place]) for row in rows[1:] if row[place] != ""} for place in range(len(rows[0]))]
        numbers = [cell for cell, kind in zip(rows[0], kinds, strict=True) if kind == {float}]
        return not (numbers and all(_NUMBER.fullmatch(cell) for cell in numbers))
    years = [int(cell) for cell in odd if isinstance(cell, float) and cell.is_integer()]
    if len(years) != len(odd) or len(odd) == len(first) or years[0] not in _YEARS:
        return False
    return years == list(range(years[0], years[0] + len(years)))


def _make_column(cells: Sequence[Any], *, all_text: bool) -> pa.Array:
    values = [None if cell == "" else cell for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pa.array(values, pa.string())
    if all_text:
        kinds = set()
    if kinds and kinds <= {float, int}:
        if all(value is None or (float(value).is_integer() and abs(value) < _WHOLE) for value in values):
            return pa.array([None if value is None else int(value) for value in values], pa.int64())
        return pa.array(values, pa.float64())
    if kinds == {dt.date, dt.datetime}:
        midnight = dt.time()
        values = [dt.datetime.combine(v, midnight) if type(v) is dt.date else v for v in values]
        kinds = {dt.datetime}
    for kind, held in _TYPES.items():
        if kinds == {kind}:
            return pa.array(values, held)
    return pa.array([None if value is None else _show(value) for value in values], pa.string())


_TYPES = {
    bool: pa.bool_(),
    str: pa.string(),
    dt.date: pa.date32(),
    dt.datetime: pa.timestamp("us"),
    dt.time: pa.time64("us"),
}


def _show(cell: Any) -> str:
    """Returns a cell's text, as it is in a column of several kinds."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _WHOLE:
        return str(int(cell))
    return str(cell)
