"""Lowered values: which Polars columns ("lanes") hold a value of each SQL type, and what is known of it.

bool int2 int4 int8 float4 float8 text date timestamp   one column of the like Polars type
timestamptz         Datetime in UTC, without a zone      time      Int64: microseconds since midnight
numeric             Int64 or Int128: the value without its point; `scale` decimals
carried numeric     the same, and a second column "s": the decimals that PostgreSQL shows (Int8)
interval            Int128: the microseconds that it compares by; "m" Int32 months, "d" Int32 days, "u" Int64 the rest
enum                Int32: the place of its label among the type's, from 0
regclass regtype …  String: the name that it leaves with
money timetz        Int64                                bytea inet cidr     Binary
array record range  jsonb: Binary that compares as it does; "v" the value in the form of `held_arrow`

So the first lane alone says whether a value is NULL, and what it equals and comes before.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.lower.error_codes import Error
from gpudb.plan.errors import NotCarried
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.values.calendar import DAY
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
    "jsonpath": pl.String(),
    "macaddr": pl.String(),
    "macaddr8": pl.String(),
    "bit": pl.String(),
    "varbit": pl.String(),
    "char": pl.String(),
    "unknown": pl.String(),
    "bytea": pl.Binary(),
    "inet": pl.Binary(),
    "cidr": pl.Binary(),
    "money": pl.Int64(),
    "timetz": pl.Int64(),
    "date": pl.Date(),
    "time": pl.Int64(),
    "timestamp": pl.Datetime("us"),
    "timestamptz": pl.Datetime("us"),
}
RANGES = {"int2": (-(2**15), 2**15 - 1), "int4": (-(2**31), 2**31 - 1), "int8": (-(2**63), 2**63 - 1)}
_STRINGS = frozenset({"text", "varchar", "bpchar", "unknown", "name", "uuid", "json"})
NARROW = 2**63 - 1
_EPOCH = dt.datetime(1970, 1, 1)


def lanes(kind: SqlType) -> dict[str, pl.DataType]:
    """The physical columns of a type, by suffix, as they lie in tables and cross exchanges."""
    if is_keyed(kind):
        return {"": pl.Binary(), "v": _held_polars(kind)}
    if kind.labels:
        return {"": pl.Int32()}
    if kind.name == "numeric":
        held = pl.Int64() if kind.numeric_digits[0] <= 18 and not kind.carried else pl.Int128()
        return {"": held, "s": pl.Int8()} if kind.carried else {"": held}
    if kind.name == "interval":
        return {"": pl.Int128(), "m": pl.Int32(), "d": pl.Int32(), "u": pl.Int64()}
    if kind.name.startswith("reg"):
        return {"": pl.String()}
    if kind.name not in _PLAIN:
        raise NotCarried(f"type {kind.plain}")
    return {"": _PLAIN[kind.name]}


def is_keyed(kind: SqlType) -> bool:
    """Whether values compare by something else than what holds them: arrays, records, ranges, jsonb."""
    return kind.item is not None or bool(kind.fields) or kind.subtype is not None or kind.name == "jsonb"


def held_arrow(kind: SqlType) -> pa.DataType:
    """The Arrow form of the second lane of such a type: `SqlType.arrow`, but intervals as structs of integers, and
    times as microseconds, since Polars has no 24:00."""
    if kind.item is not None:
        return pa.list_(held_arrow(kind.item))
    if kind.fields:
        held = zip(kind.arrow, kind.fields, strict=True)
        return pa.struct([(field.name, held_arrow(item)) for field, (_, item) in held])
    return _HELD_ITEMS.get(kind.name, kind.arrow)


INTERVAL_PARTS = pa.struct([("m", pa.int32()), ("d", pa.int32()), ("u", pa.int64())])
_HELD_ITEMS = {"interval": INTERVAL_PARTS, "time": pa.int64()}


@cache
def _held_polars(kind: SqlType) -> pl.DataType:
    if any(name.startswith("reg") for name in _leaves(kind)):
        # Names outside, numbers inside: the system catalog tells them apart.
        raise NotCarried(f"type {kind}")
    made: Any = pl.from_arrow(pa.array([], held_arrow(kind)))
    held: pl.DataType = made.dtype
    return held


def _leaves(kind: SqlType) -> list[str]:
    if kind.item is not None:
        return _leaves(kind.item)
    return [name for _, item in kind.fields for name in _leaves(item)] if kind.fields else [kind.name]


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

    @property
    def named(self) -> bool:
        """Whether it is a frame's column as it is, which is as long as the frame."""
        return all(expr.meta.is_column() for expr in (self.expr, *(expr for _, expr in self.others)))

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
        case _ if is_keyed(kind):
            raise NotCarried(f"a constant of type {kind.plain}")
        case bool() | float():
            return Value(kind, pl.lit(value, _PLAIN[kind.name]), constant=True)
        case int() if kind.name in RANGES or kind.name == "oid":
            return Value(kind, pl.lit(value, _PLAIN[kind.name]), None, (value, value), constant=True)
        case bytes() if kind.name == "bytea":
            return Value(kind, pl.lit(value, pl.Binary), constant=True)
        case str() if kind.name in _STRINGS or kind.name.startswith("reg"):
            return Value(kind, pl.lit(value), constant=True)
        case str() if kind.labels:
            return Value(kind, pl.lit([each.name for each in kind.labels].index(value), pl.Int32), constant=True)
        case Interval(months=months, days=days, microseconds=microseconds):
            parts = pl.lit(months, pl.Int32), pl.lit(days, pl.Int32), pl.lit(microseconds, pl.Int64)
            return replace(interval(kind, *parts), constant=True)
        case dt.datetime() if kind.name in {"timestamp", "timestamptz"}:
            moment = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
            return Value(kind, pl.lit(moment, pl.Datetime("us")), constant=True)
        case dt.date() if kind.name == "date":
            return Value(kind, pl.lit(value, pl.Date), constant=True)
        case dt.time() if kind.name == "time":
            micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
            return Value(kind, pl.lit(micros, pl.Int64), constant=True)
        case _:
            raise NotCarried(f"a constant of type {kind.plain}")


def interval(kind: SqlType, months: pl.Expr, days: pl.Expr, microseconds: pl.Expr) -> Value:
    """An interval of its parts: a month counts for 30 days, as where PostgreSQL compares."""
    span = (months.cast(pl.Int128) * 30 + days) * DAY + microseconds
    return Value(kind, span, None, None, (("m", months), ("d", days), ("u", microseconds)))


def larger(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The larger of two small integers; Polars' max_horizontal gives one row for columns of one value."""
    return pl.when(left >= right).then(left).otherwise(right)


def smaller(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The smaller of two small integers."""
    return pl.when(left <= right).then(left).otherwise(right)


def quotient(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The quotient of two doubles, rounded once: by what is one value for all rows Polars multiplies with its inverse,
    which may round twice. Zeros beside it make it a column."""
    return left / (right + left.is_infinite().cast(pl.Float64) * 0.0)


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
