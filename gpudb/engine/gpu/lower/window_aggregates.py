"""Aggregates over window frames: differences of running sums, running extremes, or else the rows of every frame.

A difference of running sums is exact for integers and numerics, not for floats. What has neither is aggregated over
the rows of each frame, as PostgreSQL does for an aggregate whose transitions cannot be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from gpudb.engine.gpu.lower.aggregates import state_of
from gpudb.engine.gpu.lower.put_off import PutOff
from gpudb.engine.gpu.lower.values import Value, lanes
from gpudb.engine.gpu.lower.window_frames import Run
from gpudb.plan.errors import NotCarried
from gpudb.sql import bound
from gpudb.types import SqlType

PAIRS = 50_000_000
"""More rows of frames than this are left to the embedded engine."""
_EXACT = {"int2", "int4", "int8", "numeric"}


def call_of(call: bound.Window) -> bound.Aggregate:
    """A window call as the aggregate that it is of its frames' rows."""
    return bound.Aggregate(call.function, call.args, call.type, star=call.star)


def columns(frame: pl.DataFrame, number: int, call: bound.Window, runs: Sequence[Run]) -> list[pl.Series]:
    """The columns of the aggregate's state for each row, under the prefix `w` and the call's number."""
    kind = call.args[0].type if call.args else SqlType("int8")
    name = call.function.name
    if name == "count" or (name in {"sum", "avg"} and kind.name in _EXACT and not kind.carried):
        return _differences(frame, number, call, runs)
    growing = len(runs) == 1 and bool((runs[0].first == frame["part0"]).all())
    running = name in {"sum", "avg"} and kind.name.startswith("float")
    running = running or (name in {"min", "max"} and kind.name in {"int2", "int4", "int8", "date", "timestamp"})
    if growing and running:
        return _running(frame, number, call, runs[0])
    return _each(frame, number, call, runs)


def value(number: int, call: bound.Window, put_off: PutOff) -> Value:
    """The aggregate's value from its state's columns."""
    made = state_of(call_of(call)).final(f"w{number}", put_off)
    # A frame without rows counts none.
    return replace(made, expr=made.expr.fill_null(0)) if call.function.name in {"count", "regr_count"} else made


def _given(frame: pl.DataFrame, number: int, call: bound.Window) -> pl.Series:
    """The argument, NULL in rows that FILTER leaves out."""
    given = frame[f"x{number}_0"] if call.args else pl.repeat(1, frame.height, dtype=pl.Int64, eager=True)
    if call.filter is None:
        return given
    kept = frame[f"f{number}"]
    return pl.select(pl.when(kept).then(given).otherwise(None)).to_series()


def _differences(frame: pl.DataFrame, number: int, call: bound.Window, runs: Sequence[Run]) -> list[pl.Series]:
    given = _given(frame, number, call)
    counts = _summed(given.is_not_null().cast(pl.Int64).cum_sum(), runs)
    if call.function.name == "count":
        return [counts.alias(f"w{number}")]
    totals = _summed(given.fill_null(0).cast(pl.Int128).cum_sum(), runs)
    return [totals.alias(f"w{number}"), counts.alias(f"w{number}n")]


def _summed(running: pl.Series, runs: Sequence[Run]) -> pl.Series:
    """The sum over each row's runs, from running sums."""
    top = max(len(running) - 1, 0)
    zero = pl.lit(0, running.dtype)
    total: pl.Series | None = None
    for run in runs:
        upper = running.gather(run.last.clip(0, top))
        lower = running.gather((run.first - 1).clip(0, top))
        made = upper - pl.select(pl.when(run.first > 0).then(lower).otherwise(zero)).to_series()
        made = pl.select(pl.when(run.last >= run.first).then(made).otherwise(zero)).to_series()
        total = made if total is None else total + made
    assert total is not None
    return total


def _running(frame: pl.DataFrame, number: int, call: bound.Window, run: Run) -> list[pl.Series]:
    """Of frames from their partition's first row on: the running value at the last one."""
    given = _given(frame, number, call)
    partition = [f"p{place}" for place in range(len(call.partition_by))]
    table = frame.select(partition).with_columns(given.alias("v"))

    def at_end(expr: pl.Expr) -> pl.Series:
        made = table.select(expr.over(partition) if partition else expr).to_series()
        taken = made.gather(run.last.clip(0, max(frame.height - 1, 0)))
        return pl.select(pl.when(run.last >= run.first).then(taken).otherwise(None)).to_series()

    v, at = pl.col("v"), f"w{number}"
    if call.function.name in {"min", "max"}:
        running = v.cum_min() if call.function.name == "min" else v.cum_max()
        return [at_end(running.forward_fill()).cast(lanes(call.type)[""]).alias(at)]
    real = v.cast(pl.Float64)
    return [
        at_end(real.fill_null(0.0).cum_sum()).alias(at),
        at_end(v.is_not_null().cast(pl.Int64).cum_sum()).alias(at + "n"),
        at_end(real.is_infinite().fill_null(False).cast(pl.Int64).cum_sum() > 0).alias(at + "i"),
    ]


def _each(frame: pl.DataFrame, number: int, call: bound.Window, runs: Sequence[Run]) -> list[pl.Series]:
    """Aggregated over the rows of every frame."""
    if sum(int(run.rows.sum() or 0) for run in runs) > PAIRS:
        raise NotCarried(f"{call.function.name} over frames of more than {PAIRS} rows in all")
    parts = [
        pl.DataFrame({"r": frame["i"], "a": run.first, "b": run.last + 1})
        .filter(pl.col("b") > pl.col("a"))
        .select("r", pl.int_ranges("a", "b", dtype=pl.Int64).alias("p"))
        .explode("p", empty_as_null=True)
        for run in runs
    ]
    pairs = pl.concat(parts).sort("r", "p")
    names = [name for name in frame.columns if name.startswith(f"x{number}_")]
    rows = frame[pairs["p"]].select([*names, *([f"f{number}"] if call.filter is not None else [])])
    rows = rows.with_columns(pairs["r"])
    if call.filter is not None:
        rows = rows.filter(pl.col(f"f{number}").eq_missing(True))
    args = [
        Value(arg.type, pl.col(f"x{number}_{place}"), None, None, _others(arg.type, f"x{number}_{place}"))
        for place, arg in enumerate(call.args)
    ]
    made = rows.group_by("r", maintain_order=True).agg(state_of(call_of(call)).partial(args, f"w{number}"))
    whole = frame.select(pl.col("i").alias("r")).join(made, on="r", how="left", maintain_order="left")
    return [whole[name] for name in made.columns if name != "r"]


def _others(kind: SqlType, name: str) -> tuple[tuple[str, pl.Expr], ...]:
    return tuple((suffix, pl.col(name + suffix)) for suffix in lanes(kind) if suffix)
