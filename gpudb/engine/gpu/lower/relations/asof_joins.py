"""ASOF joins of two frames: rows get the number of their group, and the backend searches each group's nearest rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

import polars as pl

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.backend.nearest import NearestJoin
from gpudb.engine.gpu.lower.error_codes import first_error
from gpudb.engine.gpu.lower.expressions.lowered_frame import NO_COLUMNS, Frame, LoweringContext, drop_deferred
from gpudb.engine.gpu.lower.relations.joins import key_columns
from gpudb.engine.gpu.lower.values import physical_columns
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree import nodes
from gpudb.sql import bound

_TIME = ("left_time", "right_time")
_GROUP = "group_number"
_INTEGER_DTYPES = (pl.Int16, pl.Int32, pl.Int64)
_MAX_GROUPS = 1 << 60
"""Maximum number of groups whose numbers are computed from integer keys."""


def lower_asof_join(node: nodes.AsofJoin, left: Frame, right: Frame, context: LoweringContext) -> Frame:
    """Returns the joined frame."""
    kind = physical_columns(node.times[0].type)[""]
    if kind == pl.Int128:
        raise NotSupportedOnWorkers("an ASOF JOIN by numeric of more than 18 digits")
    width = len(node.left.types)
    mine = [f"c{n}{s}" for n, each in enumerate(node.left.types) for s in physical_columns(each)] or [NO_COLUMNS]
    theirs = {f"c{n}{s}": f"c{n + width}{s}" for n, each in enumerate(node.right.types) for s in physical_columns(each)}
    one, names = _add_columns(left, [a for a, _ in node.keys], node.times[0], "k", _TIME[0], context)
    other, _ = _add_columns(right, [b for _, b in node.keys], node.times[1], "q", _TIME[1], context)
    other = other.rename(theirs, strict=False).select(*theirs.values(), *(f"q{n[1:]}" for n in names), _TIME[1])
    known = reduce(and_, (pl.col(each).is_not_null() for each in (*(f"q{n[1:]}" for n in names), _TIME[1])))
    one, other, groups = _number_groups(one, other.filter(known), names, context)
    join = NearestJoin(
        (_GROUP, _GROUP) if node.keys else None, groups, _TIME, node.operator, [*theirs.values()], node.kind == "INNER"
    )
    frames = context.frames
    lazy = frames.join_nearest(frames.compute(one), frames.compute(other), join).lazy
    bounds = left.bounds + right.bounds
    if node.condition is not None:
        lazy = _keep_matches(lazy, node, Frame(lazy, bounds), [*theirs.values()], context)
    kept = [each for each in (*mine, *theirs.values()) if each != NO_COLUMNS]
    if not kept:
        return Frame(lazy.select(pl.first().is_null().alias(NO_COLUMNS)), ())
    return Frame(lazy.select(kept), bounds)


def _add_columns(
    frame: Frame, keys: Sequence[Any], time: bound.Expr, prefix: str, name: str, context: LoweringContext
) -> tuple[pl.LazyFrame, list[str]]:
    """Adds a side's keys, as k0, k1, … if `prefix` is k, and its time; returns the frame and the keys' names."""
    expressions = context.expressions(frame)
    values = [expressions.value(each) for each in (*keys, time)]
    kinds = [physical_columns(each.type)[""] for each in values]
    columns = key_columns([each.expr for each in values[:-1]], kinds[:-1], prefix)
    checked = context.check_errors(frame.lazy, first_error(*(each.error for each in values)), expressions.deferred)
    added = checked.with_columns(*columns, values[-1].expr.cast(kinds[-1]).alias(name))
    return drop_deferred(added, expressions.deferred), [f"{prefix}{number}" for number in range(len(columns))]


def _number_groups(
    one: pl.LazyFrame, other: pl.LazyFrame, names: list[str], context: LoweringContext
) -> tuple[pl.LazyFrame, pl.LazyFrame, int]:
    """Replaces the keys of both sides by the number of the group of equal keys; returns the number of groups, too."""
    if not names:
        return one, other, 1
    theirs = [f"q{each[1:]}" for each in names]
    known = context.frames.compute(other)
    packed = _pack_integers(one, known, names, theirs)
    if packed is not None:
        return packed
    found = context.frames.compute(known.lazy.select(theirs).unique().with_row_index(_GROUP))
    numbers = found.lazy.with_columns(pl.col(_GROUP).cast(pl.Int64))
    one = one.join(numbers, left_on=names, right_on=theirs, how="left").drop(names)
    return one, known.lazy.join(numbers, on=theirs, how="inner").drop(theirs), max(found.rows, 1)


def _pack_integers(
    one: pl.LazyFrame, known: ComputedFrame, names: list[str], theirs: list[str]
) -> tuple[pl.LazyFrame, pl.LazyFrame, int] | None:
    """Returns the same for keys that are integers which one integer holds together; None for others."""
    schema = known.lazy.collect_schema()
    if not all(schema[each] in _INTEGER_DTYPES for each in theirs):
        return None
    ranges = [(known.min_integer(each), known.max_integer(each)) for each in theirs]
    mine = other = pl.lit(0, pl.Int64)
    inside = pl.lit(True)
    count = 1
    for name, there, (least, largest) in zip(names, theirs, ranges, strict=True):
        if least is None or largest is None:
            nothing = pl.lit(None, pl.Int64).alias(_GROUP)
            return one.with_columns(nothing), known.lazy.with_columns(nothing), 1
        size = largest - least + 1
        count *= size
        if count > _MAX_GROUPS:
            return None
        first, last = pl.lit(least, pl.Int64), pl.lit(largest, pl.Int64)
        key, other_key = pl.col(name).cast(pl.Int64), pl.col(there).cast(pl.Int64)
        inside = inside & (key >= first) & (key <= last)
        mine, other = mine * size + (key - first), other * size + (other_key - first)
    number = pl.when(inside).then(mine).otherwise(None)
    return one.with_columns(number.alias(_GROUP)), known.lazy.with_columns(other.alias(_GROUP)), count


def _keep_matches(
    lazy: pl.LazyFrame, node: nodes.AsofJoin, frame: Frame, columns: list[str], context: LoweringContext
) -> pl.LazyFrame:
    """Returns the frame without the matches for which the join's condition is not true."""
    expressions = context.expressions(frame)
    expr, error = expressions.condition(node.condition)
    checked = context.check_errors(lazy, error, expressions.deferred)
    if node.kind == "INNER":
        kept = checked.filter(expr)
    else:
        kept = checked.with_columns(pl.when(expr).then(pl.col(each)).otherwise(None).alias(each) for each in columns)
    return drop_deferred(kept, expressions.deferred)
