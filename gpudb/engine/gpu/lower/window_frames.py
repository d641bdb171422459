"""Window frames: of each row of a sorted frame, the places of the rows that its frame has, as runs of places.

An offset of ROWS counts places, of GROUPS peers, of RANGE a distance in the sort key: the key less or more than it is
looked up among its partition's keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.expressions import Expressions
from gpudb.engine.gpu.lower.faults import FRAME_NULL, FRAME_SIZE, Error, fault, worst
from gpudb.engine.gpu.lower.values import Value
from gpudb.plan.errors import NotCarried
from gpudb.plan.forms import function
from gpudb.sql import bound
from gpudb.types import MAX_DIGITS, SqlType

_INTEGERS = {"int2", "int4", "int8"}
_FLOATS = {"float4", "float8"}


@dataclass(frozen=True, slots=True)
class Run:
    """For each row the first and the last of some places that follow each other; the last before the first for none."""

    first: pl.Series
    last: pl.Series

    @property
    def rows(self) -> pl.Series:
        """How many places there are."""
        return (self.last - self.first + 1).clip(0)


def offsets(call: bound.Window, number: int, over: Expressions) -> tuple[list[pl.Expr], Error]:
    """Columns that a call's frame needs: `s` and `e`, where it starts and ends beside the row, and of RANGE the key
    `m` that those are compared with; and the error of offsets that are NULL (22004) or negative (22013)."""
    frame = call.frame
    if frame is None:
        return [], None
    made: list[pl.Expr] = []
    errors: list[Error] = []
    for name, kind, offset in (("s", frame.start, frame.start_offset), ("e", frame.end, frame.end_offset)):
        if offset is None:
            continue
        given = over.value(offset)
        negative = given.expr < 0
        errors += [given.error, fault(given.expr.is_null(), FRAME_NULL), fault(negative, FRAME_SIZE)]
        if frame.unit != "RANGE":
            made.append(given.expr.cast(pl.Int64).alias(f"{name}{number}"))
            continue
        order = call.order_by[0]
        down = (kind == "PRECEDING") != order.descending
        key, target, error = _reached(over.value(order.expr), given, offset, order.expr, over, down=down)
        errors.append(error)
        made.append(target.alias(f"{name}{number}"))
        if not any(each.meta.output_name() == f"m{number}" for each in made):
            made.append(key.alias(f"m{number}"))
    return made, worst(*errors)


def _reached(
    key: Value, offset: Value, given: bound.Expr, expr: bound.Expr, over: Expressions, *, down: bool
) -> tuple[pl.Expr, pl.Expr, Error]:
    """A sort key and the key at the offset from it, as values that compare as keys do."""

    def moved(value: pl.Expr, by: pl.Expr) -> pl.Expr:
        return value - by if down else value + by

    kind = key.type.name
    if kind in _INTEGERS:
        held = key.expr.cast(pl.Int128)
        return held, moved(held, offset.expr.cast(pl.Int128)), None
    if kind in _FLOATS:
        real = key.expr.cast(pl.Float64)
        return real, moved(real, offset.expr.cast(pl.Float64)), None
    if kind == "numeric":
        scale = max(key.scale, offset.scale)
        if scale > MAX_DIGITS - 19:
            scale = max(scale, 20)
        one = key.expr.cast(pl.Int128) * 10 ** (scale - key.scale)
        other = offset.expr.cast(pl.Int128) * 10 ** (scale - offset.scale)
        return one, moved(one, other), None
    if kind == "interval":
        return key.expr, moved(key.expr, offset.expr), None
    if kind == "time":
        # The time of day alone moves, and not around midnight.
        return key.expr, moved(key.expr, offset.part("u")), None
    if kind in {"date", "timestamp", "timestamptz"}:
        name = f"{kind}_{'mi' if down else 'pl'}_interval"
        result = SqlType("timestamptz" if kind == "timestamptz" else "timestamp")
        target = over.value(bound.Call(function(name, key.type, offset.type), (expr, given), result))
        return key.expr.cast(pl.Datetime("us")), target.expr.cast(pl.Datetime("us")), target.error
    raise NotCarried(f"a RANGE frame over {key.type.plain}")


def runs(frame: pl.DataFrame, number: int, call: bound.Window, partition: Sequence[str]) -> list[Run]:
    """The runs of places that each row's frame is made of, in order; EXCLUDE makes several."""
    spec = call.frame
    first, last, i = frame["part0"], frame["part1"], frame["i"]
    if spec is None:
        return [Run(first, frame["peer1"] if call.order_by else last)]
    start = _edge(frame, number, call, partition, begins=True)
    end = _edge(frame, number, call, partition, begins=False)
    whole = Run(_larger(start, first), _smaller(end, last))
    match spec.exclude:
        case "CURRENT ROW":
            return [Run(whole.first, _smaller(whole.last, i - 1)), Run(_larger(whole.first, i + 1), whole.last)]
        case "GROUP" | "TIES":
            before = Run(whole.first, _smaller(whole.last, frame["peer0"] - 1))
            after = Run(_larger(whole.first, frame["peer1"] + 1), whole.last)
            itself = [Run(_larger(whole.first, i), _smaller(whole.last, i))] if spec.exclude == "TIES" else []
            return [before, *itself, after]
        case _:
            return [whole]


def _edge(frame: pl.DataFrame, number: int, call: bound.Window, partition: Sequence[str], *, begins: bool) -> pl.Series:
    spec: Any = call.frame
    kind: str = spec.start if begins else spec.end
    column = f"{'s' if begins else 'e'}{number}"
    i = frame["i"]
    if kind.startswith("UNBOUNDED"):
        return frame["part0"] if kind.endswith("PRECEDING") else frame["part1"]
    if kind == "CURRENT ROW":
        return i if spec.unit == "ROWS" else frame["peer0" if begins else "peer1"]
    if spec.unit == "RANGE":
        return _found(frame, number, column, call.order_by[0], partition, begins=begins)
    # No frame reaches further than there are rows.
    by = frame[column].clip(0, frame.height + 1)
    if spec.unit == "ROWS":
        return i - by if kind == "PRECEDING" else i + by
    return _group(frame, by if kind == "FOLLOWING" else -by, begins=begins)


def _group(frame: pl.DataFrame, by: pl.Series, *, begins: bool) -> pl.Series:
    """The first or the last place of the peers so many groups away; beyond the partition where there are none."""
    if not frame.height:
        return frame["i"]
    own = (frame["i"] == frame["peer0"]).cast(pl.Int64).cum_sum() - 1
    starts = frame.filter(pl.col("i") == pl.col("peer0"))
    low, high = own.gather(frame["part0"]), own.gather(frame["part1"])
    wanted = own + by
    found = starts["peer0" if begins else "peer1"].gather(wanted.clip(0, starts.height - 1))
    before, after = frame["part0"] - 1, frame["part1"] + 1
    return pl.select(pl.when(wanted < low).then(before).when(wanted > high).then(after).otherwise(found)).to_series()


def _found(
    frame: pl.DataFrame, number: int, target: str, order: bound.SortKey, partition: Sequence[str], *, begins: bool
) -> pl.Series:
    """The first place whose key is not before a row's target, or the last whose key is not after it."""
    keys = frame.select(
        [pl.col("part0").alias("p"), pl.col(f"m{number}").alias("k"), pl.lit(1, pl.Int8).alias("s"), pl.col("i")]
    )
    looked = frame.select(
        [
            pl.col("part0").alias("p"),
            pl.col(target).alias("k"),
            pl.lit(0 if begins else 2, pl.Int8).alias("s"),
            pl.col("i"),
        ]
    )
    # Keys and targets in one order: a target's place is how many keys come before it.
    both = pl.concat([keys, looked.cast({"k": keys.schema["k"]})]).sort(
        ["p", "k", "s"],
        descending=[False, order.descending, False],
        nulls_last=[True, not order.nulls_first, True],
        maintain_order=True,
    )
    counted = both.with_columns((pl.col("s") == 1).cast(pl.Int64).cum_sum().alias("n")).filter(pl.col("s") != 1)
    found = counted.sort("i")["n"]
    return found if begins else found - 1


def _larger(one: pl.Series, other: pl.Series) -> pl.Series:
    return pl.select(pl.when(one >= other).then(one).otherwise(other)).to_series()


def _smaller(one: pl.Series, other: pl.Series) -> pl.Series:
    return pl.select(pl.when(one <= other).then(one).otherwise(other)).to_series()
