"""Lowered values: the physical Polars columns that represent a value of each SQL type, and its bounds.

bool int2 int4 int8 float4 float8 text date timestamp   one column of the corresponding Polars type
timestamptz         Datetime in UTC, without a zone      time      Int64: microseconds since midnight
numeric             Int64 or Int128: the unscaled value; `scale` decimals
carried numeric     the same, and a second column "s": the display scale (Int8)
interval            Int128: the microseconds that it compares by; "m" Int32 months, "d" Int32 days, "u" Int64 the rest
enum                Int32: the position of its label among the type's, from 0
regclass regtype …  String: the name in results
money timetz        Int64                                bytea inet cidr matrix  Binary
vector              Binary: bytes in the order of vectors (`values.vector_keys`)
bit(n)              Binary: eight bits a byte (`values.bit_keys`)  bit varbit    String
array record range  jsonb: Binary sort key; "v" the value in the representation of `value_arrow_type`

So the first physical column alone determines whether a value is NULL, and how it compares.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.lower.error_codes import Error
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.types.facts import GEOMETRIC, INTEGER_LIMITS
from gpudb.values.calendar import DAY
from gpudb.values.interval import Interval
from gpudb.values.vector_keys import encode_key

Bounds = tuple[int, int] | None
"""The least and the greatest value of an integer or unscaled numeric; None if unknown."""

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
    "tsvector": pl.String(),
    "tsquery": pl.String(),
    "macaddr": pl.String(),
    "macaddr8": pl.String(),
    "bit": pl.String(),
    "varbit": pl.String(),
    "char": pl.String(),
    "unknown": pl.String(),
    "bytea": pl.Binary(),
    "vector": pl.Binary(),
    "inet": pl.Binary(),
    "cidr": pl.Binary(),
    "matrix": pl.Binary(),
    "halfvec": pl.Binary(),
    "sparsevec": pl.Binary(),
    **dict.fromkeys(GEOMETRIC, pl.Binary()),
    "money": pl.Int64(),
    "timetz": pl.Int64(),
    "date": pl.Date(),
    "time": pl.Int64(),
    "timestamp": pl.Datetime("us"),
    "timestamptz": pl.Datetime("us"),
}
_STRINGS = frozenset({"text", "varchar", "bpchar", "unknown", "name", "uuid", "json"})
MAX_INT64 = 2**63 - 1
_MAX_FRAMES = 4096
_EPOCH = dt.datetime(1970, 1, 1)


def physical_columns(kind: SqlType) -> dict[str, pl.DataType]:
    """Returns the physical columns of a type, by suffix, as tables and exchanges hold them."""
    if is_keyed(kind):
        return {"": pl.Binary(), "v": _value_polars_type(kind)}
    if kind.labels:
        return {"": pl.Int32()}
    if kind.wide:
        raise NotSupportedOnWorkers(f"{kind} beyond {MAX_DIGITS} digits")
    if kind.name == "numeric":
        dtype = pl.Int64() if kind.numeric_digits[0] <= 18 and not kind.is_carried else pl.Int128()
        return {"": dtype, "s": pl.Int8()} if kind.is_carried else {"": dtype}
    if kind.name == "interval":
        return {"": pl.Int128(), "m": pl.Int32(), "d": pl.Int32(), "u": pl.Int64()}
    if kind.name.startswith("reg"):
        return {"": pl.String()}
    if is_packed(kind):
        return {"": pl.Binary()}
    if kind.name not in _PLAIN:
        raise NotSupportedOnWorkers(f"type {kind.plain}")
    return {"": _PLAIN[kind.name]}


@lru_cache(_MAX_FRAMES)
def empty_frame(types: tuple[SqlType, ...]) -> pl.DataFrame:
    """Returns a frame without rows with the physical columns of c0, c1, … of some types."""
    schema = {f"c{n}{suffix}": held for n, kind in enumerate(types) for suffix, held in physical_columns(kind).items()}
    return pl.DataFrame(schema=schema)


def is_keyed(kind: SqlType) -> bool:
    """Returns whether a type compares by a separate sort key: arrays, records, ranges, jsonb."""
    return kind.item is not None or bool(kind.fields) or kind.subtype is not None or kind.name == "jsonb"


def is_packed(kind: SqlType) -> bool:
    """Returns whether a type is a bit string of a declared length, whose bits are packed (`values.bit_keys`)."""
    return kind.name == "bit" and kind.length is not None


_BITS = frozenset({"bit", "varbit"})


def check_length(kind: SqlType, sources: Iterable[SqlType]) -> None:
    """Raises NotSupportedOnWorkers for bit strings whose type has another length than those that it is made of."""
    if kind.name not in _BITS:
        return
    bits = [each for each in (kind, *sources) if each.name in _BITS]
    if any(map(is_packed, bits)) and len({(each.name, each.length) for each in bits}) > 1:
        raise NotSupportedOnWorkers("bit strings of several lengths")


def value_arrow_type(kind: SqlType) -> pa.DataType:
    """Returns the Arrow type of a keyed type's value column.

    It is `SqlType.arrow`, but intervals are structs of integers, and times microseconds, since Polars has no 24:00.
    """
    if kind.item is not None:
        return pa.list_(value_arrow_type(kind.item))
    if kind.fields:
        fields = zip(kind.arrow, kind.fields, strict=True)
        return pa.struct([(field.name, value_arrow_type(item)) for field, (_, item) in fields])
    return _ARROW_TYPES.get(kind.name, kind.arrow)


INTERVAL_PARTS = pa.struct([("m", pa.int32()), ("d", pa.int32()), ("u", pa.int64())])
_ARROW_TYPES = {"interval": INTERVAL_PARTS, "time": pa.int64()}


@cache
def _value_polars_type(kind: SqlType) -> pl.DataType:
    if any(name.startswith("reg") for name in _leaf_types(kind)):
        # Results hold names, values numbers: only the system catalog maps them.
        raise NotSupportedOnWorkers(f"type {kind}")
    result: Any = pl.from_arrow(pa.array([], value_arrow_type(kind)))
    dtype: pl.DataType = result.dtype
    return dtype


def _leaf_types(kind: SqlType) -> list[str]:
    if kind.item is not None:
        return _leaf_types(kind.item)
    return [name for _, item in kind.fields for name in _leaf_types(item)] if kind.fields else [kind.name]


def type_bounds(kind: SqlType) -> Bounds:
    """Returns the bounds of a type's values."""
    if kind.name == "numeric":
        limit = 10 ** kind.numeric_digits[0] - 1
        return -limit, limit
    return INTEGER_LIMITS.get(kind.name)


@dataclass(frozen=True, slots=True)
class Value:
    """A lowered expression: `expr` is its first physical column, `others` are the rest; `constant` marks literals."""

    type: SqlType
    expr: pl.Expr
    error: Error = None
    bounds: Bounds = None
    others: tuple[tuple[str, pl.Expr], ...] = ()
    constant: bool = False
    raw: bytes | None = None
    """The value of a constant that is bytes, where the lowering has it."""

    @property
    def scale(self) -> int:
        """Decimals of a numeric; 0 for integers."""
        return self.type.numeric_digits[1] if self.type.name == "numeric" else 0

    @property
    def limits(self) -> Bounds:
        """The smallest and largest integer that it can be: its bounds, or those of its type."""
        return self.bounds or type_bounds(self.type)

    @property
    def is_wide(self) -> bool:
        """Whether an integer or numeric needs 128 bits."""
        limits = self.limits
        return limits is not None and max(-limits[0], limits[1]) > MAX_INT64

    @property
    def display_scale(self) -> pl.Expr:
        """The display scale of a numeric."""
        return dict(self.others)["s"] if self.type.is_carried else pl.lit(self.scale, pl.Int8)

    @property
    def is_plain_column(self) -> bool:
        """Whether it is a column of the frame unchanged, and so has the frame's length."""
        return all(expr.meta.is_column() for expr in (self.expr, *(expr for _, expr in self.others)))

    def part(self, suffix: str) -> pl.Expr:
        """Returns a physical column by its suffix."""
        return dict(self.others)[suffix]

    def with_error(self, error: Error) -> Value:
        """Returns the value with another error."""
        return replace(self, error=error)

    def as_columns(self, name: str) -> list[pl.Expr]:
        """Returns the physical columns under a name, cast to the types of `physical_columns`."""
        dtypes = physical_columns(self.type)
        result = [_cast(self.expr, dtypes[""]).alias(name)]
        return result + [_cast(expr, dtypes[suffix]).alias(name + suffix) for suffix, expr in self.others]


def _cast(expr: pl.Expr, kind: pl.DataType) -> pl.Expr:
    # Widths differ inside expressions; Polars drops a cast that changes nothing.
    return expr.cast(kind)


def column_value(index: int, kind: SqlType, bounds: Bounds = None) -> Value:
    """Returns the value of an input column."""
    others = tuple((suffix, pl.col(f"c{index}{suffix}")) for suffix in physical_columns(kind) if suffix)
    return Value(kind, pl.col(f"c{index}"), None, bounds or type_bounds(kind), others)


def literal_value(value: object, kind: SqlType) -> Value:
    """Returns a constant's value."""
    if value is None:
        dtypes = physical_columns(kind)
        empty = tuple((suffix, pl.lit(None, each)) for suffix, each in dtypes.items() if suffix)
        return Value(kind, pl.lit(None, dtypes[""]), None, (0, 0) if type_bounds(kind) else None, empty, True)
    if kind.name == "numeric":
        return _numeric_literal(Decimal(str(value)), kind)
    match value:
        case _ if is_keyed(kind):
            raise NotSupportedOnWorkers(f"a constant of type {kind.plain}")
        case bool() | float():
            return Value(kind, pl.lit(value, _PLAIN[kind.name]), constant=True)
        case int() if kind.name in INTEGER_LIMITS or kind.name == "oid":
            return Value(kind, pl.lit(value, _PLAIN[kind.name]), None, (value, value), constant=True)
        case bytes() if kind.name in {"bytea", "matrix", "halfvec", "sparsevec", *GEOMETRIC}:
            return _bytes_literal(kind, value)
        case tuple() if kind.name == "vector":
            return _bytes_literal(kind, encode_key(value))
        case str() if kind.name in _STRINGS or kind.name.startswith("reg"):
            return Value(kind, pl.lit(value), constant=True)
        case str() if kind.labels:
            return Value(kind, pl.lit([each.name for each in kind.labels].index(value), pl.Int32), constant=True)
        case Interval(months=months, days=days, microseconds=microseconds):
            parts = pl.lit(months, pl.Int32), pl.lit(days, pl.Int32), pl.lit(microseconds, pl.Int64)
            return replace(interval_value(kind, *parts), constant=True)
        case dt.datetime() if kind.name in {"timestamp", "timestamptz"}:
            moment = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
            return Value(kind, pl.lit(moment, pl.Datetime("us")), constant=True)
        case dt.date() if kind.name == "date":
            return Value(kind, pl.lit(value, pl.Date), constant=True)
        case dt.time() if kind.name == "time":
            micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
            return Value(kind, pl.lit(micros, pl.Int64), constant=True)
        case _:
            raise NotSupportedOnWorkers(f"a constant of type {kind.plain}")


def _bytes_literal(kind: SqlType, value: bytes) -> Value:
    return Value(kind, pl.lit(value, pl.Binary), constant=True, raw=value)


def read_bytes(constant: Value) -> bytes | None:
    """Returns the bytes of a constant; None for NULL."""
    if constant.raw is not None:
        return constant.raw
    found: bytes | None = pl.select(constant.expr).item()
    return found


def interval_value(kind: SqlType, months: pl.Expr, days: pl.Expr, microseconds: pl.Expr) -> Value:
    """Builds an interval from its parts; a month compares as 30 days, as in PostgreSQL."""
    span = (months.cast(pl.Int128) * 30 + days) * DAY + microseconds
    return Value(kind, span, None, None, (("m", months), ("d", days), ("u", microseconds)))


def maximum(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Returns the larger of two small integers; Polars' max_horizontal returns one row for columns of one value."""
    return pl.when(left >= right).then(left).otherwise(right)


def minimum(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Returns the smaller of two small integers."""
    return pl.when(left <= right).then(left).otherwise(right)


def divide(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Divides two doubles, rounded once.

    Polars multiplies by the inverse of a divisor that is the same for all rows, which may round twice: added zeros make
    it a column.
    """
    return left / (right + left.is_infinite().cast(pl.Float64) * 0.0)


def unscaled_digits(value: Decimal, scale: int) -> int:
    """Returns a decimal's unscaled digits at `scale` decimals; further ones are truncated."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    whole: int = int("".join(map(str, digits)) or "0")
    power = exponent + scale
    size: int = whole * 10**power if power >= 0 else whole // 10**-power
    return -size if sign else size


def _wide_literal(digits: int) -> pl.Expr:
    """Returns a literal of 128 bits, built from 64-bit parts: Polars accepts none from Python."""
    if abs(digits) <= MAX_INT64:
        return pl.lit(digits, pl.Int64).cast(pl.Int128)
    high, low = divmod(digits, 10**18)
    return _wide_literal(high) * 10**18 + pl.lit(low, pl.Int64)


def two_to_64() -> pl.Expr:
    """Returns a literal of 2⁶⁴."""
    return _wide_literal(2**64)


def _numeric_literal(value: Decimal, kind: SqlType) -> Value:
    digits = unscaled_digits(value, kind.numeric_digits[1])
    if abs(digits) >= 10**MAX_DIGITS:
        raise NotSupportedOnWorkers("a numeric constant of more than 38 digits")
    exponent = value.as_tuple().exponent
    shown = max(0, -exponent) if isinstance(exponent, int) else 0
    others = (("s", pl.lit(shown, pl.Int8)),) if kind.is_carried else ()
    if abs(digits) <= MAX_INT64:
        return Value(kind, pl.lit(digits, pl.Int64), None, (digits, digits), others, True)
    return Value(kind, _wide_literal(digits), None, (digits, digits), others, True)
