"""Outer joins that need not be: where a condition above is true of no row that a side was filled up for with NULLs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpudb.plan.nodes import Join
from gpudb.plan.traversal import conjuncts
from gpudb.sql import bound

_Nulls = Callable[[int], bool]
"""Whether the column at a place is NULL."""


def inner(join: Join, condition: Any) -> Join:
    """A LEFT or FULL join under a condition as the narrower one that gives the same rows, or itself."""
    width = len(join.left.types)
    without_right = any(_is_not_true(part, lambda index: index >= width) for part in conjuncts(condition))
    if join.kind == "LEFT":
        return replace(join, kind="INNER") if without_right else join
    without_left = any(_is_not_true(part, lambda index: index < width) for part in conjuncts(condition))
    if join.kind != "FULL" or not without_left:
        return join
    return replace(join, kind="INNER" if without_right else "LEFT")


def _is_not_true(expr: Any, nulls: _Nulls) -> bool:
    """Whether a condition is false or NULL where some columns are NULL."""
    match expr:
        case bound.BoolOp(op="AND", args=args):
            return any(_is_not_true(each, nulls) for each in args)
        case bound.BoolOp(op="OR", args=args):
            return all(_is_not_true(each, nulls) for each in args)
        case bound.Test(arg=arg, what="NULL", negated=True) | bound.Test(arg=arg, what="FALSE", negated=False):
            return _is_null(arg, nulls)
        case bound.Test(arg=arg, what="TRUE", negated=False):
            return _is_not_true(arg, nulls)
        case _:
            return _is_null(expr, nulls)


def _is_null(expr: Any, nulls: _Nulls) -> bool:
    """Whether an expression is NULL where some columns are."""
    match expr:
        case bound.Column(index=index):
            return nulls(index)
        case bound.Cast(arg=arg) | bound.InList(arg=arg) | bound.BoolOp(op="NOT", args=(arg,)):
            return _is_null(arg, nulls)
        case bound.Call(function=function, args=args):
            return function.strict and any(_is_null(each, nulls) for each in args)
        case _:
            return False
