"""Lazy frames with the bounds of their columns, and the steps that all nodes' lowerings share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame, select_columns
from gpudb.engine.gpu.lower.error_codes import Error, first_error, to_exception
from gpudb.engine.gpu.lower.expressions.deferred import DeferredSteps
from gpudb.engine.gpu.lower.expressions.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.expressions.host_fallback import HostFallback
from gpudb.engine.gpu.lower.expressions.text_codes import NOTHING, CodedTexts
from gpudb.engine.gpu.lower.values import Bounds, Value, physical_columns

NO_COLUMNS = "_"
"""The column of a frame without columns: a frame needs one to have a row count."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A lazy frame, the bounds of its logical columns, its rows if they have been computed, and its coded columns."""

    lazy: pl.LazyFrame
    bounds: tuple[Bounds, ...]
    computed: ComputedFrame | None = None
    texts: CodedTexts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoweringContext:
    """How a stage's frames are computed: `frames` computes lazy frames, `host` what has no lowering."""

    frames: Backend
    host: HostFallback

    def expressions(self, frame: Frame) -> ExpressionLowering:
        """Returns a lowering of expressions over a frame's columns."""
        return ExpressionLowering(frame.bounds, self.host, frame.texts)

    def decode(self, frame: Frame) -> Frame:
        """Returns a frame with the texts of its coded columns."""
        if not frame.texts:
            return frame
        nulls = [pl.lit(None, pl.String).alias(f"c{n}") for n, each in frame.texts.items() if each is NOTHING]
        lazy = frame.lazy.with_columns(nulls) if nulls else frame.lazy
        named = {f"c{index}": texts for index, texts in frame.texts.items() if texts is not NOTHING}
        return Frame(self.frames.decode_texts(lazy, named) if named else lazy, frame.bounds)

    def without_nulls(self, frame: Frame) -> Frame:
        """Returns a coded frame with its columns of NULLs decoded."""
        nulls = {index: each for index, each in frame.texts.items() if each is NOTHING}
        rest = {index: each for index, each in frame.texts.items() if index not in nulls}
        return replace(self.decode(replace(frame, texts=nulls)), texts=rest)

    def check_errors(self, lazy: pl.LazyFrame, error: Error, deferred: DeferredSteps | None = None) -> pl.LazyFrame:
        """Runs deferred steps and checks for errors; returns the frame if no row has an error."""
        if deferred is not None and deferred.steps:
            lazy = deferred.run(lazy, self.frames).lazy
        if error is None:
            return lazy
        found = self.frames.compute(lazy.with_columns(error.alias("e")))
        code = found.max_integer("e")
        if code:
            raise to_exception(code)
        return found.lazy.drop("e")

    def select_values(self, lazy: pl.LazyFrame, values: Sequence[Value], deferred: DeferredSteps) -> pl.LazyFrame:
        """Selects the physical columns of values as c0, c1, …; constants are broadcast to the frame's length."""
        checked = self.check_errors(lazy, first_error(*(value.error for value in values)), deferred)
        if all(value.is_plain_column for value in values):
            made = [expr for n, value in enumerate(values) for expr in value.as_columns(f"c{n}")]
            kinds = [kind for value in values for kind in physical_columns(value.type).values()]
            return select_columns(checked, made, kinds)
        columns = [expr for n, value in enumerate(values) for expr in value.as_columns(f"p{n}")]
        names = [expr.meta.output_name() for expr in columns]
        return checked.with_columns(columns).select(pl.col(name).alias("c" + name[1:]) for name in names)


def drop_deferred(lazy: pl.LazyFrame, deferred: DeferredSteps) -> pl.LazyFrame:
    """Drops the columns of deferred steps."""
    return lazy.drop(deferred.columns) if deferred.steps else lazy
