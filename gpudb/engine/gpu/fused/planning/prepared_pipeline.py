"""A bound fused part: a pipeline, the arrays that it reads, and the conversion of its outcome to result columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.fused.ir.pipeline import BodyCall, Bounds, Expr, FoldInput, GroupSink, Pipeline
from gpudb.engine.gpu.fused.ir.traversal import children, sink_exprs, step_exprs
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.numpy_backend.row_block import Table
from gpudb.engine.gpu.fused.planning.top_n import TopN
from gpudb.engine.gpu.fused.translate.result_columns import ResultColumn
from gpudb.engine.gpu.lower.error_codes import BODY_ERRORS, to_exception
from gpudb.errors import SqlError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plcuda.source import CudaFunction, make_error


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """Facts about a table's column: bounds (None for floats), nullability, a text's dictionary.

    `raw_ascii` is not None for raw text, and says whether it is ASCII.
    """

    bounds: Bounds
    nullable: bool
    dictionary: Dictionary | None = None
    raw_ascii: bool | None = None


class ColumnSource(Protocol):
    """Provides the packed columns of a scan."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def facts(self, column: int, *, raw: bool = False) -> ColumnFacts:
        """Returns the facts about a column of the scan; `raw` allows raw text."""

    def segments(self, columns: Sequence[int], raw: Sequence[int] = ()) -> Sequence[executor.Segment]:
        """Returns the scan's segments with some of its columns; those in `raw` as raw text."""


@dataclass(frozen=True, slots=True)
class PreparedPipeline:
    """What runs: `pipeline` over each of `segments`, with the encodings of its columns, the `fields` of the source."""

    pipeline: Pipeline
    fields: tuple[int, ...]
    segments: Sequence[executor.Segment]
    lookups: tuple[tuple[np.ndarray[Any, Any], ...], ...]
    tables: tuple[Table, ...]
    finish: Callable[[executor.Outcome], list[ResultColumn]]
    top: TopN | None = None
    raw_fields: tuple[int, ...] = ()
    """The fields that are raw text."""

    def outcome(self, run: Callable[[PreparedPipeline], executor.Outcome]) -> executor.Outcome:
        """Computes the outcome; `run` executes a pipeline."""
        if self.top is None:
            return run(self)
        return self.top.outcome(self.pipeline, lambda pipeline: run(replace(self, pipeline=pipeline)))

    @property
    def pipelines(self) -> tuple[Pipeline, ...]:
        """The pipelines that run, up to parameters."""
        return (self.pipeline,) if self.top is None else self.top.pipelines(self.pipeline)

    def rows_passed(self, outcome: executor.Outcome) -> int | None:
        """Returns how many rows reached the sink; None where the outcome on the host does not show it."""
        if isinstance(self.pipeline.sink, GroupSink):
            counts = None if outcome.grouped is None else outcome.grouped.words[0]
            return int(counts.sum()) if isinstance(counts, np.ndarray) else None
        return len(outcome.rows[0][0]) if self.top is None and outcome.rows else None

    def columns(self, outcome: executor.Outcome) -> list[ResultColumn]:
        """Returns the result's columns, on host or device; raises the error that a row raised."""
        if outcome.code:
            raise _find_error(self.pipeline, outcome.code)
        return self.finish(outcome)


def _find_error(pipeline: Pipeline, code: int) -> SqlError | NotSupportedOnWorkers:
    """Returns the exception for the code of an outcome, which a function that the pipeline calls may have raised."""
    waiting: list[Expr] = [each for step in pipeline.steps for each in step_exprs(step)] + sink_exprs(pipeline.sink)
    while waiting and code >= BODY_ERRORS:
        expr = waiting.pop()
        for function, first in _failing_functions(expr):
            if 0 <= code - first < len(function.errors):
                return make_error(function, code - first + 1)
        waiting += children(expr)
    return to_exception(code)


def _failing_functions(expr: Expr) -> list[tuple[CudaFunction, int]]:
    """Returns the functions that an expression calls, with the first code of their errors."""
    if isinstance(expr, BodyCall):
        return [(expr.function, expr.code)]
    if isinstance(expr, FoldInput) and expr.aggregate.combine is not None:
        return [(expr.aggregate.transition, expr.code), (expr.aggregate.combine, expr.combine_code)]
    return []
