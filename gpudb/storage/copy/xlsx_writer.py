"""Writes rows as an Excel workbook (.xlsx) of one sheet, with a header.

Cells are numbers, booleans, dates, times and timestamps where Excel holds the value exactly, else texts: integers and
decimals of over 15 digits, NaN, days before March 1900, and moments with a time zone. Doubles have 16 digits. Nothing
is a formula.
"""

from __future__ import annotations

import datetime as dt
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import IO, Any

import pyarrow as pa

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS, INTEGERS
from gpudb.values.text_columns import format_text_column

MAX_ROWS, MAX_COLUMNS, MAX_TEXT = 1_048_576, 16_384, 32_767
"""What a sheet has room for: rows, columns, and UTF-16 units of a cell's text."""
_DIGITS, _EXPONENT = 15, 300
_FIRST_DAY = dt.date(1900, 3, 1)
_FORMATS = {"date": "yyyy-mm-dd", "timestamp": "yyyy-mm-dd hh:mm:ss.000", "time": "hh:mm:ss.000"}
_CHUNK = 1 << 20
_PLAIN = INTEGERS | FLOATS | {"bool", "numeric", "date", "timestamp", "time"}


def missing_library(name: str) -> FeatureNotSupported:
    """Returns 0A000 for a library of Excel's files that is not installed."""
    hint = "Install gpudb-sql[excel] where the file is read or written."
    return FeatureNotSupported(f"Excel files need the Python package {name}, which is not installed", hint=hint)


class Workbook:
    """A workbook that is written to a file; 0A000 without XlsxWriter, 54011 for too many columns."""

    def __init__(self, file: IO[bytes], names: Sequence[str]) -> None:
        try:
            import xlsxwriter
        except ImportError:
            raise missing_library("xlsxwriter") from None
        if len(names) > MAX_COLUMNS:
            message = f"a sheet of Excel has at most {MAX_COLUMNS} columns"
            raise SqlError.of("too_many_columns", message)
        options = {
            "constant_memory": True, "strings_to_formulas": False, "strings_to_numbers": False,
            "strings_to_urls": False, "remove_timezone": False,
        }  # fmt: skip
        self._book: Any = xlsxwriter.Workbook(file, options)
        self._sheet: Any = self._book.add_worksheet()
        self._formats = {name: self._book.add_format({"num_format": text}) for name, text in _FORMATS.items()}
        self._width = len(names)
        for place, name in enumerate(names):
            self._write_text(0, place, name)
        self.rows = 0

    def add(self, columns: Sequence[Sequence[object]]) -> None:
        """Adds rows, as Python's values by column. 54000 for one that no cell has room for, or too many rows."""
        count = len(columns[0]) if columns else 0
        if self.rows + count >= MAX_ROWS:
            message = f"a sheet of Excel has at most {MAX_ROWS - 1} rows below its header"
            raise SqlError.of("program_limit_exceeded", message, hint="Write several files, or Parquet or csv.")
        for row in zip(*columns, strict=True):
            self.rows += 1
            for place, value in enumerate(row):
                if value is not None:
                    self._write(self.rows, place, value)

    def close(self) -> None:
        """Writes what is left."""
        self._book.close()

    def _write(self, row: int, place: int, value: object) -> None:
        if isinstance(value, bool):
            self._sheet.write_boolean(row, place, value)
        elif isinstance(value, int | float | Decimal):
            if _is_exact(value):
                self._sheet.write_number(row, place, float(value))
            else:
                self._write_text(row, place, _show_number(value))
        elif isinstance(value, dt.datetime):
            is_held = value.tzinfo is None and value.date() >= _FIRST_DAY and value.microsecond % 1000 == 0
            self._write_moment(row, place, value, "timestamp", is_held=is_held)
        elif isinstance(value, dt.date):
            self._write_moment(row, place, value, "date", is_held=value >= _FIRST_DAY)
        elif isinstance(value, dt.time):
            self._write_moment(row, place, value, "time", is_held=value.microsecond % 1000 == 0)
        else:
            self._write_text(row, place, str(value))

    def _write_moment(self, row: int, place: int, value: dt.date | dt.time, kind: str, *, is_held: bool) -> None:
        if is_held:
            self._sheet.write_datetime(row, place, value, self._formats[kind])
        else:
            self._write_text(row, place, str(value))

    def _write_text(self, row: int, place: int, text: str) -> None:
        if len(text) > MAX_TEXT // 2 and len(text.encode("utf-16-le")) // 2 > MAX_TEXT:
            message = f"a cell of Excel has room for {MAX_TEXT} characters, and row {row} has {len(text)} in one"
            raise SqlError.of("program_limit_exceeded", message, hint="Write Parquet or csv.")
        self._sheet.write_string(row, place, text)


def _is_exact(value: float | Decimal) -> bool:
    """Returns whether Excel, which shows and keeps 15 digits of a double, holds a number as it is."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            return False
        return len(value.normalize().as_tuple().digits) <= _DIGITS and abs(value.adjusted()) < _EXPONENT
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 10**_DIGITS


def _show_number(value: float | Decimal) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}" if value.is_finite() else str(value)
    if math.isfinite(value):
        return str(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class XlsxWriter:
    """Writes one COPY TO; `zone` is the session's TimeZone. 0A000 for rows without columns, 54000 (see `Workbook`)."""

    def __init__(self, names: Sequence[str], types: Sequence[SqlType], zone: str = "UTC") -> None:
        if not types:
            raise FeatureNotSupported("rows without columns have no form in Excel")
        self._names, self._types, self._zone = tuple(names), tuple(types), zone
        self.rows = 0

    def messages(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Yields the file in blocks."""
        return self.blocks(batches)

    def blocks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Yields the file in blocks."""
        with tempfile.TemporaryFile() as file:
            book = Workbook(file, self._names)
            try:
                for batch in batches:
                    book.add([self._list(type_, batch.column(place)) for place, type_ in enumerate(self._types)])
                    self.rows = book.rows
            finally:  # XlsxWriter has files of its own open
                book.close()
            file.seek(0)
            read: Callable[[], bytes] = lambda: file.read(_CHUNK)  # noqa: E731
            yield from iter(read, b"")

    def _list(self, type_: SqlType, column: pa.Array) -> list[object]:
        if type_.name in _PLAIN and not type_.is_carried and type_.element is None and not _has_odd_days(type_, column):
            values: list[object] = column.to_pylist()
            return values
        texts: list[object] = format_text_column(type_, column, self._zone).to_pylist()
        return texts if type_.name != "numeric" or type_.element is not None else list(map(_read_number, texts))


def _read_number(text: object) -> object:
    return None if text is None else Decimal(str(text)) if str(text)[-1:].isdigit() else text


def _has_odd_days(type_: SqlType, column: pa.Array) -> bool:
    """Returns whether Python has no value for some day of a column: infinity, or years beyond its own."""
    if type_.name not in ("date", "timestamp"):
        return False
    try:
        column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        return True
    return False
