"""Lowers the two sides of a join: keys, conditions on one side alone, and the condition on pairs of rows.

A condition on one side filters that side where its rows may go. Where they stay, rows for which it is not true get NULL
as their first key, which equals nothing: so no pair of rows is made to evaluate it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.error_codes import first_error
from gpudb.engine.gpu.lower.expressions.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.expressions.lowered_frame import NO_COLUMNS, Frame, LoweringContext, drop_deferred
from gpudb.engine.gpu.lower.expressions.text_codes import CodedTexts, is_coded, translated
from gpudb.engine.gpu.lower.functions.comparison import check_packed
from gpudb.engine.gpu.lower.relations.joins import Condition, anti_join_not_in, join, join_all, key_columns
from gpudb.engine.gpu.lower.values import Bounds, Value, physical_columns
from gpudb.plan.tree import nodes
from gpudb.plan.tree.traversal import columns_read
from gpudb.sql import bound
from gpudb.sql.traverse import join_conjuncts, split_conjuncts

Guards = tuple[pl.Expr | None, pl.Expr | None]
"""Conditions on the left and on the right side alone; None is true."""


@dataclass(frozen=True, slots=True)
class JoinSides:
    """The sides of a join with their columns c0, c1, …, the right ones after the left ones, and their join columns.

    There are `keys` join columns, k0, k1, … and q0, q1, …. `guards` are set only without keys, and `condition` only
    without guards. `bounds` and `texts` are those of both sides' columns.
    """

    node: nodes.Join
    left: pl.LazyFrame
    right: pl.LazyFrame
    keys: int
    guards: Guards
    condition: Condition | None
    bounds: tuple[Bounds, ...]
    texts: CodedTexts

    def join(self, context: LoweringContext) -> Frame:
        """Returns the joined frame."""
        return self.select(self.pairs(context))

    def pairs(self, context: LoweringContext) -> pl.LazyFrame:
        """Returns the joined rows with the columns of both sides."""
        node, frames = self.node, context.frames
        if node.null_aware:
            return anti_join_not_in(self.left, self.right, frames)
        if not self.keys and self.condition is None:
            return join_all(node.kind, self.left, self.right, *self.guards, frames)
        return join(node.kind, self.left, self.right, self.keys, self.condition, frames)

    def select(self, joined: pl.LazyFrame) -> Frame:
        """Returns the frame of the node's columns among those that a join of the sides has."""
        node = self.node
        kept = [f"c{n}{s}" for n, kind in enumerate(node.types) for s in physical_columns(kind)]
        if not kept:
            return Frame(joined.select(pl.first().is_null().alias(NO_COLUMNS)), ())
        own = len(node.types)
        return Frame(
            joined.select(kept), self.bounds[:own], texts={n: each for n, each in self.texts.items() if n < own}
        )


def lower_sides(node: nodes.Join, left: Frame, right: Frame, context: LoweringContext) -> JoinSides:
    """Returns the sides of a join."""
    width = len(node.left.types)
    first, second = context.expressions(left), context.expressions(right)
    for a, b in node.keys:
        check_packed(a.type, b.type)
    keys = [_join_values(a, first, left.texts, b, second, right.texts) for a, b in node.keys]
    one, count = _with_join_columns(left.lazy, [a for a, _ in keys], "k", first, context)
    other, _ = _with_join_columns(right.lazy, [b for _, b in keys], "q", second, context)
    moved = [f"c{n}{s}" for n, kind in enumerate(node.right.types) for s in physical_columns(kind)]
    # A side without columns still has rows: that column gets another name.
    names = {name: _shift_column(name, width) for name in moved} or {NO_COLUMNS: NO_COLUMNS + "2"}
    bounds = left.bounds + right.bounds
    texts = {**left.texts, **{index + width: each for index, each in right.texts.items()}}
    made = JoinSides(node, one, other.rename(names, strict=False), count, (None, None), None, bounds, texts)
    return made if node.condition is None else _with_condition(made, width, context)


def _with_condition(sides: JoinSides, width: int, context: LoweringContext) -> JoinSides:
    kind = sides.node.kind
    left, right = sides.left, sides.right
    masks: tuple[list[pl.Expr], list[pl.Expr]] = [], []
    masked: list[Any] = []
    rest: list[Any] = []
    for part in split_conjuncts(sides.node.condition):
        expr = _lower_alone(part, sides, width, context)
        on_right = expr is not None and min(columns_read(part)) >= width
        if expr is None:
            rest.append(part)
        elif on_right and kind != "FULL":
            right = right.filter(expr)
        elif not on_right and kind in {"INNER", "SEMI"}:
            left = left.filter(expr)
        else:
            masks[on_right].append(expr)
            masked.append(part)
    one, other = (reduce(and_, each) if each else None for each in masks)
    if sides.keys:
        left, right = _mask(left, "k0", one), _mask(right, "q0", other)
        made = replace(sides, left=left, right=right)
    elif rest:
        # Pairs are made without keys: one more condition on them costs little.
        made, rest = replace(sides, left=left, right=right), [*rest, *masked]
    else:
        made = replace(sides, left=left, right=right, guards=(one, other))
    condition = join_conjuncts(tuple(rest))
    if condition is None:
        return made
    both = ExpressionLowering(sides.bounds, context.host, sides.texts)
    expr, error = both.condition(condition)

    def keep(pairs: pl.LazyFrame) -> pl.LazyFrame:
        return context.check_errors(pairs, error, both.deferred).filter(expr)

    return replace(made, condition=keep)


def _lower_alone(part: Any, sides: JoinSides, width: int, context: LoweringContext) -> pl.Expr | None:
    """Lowers a condition that reads one side alone and cannot fail; None for any other."""
    places = columns_read(part)
    if not places or min(places) < width <= max(places):
        return None
    over = ExpressionLowering(sides.bounds, context.host, sides.texts)
    expr, error = over.condition(part)
    return expr if error is None and not over.deferred.steps else None


def _join_values(
    left: bound.Expr,
    first: ExpressionLowering,
    mine: CodedTexts,
    right: bound.Expr,
    second: ExpressionLowering,
    theirs: CodedTexts,
) -> tuple[Value, Value]:
    """Returns the values of a pair of join keys: codes of one dictionary where both are coded."""
    if not (is_coded(left, mine) and is_coded(right, theirs)):
        return first.value(left), second.value(right)
    assert isinstance(left, bound.Column)
    assert isinstance(right, bound.Column)
    one, other = mine[left.index], theirs[right.index]
    if len(one.values) < len(other.values):
        return translated(left, one, other), translated(right, other, other)
    return translated(left, one, one), translated(right, other, one)


def _mask(lazy: pl.LazyFrame, key: str, mask: pl.Expr | None) -> pl.LazyFrame:
    """Makes a side's key NULL where a mask is not true."""
    return lazy if mask is None else lazy.with_columns(pl.when(mask).then(pl.col(key)).alias(key))


def _with_join_columns(
    lazy: pl.LazyFrame, keys: Sequence[Value], prefix: str, expressions: ExpressionLowering, context: LoweringContext
) -> tuple[pl.LazyFrame, int]:
    """Adds a side's join columns; returns the frame and their number."""
    if not keys:
        return lazy, 0
    result = key_columns([key.expr for key in keys], [physical_columns(key.type)[""] for key in keys], prefix)
    checked = context.check_errors(lazy, first_error(*(key.error for key in keys)), expressions.deferred)
    return drop_deferred(checked.with_columns(result), expressions.deferred), len(result)


def _shift_column(name: str, width: int) -> str:
    digits = name[1:].rstrip("msduv")
    return f"c{int(digits) + width}{name[1 + len(digits) :]}"
