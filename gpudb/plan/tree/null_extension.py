"""Expressions over rows that an outer join extends with NULLs, and outer joins whose NULL-extended rows are removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpudb.plan.tree.nodes import Join
from gpudb.sql import bound
from gpudb.sql.traverse import split_conjuncts

Nulls = Callable[[int], bool]
"""Returns whether the column at a position is NULL."""


def is_not_true(expr: Any, nulls: Nulls) -> bool:
    """Returns whether a condition is known to be false or NULL where some columns are NULL."""
    match expr:
        case bound.BoolOp(op="AND", args=args):
            return any(is_not_true(each, nulls) for each in args)
        case bound.BoolOp(op="OR", args=args):
            return all(is_not_true(each, nulls) for each in args)
        case bound.Test(arg=arg, what="NULL", negated=True) | bound.Test(arg=arg, what="FALSE", negated=False):
            return is_null(arg, nulls)
        case bound.Test(arg=arg, what="TRUE", negated=False):
            return is_not_true(arg, nulls)
        case _:
            return is_null(expr, nulls)


def is_null(expr: Any, nulls: Nulls) -> bool:
    """Returns whether an expression is known to be NULL where some columns are NULL."""
    match expr:
        case bound.Column(index=index):
            return nulls(index)
        case bound.Cast(arg=arg) | bound.InList(arg=arg) | bound.BoolOp(op="NOT", args=(arg,)):
            return is_null(arg, nulls)
        case bound.Call(function=function, args=args):
            return function.strict and any(is_null(each, nulls) for each in args)
        case _:
            return False


def narrow_outer_join(join: Join, condition: Any) -> Join:
    """Returns a LEFT or FULL join under a condition as the narrowest join with the same rows, or itself."""
    width = len(join.left.types)
    without_right = any(is_not_true(part, lambda index: index >= width) for part in split_conjuncts(condition))
    if join.kind == "LEFT":
        return replace(join, kind="INNER") if without_right else join
    without_left = any(is_not_true(part, lambda index: index < width) for part in split_conjuncts(condition))
    if join.kind != "FULL" or not without_left:
        return join
    return replace(join, kind="INNER" if without_right else "LEFT")
