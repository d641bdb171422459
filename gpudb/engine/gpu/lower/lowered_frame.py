"""Lazy frames with the bounds of their columns, and the steps that all nodes' lowerings share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.lower.deferred import PutOff
from gpudb.engine.gpu.lower.error_codes import Error, raised, worst
from gpudb.engine.gpu.lower.expressions import Expressions
from gpudb.engine.gpu.lower.host_fallback import Host
from gpudb.engine.gpu.lower.values import Bounds, Value

NOTHING = "_"
"""The column of a frame without columns: a frame needs one to have a row count."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A lazy frame, the bounds of its logical columns, and its rows if they have been computed."""

    lazy: pl.LazyFrame
    bounds: tuple[Bounds, ...]
    held: ComputedFrame | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """How a stage's frames are computed: `frames` computes lazy frames, `host` what has no lowering."""

    frames: Backend
    host: Host

    def over(self, frame: Frame) -> Expressions:
        """Returns a lowering of expressions over a frame's columns."""
        return Expressions(frame.bounds, self.host)

    def checked(self, lazy: pl.LazyFrame, error: Error, put_off: PutOff | None = None) -> pl.LazyFrame:
        """Runs deferred steps and checks for errors; returns the frame if no row has an error."""
        if put_off is not None and put_off.steps:
            lazy = put_off.computed(lazy, self.frames).lazy
        if error is None:
            return lazy
        found = self.frames.held(lazy.with_columns(error.alias("e")))
        code = found.largest("e")
        if code:
            raise raised(code)
        return found.lazy.drop("e")

    def named(self, lazy: pl.LazyFrame, values: Sequence[Value], put_off: PutOff) -> pl.LazyFrame:
        """Selects the physical columns of values as c0, c1, …; constants are broadcast to the frame's length."""
        checked = self.checked(lazy, worst(*(value.error for value in values)), put_off)
        if all(value.named for value in values):
            return checked.select(expr for n, value in enumerate(values) for expr in value.columns(f"c{n}"))
        columns = [expr for n, value in enumerate(values) for expr in value.columns(f"p{n}")]
        names = [expr.meta.output_name() for expr in columns]
        return checked.with_columns(columns).select(pl.col(name).alias("c" + name[1:]) for name in names)


def without(lazy: pl.LazyFrame, put_off: PutOff) -> pl.LazyFrame:
    """Drops the columns of deferred steps."""
    return lazy.drop(put_off.columns) if put_off.steps else lazy
