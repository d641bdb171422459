"""The first rows by an order: histograms of the first key narrow it down, then a pass gives the rows that are left.

A histogram is a pipeline of its own: groups by the upper bits of the key's distance from the least that can matter,
whose counts tell in which of them the last row that is wanted lies. All rows up to there come out, so at least as many
as are wanted, those that are equal by the first key included; who orders them by all keys takes the first. A query's
histograms are one kernel, whose parameters differ.
Source of the idea: radix select (Alabi, Blelloch, Ding, Leischner, Winter: Fast K-Selection Algorithms for GPUs, 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpudb.engine.gpu.fused.ir.pipeline import (
    BOOLEAN,
    Accumulator,
    Arithmetic,
    Choose,
    Compare,
    Expr,
    Filter,
    Groups,
    IsNull,
    Key,
    Literal,
    NotFused,
    Ordered,
    Pipeline,
    Quotient,
)
from gpudb.engine.gpu.fused.numpy_backend.executor import Outcome
from gpudb.plan.tree import nodes
from gpudb.sql import bound

_BITS = 12
"""Bits of a histogram's place."""
_ENOUGH = 1 << 14
"""So many rows are not narrowed down any further."""
Run = Callable[[Pipeline], Outcome]


@dataclass(frozen=True, slots=True)
class Top:
    """The `limit` rows whose `rank` is least, of an integer that is never NULL."""

    rank: Expr
    limit: int

    def outcome(self, pipeline: Pipeline, run: Run) -> Outcome:
        """The rows of a pipeline (whose sink is Rows) up to a rank, and perhaps some more."""
        assert self.rank.bounds is not None
        low, high = self.rank.bounds
        wanted = self.limit
        while True:
            shift = max((high - low).bit_length() - _BITS, 0)
            counted = run(self._histogram(pipeline, low, high, shift))
            if counted.code:
                return counted
            assert counted.grouped is not None
            places, counts = counted.grouped.groups[0], counted.grouped.words[0]
            before = np.cumsum(counts) - counts
            last = int(np.searchsorted(before, wanted)) - 1
            if last < 0 or (last == len(counts) - 1 and before[last] + counts[last] <= wanted):
                break
            first = low + (int(places[last]) << shift)
            low, high = first, min(high, first + (1 << shift) - 1)
            wanted -= int(before[last])
            if before[last] + counts[last] <= _ENOUGH or shift == 0:
                break
        return run(self._rows(pipeline, high))

    def pipelines(self, pipeline: Pipeline) -> tuple[Pipeline, ...]:
        """What `outcome` runs, but for parameters."""
        assert self.rank.bounds is not None
        low, high = self.rank.bounds
        return self._histogram(pipeline, low, high, 0), self._rows(pipeline, high)

    def _rows(self, pipeline: Pipeline, high: int) -> Pipeline:
        steps = *pipeline.steps, Filter(self._compared("<=", high))
        return replace(pipeline, steps=steps, few=len(steps) if pipeline.few is None else pipeline.few)

    def _compared(self, op: str, value: int) -> Compare:
        return Compare(BOOLEAN, False, op, self.rank, self._given(value))  # type: ignore[arg-type]

    def _histogram(self, pipeline: Pipeline, low: int, high: int, shift: int) -> Pipeline:
        assert self.rank.bounds is not None
        most = self.rank.bounds[1] - self.rank.bounds[0]
        within = Filter(self._compared(">=", low)), Filter(self._compared("<=", high))
        distance = Arithmetic((0, most), False, "-", self.rank, self._given(low))
        places = min(most + 1, 1 << _BITS)
        place = Quotient((0, places - 1), False, distance, 1 << shift, "floor", shift)
        count = Accumulator("add", Literal((1, 1), False, 1))
        sink = Groups((Key(place, 0, places),), (count,), "dense")
        return replace(pipeline, steps=(*pipeline.steps, *within), sink=sink)

    def _given(self, value: int) -> Literal:
        # Of one type, whatever the value is.
        return Literal(self.rank.bounds, False, value, True)


def ranked_by(expr: Expr, *, descending: bool, nulls_first: bool) -> Expr:
    """An integer or float as what sorts by its least; NULLs are before or behind all."""
    if expr.bounds is None:
        expr = Ordered((-(2**63), 2**63 - 1), expr.nullable, expr)
    assert expr.bounds is not None
    low, high = expr.bounds
    if max(-low, high) > 2**63:
        raise NotFused("an order by integers of more than 64 bits")
    if descending:
        low, high = -1 - high, -1 - low
        expr = Arithmetic((low, high), expr.nullable, "-", Literal((-1, -1), False, -1), expr)
    if not expr.nullable:
        return expr
    null = low - 1 if nulls_first else high + 1
    there = IsNull(BOOLEAN, False, expr, True)
    bounds = min(low, null), max(high, null)
    return Choose(bounds, False, ((there, expr),), Literal((null, null), False, null))


def first_rows(node: nodes.Sort, parameters: Sequence[object]) -> int | None:
    """How many of a sort's first rows are wanted, OFFSET's included; None for all, and where it is computed."""
    limit, offset = (count_of(each, parameters) for each in (node.limit, node.offset))
    return None if limit is None or -1 in {limit, offset} else limit + (offset or 0)


def count_of(expr: bound.Expr | None, parameters: Sequence[object]) -> int | None:
    """What LIMIT or OFFSET says; None without one, -1 where it is computed, or wrong."""
    value = parameters[expr.number - 1] if isinstance(expr, bound.Parameter) else expr
    value = value.value if isinstance(value, bound.Constant) else value
    return value if value is None or (isinstance(value, int) and value >= 0) else -1
