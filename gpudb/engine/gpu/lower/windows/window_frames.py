"""Window frames: each sorted row's frame as runs of row positions.

An offset of ROWS counts rows, of GROUPS peer groups, of RANGE a distance in the sort key: the key at that distance is
looked up among the partition's keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.error_codes import FRAME_NULL, FRAME_SIZE, Error, error_if, first_error
from gpudb.engine.gpu.lower.expressions.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.values import Value, maximum, minimum
from gpudb.engine.gpu.lower.windows.window_rows import (
    PART0,
    PART1,
    PEER0,
    PEER1,
    POSITION,
    ROW_COUNT,
    SortedRows,
    clamp_position,
)
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.functions import find_function
from gpudb.sql import bound
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.types.facts import FLOATS, INTEGERS


@dataclass(frozen=True, slots=True)
class Run:
    """For each row the first and last of a run of consecutive positions; an empty run's last is before its first.

    `growing` runs start at their partition's first row.
    """

    first: pl.Expr
    last: pl.Expr
    growing: bool = False

    @property
    def rows(self) -> pl.Expr:
        """The number of positions."""
        return maximum(self.last - self.first + 1, pl.lit(0, pl.Int64))


def frame_offsets(call: bound.Window, number: int, expressions: ExpressionLowering) -> tuple[list[pl.Expr], Error]:
    """Returns the columns that a call's frame needs, and the errors of its offsets: 22004 for NULL, 22013 if negative.

    `s` and `e` are the offsets of its start and end; for RANGE they are keys to look up, and `m` is the row's key.
    """
    frame = call.frame
    if frame is None:
        return [], None
    columns: list[pl.Expr] = []
    errors: list[Error] = []
    for name, kind, offset in (("s", frame.start, frame.start_offset), ("e", frame.end, frame.end_offset)):
        if offset is None:
            continue
        offset_value = expressions.value(offset)
        negative = offset_value.expr < 0
        errors += [
            offset_value.error,
            error_if(offset_value.expr.is_null(), FRAME_NULL),
            error_if(negative, FRAME_SIZE),
        ]
        if frame.unit != "RANGE":
            columns.append(offset_value.expr.cast(pl.Int64).alias(f"{name}{number}"))
            continue
        order = call.order_by[0]
        down = (kind == "PRECEDING") != order.descending
        key, target, error = _target_key(
            expressions.value(order.expr), offset_value, offset, order.expr, expressions, down=down
        )
        errors.append(error)
        columns.append(target.alias(f"{name}{number}"))
        if not any(each.meta.output_name() == f"m{number}" for each in columns):
            columns.append(key.alias(f"m{number}"))
    return columns, first_error(*errors)


def _target_key(
    key: Value, offset: Value, offset_expr: bound.Expr, expr: bound.Expr, expressions: ExpressionLowering, *, down: bool
) -> tuple[pl.Expr, pl.Expr, Error]:
    """Returns a sort key and the key at the offset from it, as values that compare as keys do."""

    def move(value: pl.Expr, by: pl.Expr) -> pl.Expr:
        return value - by if down else value + by

    kind = key.type.name
    if kind in INTEGERS:
        widened = key.expr.cast(pl.Int128)
        return widened, move(widened, offset.expr.cast(pl.Int128)), None
    if kind in FLOATS:
        real = key.expr.cast(pl.Float64)
        return real, move(real, offset.expr.cast(pl.Float64)), None
    if kind == "numeric":
        scale = max(key.scale, offset.scale)
        if scale > MAX_DIGITS - 19:
            scale = max(scale, 20)
        one = key.expr.cast(pl.Int128) * 10 ** (scale - key.scale)
        other = offset.expr.cast(pl.Int128) * 10 ** (scale - offset.scale)
        return one, move(one, other), None
    if kind == "interval":
        return key.expr, move(key.expr, offset.expr), None
    if kind == "time":
        # A time of day moves without wrapping at midnight.
        return key.expr, move(key.expr, offset.part("u")), None
    if kind in {"date", "timestamp", "timestamptz"}:
        name = f"{kind}_{'mi' if down else 'pl'}_interval"
        result = SqlType("timestamptz" if kind == "timestamptz" else "timestamp")
        target = expressions.value(bound.Call(find_function(name, key.type, offset.type), (expr, offset_expr), result))
        return key.expr.cast(pl.Datetime("us")), target.expr.cast(pl.Datetime("us")), target.error
    raise NotSupportedOnWorkers(f"a RANGE frame over {key.type.plain}")


def frame_runs(rows: SortedRows, number: int, call: bound.Window) -> list[Run]:
    """Returns the runs of positions of each row's frame, in order; EXCLUDE splits it into several."""
    spec = call.frame
    if spec is None:
        return [Run(PART0, PEER1 if call.order_by else PART1, growing=True)]
    growing = spec.start == "UNBOUNDED PRECEDING"
    start = PART0 if growing else maximum(_frame_bound(rows, number, call, begins=True), PART0)
    end = PART1 if spec.end == "UNBOUNDED FOLLOWING" else minimum(_frame_bound(rows, number, call, begins=False), PART1)
    rows.add(start.alias("first"), end.alias("last"))
    first, last = pl.col("first"), pl.col("last")
    match spec.exclude:
        case "CURRENT ROW":
            return [Run(first, minimum(last, POSITION - 1), growing), Run(maximum(first, POSITION + 1), last)]
        case "GROUP" | "TIES":
            before, after = Run(first, minimum(last, PEER0 - 1), growing), Run(maximum(first, PEER1 + 1), last)
            itself = [Run(maximum(first, POSITION), minimum(last, POSITION))] if spec.exclude == "TIES" else []
            return [before, *itself, after]
        case _:
            return [Run(first, last, growing)]


def _frame_bound(rows: SortedRows, number: int, call: bound.Window, *, begins: bool) -> pl.Expr:
    """Returns the position where a frame starts or ends, inside or outside its partition."""
    spec: Any = call.frame
    kind: str = spec.start if begins else spec.end
    offset = pl.col(f"{'s' if begins else 'e'}{number}")
    if kind == "CURRENT ROW":
        return POSITION if spec.unit == "ROW_COUNT" else PEER0 if begins else PEER1
    if spec.unit == "RANGE":
        return _range_bound(rows, number, offset, call.order_by[0], begins=begins)
    # No frame is larger than the number of rows.
    by = minimum(offset, ROW_COUNT + 1)
    if spec.unit == "ROW_COUNT":
        return POSITION - by if kind == "PRECEDING" else POSITION + by
    return _group_bound(rows, by if kind == "FOLLOWING" else 0 - by, begins=begins)


def _group_bound(rows: SortedRows, by: pl.Expr, *, begins: bool) -> pl.Expr:
    """Returns the first or last position of the peer group at a distance `by`; outside the partition if none exists."""
    rows.add(((POSITION == PEER0).cast(pl.Int64).cum_sum() - 1).alias("group"))
    # The groups' first positions in order, then all others.
    rows.append(rows.compute().sort(POSITION != PEER0, "i").select(POSITION.alias("starts")))
    own, name = pl.col("group"), "from" if begins else "to"
    target_group = own + by
    start = pl.col("starts").gather(clamp_position(target_group))
    found = (PEER0 if begins else PEER1).gather(start)
    outside = (
        pl.when(target_group < own.gather(PART0)).then(PART0 - 1).when(target_group > own.gather(PART1)).then(PART1 + 1)
    )
    rows.add(outside.otherwise(found).alias(name))
    return pl.col(name)


def _range_bound(rows: SortedRows, number: int, target: pl.Expr, order: bound.SortKey, *, begins: bool) -> pl.Expr:
    """Returns the first position whose key is not before a row's target, or the last whose key is not after it."""
    computed, name = rows.compute(), "from" if begins else "to"
    key, part = pl.col(f"m{number}"), PART0.alias("p")
    kind = computed.collect_schema()[f"m{number}"]
    side = pl.lit(0 if begins else 2, pl.Int8).alias("s")
    keys = computed.select(part, key.alias("k"), pl.lit(1, pl.Int8).alias("s"), POSITION)
    looked = computed.select(part, target.cast(kind).alias("k"), side, POSITION)
    # Keys and targets in one order: a target's position is the number of keys before it.
    both = pl.concat([keys, looked]).sort(
        ["p", "k", "s", "i"],
        descending=[False, order.descending, False, False],
        nulls_last=[True, not order.nulls_first, True, True],
    )
    counted = both.with_columns((pl.col("s") == 1).cast(pl.Int64).cum_sum().alias(name)).filter(pl.col("s") != 1)
    rows.append(counted.sort("i").select(pl.col(name) if begins else pl.col(name) - 1))
    return pl.col(name)
