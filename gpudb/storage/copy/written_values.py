"""Converts texts of numbers, dates and timestamps that are not written as PostgreSQL writes them.

Numbers have thousands in groups of three and another decimal separator; dates and timestamps a format of strptime.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import GpudbError, InvalidText, SqlError
from gpudb.storage.copy.conversion import Clock, ConvertedColumn, convert_any_text
from gpudb.storage.copy.options import CopyOptions
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS, INTEGERS

_LEADING_ZERO = r"^\s*[+-]?0[0-9]"
Convert = Callable[[pa.StringArray, Clock], ConvertedColumn]


def find_conversion(type_: SqlType, options: CopyOptions) -> Convert | None:
    """Returns how a column's texts are converted; None if PostgreSQL's input functions read them as they are."""
    if type_.element is not None or type_.domain is not None:
        return None
    is_number = type_.name in INTEGERS or type_.name in FLOATS or type_.name == "numeric"
    if is_number and (options.thousands or options.decimal_separator != "."):
        return _Numbers(type_, options)
    if is_number and options.guard_zeros:
        return _Zeros(type_)
    if type_.name == "date" and options.dateformat:
        return _Moments(type_, "dateformat", options.dateformat)
    if type_.name in ("timestamp", "timestamptz") and options.timestampformat:
        return _Moments(type_, "timestampformat", options.timestampformat)
    return None


def zero_error(value: str) -> GpudbError:
    """Returns 22P02 for a number whose leading zeros would be lost."""
    return SqlError.of(
        "invalid_text_representation",
        f'"{value}" would lose its leading zeros as a number',
        hint="Say all_varchar => true or sample_size => -1, or declare the column as text.",
    )


class _Zeros:
    """Numbers as they are; an error for one with leading zeros, which is the code of something."""

    def __init__(self, type_: SqlType) -> None:
        self._type = type_

    def __call__(self, column: pa.StringArray, clock: Clock) -> ConvertedColumn:
        found = convert_any_text(self._type, column, clock)
        _add_errors(found, column, pc.match_substring_regex(column, _LEADING_ZERO), zero_error)
        return found


class _Numbers:
    """Numbers with thousands and a decimal separator."""

    def __init__(self, type_: SqlType, options: CopyOptions) -> None:
        self._type = type_
        self._thousands, self._decimal = options.thousands, options.decimal_separator
        self._guarded = options.guard_zeros
        point = re.escape(self._decimal)
        whole = r"[0-9]*"
        if self._thousands:
            whole = rf"(?:[0-9]*|[0-9]{{1,3}}(?:{re.escape(self._thousands)}[0-9]{{3}})+)"
        self._form = rf"^\s*(?:[+-]?{whole}(?:{point}[0-9]*)?(?:[eE][+-]?[0-9]+)?|[+-]?[A-Za-z]+)\s*$"

    def __call__(self, column: pa.StringArray, clock: Clock) -> ConvertedColumn:
        fits = pc.match_substring_regex(column, self._form)
        plain = pc.if_else(fits, column, pa.scalar(None, pa.string()))
        if self._thousands:
            plain = pc.replace_substring(plain, self._thousands, "")
        if self._decimal != ".":
            plain = pc.replace_substring(plain, self._decimal, ".")
        found = convert_any_text(self._type, plain, clock)
        shown = column.to_pylist() if found.errors else []
        found.errors = [(row, self._error(shown[row]) if _is_syntax(error) else error) for row, error in found.errors]
        _add_errors(found, column, pc.invert(fits), self._error)
        if self._guarded:
            _add_errors(found, column, pc.match_substring_regex(column, _LEADING_ZERO), zero_error)
        return found

    def _error(self, text: str | None) -> GpudbError:
        return InvalidText(f'invalid input syntax for type {self._type.plain}: "{text}"')


class _Moments:
    """Dates or timestamps of a format; equal texts are read once."""

    def __init__(self, type_: SqlType, option: str, format: str) -> None:
        self._type, self._option, self._format = type_, option, format

    def __call__(self, column: pa.StringArray, clock: Clock) -> ConvertedColumn:
        coded = column.dictionary_encode()
        plain: list[str | None] = []
        wrong: dict[int, GpudbError] = {}
        for code, text in enumerate(coded.dictionary.to_pylist()):
            try:
                plain.append(self._read(text))
            except ValueError:
                plain.append(None)
                wrong[code] = SqlError.of(
                    "invalid_datetime_format",
                    f'invalid input syntax for type {self._type.plain}: "{text}"',
                    detail=f"The {self._option} is {self._format}.",
                )
        found = convert_any_text(self._type, pa.array(plain, pa.string()).take(coded.indices), clock)
        if wrong:
            codes = coded.indices.to_pylist()
            found.errors = sorted(
                [*found.errors, *((row, wrong[code]) for row, code in enumerate(codes) if code in wrong)],
                key=lambda each: each[0],
            )
        return found

    def _read(self, text: str) -> str:
        moment = dt.datetime.strptime(text.strip(), self._format)
        if self._type.name == "date":
            return moment.date().isoformat()
        return moment.isoformat(" ")


def _is_syntax(error: GpudbError) -> bool:
    return error.sqlstate == "22P02"


def _add_errors(
    found: ConvertedColumn, column: pa.StringArray, marked: pa.BooleanArray, make: Callable[[str], GpudbError]
) -> None:
    """Adds an error for each marked text that has none."""
    if not pc.any(marked).as_py():
        return
    known = {row for row, _ in found.errors}
    places = pc.indices_nonzero(marked).to_pylist()
    added = [(row, make(column[row].as_py())) for row in places if row not in known]
    found.errors = sorted([*found.errors, *added], key=lambda each: each[0])
