"""Interval arithmetic that spills fractions into smaller units (PostgreSQL's timestamp.c); offsets of time zones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.duckdb.udf.distinct_rows import find_valid, map_by_name
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError
from gpudb.values import zones
from gpudb.values.calendar import DAY
from gpudb.values.interval_columns import interval_out_of_range, make_intervals
from gpudb.values.text_pieces import Integers, Mask
from gpudb.values.zone_columns import get_local_offsets, get_zone_offsets

_INT32, _INT64 = 1 << 31, 1 << 63
_DAY_S, _MONTH_DAYS = 86_400, 30

Floats = npt.NDArray[np.float64]
Parts = tuple[Integers, Integers, Integers]


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    parts = "INTEGER INTEGER BIGINT"
    registry.add_scalar("pg_made_zone", "VARCHAR", "VARCHAR", _make_zone)
    registry.add_columnar("pg_zone_utc", "VARCHAR BIGINT", "BIGINT", _make_offsets(get_zone_offsets))
    registry.add_columnar("pg_zone_local", "VARCHAR BIGINT", "BIGINT", _make_offsets(get_local_offsets))
    registry.add_columnar("pg_interval_mul", f"{parts} DOUBLE", "INTERVAL", _multiply)
    registry.add_columnar("pg_interval_div", f"{parts} DOUBLE", "INTERVAL", _divide)
    for name, justify in (
        ("days", _justify_days), ("hours", _justify_hours), ("interval", _justify_interval),
    ):  # fmt: skip
        registry.add_columnar(f"pg_justify_{name}", parts, "INTERVAL", _make_justified(justify))


def _read_numbers(*columns: pa.Array) -> tuple[list[npt.NDArray[Any]], Mask]:
    """Returns columns as NumPy arrays, 0 in rows with any NULL, and which rows have none."""
    valid = find_valid(*columns)
    numbers = [pc.fill_null(column, 0).to_numpy(zero_copy_only=False) for column in columns]
    return numbers if valid.all() else [np.where(valid, each, 0) for each in numbers], valid


def _read_parts(*columns: pa.Array) -> tuple[list[Integers], Mask]:
    numbers, valid = _read_numbers(*columns)
    return [each.astype(np.int64) for each in numbers], valid


# ---------------------------------------------------------------------------------------------- products


def _multiply(months: pa.Array, days: pa.Array, microseconds: pa.Array, factors: pa.Array) -> pa.Array:
    """Multiplies intervals by factors. 22008 beyond the range."""
    (*parts, factor), valid = _read_numbers(months, days, microseconds, factors)
    with np.errstate(over="ignore", invalid="ignore"):
        return _spill_fractions([part.astype(np.float64) * factor for part in parts], valid)


def _divide(months: pa.Array, days: pa.Array, microseconds: pa.Array, factors: pa.Array) -> pa.Array:
    (*parts, factor), valid = _read_numbers(months, days, microseconds, factors)
    if ((factor == 0) & valid).any():
        raise SqlError.of("division_by_zero", "division by zero")
    factor = np.where(valid, factor, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        return _spill_fractions([part.astype(np.float64) / factor for part in parts], valid)


def _to_integers(values: Floats, bound: int, valid: Mask) -> Integers:
    fits = (values >= -bound) & (values < bound)
    if not (fits | ~valid).all():
        raise interval_out_of_range()
    return np.where(fits, values, 0).astype(np.int64)


def _round_to_micros(values: Floats) -> Floats:
    return np.rint(values * 1e6) / 1e6


def _spill_fractions(parts: Sequence[Floats], valid: Mask) -> pa.Array:
    months, days, microseconds = parts
    if not (np.isfinite(microseconds) | ~valid).all():
        raise interval_out_of_range()
    whole_months, whole_days = _to_integers(months, _INT32, valid), _to_integers(days, _INT32, valid)
    month_days = _round_to_micros((months - whole_months) * _MONTH_DAYS)
    seconds = _round_to_micros((days - whole_days + month_days - np.trunc(month_days)) * _DAY_S)
    carried = np.where(np.abs(seconds) >= _DAY_S, np.trunc(seconds / _DAY_S), 0)
    seconds -= carried * _DAY_S
    total_days = whole_days + _to_integers(carried + np.trunc(month_days), _INT32, valid)
    return make_intervals(
        whole_months, total_days, _to_integers(np.rint(microseconds + seconds * 1e6), _INT64, valid), valid
    )


# ---------------------------------------------------------------------------------------------- justification


def _make_justified(justify: Callable[[Integers, Integers, Integers], Parts]) -> Callable[..., pa.Array]:
    def apply(*columns: pa.Array) -> pa.Array:
        parts, valid = _read_parts(*columns)
        return make_intervals(*justify(*parts), valid)

    return apply


def _carry(larger: Integers, smaller: Integers, unit: int) -> tuple[Integers, Integers]:
    """Moves whole units, truncated towards zero, from the smaller part to the larger."""
    whole = smaller // unit
    whole += (smaller < 0) & (whole * unit != smaller)
    return larger + whole, smaller - whole * unit


def _align(larger: Integers, smaller: Integers, unit: int) -> tuple[Integers, Integers]:
    """Gives two parts the same sign, by one unit."""
    step = np.where((larger > 0) & (smaller < 0), 1, np.where((larger < 0) & (smaller > 0), -1, 0))
    return larger - step, smaller + step * unit


def _justify_days(months: Integers, days: Integers, microseconds: Integers) -> Parts:
    """Converts each 30 days into a month."""
    return *_align(*_carry(months, days, _MONTH_DAYS), _MONTH_DAYS), microseconds


def _justify_hours(months: Integers, days: Integers, microseconds: Integers) -> Parts:
    """Converts each 24 hours into a day."""
    return months, *_align(*_carry(days, microseconds, DAY), DAY)


def _justify_interval(months: Integers, days: Integers, microseconds: Integers) -> Parts:
    days, microseconds = _carry(days, microseconds, DAY)
    months, days = _carry(months, days, _MONTH_DAYS)
    # of whole days the time has the sign
    sign = np.where(days == 0, np.sign(microseconds), np.sign(days))
    step = np.where((months > 0) & (sign < 0), 1, np.where((months < 0) & (sign > 0), -1, 0))
    months, days = months - step, days + step * _MONTH_DAYS
    return months, *_align(days, microseconds, DAY)


# ---------------------------------------------------------------------------------------------- zones


def _make_offsets(get_offsets: Callable[[zones.Zone, Integers], Integers]) -> Callable[[pa.Array, pa.Array], pa.Array]:
    """Returns a function of zones' names and times: seconds east of Greenwich."""

    def apply(names: pa.Array, times: pa.Array) -> pa.Array:
        microseconds = times.fill_null(0).to_numpy(zero_copy_only=False)

        def compute(name: str, rows: Integers) -> pa.Array:
            return pa.array(get_offsets(zones.parse_zone(name), microseconds[rows]), pa.int64())

        return map_by_name(names, find_valid(names, times), pa.int64(), compute)

    return apply


def _make_zone(text: str) -> str:
    """Converts make_timestamptz's zone for AT TIME ZONE: here a bare offset counts eastward, not westward. 22023."""
    if text[:1].isdigit():
        hint = 'Numeric time zones must have "-" or "+" as first character.'
        message = f'invalid input syntax for type numeric time zone: "{text}"'
        raise SqlError.of("invalid_parameter_value", message, hint=hint)
    try:
        seconds = zones.parse_offset(text)
    except SqlError:
        raise SqlError.of("invalid_parameter_value", f'numeric time zone "{text}" out of range') from None
    if seconds is None:
        return text
    minutes, rest = divmod(abs(seconds), 60)
    return f"{'+' if seconds < 0 else '-'}{minutes // 60:02d}:{minutes % 60:02d}:{rest:02d}"
