"""Traverses a pipeline's expressions: children, columns, lookups, cost, whether they can fail."""

from __future__ import annotations

from collections.abc import Iterable

from gpudb.engine.gpu.fused.ir.pipeline import (
    Arithmetic,
    BodyCall,
    CaseWhen,
    Compare,
    DateField,
    Expr,
    Field,
    Filter,
    FloatToInteger,
    FoldInput,
    GroupSink,
    LikeMatch,
    Literal,
    Logic,
    Lookup,
    Payload,
    RangeCheck,
    RowSink,
    SquareRoot,
    TreeScore,
)
from gpudb.plcuda.source import CudaFunction


def can_fail(expr: Expr) -> bool:
    """Whether evaluating an expression can raise an error, or do what no row may do that does not reach it."""
    if isinstance(expr, RangeCheck | SquareRoot | FloatToInteger | BodyCall | FoldInput) or (
        isinstance(expr, Arithmetic) and expr.code
    ):
        return True
    return any(can_fail(each) for each in children(expr))


def is_expensive(expr: Expr) -> bool:
    """Whether an expression is so expensive that it is evaluated only for rows that need it."""
    return isinstance(expr, LikeMatch | BodyCall | FoldInput | TreeScore) or any(
        is_expensive(each) for each in children(expr)
    )


def has_trees(expr: Expr) -> bool:
    """Whether an expression scores rows by an ensemble of trees."""
    return isinstance(expr, TreeScore) or any(has_trees(each) for each in children(expr))


def children(expr: Expr) -> list[Expr]:
    """Returns an expression's children."""
    match expr:
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return [left, right]
        case Logic(args=args) | BodyCall(args=args) | TreeScore(args=args):
            return list(args)
        case CaseWhen(branches=branches, default=default):
            return [each for branch in branches for each in branch] + [default]
        case FoldInput(args=args, keep=keep):
            return list(args) if keep is None else [*args, keep]
        case Field() | Payload() | Literal():
            return []
    return [expr.arg]  # type: ignore[attr-defined]


def step_exprs(step: Filter | Lookup) -> tuple[Expr, ...]:
    """Returns the expressions of a step."""
    if isinstance(step, Filter):
        return (step.condition,)
    return step.keys if step.condition is None else (*step.keys, step.condition)


def sink_exprs(sink: GroupSink | RowSink) -> list[Expr]:
    """Returns the expressions of a sink."""
    if isinstance(sink, RowSink):
        return list(sink.values)
    return [*(key.expr for key in sink.keys), *(each.value for each in sink.accumulators if not each.word)]


def weigh(exprs: Iterable[Expr]) -> int:
    """Weighs expressions with their descendants; equal ones count once, constants not at all.

    Date fields, bodies, floats that may fail and integers of more than 64 bits count three times: their code is longer.
    """
    seen: set[Expr] = set()
    waiting = list(exprs)
    while waiting:
        each = waiting.pop()
        if each not in seen and not isinstance(each, Literal):
            seen.add(each)
            waiting += children(each)
    return sum(3 if _is_heavy(each) else 1 for each in seen)


def _is_heavy(expr: Expr) -> bool:
    if isinstance(expr, BodyCall | FoldInput):
        return True
    if expr.bounds is None:
        return isinstance(expr, Arithmetic) and expr.code > 0
    return isinstance(expr, DateField) or max(-expr.bounds[0] - 1, expr.bounds[1]) >= 2**63


def functions_called(exprs: Iterable[Expr]) -> list[CudaFunction]:
    """Returns the PL/CUDA functions that expressions call, each once."""
    found: dict[CudaFunction, None] = {}
    for expr in exprs:
        found |= dict.fromkeys(functions_called(children(expr)))
        if isinstance(expr, BodyCall):
            found[expr.function] = None
    return list(found)


def columns_read(expr: Expr) -> set[int]:
    """Returns the columns that an expression reads."""
    if isinstance(expr, Field):
        return {expr.column}
    return {column for each in children(expr) for column in columns_read(each)}


def lookups_read(expr: Expr) -> set[int]:
    """Returns the numbers of the lookups whose payloads an expression reads."""
    if isinstance(expr, Payload):
        return {expr.lookup}
    return {number for each in children(expr) for number in lookups_read(each)}
