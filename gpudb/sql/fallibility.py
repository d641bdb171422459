"""Decides whether an expression may fail.

One that may fail is not moved below an operator that removes rows: there it would see those rows.
"""

from __future__ import annotations

from typing import Any

from gpudb.functions.library import get_comparison
from gpudb.sql import bound
from gpudb.sql.traverse import iter_queries, reads_columns, walk
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


def may_leak(expr: Any) -> bool:
    """Whether a condition may tell of a row that a later condition removes: by an error, or by a function's effects.

    What reads no column, or reads a row only behind other conditions, tells of none.
    """
    if not any(isinstance(node, bound.Column) for node in walk(expr)):
        return False
    match expr:
        case bound.Column() | bound.Exists() | bound.ArraySubquery() | bound.Aggregate() | bound.Grouping():
            return False
        case bound.BoolOp(args=args) | bound.Choice(args=args) | bound.AnySubquery(left=args):
            return any(map(may_leak, args))
        case bound.Test(arg=arg):
            return may_leak(arg)
        case bound.DistinctFrom(left=left, right=right):
            return may_leak(left) or may_leak(right)
        case bound.AnyArray(left=left, array=array):
            return may_leak(left) or may_leak(array)
        case bound.InList(arg=arg, items=items):
            return may_leak(arg) or any(map(may_leak, items))
        case bound.Case(branches=branches, default=default):
            return may_leak(default) or any(may_leak(each) for branch in branches for each in branch)
        case bound.Cast():
            inner = bare(expr)
            return inner is expr or may_leak(inner)
        case bound.Call(function=function, args=args):
            return get_comparison(function) is None or any(map(may_leak, args))
        case _:
            return True


def has_leaky_conditions(statement: Any) -> bool:
    """Whether a statement has a condition that may leak, or a subquery with a column over which one may be.

    So may a function in FROM, or a list of VALUES, over columns of a relation beside it.
    """
    top = {id(query) for query in iter_queries(statement)}
    for node in walk(statement):
        match node:
            case bound.Select():
                targets = () if id(node) in top else node.targets
                conditions = (each for each in (node.where, node.having, *targets) if each is not None)
                if any(map(may_leak, conditions)):
                    return True
            case bound.Join(on=on):
                if on is not None and may_leak(on):
                    return True
            case bound.FunctionScan(args=args):
                if any(map(reads_columns, args)):
                    return True
            case bound.Values(rows=rows):
                if id(node) not in top and any(may_leak(each) for row in rows for each in row):
                    return True
    return False
