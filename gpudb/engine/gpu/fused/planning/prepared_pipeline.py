"""A fused part that is bound: a pipeline, the arrays that it reads, and what becomes of its outcome."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from gpudb.engine.gpu.fused.ir.pipeline import Bounds, Groups, Pipeline
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.numpy_backend.row_block import Table
from gpudb.engine.gpu.fused.planning.top_n import Top
from gpudb.engine.gpu.fused.translate.result_columns import Lane
from gpudb.engine.gpu.fused.translate.typed_values import Dictionary
from gpudb.engine.gpu.lower.error_codes import raised


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a table's column: bounds (None for floats), whether it has NULLs, the dictionary of text; of
    texts as they are, whether they are ASCII."""

    bounds: Bounds
    nullable: bool
    dictionary: Dictionary | None = None
    texts: bool | None = None


class Source(Protocol):
    """The packed columns of a scan."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    def known(self, column: int, *, texts: bool = False) -> Known:
        """What is known of a column, by its place in the scan; it may be one of `texts` as they are."""

    def segments(self, columns: Sequence[int], texts: Sequence[int] = ()) -> Sequence[executor.Segment]:
        """The scan's rows, with some of its columns, some of them of `texts` as they are."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What runs: `pipeline` over each of `segments`, with the forms of its columns, the `fields` of the source."""

    pipeline: Pipeline
    fields: tuple[int, ...]
    segments: Sequence[executor.Segment]
    lookups: tuple[tuple[np.ndarray[Any, Any], ...], ...]
    tables: tuple[Table, ...]
    finish: Callable[[executor.Outcome], list[Lane]]
    top: Top | None = None
    texts: tuple[int, ...] = ()
    """Those of the fields that are texts as they are."""

    def outcome(self, run: Callable[[Prepared], executor.Outcome]) -> executor.Outcome:
        """What comes of it, by what runs a pipeline."""
        if self.top is None:
            return run(self)
        return self.top.outcome(self.pipeline, lambda pipeline: run(replace(self, pipeline=pipeline)))

    @property
    def pipelines(self) -> tuple[Pipeline, ...]:
        """What runs, but for parameters."""
        return (self.pipeline,) if self.top is None else self.top.pipelines(self.pipeline)

    def passed(self, outcome: executor.Outcome) -> int | None:
        """How many rows came to the sink; None where that is not in the outcome, on the host."""
        if isinstance(self.pipeline.sink, Groups):
            counts = None if outcome.grouped is None else outcome.grouped.words[0]
            return int(counts.sum()) if isinstance(counts, np.ndarray) else None
        return len(outcome.rows[0][0]) if self.top is None and outcome.rows else None

    def lanes(self, outcome: executor.Outcome) -> list[Lane]:
        """The result's columns, where they lie; raises the error that a row had."""
        if outcome.code:
            raise raised(outcome.code)
        return self.finish(outcome)
