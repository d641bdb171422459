"""Deferred steps: what a lazy frame cannot compute, and adds columns to the frame after it is collected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.lower.error_codes import DIVISION, fault
from gpudb.engine.gpu.lower.host_fallback import Host, HostStep
from gpudb.engine.gpu.lower.quotients import Quotient
from gpudb.engine.gpu.lower.values import Value, lanes, type_bounds
from gpudb.types import MAX_DIGITS, SqlType

_LIMIT = 10**MAX_DIGITS


@dataclass
class PutOff:
    """The deferred steps of expressions over one frame; names of their columns start with `prefix`."""

    prefix: str = "h"
    steps: list[Quotient | HostStep] = field(default_factory=list)
    _hosted: list[tuple[Any, Value]] = field(default_factory=list)

    def quotient(self, dividend: Value, divisor: Value, shown: pl.Expr, kind: SqlType) -> Value:
        """Defers a carried quotient; returns its future columns. 22012 for a divisor of 0."""
        name = f"{self.prefix}{len(self.steps)}"
        self.steps.append(Quotient(name, dividend, divisor, shown))
        known = divisor.constant and divisor.bounds != (0, 0)
        error = None if known else fault((divisor.expr == 0) & dividend.expr.is_not_null(), DIVISION)
        return Value(kind, pl.col(name), error, (1 - _LIMIT, _LIMIT - 1), (("s", pl.col(name + "s")),))

    def hosted(self, host: Host, expr: Any) -> Value:
        """Defers an expression to the host; returns its future columns. The step raises its errors."""
        for known, value in self._hosted:
            if known == expr:
                return value
        kind = expr.type
        step = host.step(f"{self.prefix}{len(self.steps)}", expr)
        self.steps.append(step)
        others = tuple((suffix, pl.col(step.name + suffix)) for suffix in lanes(kind) if suffix)
        value = Value(kind, pl.col(step.name), None, type_bounds(kind), others)
        self._hosted.append((expr, value))
        return value

    def mark(self) -> tuple[int, int]:
        """Returns a savepoint for `back_to`."""
        return len(self.steps), len(self._hosted)

    def back_to(self, mark: tuple[int, int]) -> None:
        """Removes the steps added since a savepoint."""
        del self.steps[mark[0] :]
        del self._hosted[mark[1] :]

    def computed(self, lazy: pl.LazyFrame, frames: Backend) -> ComputedFrame:
        """Collects the frame and adds every step's columns."""
        made = frames.held(lazy)
        for each in self.steps:
            made = each.added(made, frames)
        return made

    @property
    def columns(self) -> list[str]:
        """The columns that the steps add."""
        return [name for each in self.steps for name in each.lanes]
