"""Computes a node over a join that fans out piece by piece: groups are merged, first rows are sorted once more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import polars as pl

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.lower.expressions.lowered_frame import Frame, LoweringContext
from gpudb.engine.gpu.lower.groups.aggregates import is_mergeable
from gpudb.engine.gpu.lower.groups.groups import Aggregation, has_sketches
from gpudb.engine.gpu.lower.relations import fan_out
from gpudb.engine.gpu.lower.relations.join_sides import lower_sides
from gpudb.plan.tree import nodes
from gpudb.plan.tree.stage_nodes import Partial
from gpudb.sql import bound
from gpudb.types import INT8


class Lowering(Protocol):
    """The lowering of the stage. `held` has frames of nodes by their ids, which it returns for them."""

    context: LoweringContext
    aggregation: Aggregation
    held: dict[int, Frame]

    def coded_frame(self, node: nodes.Node) -> Frame:
        """Returns the frame of a node."""

    def lower_node(self, node: nodes.Node) -> Frame:
        """Returns the frame of a node, which is not computed in pieces."""

    def grouped(self, frame: Frame, node: nodes.Aggregate) -> tuple[Frame, nodes.Aggregate, dict[int, Dictionary]]:
        """Returns an aggregate's input and the aggregate over its codes, with the dictionaries of its coded keys."""

    def first_rows(self, node: nodes.Sort) -> int | None:
        """Returns how many first rows a sort keeps; None for all."""


def lower_in_pieces(node: nodes.Node, lowering: Lowering) -> Frame | None:
    """Returns the frame of a node below which a join may fan out; None if there is no such join."""
    if not _takes_pieces(node) or (found := fan_out.find_join(node)) is None:
        return None
    join, others = found
    held = lowering.held
    first = lowering.first_rows(node) if isinstance(node, nodes.Sort) else 0
    if id(join) in held or first is None:
        return None
    try:
        return _lower_by(join, others, node, first, lowering)
    finally:  # a node is lowered again in each round of a recursion, over other rows
        for each in (join, *others):
            held.pop(id(each), None)


def _lower_by(
    join: nodes.Join, others: Sequence[nodes.Node], node: nodes.Node, first: int, lowering: Lowering
) -> Frame:
    """Returns the frame of a node above a join that may fan out, and above other relations."""
    held, context = lowering.held, lowering.context
    sides = lower_sides(join, lowering.coded_frame(join.left), lowering.coded_frame(join.right), context)
    pieces = fan_out.cut_join(sides, context.frames)
    if pieces.whole:
        (held[id(join)],) = pieces.frames(context)
        return held[id(join)] if node is join else lowering.lower_node(node)
    for each in others:
        frame = lowering.coded_frame(each)
        held[id(each)] = replace(frame, lazy=context.frames.compute(frame.lazy).lazy)
    return _merge(node, join, pieces.frames(context), first, lowering)


def _takes_pieces(node: nodes.Node) -> bool:
    """Returns whether a node can be computed piece by piece: row by row, by states of groups, or by first rows."""
    if isinstance(node, nodes.Aggregate):
        return all(map(is_mergeable, node.calls))
    if isinstance(node, nodes.Sort):
        return node.limit is not None
    return isinstance(node, nodes.Join | nodes.Filter | nodes.Project | Partial)


def _merge(node: nodes.Node, join: nodes.Join, pieces: Iterator[Frame], first: int, lowering: Lowering) -> Frame:
    """Computes a node over each piece, and merges what it makes of them."""
    context, aggregation = lowering.context, lowering.aggregation
    made: list[pl.LazyFrame] = []
    rows = 0
    like, grouped = Frame(pl.LazyFrame(), ()), node
    for piece in pieces:
        lowering.held[id(join)] = piece
        if isinstance(node, nodes.Aggregate):
            frame, grouped, texts = lowering.grouped(lowering.coded_frame(node.input), node)
            like = Frame(aggregation.partial(frame, grouped), (), texts=texts)
        elif isinstance(node, nodes.Sort):
            like = lowering.lower_node(replace(node, limit=bound.Constant(first, INT8), offset=None))
        else:
            like = piece if node is join else lowering.lower_node(node)
        computed = context.frames.compute(like.lazy)
        made.append(computed.lazy)
        rows += computed.rows
        if isinstance(node, nodes.Sort) and not node.keys and rows >= first:
            break
    every = pl.concat(made)
    match grouped:
        case nodes.Aggregate():
            states = _merge_states(every, grouped, aggregation)
            return replace(aggregation.final(Frame(states, ()), grouped), texts=like.texts)
        case Partial(aggregate=aggregate):
            # Sketches are merged with those of other workers.
            return Frame(every if has_sketches(aggregate) else aggregation.merge(every, aggregate), ())
        case nodes.Sort(input=below):
            lowering.held[id(below)] = replace(like, lazy=every)
            try:
                return lowering.lower_node(node)
            finally:
                del lowering.held[id(below)]
        case _:
            return replace(like, lazy=every, computed=None)


def _merge_states(states: pl.LazyFrame, node: nodes.Aggregate, aggregation: Aggregation) -> Any:
    if has_sketches(node):
        return aggregation.merge_sketches(states, node, merged=False)
    return aggregation.merge(states, node)
