"""Window functions over one collected frame: sorted by partition and order, frames as positions of first and last rows.

A frame's sum is a difference of running sums, which is exact for integers and numerics; floats are only summed from
their partition's first row on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.arithmetic import integer
from gpudb.engine.gpu.lower.expressions import Expressions
from gpudb.engine.gpu.lower.faults import FORMAT, Error, fault
from gpudb.engine.gpu.lower.put_off import PutOff
from gpudb.engine.gpu.lower.values import Value, lanes, type_bounds
from gpudb.plan.errors import NotCarried
from gpudb.sql import bound
from gpudb.types import FLOAT8, INT8, MAX_DIGITS, exact

_RANKS = {"row_number", "rank", "dense_rank", "percent_rank", "cume_dist"}
_VALUES = {"first_value", "last_value", "nth_value", "lag", "lead"}
_AGGREGATES = {"count", "sum", "avg", "min", "max"}
LOWERED = frozenset(_RANKS | _VALUES | _AGGREGATES | {"ntile"})
"""The functions that are lowered; others are the host's."""
_LIMIT = 10**MAX_DIGITS


def prepared(calls: Sequence[bound.Window], over: Expressions) -> tuple[list[pl.Expr], list[Error]]:
    """Columns that the calls need beside the input's: partitions `p`, order keys `o`, arguments `x`; and errors."""
    columns: list[pl.Expr] = []
    errors: list[Error] = []

    def add(name: str, expr: Any) -> Value:
        made = over.value(expr)
        if made.others:
            raise NotCarried(f"a window over {made.type.plain} of varying scale or several parts")
        columns.append(made.expr.cast(lanes(made.type)[""]).alias(name))
        errors.append(made.error)
        return made

    for number, key in enumerate(calls[0].partition_by):
        add(f"p{number}", key)
    for number, call in enumerate(calls):
        _check(call)
        for place, sort in enumerate(call.order_by):
            add(f"o{number}_{place}", sort.expr)
        for place, arg in enumerate(call.args):
            add(f"x{number}_{place}", arg)
        if call.filter is not None:
            add(f"f{number}", call.filter)
    return columns, errors


def _check(call: bound.Window) -> None:
    name, frame = call.function.name, call.frame
    if name not in LOWERED or call.distinct:
        raise NotCarried(f"window function {call.function}")
    if frame is not None:
        offsets = [each for each in (frame.start_offset, frame.end_offset) if each is not None]
        if frame.exclude or (frame.unit != "ROWS" and offsets):
            raise NotCarried("a window frame with EXCLUDE, or RANGE or GROUPS with an offset")
        if not all(_is_count(each, 0) for each in offsets):
            raise NotCarried("a window frame whose offset is no constant")
    if name in {"lag", "lead", "nth_value", "ntile"}:
        counts = call.args[:1] if name == "ntile" else call.args[1:2]
        least = 1 if name in {"ntile", "nth_value"} else -(2**31)
        if not all(_is_count(each, least) for each in counts):
            raise NotCarried(f"{name} by something that is no constant")
    if name == "sum" and call.args[0].type.name in {"interval", "money"}:
        raise NotCarried(f"sum of {call.args[0].type}")


def _is_count(expr: bound.Expr, least: int) -> bool:
    return isinstance(expr, bound.Constant) and isinstance(expr.value, int) and expr.value >= least


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
            frame = frame.with_columns(_columns(frame, number, calls[number]))
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


def _columns(frame: pl.DataFrame, number: int, call: bound.Window) -> list[pl.Series]:
    name = call.function.name
    at = f"w{number}"
    i, first, last = frame["i"], frame["part0"], frame["part1"]
    if name in _RANKS:
        return [_rank(frame, call).alias(at)]
    if name == "ntile":
        tiles = _number(call.args[0])
        size, place = last - first + 1, i - first
        small, large = size // tiles, size % tiles
        in_large = place < large * (small + 1)
        one = (small == 0).cast(pl.Int64) + small
        made = pl.select(
            pl.when(in_large).then(place // (small + 1)).otherwise(large + (place - large * (small + 1)) // one) + 1
        ).to_series()
        return [made.alias(at)]
    if name in {"lag", "lead"}:
        step = _number(call.args[1]) if len(call.args) > 1 else 1
        target = i - step if name == "lag" else i + step
        inside = (target >= first) & (target <= last)
        given = frame[f"x{number}_0"].gather(target.clip(0, max(frame.height - 1, 0)))
        other = frame[f"x{number}_2"] if len(call.args) > 2 else pl.Series([None], dtype=given.dtype)
        return [pl.select(pl.when(inside).then(given).otherwise(other.cast(given.dtype))).to_series().alias(at)]
    start, end = _edges(frame, call)
    if name in {"first_value", "last_value", "nth_value"}:
        target = start if name == "first_value" else end if name == "last_value" else start + _number(call.args[1]) - 1
        inside = (target <= end) & (target >= start)
        given = frame[f"x{number}_0"].gather(target.clip(0, max(frame.height - 1, 0)))
        return [pl.select(pl.when(inside).then(given).otherwise(None)).to_series().alias(at)]
    return _aggregate(frame, number, call, start, end)


def _number(expr: bound.Expr) -> int:
    assert isinstance(expr, bound.Constant)
    return int(str(expr.value))


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


def _edges(frame: pl.DataFrame, call: bound.Window) -> tuple[pl.Series, pl.Series]:
    """The places of each row's frame's first and last row; the last before the first for an empty frame."""
    i, first, last = frame["i"], frame["part0"], frame["part1"]
    spec = call.frame
    if spec is None:
        return first, frame["peer1"] if call.order_by else last

    def edge(kind: str, offset: bound.Expr | None, *, begins: bool) -> pl.Series:
        if kind.startswith("UNBOUNDED"):
            return first if kind.endswith("PRECEDING") else last
        if kind == "CURRENT ROW":
            return i if spec.unit == "ROWS" else frame["peer0" if begins else "peer1"]
        assert offset is not None
        return i - _number(offset) if kind == "PRECEDING" else i + _number(offset)

    start = edge(spec.start, spec.start_offset, begins=True)
    end = edge(spec.end, spec.end_offset, begins=False)
    return (
        pl.select(pl.max_horizontal(start, first)).to_series(),
        pl.select(pl.min_horizontal(end, last)).to_series(),
    )


def _aggregate(
    frame: pl.DataFrame, number: int, call: bound.Window, start: pl.Series, end: pl.Series
) -> list[pl.Series]:
    name, at = call.function.name, f"w{number}"
    kept = frame[f"f{number}"].fill_null(False) if call.filter is not None else None
    given = frame[f"x{number}_0"] if call.args else pl.repeat(1, frame.height, dtype=pl.Int64, eager=True)
    if kept is not None:
        given = pl.select(pl.when(kept).then(given).otherwise(None)).to_series()
    counts = _between(given.is_not_null().cast(pl.Int64).cum_sum(), start, end)
    if name == "count":
        return [counts.alias(at)]
    floats = given.dtype.is_float()
    whole = bool((start == frame["part0"]).all())
    partition = [f"p{n}" for n in range(len(call.partition_by))]
    if name in {"min", "max"} or floats:
        if not whole or (floats and name in {"min", "max"}):
            raise NotCarried(f"{name} over a frame that moves, or of floats")
        # Texts and booleans run as their ranks.
        ordered = given.drop_nulls().unique().sort() if given.dtype in {pl.String, pl.Boolean, pl.Binary} else None
        given = given.rank("dense").cast(pl.Int64) if ordered is not None else given
        value = pl.col("v")
        running = value.cum_min() if name == "min" else value.cum_max() if name == "max" else value.cum_sum()
        running = running.forward_fill() if name in {"min", "max"} else running
        held = given.fill_null(0.0).cast(pl.Float64) if floats else given
        table = frame.select(partition).with_columns(held.alias("v"))
        made = table.select(running.over(partition) if partition else running).to_series()
        taken = made.gather(end.clip(0, max(frame.height - 1, 0)))
        taken = pl.select(pl.when(counts > 0).then(taken).otherwise(None)).to_series()
        taken = taken if ordered is None else ordered.gather(taken - 1)
        return [taken.alias(at), counts.alias(at + "n")]
    totals = _between(given.fill_null(0).cast(pl.Int128).cum_sum(), start, end)
    totals = pl.select(pl.when(counts > 0).then(totals).otherwise(None)).to_series()
    return [totals.alias(at), counts.alias(at + "n")]


def _between(running: pl.Series, start: pl.Series, end: pl.Series) -> pl.Series:
    """The sum of each row's frame, from running sums; 0 for an empty one."""
    top = max(len(running) - 1, 0)
    upper = running.gather(end.clip(0, top))
    lower = running.gather((start - 1).clip(0, top))
    zero = pl.lit(0, running.dtype)
    made = upper - pl.select(pl.when(start > 0).then(lower).otherwise(zero)).to_series()
    return pl.select(pl.when(end >= start).then(made).otherwise(zero)).to_series()


def value(number: int, call: bound.Window, put_off: PutOff) -> Value:
    """A call's value over the frame that `computed` gave."""
    name, kind = call.function.name, call.type
    held = pl.col(f"w{number}")
    if name in {"percent_rank", "cume_dist"}:
        return Value(FLOAT8, held)
    if name in {"sum", "avg"} and call.args[0].type.name in {"float4", "float8"}:
        made = held / pl.col(f"w{number}n") if name == "avg" else held
        return Value(kind, made.cast(lanes(kind)[""]))
    if name == "avg":
        source = call.args[0].type
        scale = source.numeric_digits[1] if source.name == "numeric" else 0
        count = pl.col(f"w{number}n")
        filled = pl.when(count > 0).then(count).otherwise(None)
        total = Value(exact(MAX_DIGITS, scale), held)
        divisor = Value(INT8, filled, None, (1, 2**62))
        return put_off.quotient(total, divisor, pl.lit(scale, pl.Int8), kind).failing(None)
    if name == "sum" and kind.name == "numeric":
        return Value(kind, held, fault((held >= _LIMIT) | (held <= -_LIMIT), FORMAT), (1 - _LIMIT, _LIMIT - 1))
    if name == "sum":
        return integer(held, kind, None)
    if kind.name in {"int2", "int4", "int8"}:
        return Value(kind, held.cast(lanes(kind)[""]), None, type_bounds(kind))
    return Value(kind, held, None, type_bounds(kind))
