"""Deferred steps: what a lazy frame cannot compute, and adds columns to the frame after it is collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.lower.error_codes import DIVISION, error_if
from gpudb.engine.gpu.lower.expressions.exact_steps import (
    ExactStep,
    add_exact,
    co_moment_step,
    deviation_step,
    distance_step,
    finish_step,
    function_step,
    quotient_step,
    score_step,
)
from gpudb.engine.gpu.lower.expressions.host_fallback import HostFallback, HostStep
from gpudb.engine.gpu.lower.expressions.text_codes import CodedTexts
from gpudb.engine.gpu.lower.values import Value, physical_columns, read_bytes, type_bounds
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.source import CudaFunction
from gpudb.sql import bound
from gpudb.types import HALFVEC, INT4, MAX_DIGITS, SqlType
from gpudb.types.facts import FLOATS
from gpudb.values.bit_keys import encode_bit_string
from gpudb.values.half_vectors import WIDTH
from gpudb.values.vector_keys import SINGLE

_LIMIT = 10**MAX_DIGITS


def _count_dimensions(vector: Value) -> int | None:
    """Returns the dimensions of a constant vector, or those that a column declares; None if they are unknown.

    Of a bit string it returns its bits.
    """
    if vector.type.length is None and vector.constant:
        if vector.type.name == "bit":
            return len(pl.select(vector.expr).item() or "") or None
        key = read_bytes(vector)
        return None if key is None else len(key) // (WIDTH if vector.type.name == HALFVEC.name else SINGLE.itemsize)
    return vector.type.length


def _pack(bits: Value, length: int) -> Value:
    """Returns a constant bit string without a declared length as one with it."""
    if bits.type.name != "bit" or bits.type.length is not None:
        return bits
    packed = encode_bit_string(pl.select(bits.expr).item())
    return Value(SqlType("bit", length), pl.lit(packed, pl.Binary), constant=True)


@dataclass
class DeferredSteps:
    """The deferred steps of expressions over one frame; names of their columns start with `prefix`."""

    prefix: str = "h"
    steps: list[ExactStep | HostStep] = field(default_factory=list)
    _host_values: list[tuple[int, Any, Value]] = field(default_factory=list)

    def defer_quotient(self, dividend: Value, divisor: Value, shown: pl.Expr, kind: SqlType) -> Value:
        """Defers a carried quotient; returns its future columns. 22012 for a divisor of 0."""
        name = f"{self.prefix}{len(self.steps)}"
        self.steps.append(quotient_step(name, dividend, divisor, shown, kind.numeric_digits[1]))
        known = divisor.constant and divisor.bounds != (0, 0)
        error = None if known else error_if((divisor.expr == 0) & dividend.expr.is_not_null(), DIVISION)
        return Value(kind, pl.col(name), error, (1 - _LIMIT, _LIMIT - 1), (("s", pl.col(name + "s")),))

    def defer_deviation(self, state: str, scale: int, kind: SqlType, *, wide: bool, sample: bool, root: bool) -> Value:
        """Defers a variance or standard deviation of the columns of a state; returns its future columns."""
        name = f"{self.prefix}{len(self.steps)}"
        carried = kind.numeric_digits[1]
        self.steps.append(deviation_step(name, state, scale, carried, wide=wide, sample=sample, root=root))
        return Value(kind, pl.col(name), None, (1 - _LIMIT, _LIMIT - 1), (("s", pl.col(name + "s")),))

    def defer_co_moment(self, state: str, one: str, other: str) -> pl.Expr:
        """Defers a co-moment of the sums of a state; returns its future column, a float."""
        name = f"{self.prefix}{len(self.steps)}"
        self.steps.append(co_moment_step(name, state, one, other))
        return pl.col(name)

    def defer_distance(self, metric: str, args: tuple[Value, ...], kind: SqlType) -> Value:
        """Defers a distance of two vectors, or bit strings, of known, equal dimensions; returns its future column.

        NotSupportedOnWorkers for others, which may have an error: the host knows which rows reach them.
        """
        left, right = args
        dimensions = {_count_dimensions(each) for each in args}
        if len(dimensions) > 1 or None in dimensions or (left.constant and right.constant):
            raise NotSupportedOnWorkers(f"{metric} of vectors without equal, declared dimensions")
        name = f"{self.prefix}{len(self.steps)}"
        length = dimensions.pop() or 0
        self.steps.append(distance_step(name, metric, length, _pack(left, length), _pack(right, length)))
        return Value(kind, pl.col(name))

    def defer_function(
        self, code: CudaFunction, args: tuple[Value, ...], kind: SqlType, reached: pl.Expr | None
    ) -> Value:
        """Defers a call of a PL/CUDA function for the rows where `reached` is true (None: all); its future column.

        The step raises the errors of the body.
        """
        name = f"{self.prefix}{len(self.steps)}"
        self.steps.append(function_step(name, code, args, reached))
        return Value(kind, pl.col(name), None, type_bounds(kind))

    def defer_score(self, score: bound.TreeScore, features: Sequence[Value]) -> Value:
        """Defers a score by an ensemble of trees; returns its future column, a float or the number of a class."""
        label = score.type.name not in FLOATS
        name = f"{self.prefix}{len(self.steps)}"
        self.steps.append(score_step(name, score.ensemble, [each.expr for each in features], label=label))
        return Value(INT4 if label else score.type, pl.col(name))

    def defer_finish(self, fold: CudaAggregate, names: Sequence[str], kind: SqlType) -> Value:
        """Defers the results of states of a PL/CUDA aggregate, in columns of some names; returns their future column.

        The step raises the errors of the final function.
        """
        name = f"{self.prefix}{len(self.steps)}"
        self.steps.append(finish_step(name, fold, names))
        return Value(kind, pl.col(name), None, type_bounds(kind))

    def defer_to_host(self, host: HostFallback, expr: Any, texts: CodedTexts) -> Value:
        """Defers an expression to the host; returns its future columns. The step raises its errors."""
        for _, known, value in self._host_values:
            if known == expr:
                return value
        kind = expr.type
        step = host.expression_step(f"{self.prefix}{len(self.steps)}", expr, texts)
        self.steps.append(step)
        others = tuple((suffix, pl.col(step.name + suffix)) for suffix in physical_columns(kind) if suffix)
        value = Value(kind, pl.col(step.name), None, type_bounds(kind), others)
        self._host_values.append((len(self.steps) - 1, expr, value))
        return value

    def has_host_steps(self, first: int) -> bool:
        """Whether a step from number `first` on runs on the host."""
        return any(isinstance(step, HostStep) for step in self.steps[first:])

    def roll_back(self, count: int) -> None:
        """Removes all steps but the first `count`."""
        del self.steps[count:]
        self._host_values = [each for each in self._host_values if each[0] < count]

    def run(self, lazy: pl.LazyFrame, frames: Backend) -> ComputedFrame:
        """Collects the frame and adds every step's columns."""
        result = frames.compute(lazy)
        for together in self._batches():
            first = together[0]
            if isinstance(first, HostStep):
                result = first.add_to(result, frames)
            else:
                result = add_exact(result, [each for each in together if isinstance(each, ExactStep)], frames)
        return result

    def _batches(self) -> list[list[ExactStep | HostStep]]:
        """Returns the steps in order, exact ones together while none of them reads another's columns."""
        batches: list[list[ExactStep | HostStep]] = []
        added: set[str] = set()
        for each in self.steps:
            if (
                batches
                and isinstance(each, ExactStep)
                and isinstance(batches[-1][0], ExactStep)
                and not each.reads(added)
            ):
                batches[-1].append(each)
            else:
                batches.append([each])
                added = set()
            added.update(each.output_names)
        return batches

    @property
    def columns(self) -> list[str]:
        """The columns that the steps add."""
        return [name for each in self.steps for name in each.output_names]
