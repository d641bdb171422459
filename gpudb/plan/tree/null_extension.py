"""Evaluates expressions where some columns are NULL, as in rows that an outer join extends with NULLs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpudb.sql import bound

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
