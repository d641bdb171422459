"""Values as text: as casts to text return, or as output functions print them (dates in ISO style)."""

from __future__ import annotations

import polars as pl

from gpudb.engine.gpu.lower.error_codes import CALENDAR, error_if
from gpudb.engine.gpu.lower.values import Value
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import TEXT
from gpudb.types.facts import INTEGERS
from gpudb.values.calendar import DAY

YEAR_1, YEAR_10000 = -719_162, 2_932_897
"""The first days of these years, since 1970: years between them have four digits."""
_SECOND, _MINUTE, _HOUR = 1_000_000, 60_000_000, 3_600_000_000
_MAX_LABELS, _MAX_DECIMALS = 64, 18


def to_text(value: Value, *, output: bool = False) -> Value:
    """Returns the text of a value; NotSupportedOnWorkers if columns have no operation for its format."""
    expr, name = value.expr, value.type.name
    if name in {"text", "varchar", "uuid"}:
        return Value(TEXT, expr)
    if name in INTEGERS:
        return Value(TEXT, expr.cast(pl.String))
    if name == "bool":
        yes, no = ("t", "f") if output else ("true", "false")
        return Value(TEXT, pl.when(expr).then(pl.lit(yes)).when(~expr).then(pl.lit(no)).otherwise(None))
    if name == "numeric" and not value.type.is_carried and not value.is_wide and value.scale <= _MAX_DECIMALS:
        return Value(TEXT, _format_decimal(expr.cast(pl.Int64), value.scale))
    if name == "date":
        days = expr.cast(pl.Int32)
        return _format_date(value, days < YEAR_1, days >= YEAR_10000, "%Y-%m-%d")
    if name == "timestamp":
        micros = expr.cast(pl.Int64)
        result = _format_date(value, micros < YEAR_1 * DAY, micros >= YEAR_10000 * DAY, "%Y-%m-%d %H:%M:%S")
        return Value(TEXT, result.expr + _format_fraction(micros - micros // _SECOND * _SECOND), result.error)
    if name == "time":
        parts = (expr // _HOUR, expr // _MINUTE % 60, expr // _SECOND % 60)
        hours, minutes, seconds = (_pad(each, 2) for each in parts)
        return Value(TEXT, hours + ":" + minutes + ":" + seconds + _format_fraction(expr % _SECOND))
    labels = value.type.labels
    if labels and len(labels) <= _MAX_LABELS:
        made_of = pl.lit(None, pl.String)
        for place, label in enumerate(labels):
            made_of = pl.when(expr == place).then(pl.lit(label.name)).otherwise(made_of)
        return Value(TEXT, made_of)
    raise NotSupportedOnWorkers(f"the text of {value.type.plain}")


def _pad(number: pl.Expr, digits: int) -> pl.Expr:
    """Pads a non-negative number with zeros."""
    widened: pl.Expr = number.cast(pl.Int64) + 10**digits
    return widened.cast(pl.String).str.slice(1, digits)


def _format_decimal(digits: pl.Expr, scale: int) -> pl.Expr:
    if not scale:
        return digits.cast(pl.String)
    size = digits.abs()
    whole = size // 10**scale
    result = whole.cast(pl.String) + "." + _pad(size - whole * 10**scale, scale)
    return pl.when(digits < 0).then(pl.lit("-") + result).otherwise(result)


def _format_date(value: Value, below: pl.Expr, above: pl.Expr, pattern: str) -> Value:
    in_range = pl.when(below | above).then(None).otherwise(value.expr)
    return Value(TEXT, in_range.dt.to_string(pattern), error_if(below | above, CALENDAR))


def _format_fraction(micros: pl.Expr) -> pl.Expr:
    """Formats the microseconds of a second after a point, without trailing zeros; empty for none."""
    shown = pl.lit(".") + _pad(micros, 6).str.strip_chars_end("0")
    return pl.when(micros == 0).then(pl.lit("")).otherwise(shown)
