"""Exact quotients as expressions, for operands whose intermediate results fit 128 bits; others are marked."""

from __future__ import annotations

import polars as pl

from gpudb.types import CARRIED_SCALE, MAX_DIGITS

NOT_COMPUTED = 127
"""Marks a quotient that expressions cannot compute, in the column of display scales."""
_MAX_DIGITS = 17
"""Maximal number of digits of an operand."""
_SIGNIFICANT = 16
_ROOM = 4.0e37
"""Less than half of 2¹²⁷, by more than the error of floating point."""


def exact_quotients(parts: pl.LazyFrame, a_scale: int, b_scale: int) -> pl.LazyFrame:
    """Returns the quotients a / b of a frame's columns of unscaled digits; `s` is the operands' display scale.

    Columns: `v` (Int128 with CARRIED_SCALE decimals) and `t` (Int8, the display scale), as
    `duckdb.udf.quotient.divide_numeric` computes them. NULL and 0 if an operand is NULL or the divisor 0; NULL and
    NOT_COMPUTED if the value needs more than 128 bits.
    """
    a, b = pl.col("a"), pl.col("b")
    limit = 10**_MAX_DIGITS
    fits = (a < limit) & (a > -limit) & (b < limit) & (b > -limit)
    # A column per step: an expression that is used repeatedly would grow with every use.
    parts = parts.select("a", "b", pl.col("s").cast(pl.Int32), n=a.is_null() | b.is_null() | (b == 0), fits=fits)
    usable = pl.col("fits") & ~pl.col("n")
    parts = parts.with_columns(
        pl.when(usable).then(a).otherwise(1).cast(pl.Int64).alias("one"),
        pl.when(usable).then(b).otherwise(1).cast(pl.Int64).alias("other"),
    )
    one, other = pl.col("one").abs(), pl.col("other").abs()
    parts = parts.with_columns(one.alias("x"), other.alias("y"))
    for name, scale in (("x", a_scale), ("y", b_scale)):
        weight, digit = _leading(pl.col(name), scale)
        parts = parts.with_columns(weight.alias("w" + name), digit.alias("d" + name))
    less = pl.col("wx") - pl.col("wy") - (pl.col("dx") <= pl.col("dy")).cast(pl.Int32)
    parts = parts.with_columns((_SIGNIFICANT - 4 * less).cast(pl.Int32).alias("k"))
    parts = parts.with_columns(pl.when(pl.col("k") < pl.col("s")).then(pl.col("s")).otherwise(pl.col("k")).alias("k"))
    parts = parts.with_columns(pl.when(pl.col("k") < 0).then(0).otherwise(pl.col("k")).cast(pl.Int32).alias("k"))
    parts = parts.with_columns(
        pl.when(pl.col("k") < CARRIED_SCALE).then(pl.col("k")).otherwise(CARRIED_SCALE).cast(pl.Int32).alias("c")
    )
    parts = parts.with_columns((pl.col("c") + (b_scale - a_scale)).alias("p"))
    x, y, p, c = pl.col("x"), pl.col("y"), pl.col("p"), pl.col("c")
    ratio = x.cast(pl.Float64) / y.cast(pl.Float64) * 10.0 ** (b_scale - a_scale)
    room = (p >= 0) & (p < 32) & (x.cast(pl.Float64) * 10.0 ** p.cast(pl.Float64) < _ROOM) & (ratio < 1.0e17)
    parts = parts.with_columns(room.alias("room"))
    parts = parts.with_columns(pl.when(pl.col("room")).then(p).otherwise(0).cast(pl.Int32).alias("p"))
    parts = parts.with_columns(
        u=x.cast(pl.Int128) * _power_of_ten(p), e=_power_of_ten(CARRIED_SCALE - c), y=y.cast(pl.Int128)
    )
    u, e = pl.col("u"), pl.col("e")
    parts = parts.with_columns(m=(u + u + y) // (y + y) * e)
    m = pl.col("m")
    done = usable & pl.col("room")
    negative = (pl.col("one") < 0) != (pl.col("other") < 0)
    value = pl.when(done).then(pl.when(negative).then(0 - m).otherwise(m)).otherwise(None)
    # Zero may display more decimals than a quotient.
    zero = pl.when(pl.col("k") < MAX_DIGITS).then(pl.col("k")).otherwise(MAX_DIGITS)
    shown = pl.when(pl.col("n")).then(0).when(~done).then(NOT_COMPUTED).when(pl.col("one") == 0).then(zero).otherwise(c)
    return parts.select(value.cast(pl.Int128).alias("v"), shown.cast(pl.Int8).alias("t"))


def _leading(value: pl.Expr, scale: int) -> tuple[pl.Expr, pl.Expr]:
    """Returns the power of 10000 of a number's first base-10000 digit, and that digit; 0 and 0 for 0.

    The number has at most _DIGITS digits.
    """
    lowest = scale % 4
    below = (lowest - scale) // 4 - 1
    weight: pl.Expr = pl.lit(below, pl.Int32)
    digit = value * 10 ** (4 - lowest) if lowest else pl.lit(0, pl.Int64)
    for place, power in enumerate(range(lowest, _MAX_DIGITS + 1, 4), 1):
        reached = value >= 10**power
        weight = pl.when(reached).then(pl.lit(below + place, pl.Int32)).otherwise(weight)
        digit = pl.when(reached).then(value // 10**power).otherwise(digit)
    empty = value == 0
    return pl.when(empty).then(0).otherwise(weight).cast(pl.Int32), pl.when(empty).then(0).otherwise(digit)


def _power_of_ten(power: pl.Expr) -> pl.Expr:
    """Returns 10 to a power from 0 to 31, in 128 bits."""
    result = pl.lit(1, pl.Int64).cast(pl.Int128)
    for bit in range(5):
        factor = pl.when((power // 2**bit) % 2 == 1).then(pl.lit(10 ** (2**bit), pl.Int64)).otherwise(1)
        result = result * factor.cast(pl.Int128)
    return result
