"""Top-N: histograms of the first sort key narrow the range, then one pass outputs the remaining rows.

A histogram is a pipeline: it groups by the upper bits of the key's distance from the least relevant value, and its
counts locate the bin of the last row of the N. The final pass outputs all rows up to that bin: at least N, with those
that tie in the first key; the caller sorts them by all keys and takes the first N. A query's histograms share one
kernel, with other parameters.
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
    CaseWhen,
    Compare,
    Expr,
    Filter,
    FloatSortKey,
    GroupSink,
    IsNull,
    Key,
    Literal,
    NotFused,
    Pipeline,
    Quotient,
)
from gpudb.engine.gpu.fused.numpy_backend.executor import Outcome
from gpudb.plan.tree import nodes
from gpudb.sql import bound

_BIN_BITS = 12
"""Bits of a histogram's bin number."""
_FEW_ROWS = 1 << 14
"""At most this many rows are not narrowed any further."""
Run = Callable[[Pipeline], Outcome]


@dataclass(frozen=True, slots=True)
class TopN:
    """The `limit` rows of the least `rank`, an integer that is never NULL."""

    rank: Expr
    limit: int

    def outcome(self, pipeline: Pipeline, run: Run) -> Outcome:
        """Returns a pipeline's rows (its sink is RowSink) up to a rank; possibly more than `limit`."""
        assert self.rank.bounds is not None
        low, high = self.rank.bounds
        remaining = self.limit
        while True:
            shift = max((high - low).bit_length() - _BIN_BITS, 0)
            counted = run(self._histogram(pipeline, low, high, shift))
            if counted.code:
                return counted
            assert counted.grouped is not None
            bins, counts = counted.grouped.groups[0], counted.grouped.words[0]
            before = np.cumsum(counts) - counts
            last = int(np.searchsorted(before, remaining)) - 1
            if last < 0 or (last == len(counts) - 1 and before[last] + counts[last] <= remaining):
                break
            first = low + (int(bins[last]) << shift)
            low, high = first, min(high, first + (1 << shift) - 1)
            remaining -= int(before[last])
            if before[last] + counts[last] <= _FEW_ROWS or shift == 0:
                break
        return run(self._rows(pipeline, high))

    def pipelines(self, pipeline: Pipeline) -> tuple[Pipeline, ...]:
        """Returns the pipelines that `outcome` runs, up to parameters."""
        assert self.rank.bounds is not None
        low, high = self.rank.bounds
        return self._histogram(pipeline, low, high, 0), self._rows(pipeline, high)

    def _rows(self, pipeline: Pipeline, high: int) -> Pipeline:
        steps = *pipeline.steps, Filter(self._compare_rank("<=", high))
        return replace(
            pipeline,
            steps=steps,
            few_rows_after=len(steps) if pipeline.few_rows_after is None else pipeline.few_rows_after,
        )

    def _compare_rank(self, op: str, value: int) -> Compare:
        return Compare(BOOLEAN, False, op, self.rank, self._parameter(value))  # type: ignore[arg-type]

    def _histogram(self, pipeline: Pipeline, low: int, high: int, shift: int) -> Pipeline:
        assert self.rank.bounds is not None
        most = self.rank.bounds[1] - self.rank.bounds[0]
        within = Filter(self._compare_rank(">=", low)), Filter(self._compare_rank("<=", high))
        distance = Arithmetic((0, most), False, "-", self.rank, self._parameter(low))
        bins = min(most + 1, 1 << _BIN_BITS)
        bin_number = Quotient((0, bins - 1), False, distance, 1 << shift, "floor", shift)
        count = Accumulator("add", Literal((1, 1), False, 1))
        sink = GroupSink((Key(bin_number, 0, bins),), (count,), "dense")
        return replace(pipeline, steps=(*pipeline.steps, *within), sink=sink)

    def _parameter(self, value: int) -> Literal:
        # One type for every value, so that the kernel is the same.
        return Literal(self.rank.bounds, False, value, True)


def ascending_rank(expr: Expr, *, descending: bool, nulls_first: bool) -> Expr:
    """Converts a sort key to an integer that sorts ascending, with NULLs before or after all values."""
    if expr.bounds is None:
        expr = FloatSortKey((-(2**63), 2**63 - 1), expr.nullable, expr)
    assert expr.bounds is not None
    low, high = expr.bounds
    if max(-low, high) > 2**63:
        raise NotFused("an ordering by integers of more than 64 bits")
    if descending:
        low, high = -1 - high, -1 - low
        expr = Arithmetic((low, high), expr.nullable, "-", Literal((-1, -1), False, -1), expr)
    if not expr.nullable:
        return expr
    null = low - 1 if nulls_first else high + 1
    is_valid = IsNull(BOOLEAN, False, expr, True)
    bounds = min(low, null), max(high, null)
    return CaseWhen(bounds, False, ((is_valid, expr),), Literal((null, null), False, null))


def needed_rows(node: nodes.Sort, parameters: Sequence[object]) -> int | None:
    """Returns how many of a sort's first rows are needed, OFFSET included; None for all, and where it is computed."""
    limit, offset = (constant_count(each, parameters) for each in (node.limit, node.offset))
    return None if limit is None or -1 in {limit, offset} else limit + (offset or 0)


def constant_count(expr: bound.Expr | None, parameters: Sequence[object]) -> int | None:
    """Returns the value of LIMIT or OFFSET; None if absent, -1 where it is computed or invalid."""
    value = parameters[expr.number - 1] if isinstance(expr, bound.Parameter) else expr
    value = value.value if isinstance(value, bound.Constant) else value
    return value if value is None or (isinstance(value, int) and value >= 0) else -1
