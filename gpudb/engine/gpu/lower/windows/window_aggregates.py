"""Aggregates over window frames: differences of running sums, running extremes, or else every frame's rows.

A difference of running sums is exact for integers and numerics, not for floats. An aggregate with neither is evaluated
over the rows of each frame, as PostgreSQL does for aggregates without an inverse transition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from gpudb.engine.gpu.lower.expressions.deferred import DeferredSteps
from gpudb.engine.gpu.lower.groups.aggregates import aggregate_state, check_sums, is_narrow, may_overflow
from gpudb.engine.gpu.lower.values import Value, physical_columns
from gpudb.engine.gpu.lower.windows.window_frames import Run
from gpudb.engine.gpu.lower.windows.window_rows import PART0, POSITION, ROW_COUNT, SortedRows, clamp_position
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sql import bound
from gpudb.types import INT8, SqlType
from gpudb.types.facts import EXACT_NUMBERS

MAX_FRAME_ROWS = 50_000_000
"""Limit of all frames' rows together; beyond it the embedded engine runs the query."""


def as_aggregate(call: bound.Window) -> bound.Aggregate:
    """Returns a window call as the aggregate over a frame's rows."""
    return bound.Aggregate(call.function, call.args, call.type, star=call.star)


def add(rows: SortedRows, number: int, call: bound.Window, runs: Sequence[Run]) -> None:
    """Adds the columns of the aggregate's state for each row, under the prefix `w` and the call's number."""
    kind = call.args[0].type if call.args else INT8
    name = call.function.name
    growing = len(runs) == 1 and runs[0].growing
    if name == "count" or (name in {"sum", "avg"} and kind.name in EXACT_NUMBERS and not kind.is_carried):
        _add_differences(rows, number, call, runs)
    elif growing and name in {"sum", "avg"} and kind.name.startswith("float"):
        _add_running_sum(rows, number, call, runs[0])
    elif growing and name in {"min", "max"}:
        _add_running_extreme(rows, number, call, runs[0])
    else:
        _aggregate_each_frame(rows, number, call, runs)


def final_value(number: int, call: bound.Window, deferred: DeferredSteps) -> Value:
    """Returns the aggregate's value from its state's columns."""
    result = aggregate_state(as_aggregate(call)).final(f"w{number}", deferred)
    # A frame without rows counts 0.
    return replace(result, expr=result.expr.fill_null(0)) if call.function.name in {"count", "regr_count"} else result


def _filtered_argument(number: int, call: bound.Window) -> pl.Expr:
    """Returns the argument, NULL in rows that FILTER excludes."""
    argument = pl.col(f"x{number}_0") if call.args else POSITION
    return argument if call.filter is None else pl.when(pl.col(f"f{number}")).then(argument).otherwise(None)


def _add_differences(rows: SortedRows, number: int, call: bound.Window, runs: Sequence[Run]) -> None:
    argument, at = _filtered_argument(number, call), f"w{number}"
    rows.add(argument.is_not_null().cast(pl.Int64).cum_sum().alias("counted"))
    counts = _sum_over_runs("counted", runs, pl.Int64())
    if call.function.name == "count":
        rows.add(counts.alias(at))
        return
    kind = call.args[0].type
    _check_overflow(rows, number, call)
    dtype: pl.DataType = pl.Int64() if is_narrow(Value(kind, argument)) else pl.Int128()
    rows.add(argument.cast(dtype).fill_null(pl.lit(0, pl.Int64).cast(dtype)).cum_sum().alias("summed"))
    rows.add(_sum_over_runs("summed", runs, dtype).cast(pl.Int128).alias(at), counts.alias(at + "n"))


def _check_overflow(rows: SortedRows, number: int, call: bound.Window) -> None:
    """Raises NotSupportedOnWorkers if a frame's sum may overflow."""
    aggregate = as_aggregate(call)
    if call.args and may_overflow(aggregate, Value(call.args[0].type, POSITION)):
        rows.compute()
        check_sums(rows.computed, [(f"x{number}_0", aggregate)])


def _sum_over_runs(running: str, runs: Sequence[Run], dtype: pl.DataType) -> pl.Expr:
    """Returns the sum over each row's runs, from running sums."""
    zero = pl.lit(0, pl.Int64).cast(dtype)
    total: pl.Expr | None = None
    for run in runs:
        upper = pl.col(running).gather(clamp_position(run.last))
        lower = pl.when(run.first > 0).then(pl.col(running).gather(clamp_position(run.first - 1))).otherwise(zero)
        result = pl.when(run.last >= run.first).then(upper - lower).otherwise(zero)
        total = result if total is None else total + result
    assert total is not None
    return total


def _add_running_sum(rows: SortedRows, number: int, call: bound.Window, run: Run) -> None:
    """Sums floats over frames that start at their partition's first row: the running sum at the last row."""
    real, at = _filtered_argument(number, call).cast(pl.Float64), f"w{number}"
    added = {
        at: real.fill_null(0.0),
        at + "n": real.is_not_null().cast(pl.Int64),
        at + "i": real.is_infinite().fill_null(False).cast(pl.Int64),
    }
    rows.add(*(expr.alias(name) for name, expr in added.items()))
    sums = [pl.col(name).cum_sum() for name in added]
    rows.add(*(each.over(rows.partition) if rows.partition else each for each in sums))
    ends = {name: pl.col(name).gather(clamp_position(run.last)) for name in added}
    ends[at + "i"] = ends[at + "i"] > 0
    has_rows = pl.when(run.last >= run.first)
    rows.add(*(has_rows.then(end).otherwise(None).alias(name) for name, end in ends.items()))


def _add_running_extreme(rows: SortedRows, number: int, call: bound.Window, run: Run) -> None:
    """Evaluates min or max over frames that start at their partition's first row, for any type.

    Rows are ranked by their values; the running maximum of the ranks, offset by the partition's position, is known for
    each row.
    """
    rows.add(_filtered_argument(number, call).alias("v"))
    computed = rows.compute()
    # Of equal values the first row's, as in the embedded engine.
    down = [call.function.name == "min", True]
    ranked = computed.select("v", "i").sort("v", "i", descending=down, nulls_last=True)
    ranked = ranked.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("rank"))
    rank = pl.when(pl.col("v").is_null()).then(0).otherwise(pl.col("rank") + 1)
    rows.append(ranked.select(POSITION.alias("ranked")))
    rows.compute()
    rows.append(ranked.with_columns(rank.alias("rank")).sort("i").select("rank"))
    base = PART0 * (ROW_COUNT + 1)
    rows.add((base + pl.col("rank")).cum_max().alias("so far"))
    found = pl.col("so far").gather(clamp_position(run.last)) - base
    has_rows = (run.last >= run.first) & (found > 0)
    rows.add(pl.when(has_rows).then(found - 1).otherwise(None).alias("at"))
    rows.add(pl.col("ranked").gather(pl.col("at")).alias("at"))
    rows.add(
        *(
            pl.col(f"x{number}_0{suffix}").gather(pl.col("at")).cast(kind).alias(f"w{number}{suffix}")
            for suffix, kind in physical_columns(call.type).items()
        )
    )


def _aggregate_each_frame(rows: SortedRows, number: int, call: bound.Window, runs: Sequence[Run]) -> None:
    """Aggregates the rows of every frame."""
    _check_overflow(rows, number, call)
    computed = rows.compute()
    if rows.sum_counts([run.rows for run in runs]) > MAX_FRAME_ROWS:
        raise NotSupportedOnWorkers(f"{call.function.name} over frames of more than {MAX_FRAME_ROWS} rows in total")
    parts = [
        rows.repeat_rows(computed.select(POSITION.alias("r"), run.first.alias("a"), run.rows.alias("t")), "t", "k")
        for run in runs
    ]
    pairs = pl.concat(parts).select("r", (pl.col("a") + pl.col("k")).alias("p"))
    names = [
        f"x{number}_{place}{suffix}" for place, arg in enumerate(call.args) for suffix in physical_columns(arg.type)
    ]
    names += [f"f{number}"] if call.filter is not None else []
    arguments = pairs.join(computed.select("i", *names), left_on="p", right_on="i").sort("r", "p")
    if call.filter is not None:
        arguments = arguments.filter(pl.col(f"f{number}").eq_missing(True))
    args = [
        Value(arg.type, pl.col(f"x{number}_{place}"), None, None, _others(arg.type, f"x{number}_{place}"))
        for place, arg in enumerate(call.args)
    ]
    result = arguments.group_by("r", maintain_order=True).agg(
        aggregate_state(as_aggregate(call)).partial(args, f"w{number}")
    )
    whole = computed.select(POSITION.alias("r")).join(result, on="r", how="left").sort("r")
    rows.append(whole.select(pl.exclude("r")))


def _others(kind: SqlType, name: str) -> tuple[tuple[str, pl.Expr], ...]:
    return tuple((suffix, pl.col(name + suffix)) for suffix in physical_columns(kind) if suffix)
