"""Decides whether an expression may fail.

One that may fail is not moved below an operator that removes rows: there it would see those rows.
"""

from __future__ import annotations

from typing import Any

from gpudb.functions.library import get_comparison
from gpudb.sql import bound
from gpudb.sql.widening import bare


def may_fail(expr: Any) -> bool:
    """Returns True unless the expression is known to have a value, or NULL, for every row."""
    match expr:
        case bound.Column() | bound.Constant() | bound.Parameter():
            return False
        case bound.BoolOp(args=args) | bound.Choice(args=args) | bound.TreeScore(args=args):
            return any(may_fail(each) for each in args)
        case bound.Test(arg=arg):
            return may_fail(arg)
        case bound.DistinctFrom(left=left, right=right):
            return may_fail(left) or may_fail(right)
        case bound.InList(arg=arg, items=items):
            return may_fail(arg) or any(may_fail(each) for each in items)
        case bound.Case(branches=branches, default=default):
            return may_fail(default) or any(may_fail(each) for branch in branches for each in branch)
        case bound.Cast():
            inner = bare(expr)
            return inner is expr or may_fail(inner)
        case bound.Call(function=function, args=args):
            return get_comparison(function) is None or any(may_fail(each) for each in args)
        case _:
            return True
