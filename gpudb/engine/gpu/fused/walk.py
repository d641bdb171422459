"""What a pipeline's expressions are made of, and what they need."""

from __future__ import annotations

from gpudb.engine.gpu.fused.pipeline import Arithmetic, Checked, Choose, Compare, Expr, Field, Literal, Logic, Payload


def can_fail(expr: Expr) -> bool:
    """Whether a row can have an error by an expression."""
    if isinstance(expr, Checked) or (isinstance(expr, Arithmetic) and expr.code):
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


def fields_of(expr: Expr) -> set[int]:
    """The columns that an expression reads."""
    if isinstance(expr, Field):
        return {expr.column}
    return {column for each in parts(expr) for column in fields_of(each)}
