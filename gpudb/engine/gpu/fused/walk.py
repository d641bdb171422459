"""What a pipeline's expressions are made of, and what they need."""

from __future__ import annotations

from collections.abc import Iterable

from gpudb.engine.gpu.fused.pipeline import (
    Arithmetic,
    Checked,
    Choose,
    Compare,
    Expr,
    Field,
    Filter,
    Groups,
    Literal,
    Logic,
    Lookup,
    Payload,
    Root,
    Rows,
)


def can_fail(expr: Expr) -> bool:
    """Whether a row can have an error by an expression."""
    if isinstance(expr, Checked | Root) or (isinstance(expr, Arithmetic) and expr.code):
        return True
    return any(can_fail(each) for each in parts(expr))


def parts(expr: Expr) -> list[Expr]:
    """The expressions that an expression is made of."""
    match expr:
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return [left, right]
        case Logic(args=args):
            return list(args)
        case Choose(branches=branches, default=default):
            return [each for branch in branches for each in branch] + [default]
        case Field() | Payload() | Literal():
            return []
    return [expr.arg]  # type: ignore[attr-defined]


def exprs_of(step: Filter | Lookup) -> tuple[Expr, ...]:
    """The expressions of a step."""
    if isinstance(step, Filter):
        return (step.condition,)
    return step.keys if step.condition is None else (*step.keys, step.condition)


def exprs_in(sink: Groups | Rows) -> list[Expr]:
    """The expressions of a sink."""
    if isinstance(sink, Rows):
        return list(sink.values)
    return [*(key.expr for key in sink.keys), *(each.value for each in sink.accumulators)]


def size_of(exprs: Iterable[Expr]) -> int:
    """How many expressions there are, those within included, equal ones once and constants not at all."""
    seen: set[Expr] = set()
    waiting = list(exprs)
    while waiting:
        each = waiting.pop()
        if each not in seen and not isinstance(each, Literal):
            seen.add(each)
            waiting += parts(each)
    return len(seen)


def fields_of(expr: Expr) -> set[int]:
    """The columns that an expression reads."""
    if isinstance(expr, Field):
        return {expr.column}
    return {column for each in parts(expr) for column in fields_of(each)}
