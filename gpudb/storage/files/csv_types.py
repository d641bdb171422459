"""Types of csv's columns that DuckDB's sniffer guesses too boldly: numbers with leading zeros, timestamps of any form.

DuckDB tells the types of columns by a sample of rows, where "01234" makes a column one of text. Behind it, it would
read the number 1234. Of timestamps it guesses the form too, with which the reader is not told to read them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudb.catalog.file_tables import FileStamp
from gpudb.storage.files.options import SAMPLE_ROWS
from gpudb.storage.files.reader_sql import render_csv_options
from gpudb.storage.load.files import convert_errors

_NUMBERS = ("BIGINT", "HUGEINT", "DOUBLE")
_LEADING_ZERO = r"^\s*[+-]?0[0-9]"
_PIECE = 1 << 20
_NINE = 9
_BEFORE = 3
"""Bytes before a zero that tell whether it begins a field: a separator, a blank, a sign."""
_THREADS = 8
Run = Callable[[str], Sequence[tuple[Any, ...]]]


def keep_zeros(stamp: FileStamp, path: str, options: Mapping[str, object], held: Sequence[str], run: Run) -> list[str]:
    """Returns the DuckDB types of a file's columns, text in place of numbers some of which begin with further zeros.

    `path` is a literal for DuckDB, which `run` asks.
    """
    numbers = [place for place, kind in enumerate(held) if kind in _NUMBERS]
    rows = int(str(options.get("sample_size", SAMPLE_ROWS)))
    if not numbers or rows < 0 or ("compression" not in options and stamp.size <= 2 * rows):
        return list(held)
    if stamp.store is None and "compression" not in options and not _may_have_zeros(stamp, options):
        return list(held)
    tests = ", ".join(f"bool_or(regexp_matches(c{place}, '{_LEADING_ZERO}'))" for place in numbers)
    (found,) = run(f"SELECT {tests} FROM {_read_texts(path, options, len(held))}")
    texts = {place for place, has_zeros in zip(numbers, found, strict=True) if has_zeros}
    return ["VARCHAR" if place in texts else kind for place, kind in enumerate(held)]


def keep_odd_moments(path: str, options: Mapping[str, object], held: Sequence[str], run: Run) -> list[str]:
    """Returns the DuckDB types of a file's columns, text in place of timestamps that are not as ISO 8601 says."""
    moments = [place for place, kind in enumerate(held) if kind.startswith("TIMESTAMP")]
    if not moments or "timestampformat" in options:
        return list(held)
    casts = (f"try_cast(c{place} AS {held[place]})" for place in moments)
    tests = ", ".join(f"bool_or(c{place} IS NOT NULL AND {cast} IS NULL)" for place, cast in zip(moments, casts))
    rows = int(str(options.get("sample_size", SAMPLE_ROWS)))
    limit = f" LIMIT {rows}" if rows > 0 else ""
    (found,) = run(f"SELECT {tests} FROM (SELECT * FROM {_read_texts(path, options, len(held))}{limit})")
    odd = {place for place, is_odd in zip(moments, found, strict=True) if is_odd}
    return ["VARCHAR" if place in odd else kind for place, kind in enumerate(held)]


def _read_texts(path: str, options: Mapping[str, object], width: int) -> str:
    """Returns a call that reads all rows that can be read, with texts c0, c1 …"""
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(width))
    reading = f"{render_csv_options(options)}, auto_detect = false, null_padding = true, ignore_errors = true"
    return f"read_csv({path}, columns = {{{columns}}}, {reading}, hive_partitioning = false)"


def _may_have_zeros(stamp: FileStamp, options: Mapping[str, object]) -> bool:
    """Returns whether a field of a local file may begin with a zero and a digit."""
    edges = np.zeros(256, bool)
    edges[[ord(str(options["delimiter"])), ord(str(options["quote"])), *b"\r\n"]] = True
    with convert_errors(stamp.path), Path(stamp.path).open("rb", buffering=0) as file:

        def survey(offset: int) -> bool:
            start = max(offset - _BEFORE, 0)
            data = os.pread(file.fileno(), _PIECE + 1 + offset - start, start)
            return _has_zeros(np.frombuffer(data, np.uint8), edges, offset - start)

        with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as pool:
            return any(pool.map(survey, range(0, stamp.size, _PIECE)))


def _has_zeros(data: npt.NDArray[np.uint8], edges: npt.NDArray[np.bool_], first: int) -> bool:
    """Returns whether a field has its first zero at a byte from `first`; at byte 0 the file begins."""
    digits = data - ord("0")  # wraps
    zeros = np.flatnonzero((digits[first:-1] == 0) & (digits[first + 1 :] <= _NINE)) + first
    for _ in range(_BEFORE):
        if not len(zeros):
            return False
        if zeros[0] == 0:
            return True
        before = data[zeros - 1]
        if edges[before].any():
            return True
        zeros = zeros[(before == ord(" ")) | (before == ord("+")) | (before == ord("-"))] - 1
    return bool(len(zeros))
