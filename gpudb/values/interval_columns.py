"""Columns of intervals: their months, days and microseconds as NumPy arrays, and their texts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import SqlError
from gpudb.values.datetime_style import INTERVAL_STYLES
from gpudb.values.interval import format_in_style
from gpudb.values.text_pieces import Integers, Mask, Piece, join_pieces, make_literal, pick_words, write_integers

_PARTS = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
_INT32, _MOST_MICROSECONDS = 1 << 31, ((1 << 63) - 1) // 1000
_FEW = 16
"""Fewer intervals are formatted value by value, which is faster than NumPy's calls; so are those of rare styles."""


def split_intervals(column: pa.Array) -> npt.NDArray[np.void]:
    """Returns the months, days and nanoseconds of an interval column, as a structured array."""
    return np.frombuffer(column.buffers()[1] or b"", _PARTS)[column.offset : column.offset + len(column)]


def make_intervals(months: Integers, days: Integers, microseconds: Integers, valid: Mask) -> pa.Array:
    """Returns a column of intervals, NULL where `valid` is false; 22008 for a part beyond Arrow's range."""
    bounds = ((months, _INT32), (days, _INT32), (microseconds, _MOST_MICROSECONDS + 1))
    outside = np.zeros(len(valid), np.bool_)
    for part, bound in bounds:
        outside |= (part < -bound) | (part >= bound)
    if (outside & valid).any():
        raise interval_out_of_range()
    parts = np.zeros(len(valid), _PARTS)
    kept = valid & ~outside
    parts["months"], parts["days"] = np.where(kept, months, 0), np.where(kept, days, 0)
    parts["nanoseconds"] = np.where(kept, microseconds, 0) * 1000
    validity = None if valid.all() else pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(pa.month_day_nano_interval(), len(valid), [validity, pa.py_buffer(parts)])


def interval_out_of_range() -> SqlError:
    """Returns the error of an interval that its type cannot hold."""
    return SqlError.of("datetime_field_overflow", "interval out of range")


def format_interval_column(column: pa.Array, style: str = INTERVAL_STYLES[0]) -> pa.StringArray:
    """Formats intervals in an IntervalStyle: `1 year 2 mons -3 days +04:05:06.5`, `00:00:00` for the first."""
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    parts = split_intervals(column)
    if len(parts) < _FEW or style != INTERVAL_STYLES[0]:
        texts = [
            format_in_style(months, days, nanoseconds // 1000, style) if ok else None
            for (months, days, nanoseconds), ok in zip(parts.tolist(), valid.tolist(), strict=True)
        ]
        return pa.array(texts, pa.string())
    months, days = parts["months"].astype(np.int64), parts["days"].astype(np.int64)
    microseconds = parts["nanoseconds"] // 1000
    signs, sizes = np.where(months < 0, -1, 1), np.abs(months)
    before = np.zeros(len(parts), np.bool_)
    negative = np.zeros(len(parts), np.bool_)
    pieces = []
    for values, unit in ((signs * (sizes // 12), "year"), (signs * (sizes % 12), "mon"), (days, "day")):
        shown = values != 0
        if not shown.any():
            continue
        pieces += [
            make_literal(" ").when(before & shown),
            make_literal("+").when(negative & (values > 0)),
            write_integers(values).when(shown),
            pick_words((f" {unit}s", f" {unit}"), (values == 1).astype(np.int64)).when(shown),
        ]
        negative = np.where(shown, values < 0, negative)
        before |= shown
    shown = (microseconds != 0) | ~before
    if shown.any():
        seconds, fraction = np.divmod(np.abs(microseconds), 1_000_000)
        decimals = write_integers(fraction, 6)
        significant = np.stack([fraction % 10 ** (6 - place) != 0 for place in range(6)], axis=1)
        pieces += [
            make_literal(" ").when(before & shown),
            make_literal("-").when(microseconds < 0),
            make_literal("+").when(negative & (microseconds > 0)),
            write_integers(seconds // 3600, 2).when(shown),
            make_literal(":").when(shown),
            write_integers(seconds // 60 % 60, 2).when(shown),
            make_literal(":").when(shown),
            write_integers(seconds % 60, 2).when(shown),
            make_literal(".").when(fraction != 0),
            Piece(decimals.data, significant),
        ]
    return join_pieces(pieces, len(parts), valid)
