"""Intervals and times of day: fields, arithmetic, and combination with dates."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from gpudb.engine.gpu.lower.error_codes import INTERVAL, Error, error_if, first_error
from gpudb.engine.gpu.lower.functions.dates import calendar_error, field_name, is_infinite, to_timestamp
from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.values import Value, divide, interval_value
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import SqlType
from gpudb.values.calendar import DAY
from gpudb.values.interval import MAX_MICROSECONDS

_SECOND, _MINUTE, _HOUR = 1_000_000, 60_000_000, 3_600_000_000
_MONTH_DAYS = 30
Field = Callable[[Value], tuple[pl.Expr, int]]
"""A field's digits and its scale."""


def truncating_divide(value: pl.Expr, by: int) -> pl.Expr:
    """Truncating integer division by a positive constant."""
    floor = value // by
    return pl.when((value < 0) & (floor * by != value)).then(floor + 1).otherwise(floor)


def remainder(value: pl.Expr, by: int) -> pl.Expr:
    """The remainder of truncating division, with the sign of the dividend."""
    return value - truncating_divide(value, by) * by


def _modulo(value: pl.Expr, by: int) -> pl.Expr:
    """The remainder of floor division, never negative."""
    return value - value // by * by


# ---------------------------------------------------------------------------------------------- fields


def _clock(micros: Callable[[Value], pl.Expr]) -> dict[str, Field]:
    return {
        "microseconds": lambda value: (remainder(micros(value), _MINUTE), 0),
        "milliseconds": lambda value: (remainder(micros(value), _MINUTE), 3),
        "second": lambda value: (remainder(micros(value), _MINUTE), 6),
        "minute": lambda value: (remainder(truncating_divide(micros(value), _MINUTE), 60), 0),
        "hour": lambda value: (truncating_divide(micros(value), _HOUR), 0),
    }


def _years(by: int) -> Field:
    return lambda value: (truncating_divide(value.part("m"), 12 * by), 0)


def _epoch(value: Value) -> tuple[pl.Expr, int]:
    """A year has 365.25 days, a month beyond whole years 30."""
    years, months, days = truncating_divide(value.part("m"), 12), remainder(value.part("m"), 12), value.part("d")
    quarters = years.cast(pl.Int64) * 1461 + months.cast(pl.Int64) * 120 + days.cast(pl.Int64) * 4
    return quarters.cast(pl.Int128) * (DAY // 4) + value.part("u"), 6


_OF_INTERVALS: dict[str, Field] = {
    **_clock(lambda value: value.part("u")),
    "day": lambda value: (value.part("d"), 0),
    "month": lambda value: (remainder(value.part("m"), 12), 0),
    "quarter": lambda value: (truncating_divide(remainder(value.part("m"), 12), 3) + 1, 0),
    "year": _years(1),
    "decade": _years(10),
    "century": _years(100),
    "millennium": _years(1000),
    "epoch": _epoch,
}
_OF_TIMES: dict[str, Field] = {**_clock(lambda value: value.expr), "epoch": lambda value: (value.expr, 6)}
_SHIFT, _MIDDLE = 1 << 17, 1 << 16
"""The encoding of timetz: see `values.timetz`."""


def _west(value: Value) -> pl.Expr:
    return _modulo(value.expr, _SHIFT) - _MIDDLE


def _local(value: Value) -> pl.Expr:
    """Returns the local time of a timetz, in microseconds since midnight."""
    return value.expr // _SHIFT - _west(value) * _SECOND


_OF_ZONED: dict[str, Field] = {
    **_clock(_local),
    "epoch": lambda value: (value.expr // _SHIFT, 6),
    "timezone": lambda value: (0 - _west(value), 0),
    "timezone_hour": lambda value: (truncating_divide(0 - _west(value), 3600), 0),
    "timezone_minute": lambda value: (remainder(truncating_divide(0 - _west(value), 60), 60), 0),
}
_FIELDS = {"interval": _OF_INTERVALS, "time": _OF_TIMES, "timetz": _OF_ZONED}
_MAX_INTERVAL = 10**22
"""More microseconds than an interval can have."""


def _field(args: tuple[Value, ...]) -> tuple[pl.Expr, int]:
    name, kind = field_name(args[0]), args[1].type.name
    if name not in _FIELDS[kind]:
        raise NotSupportedOnWorkers(f"extract({name} from {kind})")
    return _FIELDS[kind][name](args[1])


@lowers("extract(text,interval) extract(text,time) extract(text,timetz)")
def _extract(args: tuple[Value, ...], kind: SqlType) -> Value:
    result, scale = _field(args)
    if kind.is_carried or kind.numeric_digits[1] != scale:
        raise NotSupportedOnWorkers(f"extract as {kind.plain}")
    return Value(
        kind, result, None, (-_MAX_INTERVAL, _MAX_INTERVAL) if args[1].type.name == "interval" else (-(10**13), 10**13)
    )


@lowers("date_part(text,interval) date_part(text,time) date_part(text,timetz)")
def _date_part(args: tuple[Value, ...], kind: SqlType) -> Value:
    result, scale = _field(args)
    double = result.cast(pl.Float64)
    return Value(kind, divide(double, pl.lit(float(10**scale))) if scale else double)


# ---------------------------------------------------------------------------------------------- sums


def _parts(value: Value) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    # The sum of two intervals' microseconds fits 64 bits.
    return value.part("m").cast(pl.Int64), value.part("d").cast(pl.Int64), value.part("u")


def _checked_interval(kind: SqlType, months: pl.Expr, days: pl.Expr, micros: pl.Expr) -> Value:
    """Builds an interval from wider parts; 22008 if one of them does not fit."""
    fits = (months >= -(2**31)) & (months < 2**31) & (days >= -(2**31)) & (days < 2**31)
    fits = fits & (micros >= -MAX_MICROSECONDS) & (micros <= MAX_MICROSECONDS)
    safe = pl.when(fits)
    result = interval_value(
        kind,
        safe.then(months).otherwise(None).cast(pl.Int32),
        safe.then(days).otherwise(None).cast(pl.Int32),
        safe.then(micros).otherwise(None),
    )
    return result.with_error(error_if(~fits, INTERVAL))


@lowers("interval_pl")
def _add(args: tuple[Value, ...], kind: SqlType) -> Value:
    return _checked_interval(kind, *(a + b for a, b in zip(_parts(args[0]), _parts(args[1]), strict=True)))


@lowers("interval_mi")
def _subtract(args: tuple[Value, ...], kind: SqlType) -> Value:
    return _checked_interval(kind, *(a - b for a, b in zip(_parts(args[0]), _parts(args[1]), strict=True)))


@lowers("interval_um")
def _negate(args: tuple[Value, ...], kind: SqlType) -> Value:
    return _checked_interval(kind, *(0 - each for each in _parts(args[0])))


def _borrow(large: pl.Expr, small: pl.Expr, unit: int) -> tuple[pl.Expr, pl.Expr]:
    """Gives two parts one sign; a `large` unit is worth `unit` small ones."""
    down, up = (large > 0) & (small < 0), (large < 0) & (small > 0)
    step = pl.when(down).then(1).when(up).then(-1).otherwise(0)
    return large - step, small + step * unit


@lowers("justify_hours(interval)")
def _justify_hours(args: tuple[Value, ...], kind: SqlType) -> Value:
    months, days, _ = _parts(args[0])
    micros = args[0].part("u")
    days, micros = _borrow(days + truncating_divide(micros, DAY), remainder(micros, DAY), DAY)
    return _checked_interval(kind, months, days, micros)


@lowers("justify_days(interval)")
def _justify_days(args: tuple[Value, ...], kind: SqlType) -> Value:
    months, days, micros = _parts(args[0])
    months, days = _borrow(months + truncating_divide(days, _MONTH_DAYS), remainder(days, _MONTH_DAYS), _MONTH_DAYS)
    return _checked_interval(kind, months, days, micros)


# ---------------------------------------------------------------------------------------------- times of day


def from_microseconds(kind: SqlType, micros: pl.Expr) -> Value:
    """Returns an interval without months and days."""
    nothing = pl.when(micros.is_null()).then(None).otherwise(pl.lit(0, pl.Int32))
    return interval_value(kind, nothing, nothing, micros)


def time_of_day(value: Value) -> pl.Expr:
    """Returns the time of day of a timestamp, of an interval's microseconds, or of a timetz."""
    if value.type.name == "timetz":
        return _local(value)
    if value.type.name == "interval":
        return _modulo(value.part("u"), DAY)
    micros = value.expr.cast(pl.Int64)
    return pl.when(micros.abs() == 2**63 - 1).then(None).otherwise(_modulo(micros, DAY))


@lowers("time_mi_time")
def _between(args: tuple[Value, ...], kind: SqlType) -> Value:
    return from_microseconds(kind, args[0].expr - args[1].expr)


@lowers("time_pl_interval")
def _add_to_time(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, _modulo(args[0].expr + _modulo(args[1].part("u"), DAY), DAY))


@lowers("time_mi_interval")
def _subtract_from_time(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, _modulo(args[0].expr - _modulo(args[1].part("u"), DAY), DAY))


@lowers("interval_pl_time")
def _add_time(args: tuple[Value, ...], kind: SqlType) -> Value:
    return _add_to_time((args[1], args[0]), kind)


@lowers("datetime_pl")
def _combine(args: tuple[Value, ...], kind: SqlType) -> Value:
    days = args[0].expr.cast(pl.Int32).cast(pl.Int64)
    return Value(kind, (days * DAY + args[1].expr).cast(pl.Datetime("us")), calendar_error(args[0]))


@lowers("timedate_pl")
def _combine_swapped(args: tuple[Value, ...], kind: SqlType) -> Value:
    return _combine((args[1], args[0]), kind)


@lowers("date_bin(interval,timestamp,timestamp)")
def _bin(args: tuple[Value, ...], kind: SqlType) -> Value:
    """Returns the start of the bin of constant width, counted from an origin, that a timestamp is in."""
    if not args[0].constant:
        raise NotSupportedOnWorkers("date_bin by an interval that is not constant")
    months, days, micros = pl.select([args[0].part(part).alias(part) for part in "mdu"]).row(0)
    if months is None or months or days * DAY + micros <= 0:
        raise NotSupportedOnWorkers("date_bin by months or by an empty interval")
    value, origin = (to_timestamp(each.expr, each.type).cast(pl.Int64) for each in args[1:])
    error: Error = first_error(calendar_error(args[1]), calendar_error(args[2]))
    return Value(kind, (value - _modulo(value - origin, days * DAY + micros)).cast(pl.Datetime("us")), error)


# ---------------------------------------------------------------------------------------------- infinity


@lowers("isfinite(date) isfinite(timestamp)")
def _finite(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, ~is_infinite(args[0]))


@lowers("isfinite(interval)")
def _finite_interval(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, pl.when(args[0].expr.is_not_null()).then(True).otherwise(None))
