"""Set-returning functions: for every row of the input how many rows each gives, and what the i-th of them is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from gpudb.engine.gpu.lower.faults import STEP, Error, fault
from gpudb.engine.gpu.lower.values import Value, lanes, type_bounds
from gpudb.plan.errors import NotCarried
from gpudb.sql import bound
from gpudb.types import SqlType

ROWS = 100_000_000
"""More rows than this are left to the embedded engine, which need not make them at once."""


@dataclass(frozen=True, slots=True)
class Set:
    """`count` rows for a row of the input, none for NULL; `item` is the one at a place from 0, within that."""

    count: pl.Expr
    item: Callable[[pl.Expr], Value]
    error: Error = None


def set_of(call: bound.SetReturning, args: Sequence[Value]) -> Set:
    """The rows of a call; NotCarried for a function that the workers lack."""
    found = _SETS.get(call.function.name)
    if found is None:
        raise NotCarried(f"set-returning function {call.function.name}")
    return found(call.type, args)


def expanded(frame: pl.DataFrame, counts: Sequence[str], place: str) -> pl.DataFrame:
    """Every row as often as the largest of its counts says, each numbered from 0 in the column `place`."""
    times = frame.select(pl.max_horizontal(pl.col(name).fill_null(0) for name in counts)).to_series()
    if (times.sum() or 0) > ROWS:
        raise NotCarried(f"sets of more than {ROWS} rows")
    rows = pl.DataFrame({"r": pl.int_range(frame.height, dtype=pl.Int64, eager=True), "t": times.cast(pl.Int64)})
    many = rows.filter(pl.col("t") > 0).select("r", pl.int_ranges(pl.lit(0, pl.Int64), "t").alias(place))
    places = many.explode(place, empty_as_null=True)
    return frame[places["r"]].with_columns(places[place])


def _series(kind: SqlType, args: Sequence[Value]) -> Set:
    if kind.name not in {"int4", "int8"}:
        raise NotCarried(f"generate_series of {kind.plain}")
    start, end = (each.expr.cast(pl.Int64) for each in args[:2])
    step = args[2].expr.cast(pl.Int64) if len(args) > 2 else pl.lit(1, pl.Int64)
    # A step that leads away from the end gives nothing.
    ahead = pl.when(step > 0).then(end.cast(pl.Int128) - start).otherwise(start.cast(pl.Int128) - end)
    size = pl.when(step == 0).then(1).when(step > 0).then(step).otherwise(0 - step)
    count = pl.when(ahead >= 0).then(ahead // size + 1).otherwise(0).clip(0, 2**62).cast(pl.Int64)

    def item(place: pl.Expr) -> Value:
        return Value(kind, (start + place * step).cast(lanes(kind)[""]), None, type_bounds(kind))

    return Set(count, item, fault((step == 0) & start.is_not_null() & end.is_not_null(), STEP))


_SETS: dict[str, Callable[[SqlType, Sequence[Value]], Set]] = {
    "generate_series": _series,
}
