"""The 64-bit integers that are hashed of values (see `gpudb.functions.approximate`), and their hashes."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.values import Value, physical_columns, two_to_64
from gpudb.functions.approximate import WORD_DIGITS
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sketches.hyperloglog import MULTIPLIERS, SHIFTS
from gpudb.types import SqlType

Step = Callable[[pl.Expr], pl.Expr]
_HALF = 2**32
_HELD_AS_INTEGERS = frozenset("bool int2 int4 int8 oid money timetz time timestamp timestamptz".split())


@lowers("distinct-bits")
def _make_bits(args: tuple[Value, ...], kind: SqlType) -> Value:
    (value,) = args
    item = value.type
    expr = value.expr.cast(physical_columns(item)[""])
    if item.name == "numeric" and item.wide:
        raise NotSupportedOnWorkers(f"hashes of {item.plain}")
    if item.name == "numeric":
        wide = item.numeric_digits[0] > WORD_DIGITS or item.is_carried
        return Value(kind, _reduce(expr) if wide else expr)
    if item.name == "interval":
        return Value(kind, _reduce(expr))
    if item.name in _HELD_AS_INTEGERS:
        return Value(kind, expr.cast(pl.Int64))
    if item.name == "date":
        return Value(kind, expr.cast(pl.Int32).cast(pl.Int64))
    if item.name in {"float4", "float8"}:
        # -0 is 0, and all NaN are one value.
        real = expr.cast(pl.Float64)
        canonical = pl.when(real.is_nan()).then(pl.lit(float("nan"))).when(real == 0.0).then(0.0).otherwise(real)
        return Value(kind, canonical.reinterpret(dtype=pl.Int64))
    raise NotSupportedOnWorkers(f"hashes of {item.plain}")


def _reduce(value: pl.Expr) -> pl.Expr:
    """Reduces 128 bits to 64: the lower ones of the magnitude, and the mixed upper ones with the sign."""
    magnitude = value.abs()
    upper = magnitude // two_to_64()
    lower = (magnitude - upper * two_to_64()).cast(pl.UInt64)
    mixed = upper.cast(pl.UInt64) * _unsigned(2) + (value < 0).cast(pl.UInt64)
    for step in mixing_steps():
        mixed = step(mixed)
    bits = lower + mixed
    high = bits // _unsigned(_HALF)
    low = bits - high * _unsigned(_HALF)
    return (high.cast(pl.Int64) - 2**31) * _HALF + low.cast(pl.Int64)


def to_unsigned(bits: pl.Expr) -> pl.Expr:
    """Returns 64-bit integers + 2⁶³, which are unsigned."""
    high = bits // _HALF
    low = bits - high * _HALF
    return (high + 2**31).cast(pl.UInt64) * _unsigned(_HALF) + low.cast(pl.UInt64)


def mixing_steps() -> list[Step]:
    """Returns the steps that mix unsigned integers; each reads its operand twice."""
    steps = [_make_step(shift, multiplier) for shift, multiplier in zip(SHIFTS, MULTIPLIERS, strict=False)]
    return [*steps, lambda bits: bits ^ bits // _unsigned(1 << SHIFTS[-1])]


def _make_step(shift: int, multiplier: int) -> Step:
    return lambda bits: (bits ^ bits // _unsigned(1 << shift)) * _unsigned(multiplier)


def _unsigned(value: int) -> pl.Expr:
    return pl.lit(value, pl.UInt64)
