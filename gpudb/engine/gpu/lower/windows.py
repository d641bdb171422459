"""Window functions over one collected frame: sorted by partition and order, frames as places of rows in it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from gpudb.engine.gpu.lower import window_aggregates
from gpudb.engine.gpu.lower.expressions import Expressions
from gpudb.engine.gpu.lower.faults import NTH, NTILE, Error, masked, raised
from gpudb.engine.gpu.lower.put_off import PutOff
from gpudb.engine.gpu.lower.values import Value, lanes, type_bounds
from gpudb.engine.gpu.lower.window_frames import offsets, runs
from gpudb.plan.errors import NotCarried
from gpudb.sql import bound

_RANKS = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile"}
_MOVED = {"lag", "lead"}
_FROM_FRAMES = {"first_value", "last_value", "nth_value"}
LOWERED = frozenset(_RANKS | _MOVED | _FROM_FRAMES | {"count", "sum", "avg", "min", "max"})
"""The functions that are lowered; of others those are that are lowered as aggregates."""


def prepared(calls: Sequence[bound.Window], over: Expressions) -> tuple[list[pl.Expr], list[Error]]:
    """Columns that the calls need beside the input's: partitions `p`, order keys `o`, arguments `x`, filters `f` and
    what frames reach to; and errors."""
    columns: list[pl.Expr] = []
    errors: list[Error] = []

    def add(name: str, made: Value, *, whole: bool = True, where: pl.Expr | None = None) -> None:
        # Of keys the first lane alone says what they equal and come before.
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
            # Of rows that the filter leaves out no argument is computed.
            add(f"x{number}_{place}", over.value(arg), where=chosen.expr if chosen is not None else None)
        reaching, error = offsets(call, number, over)
        columns += reaching
        errors.append(error)
    return columns, errors


def computed(frame: pl.DataFrame, calls: Sequence[bound.Window]) -> tuple[pl.DataFrame, PutOff]:
    """The frame with the columns that `value` reads, in another order of rows."""
    partition = [f"p{number}" for number in range(len(calls[0].partition_by))]
    # Calls of one ORDER BY share the sort.
    groups: dict[str, list[int]] = {}
    for number, call in enumerate(calls):
        groups.setdefault(repr(call.order_by), []).append(number)
    for numbers in groups.values():
        frame = _sorted(frame, partition, numbers[0], calls[numbers[0]].order_by)
        for number in numbers:
            frame = frame.with_columns(_columns(frame, number, calls[number], partition))
    return frame, PutOff("q")


def _sorted(frame: pl.DataFrame, partition: list[str], number: int, order: Sequence[bound.SortKey]) -> pl.DataFrame:
    """Sorted, with each row's place `i`, and the places of its partition's and its peers' first and last rows."""
    keys = [f"o{number}_{place}" for place in range(len(order))]
    if partition or keys:
        down = [False] * len(partition) + [key.descending for key in order]
        last = [True] * len(partition) + [not key.nulls_first for key in order]
        frame = frame.sort(partition + keys, descending=down, nulls_last=last, maintain_order=True)
    frame = frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("i"))

    def ends(by: list[str], name: str) -> list[pl.Expr]:
        first, last = pl.col("i").min(), pl.col("i").max()
        return [
            (first.over(by) if by else first).alias(name + "0"),
            (last.over(by) if by else last).alias(name + "1"),
        ]

    frame = frame.with_columns(ends(partition, "part"))
    return frame.with_columns(
        ends(partition + keys, "peer") if keys else [pl.col("part0").alias("peer0"), pl.col("part1").alias("peer1")]
    )


def _columns(frame: pl.DataFrame, number: int, call: bound.Window, partition: list[str]) -> list[pl.Series]:
    name = call.function.name
    if name == "ntile":
        return [_tile(frame, number).alias(f"w{number}")]
    if name in _RANKS:
        return [_rank(frame, call).alias(f"w{number}")]
    if name in _MOVED:
        return _beside(frame, number, call)
    spans = runs(frame, number, call, partition)
    if name not in _FROM_FRAMES:
        return window_aggregates.columns(frame, number, call, spans)
    if name == "last_value":
        wanted = spans[0].rows
        for run in spans[1:]:
            wanted = wanted + run.rows
    elif name == "nth_value":
        wanted = frame[f"x{number}_1"].cast(pl.Int64)
        if (wanted <= 0).any():
            raise raised(NTH)
    else:
        wanted = pl.repeat(1, frame.height, dtype=pl.Int64, eager=True)
    # The place of the so many-th row of a frame: in the run that has it, those before it passed over.
    place = pl.repeat(None, frame.height, dtype=pl.Int64, eager=True)
    for run in spans:
        here = (wanted >= 1) & (wanted <= run.rows)
        place = pl.select(pl.when(here).then(run.first + wanted - 1).otherwise(place)).to_series()
        wanted = wanted - run.rows
    return _taken(frame, number, call, place)


def _taken(frame: pl.DataFrame, number: int, call: bound.Window, place: pl.Series) -> list[pl.Series]:
    """The first argument's lanes at a place for each row, NULL for none."""
    return [frame[f"x{number}_0{suffix}"].gather(place).alias(f"w{number}{suffix}") for suffix in lanes(call.type)]


def _beside(frame: pl.DataFrame, number: int, call: bound.Window) -> list[pl.Series]:
    """lag and lead: the row so many before or after in the partition; the default, or NULL, where there is none."""
    i = frame["i"]
    if len(call.args) > 1:
        step = frame[f"x{number}_1"].cast(pl.Int64).clip(-frame.height - 1, frame.height + 1)
    else:
        step = pl.repeat(1, frame.height, dtype=pl.Int64, eager=True)
    target = i - step if call.function.name == "lag" else i + step
    inside = (target >= frame["part0"]) & (target <= frame["part1"])
    taken = _taken(frame, number, call, pl.select(pl.when(inside).then(target).otherwise(None)).to_series())
    if len(call.args) < 3:
        return taken
    others = [frame[f"x{number}_2{suffix}"] for suffix in lanes(call.type)]
    return [
        pl.select(pl.when(inside | step.is_null()).then(one).otherwise(other.cast(one.dtype)))
        .to_series()
        .alias(one.name)
        for one, other in zip(taken, others, strict=True)
    ]


def _tile(frame: pl.DataFrame, number: int) -> pl.Series:
    """Which of so many tiles of its partition a row is in; the partition's first row tells how many."""
    i, first = frame["i"], frame["part0"]
    tiles = frame[f"x{number}_0"].cast(pl.Int64).gather(first)
    if (tiles <= 0).any():
        raise raised(NTILE)
    size, place = frame["part1"] - first + 1, i - first
    small, large = size // tiles, size % tiles
    one = pl.select(pl.when(small == 0).then(1).otherwise(small)).to_series()
    in_large = place < large * (small + 1)
    made = pl.when(in_large).then(place // (small + 1)).otherwise(large + (place - large * (small + 1)) // one) + 1
    return pl.select(pl.when(tiles.is_null()).then(None).otherwise(made)).to_series()


def _rank(frame: pl.DataFrame, call: bound.Window) -> pl.Series:
    i, first, peer = frame["i"], frame["part0"], frame["peer0"]
    size = frame["part1"] - first + 1
    match call.function.name:
        case "row_number":
            return i - first + 1
        case "rank":
            return peer - first + 1
        case "dense_rank":
            # Peers' first rows, counted from the partition's.
            starts = (i == peer).cast(pl.Int64).cum_sum()
            return starts - starts.gather(first) + 1
        case "percent_rank":
            below = (peer - first).cast(pl.Float64)
            return pl.select(pl.when(size > 1).then(below / (size - 1)).otherwise(0.0)).to_series()
        case _:
            return (frame["peer1"] - first + 1).cast(pl.Float64) / size


def value(number: int, call: bound.Window, put_off: PutOff) -> Value:
    """A call's value over the frame that `computed` gave."""
    name, held = call.function.name, lanes(call.type)
    if name not in _RANKS | _MOVED | _FROM_FRAMES:
        return window_aggregates.value(number, call, put_off)
    others = tuple((suffix, pl.col(f"w{number}{suffix}")) for suffix in held if suffix)
    return Value(call.type, pl.col(f"w{number}").cast(held[""]), None, type_bounds(call.type), others)
