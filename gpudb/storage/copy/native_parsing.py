"""Columns that pyarrow's CSV reader parses itself, and detection of values that PostgreSQL reads differently."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from gpudb.storage.copy.byte_probes import ByteProbes, RowMask
from gpudb.storage.copy.conversion import EXACT_DIGITS, FIRST_DAY, FIRST_MOMENT, raw_numbers, recover_decimals
from gpudb.types import SqlType

_NATIVE_TYPES = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}
"""Types whose text pyarrow parses itself; the values show where PostgreSQL may read the text differently."""


def native_type(type_: SqlType) -> pa.DataType | None:
    """Returns the type as which pyarrow parses a type's text; None if it must be read as text."""
    if type_.name == "numeric" and not type_.is_carried and type_.numeric_digits[0] <= EXACT_DIGITS:
        return pa.float64()
    if type_.name == "timestamp" and type_.modifier != -1:
        return None
    return _NATIVE_TYPES.get(type_.name)


def finish_columns(
    types: Sequence[SqlType], columns: list[pa.Array], numbers: Iterable[int], signs: ByteProbes
) -> list[int]:
    """Replaces columns that pyarrow parsed by the types' Arrow columns.

    Returns the columns whose text PostgreSQL may read differently or reject; they must be read as text.
    """
    doubtful: list[int] = []
    negative, zero, hours = _SuspectColumns(), _SuspectColumns(), _SuspectColumns()
    for number in numbers:
        type_, column = types[number], columns[number]
        if type_.name == "numeric":
            found = recover_decimals(type_, column)
            if found is None:
                doubtful.append(number)
            else:
                columns[number] = found
            continue
        if column.null_count == len(column):
            continue
        values = raw_numbers(column)
        if pa.types.is_floating(column.type):
            # Overflow, which is an error, is read as infinity, underflow as zero.
            if np.isinf(values).any():
                doubtful.append(number)
            else:
                zero.add(number, column, values == 0)
        elif type_.name in _EARLIEST:
            if values.min() < _EARLIEST[type_.name]:
                doubtful.append(number)
            elif type_.name == "timestamp":
                # pyarrow reads `2020-02-29 04` as four o'clock.
                hours.add(number, column, values // _HOUR * _HOUR == values)
        elif values.min() < 0:
            # 0xFFFF is read as the negative number with these bits.
            negative.add(number, column, values < 0)
    for odd, asks in ((negative, signs.has_hexadecimal), (zero, signs.has_underflow), (hours, signs.has_bare_hours)):
        if odd.columns and asks(np.logical_or.reduce(odd.rows)):
            doubtful += odd.columns
    return doubtful


_EARLIEST = {"date": FIRST_DAY, "timestamp": FIRST_MOMENT}
_HOUR = 3_600_000_000


class _SuspectColumns:
    """Columns with values that one kind of unusual text is read as, and the rows of these values."""

    def __init__(self) -> None:
        self.columns: list[int] = []
        self.rows: list[RowMask] = []

    def add(self, number: int, column: pa.Array, rows: RowMask) -> None:
        """Adds a column if it has such values outside its NULLs."""
        if not rows.any():
            return
        if column.null_count:
            rows &= column.is_valid().to_numpy(zero_copy_only=False)
            if not rows.any():
                return
        self.columns.append(number)
        self.rows.append(rows)
