"""What a csv file does not say: its delimiter, and whether its first row is a header. DuckDB's sniffer finds both."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb

from gpudb.storage.files.reader_sql import render_sniffed

CSV_TYPES = "['BOOLEAN', 'BIGINT', 'HUGEINT', 'DOUBLE', 'DATE', 'TIME', 'TIMESTAMP', 'TIMESTAMPTZ', 'VARCHAR']"
"""The types that columns of csv may have."""
_DELIMITERS = frozenset(",;\t|")
_DEFAULTS: Mapping[str, object] = {"delimiter": ",", "header": True}
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
_YEARS = range(1800, 2201)
Run = Callable[[str], Sequence[tuple[Any, ...]]]


def sniff(path: str, given: Mapping[str, object], run: Run, read_start: Callable[[], str]) -> dict[str, object]:
    """Returns the options of a csv file, `given` ones as they are, with its delimiter and header.

    `path` is a literal for DuckDB, which `run` asks; `read_start` returns the first rows. The header is the first row,
    unless all its values are of the types of their columns, of which one at least is no text: a row of data has them.
    """
    options = dict(given)
    if "delimiter" in options and "header" in options:
        return options
    listed = [render_sniffed(options)]
    if "header" in options:
        listed.append(f"header = {str(options['header']).lower()}")
    listed += [f"{name} = true" for name in ("null_padding", "ignore_errors") if name in options]
    if "sample_size" in options:
        listed.append(f"sample_size = {options['sample_size']}")
    text = ", ".join([path, *listed, f"auto_type_candidates = {CSV_TYPES}"])
    try:
        ((delimiter, skipped, has_header, columns),) = run(
            f"SELECT Delimiter, SkipRows, HasHeader, Columns FROM sniff_csv({text})"
        )
    except duckdb.Error:  # what is wrong is told when the file is read
        return {**_DEFAULTS, **options}
    if skipped or delimiter not in _DELIMITERS:
        return {**_DEFAULTS, **options}
    if len(columns) == 1:  # any delimiter would do that the rows have not
        delimiter = _DEFAULTS["delimiter"]
    options.setdefault("delimiter", delimiter)
    if "header" not in options:
        kinds, row = [column["type"] for column in columns], read_row(read_start(), options)
        options["header"] = (
            len(row) != len(kinds) or (has_header and not _is_data(row, kinds)) or _names_years(row, kinds)
        )
    return options


def read_row(start: str, options: Mapping[str, object]) -> list[str]:
    """Returns the values of the first row of a file that begins with some text."""
    rows = csv.reader(
        io.StringIO(start, newline=""), delimiter=str(options["delimiter"]), quotechar=str(options["quote"])
    )
    return next(rows, [])


def _is_data(row: Sequence[str], kinds: Sequence[str]) -> bool:
    """Returns whether a row has numbers wherever the others have numbers, days or the like, and one at least."""
    values = [value for value, kind in zip(row, kinds, strict=True) if kind != "VARCHAR"]
    return bool(values) and all(_NUMBER.fullmatch(value) for value in values)


def _names_years(row: Sequence[str], kinds: Sequence[str]) -> bool:
    """Returns whether a row names columns of numbers by successive years, beside columns of text."""
    years = [value for value, kind in zip(row, kinds, strict=True) if kind != "VARCHAR"]
    if len(years) in (0, len(row)) or not all(year.isdecimal() for year in years):
        return False
    first = int(years[0])
    return first in _YEARS and [int(year) for year in years] == list(range(first, first + len(years)))
