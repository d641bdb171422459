"""Exact quotients, whose display scale depends on both values: computed eagerly, between two lazy frames.

They need more than 128 bits on the way, so Python's integers make them, and Polars' threads must not wait for Python:
a quotient inside an expression is put off until the expression's frame is collected, and is a column of it then.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from gpudb.engine.cpu.udf_quotient import quotient_of
from gpudb.engine.gpu.frames import Frames, Held
from gpudb.engine.gpu.lower.faults import DIVISION, fault
from gpudb.engine.gpu.lower.values import Value
from gpudb.types import MAX_DIGITS, SqlType

_LIMIT = 10**MAX_DIGITS


@dataclass(frozen=True, slots=True)
class _Quotient:
    name: str
    dividend: Value
    divisor: Value
    shown: pl.Expr


@dataclass
class PutOff:
    """The quotients of some expressions over one frame; `prefix` begins their columns' names."""

    prefix: str = "h"
    quotients: list[_Quotient] = field(default_factory=list)

    def quotient(self, dividend: Value, divisor: Value, shown: pl.Expr, kind: SqlType) -> Value:
        """A carried quotient as columns to come; 22012 for a divisor of 0."""
        name = f"{self.prefix}{len(self.quotients)}"
        self.quotients.append(_Quotient(name, dividend, divisor, shown))
        known = divisor.constant and divisor.bounds != (0, 0)
        error = None if known else fault((divisor.expr == 0) & dividend.expr.is_not_null(), DIVISION)
        return Value(kind, pl.col(name), error, (1 - _LIMIT, _LIMIT - 1), (("s", pl.col(name + "s")),))

    def computed(self, lazy: pl.LazyFrame, frames: Frames) -> Held:
        """The frame with every quotient's columns; NULL where the divisor is 0."""
        made = frames.held(lazy)
        for each in self.quotients:
            parts = made.lazy.with_columns(
                each.dividend.expr.alias("a"), each.divisor.expr.alias("b"), each.shown.cast(pl.Int32).alias("s")
            )
            made = made.beside(_columns(frames.fetched(parts.select("a", "b", "s"), "exact quotients"), each))
        return made


def _columns(held: pl.DataFrame, each: _Quotient) -> pl.DataFrame:
    first, second = each.dividend.scale, each.divisor.scale
    values: list[int | None] = []
    scales: list[int | None] = []
    for a, b, shown in zip(held["a"].to_list(), held["b"].to_list(), held["s"].to_list(), strict=True):
        if a is None or not b:
            values.append(None)
            scales.append(0)
            continue
        value, scale = quotient_of(a, first, b, second, shown)
        values.append(value)
        scales.append(scale)
    return pl.DataFrame([pl.Series(each.name, values, pl.Int128), pl.Series(each.name + "s", scales, pl.Int8)])
