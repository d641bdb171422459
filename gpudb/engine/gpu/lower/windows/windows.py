"""Window functions over a frame sorted by partition and order; window frames are runs of row positions."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from gpudb.engine.gpu.lower.error_codes import NTH, NTILE, Error, error_if, first_error, mask_error
from gpudb.engine.gpu.lower.expressions.deferred import DeferredSteps
from gpudb.engine.gpu.lower.expressions.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.expressions.lowered_frame import LoweringContext
from gpudb.engine.gpu.lower.values import Value, check_length, divide, maximum, minimum, physical_columns, type_bounds
from gpudb.engine.gpu.lower.windows import window_aggregates
from gpudb.engine.gpu.lower.windows.window_frames import frame_offsets, frame_runs
from gpudb.engine.gpu.lower.windows.window_rows import PART0, PART1, PEER0, PEER1, POSITION, ROW_COUNT, SortedRows
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sql import bound

_RANKS = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"}
_OFFSETS = {"lag", "lead"}
_FROM_FRAMES = {"first_value", "last_value", "nth_value"}
LOWERED = frozenset(_RANKS | _OFFSETS | _FROM_FRAMES | {"count", "sum", "avg", "min", "max"})
"""The functions that are lowered; others may be lowered as aggregates."""


def prepare(calls: Sequence[bound.Window], expressions: ExpressionLowering) -> tuple[list[pl.Expr], list[Error]]:
    """Returns the columns that the calls need beside the input's, and their errors.

    Partitions are `p`, order keys `o`, arguments `x`, filters `f`; `window_frames.frame_offsets` adds those of frames.
    """
    columns: list[pl.Expr] = []
    errors: list[Error] = []

    def add(name: str, result: Value, *, whole: bool = True, where: pl.Expr | None = None) -> None:
        # A key's first physical column alone determines how it compares.
        columns.extend(
            result.as_columns(name) if whole else [result.expr.cast(physical_columns(result.type)[""]).alias(name)]
        )
        errors.append(result.error if where is None else mask_error(result.error, where))

    for number, key in enumerate(calls[0].partition_by):
        add(f"p{number}", expressions.value(key), whole=False)
    for number, call in enumerate(calls):
        check_length(call.type, [arg.type for arg in call.args])
        if call.distinct:
            raise NotSupportedOnWorkers(f"window function {call.function} over DISTINCT")
        for place, sort in enumerate(call.order_by):
            add(f"o{number}_{place}", expressions.value(sort.expr), whole=False)
        chosen = expressions.value(call.filter) if call.filter is not None else None
        if chosen is not None:
            add(f"f{number}", chosen)
        for place, arg in enumerate(call.args):
            # An argument's errors do not count in rows that the filter excludes.
            add(f"x{number}_{place}", expressions.value(arg), where=chosen.expr if chosen is not None else None)
        reaching, error = frame_offsets(call, number, expressions)
        columns += reaching
        errors.append(error)
    return columns, errors


def compute(
    lazy: pl.LazyFrame, calls: Sequence[bound.Window], context: LoweringContext
) -> tuple[pl.LazyFrame, DeferredSteps]:
    """Returns the frame with the columns that `final_value` reads, its rows in another order."""
    partition = [f"p{number}" for number in range(len(calls[0].partition_by))]
    # Calls with one ORDER BY share the sort.
    groups: dict[str, list[int]] = {}
    for number, call in enumerate(calls):
        groups.setdefault(repr(call.order_by), []).append(number)
    for numbers in groups.values():
        order = calls[numbers[0]].order_by
        rows = SortedRows(
            context.frames, lazy, partition, [f"o{numbers[0]}_{place}" for place in range(len(order))], order
        )
        errors = [_add_call(rows, number, calls[number]) for number in numbers]
        lazy = context.check_errors(rows.lazy, first_error(*errors))
    return lazy, DeferredSteps("q")


def _add_call(rows: SortedRows, number: int, call: bound.Window) -> Error:
    """Adds a call's columns; returns the error that depends on the whole partition."""
    name, error = call.function.name, None
    if name == "ntile":
        error = _ntile(rows, number)
    elif name in _RANKS:
        rows.add(_rank(rows, number, name).alias(f"w{number}"))
    elif name in _OFFSETS:
        _lag_or_lead(rows, number, call)
    elif name in _FROM_FRAMES:
        error = _from_frame(rows, number, call)
    else:
        window_aggregates.add(rows, number, call, frame_runs(rows, number, call))
    return error


def _from_frame(rows: SortedRows, number: int, call: bound.Window) -> Error:
    """Evaluates first_value, last_value and nth_value: the nth row of a frame."""
    found_runs = frame_runs(rows, number, call)
    error: Error = None
    if call.function.name == "last_value":
        nth = found_runs[0].rows
        for run in found_runs[1:]:
            nth = nth + run.rows
    elif call.function.name == "nth_value":
        nth = pl.col(f"x{number}_1").cast(pl.Int64)
        error = error_if(nth <= 0, NTH)
    else:
        nth = pl.lit(1, pl.Int64)
    # Finds the run that contains it, after skipping the rows of earlier runs.
    place = pl.lit(None, pl.Int64)
    for run in found_runs:
        in_run = (nth >= 1) & (nth <= run.rows)
        place = pl.when(in_run).then(run.first + nth - 1).otherwise(place)
        nth = nth - run.rows
    rows.add(place.alias("at"))
    rows.add(*_gather_argument(number, call, pl.col("at")))
    return error


def _gather_argument(number: int, call: bound.Window, place: pl.Expr) -> list[pl.Expr]:
    """Returns the first argument's physical columns at a position for each row, NULL for none."""
    return [
        pl.col(f"x{number}_0{suffix}").gather(place).alias(f"w{number}{suffix}")
        for suffix in physical_columns(call.type)
    ]


def _lag_or_lead(rows: SortedRows, number: int, call: bound.Window) -> None:
    """Evaluates lag and lead: the row at a distance in the partition; the default, or NULL, if there is none."""
    step: pl.Expr = pl.lit(1, pl.Int64)
    if len(call.args) > 1:
        # No distance exceeds the number of rows.
        step = maximum(minimum(pl.col(f"x{number}_1").cast(pl.Int64), ROW_COUNT + 1), 0 - ROW_COUNT - 1)
    target = POSITION - step if call.function.name == "lag" else POSITION + step
    inside = (target >= PART0) & (target <= PART1)
    rows.add(pl.when(inside).then(target).otherwise(None).alias("at"), (inside | step.is_null()).alias("there"))
    default_or_value = _gather_argument(number, call, pl.col("at"))
    if len(call.args) > 2:
        names = [
            (f"w{number}{suffix}", f"x{number}_2{suffix}", kind) for suffix, kind in physical_columns(call.type).items()
        ]
        default_or_value = [
            pl.when(pl.col("there")).then(one).otherwise(pl.col(other).cast(kind)).alias(name)
            for one, (name, other, kind) in zip(default_or_value, names, strict=True)
        ]
    rows.add(*default_or_value)


def _ntile(rows: SortedRows, number: int) -> Error:
    """Evaluates ntile; the first row with an argument sets the number of tiles."""
    argument = pl.col(f"x{number}_0").cast(pl.Int64)
    first = pl.when(argument.is_not_null()).then(POSITION).min()
    rows.add((first.over(rows.partition) if rows.partition else first).alias("first"))
    rows.add(argument.gather(pl.col("first")).alias("tiles"))
    # The error covers a number below 1.
    tiles = maximum(pl.col("tiles"), pl.lit(1, pl.Int64))
    size, place = PART1 - PART0 + 1, POSITION - pl.col("first")
    rows.add((size // tiles).alias("small"), (size % tiles).alias("large"))
    small, large = pl.col("small"), pl.col("large")
    in_large = place < large * (small + 1)
    later = large + (place - large * (small + 1)) // maximum(small, pl.lit(1, pl.Int64))
    result = pl.when(in_large).then(place // (small + 1)).otherwise(later) + 1
    rows.add(pl.when(place >= 0).then(result).alias(f"w{number}"))
    return error_if(pl.col("tiles") <= 0, NTILE)


def _rank(rows: SortedRows, number: int, name: str) -> pl.Expr:
    size = PART1 - PART0 + 1
    match name:
        case "row_number":
            return POSITION - PART0 + 1
        case "rank":
            return PEER0 - PART0 + 1
        case "dense_rank":
            # Counts the peer groups' first rows, relative to the partition's.
            rows.add((POSITION == PEER0).cast(pl.Int64).cum_sum().alias("starts"))
            return pl.col("starts") - pl.col("starts").gather(PART0) + 1
        case "percent_rank":
            below = (PEER0 - PART0).cast(pl.Float64)
            return pl.when(size > 1).then(divide(below, (size - 1).cast(pl.Float64))).otherwise(0.0)
        case _:
            return divide((PEER1 - PART0 + 1).cast(pl.Float64), size.cast(pl.Float64))


def final_value(number: int, call: bound.Window, deferred: DeferredSteps) -> Value:
    """Returns a call's value over the frame from `run`."""
    name, dtypes = call.function.name, physical_columns(call.type)
    if name not in _RANKS | _OFFSETS | _FROM_FRAMES:
        return window_aggregates.final_value(number, call, deferred)
    others = tuple((suffix, pl.col(f"w{number}{suffix}")) for suffix in dtypes if suffix)
    return Value(call.type, pl.col(f"w{number}").cast(dtypes[""]), None, type_bounds(call.type), others)
