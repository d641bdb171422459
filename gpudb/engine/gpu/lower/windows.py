"""Window functions over a frame sorted by partition and order; window frames are runs of row positions."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from gpudb.engine.gpu.lower import window_aggregates
from gpudb.engine.gpu.lower.deferred import PutOff
from gpudb.engine.gpu.lower.error_codes import NTH, NTILE, Error, fault, masked, worst
from gpudb.engine.gpu.lower.expressions import Expressions
from gpudb.engine.gpu.lower.lowered_frame import Steps
from gpudb.engine.gpu.lower.values import Value, lanes, larger, quotient, smaller, type_bounds
from gpudb.engine.gpu.lower.window_frames import offsets, runs
from gpudb.engine.gpu.lower.window_rows import PART0, PART1, PEER0, PEER1, PLACE, ROWS, Rows
from gpudb.plan.errors import NotCarried
from gpudb.sql import bound

_RANKS = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"}
_MOVED = {"lag", "lead"}
_FROM_FRAMES = {"first_value", "last_value", "nth_value"}
LOWERED = frozenset(_RANKS | _MOVED | _FROM_FRAMES | {"count", "sum", "avg", "min", "max"})
"""The functions that are lowered; others may be lowered as aggregates."""


def prepared(calls: Sequence[bound.Window], over: Expressions) -> tuple[list[pl.Expr], list[Error]]:
    """Returns the columns that the calls need beside the input's, and their errors.

    Partitions are `p`, order keys `o`, arguments `x`, filters `f`; see `window_frames.offsets` for those of frames.
    """
    columns: list[pl.Expr] = []
    errors: list[Error] = []

    def add(name: str, made: Value, *, whole: bool = True, where: pl.Expr | None = None) -> None:
        # A key's first physical column alone determines how it compares.
        columns.extend(made.columns(name) if whole else [made.expr.cast(lanes(made.type)[""]).alias(name)])
        errors.append(made.error if where is None else masked(made.error, where))

    for number, key in enumerate(calls[0].partition_by):
        add(f"p{number}", over.value(key), whole=False)
    for number, call in enumerate(calls):
        if call.distinct:
            raise NotCarried(f"window function {call.function} over DISTINCT")
        for place, sort in enumerate(call.order_by):
            add(f"o{number}_{place}", over.value(sort.expr), whole=False)
        chosen = over.value(call.filter) if call.filter is not None else None
        if chosen is not None:
            add(f"f{number}", chosen)
        for place, arg in enumerate(call.args):
            # An argument's errors do not count in rows that the filter excludes.
            add(f"x{number}_{place}", over.value(arg), where=chosen.expr if chosen is not None else None)
        reaching, error = offsets(call, number, over)
        columns += reaching
        errors.append(error)
    return columns, errors


def computed(lazy: pl.LazyFrame, calls: Sequence[bound.Window], steps: Steps) -> tuple[pl.LazyFrame, PutOff]:
    """Returns the frame with the columns that `value` reads, its rows in another order."""
    partition = [f"p{number}" for number in range(len(calls[0].partition_by))]
    # Calls with one ORDER BY share the sort.
    groups: dict[str, list[int]] = {}
    for number, call in enumerate(calls):
        groups.setdefault(repr(call.order_by), []).append(number)
    for numbers in groups.values():
        order = calls[numbers[0]].order_by
        rows = Rows(steps.frames, lazy, partition, [f"o{numbers[0]}_{place}" for place in range(len(order))], order)
        errors = [_added(rows, number, calls[number]) for number in numbers]
        lazy = steps.checked(rows.lazy, worst(*errors))
    return lazy, PutOff("q")


def _added(rows: Rows, number: int, call: bound.Window) -> Error:
    """Adds a call's columns; returns the error that depends on the whole partition."""
    name, error = call.function.name, None
    if name == "ntile":
        error = _tile(rows, number)
    elif name in _RANKS:
        rows.add(_rank(rows, number, name).alias(f"w{number}"))
    elif name in _MOVED:
        _beside(rows, number, call)
    elif name in _FROM_FRAMES:
        error = _from_frame(rows, number, call)
    else:
        window_aggregates.add(rows, number, call, runs(rows, number, call))
    return error


def _from_frame(rows: Rows, number: int, call: bound.Window) -> Error:
    """Evaluates first_value, last_value and nth_value: the nth row of a frame."""
    spans = runs(rows, number, call)
    error: Error = None
    if call.function.name == "last_value":
        wanted = spans[0].rows
        for run in spans[1:]:
            wanted = wanted + run.rows
    elif call.function.name == "nth_value":
        wanted = pl.col(f"x{number}_1").cast(pl.Int64)
        error = fault(wanted <= 0, NTH)
    else:
        wanted = pl.lit(1, pl.Int64)
    # Finds the run that contains it, after skipping the rows of earlier runs.
    place = pl.lit(None, pl.Int64)
    for run in spans:
        here = (wanted >= 1) & (wanted <= run.rows)
        place = pl.when(here).then(run.first + wanted - 1).otherwise(place)
        wanted = wanted - run.rows
    rows.add(place.alias("at"))
    rows.add(*_taken(number, call, pl.col("at")))
    return error


def _taken(number: int, call: bound.Window, place: pl.Expr) -> list[pl.Expr]:
    """Returns the first argument's physical columns at a position for each row, NULL for none."""
    return [pl.col(f"x{number}_0{suffix}").gather(place).alias(f"w{number}{suffix}") for suffix in lanes(call.type)]


def _beside(rows: Rows, number: int, call: bound.Window) -> None:
    """Evaluates lag and lead: the row at a distance in the partition; the default, or NULL, if there is none."""
    step: pl.Expr = pl.lit(1, pl.Int64)
    if len(call.args) > 1:
        # No distance exceeds the number of rows.
        step = larger(smaller(pl.col(f"x{number}_1").cast(pl.Int64), ROWS + 1), 0 - ROWS - 1)
    target = PLACE - step if call.function.name == "lag" else PLACE + step
    inside = (target >= PART0) & (target <= PART1)
    rows.add(pl.when(inside).then(target).otherwise(None).alias("at"), (inside | step.is_null()).alias("there"))
    taken = _taken(number, call, pl.col("at"))
    if len(call.args) > 2:
        names = [(f"w{number}{suffix}", f"x{number}_2{suffix}", kind) for suffix, kind in lanes(call.type).items()]
        taken = [
            pl.when(pl.col("there")).then(one).otherwise(pl.col(other).cast(kind)).alias(name)
            for one, (name, other, kind) in zip(taken, names, strict=True)
        ]
    rows.add(*taken)


def _tile(rows: Rows, number: int) -> Error:
    """Evaluates ntile; the first row with an argument sets the number of tiles."""
    given = pl.col(f"x{number}_0").cast(pl.Int64)
    first = pl.when(given.is_not_null()).then(PLACE).min()
    rows.add((first.over(rows.partition) if rows.partition else first).alias("first"))
    rows.add(given.gather(pl.col("first")).alias("tiles"))
    # The error covers a number below 1.
    tiles = larger(pl.col("tiles"), pl.lit(1, pl.Int64))
    size, place = PART1 - PART0 + 1, PLACE - pl.col("first")
    rows.add((size // tiles).alias("small"), (size % tiles).alias("large"))
    small, large = pl.col("small"), pl.col("large")
    in_large = place < large * (small + 1)
    later = large + (place - large * (small + 1)) // larger(small, pl.lit(1, pl.Int64))
    made = pl.when(in_large).then(place // (small + 1)).otherwise(later) + 1
    rows.add(pl.when(place >= 0).then(made).alias(f"w{number}"))
    return fault(pl.col("tiles") <= 0, NTILE)


def _rank(rows: Rows, number: int, name: str) -> pl.Expr:
    size = PART1 - PART0 + 1
    match name:
        case "row_number":
            return PLACE - PART0 + 1
        case "rank":
            return PEER0 - PART0 + 1
        case "dense_rank":
            # Counts the peer groups' first rows, relative to the partition's.
            rows.add((PLACE == PEER0).cast(pl.Int64).cum_sum().alias("starts"))
            return pl.col("starts") - pl.col("starts").gather(PART0) + 1
        case "percent_rank":
            below = (PEER0 - PART0).cast(pl.Float64)
            return pl.when(size > 1).then(quotient(below, (size - 1).cast(pl.Float64))).otherwise(0.0)
        case _:
            return quotient((PEER1 - PART0 + 1).cast(pl.Float64), size.cast(pl.Float64))


def value(number: int, call: bound.Window, put_off: PutOff) -> Value:
    """Returns a call's value over the frame from `computed`."""
    name, held = call.function.name, lanes(call.type)
    if name not in _RANKS | _MOVED | _FROM_FRAMES:
        return window_aggregates.value(number, call, put_off)
    others = tuple((suffix, pl.col(f"w{number}{suffix}")) for suffix in held if suffix)
    return Value(call.type, pl.col(f"w{number}").cast(held[""]), None, type_bounds(call.type), others)
