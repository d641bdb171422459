"""Joins that fan out: their result is made piece by piece, from slices of the left side.

A join without keys, or one that the planner expects to have many more rows than its inputs, is cut once both sides are
known: by their row counts, or by each left row's count of matches. What stands above the join up to an aggregate or a
limit is computed for each piece, so that the whole result is never in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.lower.expressions.lowered_frame import Frame, LoweringContext
from gpudb.engine.gpu.lower.relations.join_sides import JoinSides
from gpudb.plan.cost.profile import row_width
from gpudb.plan.tree import nodes

_MATCHES, _PIECE, _ROW = "matches", "piece", "right_row"


def find_join(node: nodes.Node) -> tuple[nodes.Join, list[nodes.Node]] | None:
    """Returns the join below a node that may fan out, and the right sides of the joins on the way to it.

    On the way each row of the join is worked on alone. None if there is no such join.
    """
    below, sides = node, list[nodes.Node]()
    if isinstance(node, nodes.Join) and not _may_fan_out(node):
        return None
    if not isinstance(node, nodes.Join):
        (below,) = node.inputs
    while True:
        match below:
            case nodes.Join() if _may_fan_out(below):
                return below, sides
            case nodes.Join(kind="INNER" | "LEFT" | "SEMI" | "ANTI"):
                sides.append(below.right)
                below = below.left
            case nodes.Filter() | nodes.Project():
                below = below.input
            case _:
                return None


def _may_fan_out(node: nodes.Join) -> bool:
    return not node.null_aware and (not node.keys or node.fans_out)


@dataclass(frozen=True, slots=True)
class Slices:
    """A frame in slices, which end before the rows `ends` (int64, ascending), or whole.

    There may be as many as rows: each is made when its turn comes.
    """

    frame: pl.LazyFrame
    ends: np.ndarray[Any, np.dtype[np.int64]] | None = None

    def __iter__(self) -> Iterator[pl.LazyFrame]:
        if self.is_whole:
            yield self.frame
            return
        assert self.ends is not None
        start = 0
        for end in map(int, self.ends):
            yield self.frame.slice(start, end - start)
            start = end

    @property
    def is_whole(self) -> bool:
        """Whether one slice is all of the frame."""
        return self.ends is None or len(self.ends) <= 1


@dataclass(frozen=True, slots=True)
class Pieces:
    """A join's sides, the left one in slices; `whole` if one slice is all of it."""

    sides: JoinSides
    slices: Slices

    @property
    def whole(self) -> bool:
        """Whether the join is not cut."""
        return self.slices.is_whole

    def frames(self, context: LoweringContext) -> Iterator[Frame]:
        """Yields the parts of the join's result."""
        if self.sides.node.kind == "FULL" and not self.whole:
            yield from self._full_frames(context)
            return
        for each in self.slices:
            yield replace(self.sides, left=each).join(context)

    def _full_frames(self, context: LoweringContext) -> Iterator[Frame]:
        """Yields the left rows with their partners, then the right rows that had none in any slice."""
        backend = context.frames
        right = backend.compute(self.sides.right.with_row_index(_ROW)).lazy
        sides = replace(self.sides, node=replace(self.sides.node, kind="LEFT"), right=right)
        matched: list[pl.LazyFrame] = []
        schema = pl.LazyFrame()
        for each in self.slices:
            found = backend.compute(replace(sides, left=each).pairs(context))
            matched.append(backend.compute(found.lazy.select(_ROW).drop_nulls().unique()).lazy)
            schema = found.lazy.head(0)
            yield sides.select(found.lazy)
        rest = right.join(pl.concat(matched), on=_ROW, how="anti")
        yield sides.select(pl.concat([schema, rest], how="diagonal"))


def cut_join(sides: JoinSides, backend: Backend) -> Pieces:
    """Computes a join's sides, and cuts the left one so that the rows of each slice's pairs fit `piece_bytes`."""
    right = backend.compute(sides.right)
    made = replace(sides, right=right.lazy)
    if not sides.keys and right.rows <= 1:
        return Pieces(made, Slices(sides.left))
    limit = max(backend.piece_bytes // row_width(sides.node.left.types + sides.node.right.types), 1)
    left = backend.compute(sides.left)
    if not sides.keys:
        step = max(limit // max(right.rows, 1), 1)
        return Pieces(made, Slices(left.lazy, np.append(np.arange(step, left.rows, step), left.rows)))
    return Pieces(made, _cut_by_matches(left, right, sides.keys, limit, backend))


def _cut_by_matches(left: ComputedFrame, right: ComputedFrame, keys: int, limit: int, backend: Backend) -> Slices:
    """Returns slices of the left rows that have at most `limit` matches together, or are one row."""
    names = [f"k{n}" for n in range(keys)], [f"q{n}" for n in range(keys)]
    counts = right.lazy.group_by(names[1]).agg(pl.len().cast(pl.Int64).alias(_MATCHES))
    counted = backend.compute(left.lazy.join(counts, left_on=names[0], right_on=names[1], how="left", coalesce=True))
    matches = pl.col(_MATCHES).fill_null(1)
    total = backend.compute(counted.lazy.select(matches.sum().alias(_MATCHES))).max_integer(_MATCHES)
    if (total or 0) <= limit:
        return Slices(left.lazy)
    pieces = ((matches.cum_sum() - 1) // limit).alias(_PIECE)
    placed = backend.compute(counted.lazy.with_columns(pieces).drop(_MATCHES))
    sizes = backend.compute(placed.lazy.group_by(_PIECE).agg(pl.len().cast(pl.Int64).alias("rows")).sort(_PIECE))
    return Slices(placed.lazy.drop(_PIECE), np.cumsum(sizes.to_polars()["rows"].to_numpy()))
