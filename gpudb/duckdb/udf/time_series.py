"""Series of times by steps that DuckDB's generate_series does not take as PostgreSQL does.

Each value is the one before plus the step: months, then days, both on a zone's clock, then elapsed microseconds. So a
step that meets the repeated hour of autumn, or the missing one of spring, moves what follows.
"""

from __future__ import annotations

import pyarrow as pa

from gpudb import memory
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError
from gpudb.values import zones
from gpudb.values.calendar import DAY, MAX_TIMESTAMP, civil_from_days, days_from_civil, days_in_month

_MOST_VALUES = 100_000_000
_CHECKED_EVERY = 1 << 20
_VALUE_BYTES = 40
_MONTH_DAYS = 30
_PARAMETERS = "BIGINT BIGINT INTEGER INTEGER BIGINT VARCHAR"


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    registry.add_columnar("pg_moment_series", _PARAMETERS, "BIGINT[]", _list_series)


def _list_series(*columns: pa.Array) -> pa.Array:
    rows = zip(*(each.to_pylist() for each in columns), strict=True)
    return pa.array([None if None in row else _build_series(*row) for row in rows], pa.list_(pa.int64()))


def _build_series(first: int, last: int, months: int, days: int, microseconds: int, zone_name: str) -> list[int]:
    """Returns the series in microseconds since 1970; an empty name of the zone is none. 22023 for a step of zero."""
    size = (months * _MONTH_DAYS + days) * DAY + microseconds
    if size == 0:
        raise SqlError.of("invalid_parameter_value", "step size cannot equal zero")
    zone = _find_zone(zone_name)
    values: list[int] = []
    value = first
    while value <= last if size > 0 else value >= last:
        values.append(value)
        if len(values) % _CHECKED_EVERY == 0:
            memory.allot(_VALUE_BYTES * len(values))
            if len(values) > _MOST_VALUES:
                message = f"a set of more than {_MOST_VALUES} values"
                raise SqlError.of("program_limit_exceeded", message)
        value = move(value, months, days, microseconds, zone)
        if abs(value) >= MAX_TIMESTAMP:
            raise SqlError.of("datetime_field_overflow", "timestamp out of range")
    return values


def _find_zone(name: str) -> zones.Zone | None:
    """Finds the zone of the engine's name of a session's zone, or of AT TIME ZONE's text; 22023 if there is none."""
    if not name:
        return None
    return zones.parse_session_zone(name) if name.startswith("gMT") else zones.parse_zone(name)


def move(value: int, months: int, days: int, microseconds: int, zone: zones.Zone | None) -> int:
    """Adds an interval to a moment (microseconds since 1970): months and days on the clock of a zone, if there is one.

    After the months and again after the days the clock's time becomes a moment, as PostgreSQL's
    timestamptz_pl_interval does.
    """
    if abs(value) >= MAX_TIMESTAMP:
        return value
    if months:
        local_days, time = divmod(_to_local(value, zone), DAY)
        year, month, day = civil_from_days(local_days)
        years, month = divmod(month - 1 + months, 12)
        year, month = year + years, month + 1
        value = _to_moment(days_from_civil(year, month, min(day, days_in_month(year, month))) * DAY + time, zone)
    if days:
        value = _to_moment(_to_local(value, zone) + days * DAY, zone)
    return value + microseconds


def _to_local(value: int, zone: zones.Zone | None) -> int:
    return value if zone is None else value + zones.get_offset(zone, value) * 1_000_000


def _to_moment(local: int, zone: zones.Zone | None) -> int:
    return local if zone is None else local - zones.get_local_offset(zone, local) * 1_000_000
