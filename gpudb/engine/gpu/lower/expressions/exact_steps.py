"""Steps between two lazy frames: exact arithmetic, distances, PL/CUDA functions, scores by trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from gpudb.analytics.trees.ensemble import TreeEnsemble
from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.backend.distance_calls import DistanceCall
from gpudb.engine.gpu.backend.exact_calls import CoMomentCall, DeviationCall, ExactCall, QuotientCall, exact_columns
from gpudb.engine.gpu.backend.function_calls import FinishCall, FunctionCall
from gpudb.engine.gpu.backend.tree_calls import TreeCall
from gpudb.engine.gpu.lower.values import Value, physical_columns, read_bytes
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.source import CudaFunction
from gpudb.types import HALFVEC
from gpudb.values.half_vectors import WIDTH
from gpudb.values.vector_keys import SINGLE


@dataclass(frozen=True, slots=True)
class ExactStep:
    """A call of an exact function, and its operands as named expressions over the frame."""

    call: ExactCall
    operands: tuple[pl.Expr, ...]

    @property
    def output_names(self) -> tuple[str, ...]:
        """The columns that it adds to a frame."""
        return tuple(name for name, _ in exact_columns(self.call))

    def reads(self, names: set[str]) -> bool:
        """Returns whether an operand reads one of some columns."""
        return any(not names.isdisjoint(each.meta.root_names()) for each in self.operands)


def quotient_step(name: str, dividend: Value, divisor: Value, shown: pl.Expr, carried: int) -> ExactStep:
    """Returns the step that divides two values, to `carried` decimals; `shown` is their greater display scale."""
    a, b, s = (name + suffix for suffix in ("_a", "_b", "_s"))
    operands = _wide(dividend.expr, a), _wide(divisor.expr, b), shown.cast(pl.Int32).alias(s)
    return ExactStep(QuotientCall(name, a, dividend.scale, b, divisor.scale, s, carried), operands)


def deviation_step(
    name: str, state: str, scale: int, carried: int, *, wide: bool, sample: bool, root: bool
) -> ExactStep:
    """Returns the step that computes a variance or standard deviation, of `carried` decimals, from a state's columns.

    They are `state` + "n" (the count), `state` (the sum), `state` + "q" (the sum of squares) and, if `wide`, `state` +
    "r" (the sum of the squares' high words).
    """
    n, t, q, r = (name + suffix for suffix in ("_n", "_t", "_q", "_r"))
    operands = [pl.col(state + "n").cast(pl.Int64).alias(n), _wide(pl.col(state), t), _wide(pl.col(state + "q"), q)]
    if wide:
        operands.append(_wide(pl.col(state + "r"), r))
    return ExactStep(DeviationCall(name, n, t, q, r if wide else None, scale, sample, root, carried), tuple(operands))


def co_moment_step(name: str, state: str, one: str, other: str) -> ExactStep:
    """Returns the step that computes the co-moment of x and y, or of one with itself, from the sums of a state.

    They are `state` + "n" (the count), `state` + `one`, `state` + `other`, and `state` + both, the sum of products.
    """
    suffixes = "n", one, other, one + other
    operands = (pl.col(state + each).cast(pl.Int64 if each == "n" else pl.Int128) for each in suffixes)
    names = [f"{name}_{each}" for each in suffixes]
    named = {at: expr.alias(at) for at, expr in zip(names, operands, strict=True)}
    return ExactStep(CoMomentCall(name, *names), tuple(named.values()))


def distance_step(name: str, metric: str, dimensions: int, left: Value, right: Value) -> ExactStep:
    """Returns the step that computes a distance of vectors of equal dimensions, of which at most one is constant."""
    if left.constant:
        left, right = right, left  # every metric is symmetric
    a, b = name + "_a", name + "_b"
    width = WIDTH if left.type.name == HALFVEC.name else SINGLE.itemsize
    if right.constant:
        return ExactStep(
            DistanceCall(name, metric, dimensions, a, None, read_bytes(right), width), (left.expr.alias(a),)
        )
    operands = (left.expr.alias(a), right.expr.alias(b))
    return ExactStep(DistanceCall(name, metric, dimensions, a, b, None, width), operands)


def function_step(name: str, code: CudaFunction, args: Sequence[Value], reached: pl.Expr | None) -> ExactStep:
    """Returns the step that calls a PL/CUDA function for the rows where `reached` is true (None: all)."""
    operands = []
    for number, (arg, (_, item)) in enumerate(zip(args, code.parameters, strict=True)):
        operands.append(arg.expr.cast(physical_columns(item)[""]).alias(f"{name}_{number}"))
    names = tuple(each.meta.output_name() for each in operands)
    if reached is not None:
        operands.append(reached.alias(name + "_w"))
    elif not operands:  # a frame without columns would have no rows
        operands.append(pl.lit(True).alias(name + "_w"))
    call = FunctionCall(name, code, names, name + "_w" if len(operands) > len(names) else None)
    return ExactStep(call, tuple(operands))


def score_step(name: str, ensemble: TreeEnsemble, features: Sequence[pl.Expr], *, label: bool) -> ExactStep:
    """Returns the step that scores features by an ensemble of trees."""
    names = tuple(f"{name}_{number}" for number in range(len(features)))
    operands = tuple(each.cast(pl.Float64).alias(at) for each, at in zip(features, names, strict=True))
    return ExactStep(TreeCall(name, ensemble, names, label), operands)


def finish_step(name: str, fold: CudaAggregate, names: Sequence[str]) -> ExactStep:
    """Returns the step that finishes states of a PL/CUDA aggregate: what their cells have, and their fields."""
    operands = tuple(pl.col(each).alias(f"{name}_{number}") for number, each in enumerate(names))
    return ExactStep(FinishCall(name, fold, tuple(each.meta.output_name() for each in operands)), operands)


def add_exact(result: ComputedFrame, steps: Sequence[ExactStep], frames: Backend) -> ComputedFrame:
    """Adds the columns of steps to a frame; none of the steps reads another's."""
    operands = [each for step in steps for each in step.operands]
    if all(each.meta.undo_aliases().meta.is_column() for each in operands):
        lazy = result.select({each.meta.output_name(): each.meta.root_names()[0] for each in operands}).lazy
    else:
        # Constants get the frame's length.
        lazy = result.lazy.with_columns(operands).select(each.meta.output_name() for each in operands)
    return result.add_columns(frames.compute_exact(lazy, [step.call for step in steps]))


def _wide(expr: pl.Expr, name: str) -> pl.Expr:
    return expr.cast(pl.Int128).alias(name)
