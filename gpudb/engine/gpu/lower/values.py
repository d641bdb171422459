"""Lowered values: which Polars columns ("lanes") hold a value of each SQL type, and what is known of it.

bool int2 int4 int8 float4 float8 text date timestamp   one column of the like Polars type
timestamptz         Datetime in UTC, without a zone      time      Int64: microseconds since midnight
numeric             Int64 or Int128: the value without its point; `scale` decimals
carried numeric     the same, and a second column "s": the decimals that PostgreSQL shows (Int8)
interval            Int32 months, "d" Int32 days, "u" Int64 microseconds
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

import polars as pl

from gpudb.engine.gpu.lower.faults import Error
from gpudb.plan.errors import NotCarried
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.values.interval import Interval

Bounds = tuple[int, int] | None
"""The least and the greatest value that an integer, or a numeric without its point, can have; None: not known."""

_PLAIN: dict[str, pl.DataType] = {
    "bool": pl.Boolean(),
    "int2": pl.Int16(),
    "int4": pl.Int32(),
    "int8": pl.Int64(),
    "oid": pl.Int64(),
    "float4": pl.Float32(),
    "float8": pl.Float64(),
    "text": pl.String(),
    "varchar": pl.String(),
    "bpchar": pl.String(),
    "name": pl.String(),
    "uuid": pl.String(),
    "json": pl.String(),
    "jsonb": pl.String(),
    "unknown": pl.String(),
    "date": pl.Date(),
    "time": pl.Int64(),
    "timestamp": pl.Datetime("us"),
    "timestamptz": pl.Datetime("us"),
}
RANGES = {"int2": (-(2**15), 2**15 - 1), "int4": (-(2**31), 2**31 - 1), "int8": (-(2**63), 2**63 - 1)}
NARROW = 2**63 - 1
_EPOCH = dt.datetime(1970, 1, 1)


def check_comparable(kinds: Iterable[SqlType], what: str) -> None:
    """Refuses types whose equal values lie in columns that differ, or whose order is not that of their columns."""
    for kind in kinds:
        if kind.name in {"interval", "jsonb"}:
            raise NotCarried(f"{what} {kind.plain}")


def lanes(kind: SqlType) -> dict[str, pl.DataType]:
    """The physical columns of a type, by suffix, as they lie in tables and cross exchanges."""
    if kind.element is not None or kind.fields:
        raise NotCarried(f"type {kind}")
    if kind.name == "numeric":
        held = pl.Int64() if kind.numeric_digits[0] <= 18 and not kind.carried else pl.Int128()
        return {"": held, "s": pl.Int8()} if kind.carried else {"": held}
    if kind.name == "interval":
        return {"": pl.Int32(), "d": pl.Int32(), "u": pl.Int64()}
    if kind.name not in _PLAIN:
        raise NotCarried(f"type {kind.plain}")
    return {"": _PLAIN[kind.name]}


def type_bounds(kind: SqlType) -> Bounds:
    """What a type alone says of its values."""
    if kind.name == "numeric":
        limit = 10 ** kind.numeric_digits[0] - 1
        return -limit, limit
    return RANGES.get(kind.name)


@dataclass(frozen=True, slots=True)
class Value:
    """An expression lowered. `expr` is its first lane, `others` the rest by suffix; `constant` tells a literal."""

    type: SqlType
    expr: pl.Expr
    error: Error = None
    bounds: Bounds = None
    others: tuple[tuple[str, pl.Expr], ...] = ()
    constant: bool = False

    @property
    def scale(self) -> int:
        """Decimals of a numeric; 0 for integers."""
        return self.type.numeric_digits[1] if self.type.name == "numeric" else 0

    @property
    def wide(self) -> bool:
        """Whether an integer or numeric needs 128 bits."""
        limits = self.bounds or type_bounds(self.type)
        return limits is not None and max(-limits[0], limits[1]) > NARROW

    @property
    def shown(self) -> pl.Expr:
        """The decimals that a numeric shows."""
        return dict(self.others)["s"] if self.type.carried else pl.lit(self.scale, pl.Int8)

    def part(self, suffix: str) -> pl.Expr:
        """A lane by its suffix."""
        return dict(self.others)[suffix]

    def failing(self, error: Error) -> Value:
        """The same value with another error."""
        return replace(self, error=error)

    def columns(self, name: str) -> list[pl.Expr]:
        """The lanes under a name, of the types that `lanes` says."""
        held = lanes(self.type)
        made = [_held(self.expr, held[""]).alias(name)]
        return made + [_held(expr, held[suffix]).alias(name + suffix) for suffix, expr in self.others]


def _held(expr: pl.Expr, kind: pl.DataType) -> pl.Expr:
    # Widths differ inside expressions; what needs no cast is not slowed by one, as Polars drops it.
    return expr.cast(kind)


def column(index: int, kind: SqlType, bounds: Bounds = None) -> Value:
    """The value of an input's column."""
    others = tuple((suffix, pl.col(f"c{index}{suffix}")) for suffix in lanes(kind) if suffix)
    return Value(kind, pl.col(f"c{index}"), None, bounds or type_bounds(kind), others)


def literal(value: object, kind: SqlType) -> Value:
    """A constant."""
    if value is None:
        held = lanes(kind)
        empty = tuple((suffix, pl.lit(None, each)) for suffix, each in held.items() if suffix)
        return Value(kind, pl.lit(None, held[""]), None, (0, 0) if type_bounds(kind) else None, empty, True)
    if kind.name == "numeric":
        return _numeric(Decimal(str(value)), kind)
    match value:
        case bool() | float():
            return Value(kind, pl.lit(value, _PLAIN[kind.name]), constant=True)
        case int():
            return Value(kind, pl.lit(value, _PLAIN[kind.name]), None, (value, value), constant=True)
        case str() if kind.name in {"text", "varchar", "bpchar", "unknown", "name", "uuid", "json", "jsonb"}:
            return Value(kind, pl.lit(value), constant=True)
        case Interval(months=months, days=days, microseconds=microseconds):
            rest = (("d", pl.lit(days, pl.Int32)), ("u", pl.lit(microseconds, pl.Int64)))
            return Value(kind, pl.lit(months, pl.Int32), None, None, rest, True)
        case dt.datetime():
            moment = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
            return Value(kind, pl.lit(moment, pl.Datetime("us")), constant=True)
        case dt.date():
            return Value(kind, pl.lit(value, pl.Date), constant=True)
        case dt.time():
            micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
            return Value(kind, pl.lit(micros, pl.Int64), constant=True)
        case _:
            raise NotCarried(f"a constant of type {kind.plain}")


def larger(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The larger of two small integers; Polars' max_horizontal gives one row for columns of one value."""
    return pl.when(left >= right).then(left).otherwise(right)


def smaller(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The smaller of two small integers."""
    return pl.when(left <= right).then(left).otherwise(right)


def digits_of(value: Decimal, scale: int) -> int:
    """A decimal's digits without its point, at so many decimals (of more it keeps none)."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    whole: int = int("".join(map(str, digits)) or "0")
    power = exponent + scale
    size: int = whole * 10**power if power >= 0 else whole // 10**-power
    return -size if sign else size


def _wide(digits: int) -> pl.Expr:
    """A literal of 128 bits, from parts of 64: Polars takes none from Python."""
    if abs(digits) <= NARROW:
        return pl.lit(digits, pl.Int64).cast(pl.Int128)
    high, low = divmod(digits, 10**18)
    return _wide(high) * 10**18 + pl.lit(low, pl.Int64)


def _numeric(value: Decimal, kind: SqlType) -> Value:
    digits = digits_of(value, kind.numeric_digits[1])
    if abs(digits) >= 10**MAX_DIGITS:
        raise NotCarried("a numeric constant of more than 38 digits")
    exponent = value.as_tuple().exponent
    shown = max(0, -exponent) if isinstance(exponent, int) else 0
    others = (("s", pl.lit(shown, pl.Int8)),) if kind.carried else ()
    if abs(digits) <= NARROW:
        return Value(kind, pl.lit(digits, pl.Int64), None, (digits, digits), others, True)
    return Value(kind, _wide(digits), None, (digits, digits), others, True)
