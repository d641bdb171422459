"""Expressions over constants are computed once, by the embedded engine, which knows all of PostgreSQL's functions.

What fails is left as it is: it may stand where no row gets to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

from gpudb.plan.nodes import Node
from gpudb.plan.traversal import rebuild, transform
from gpudb.sql import bound
from gpudb.sql.traverse import walk

Evaluate = Callable[[Sequence[bound.Expr]], Sequence[bound.Constant | None]]
"""The constants that expressions over nothing give; None for one that fails or whose type no constant has."""

_FOLDED = (bound.Call, bound.Cast, bound.InList, bound.Choice, bound.Case, bound.DistinctFrom, bound.AnyArray)
_NOT_CONSTANT = (bound.Column, bound.Aggregate, bound.Window, bound.SetReturning, bound.ScalarSubquery, bound.Grouping)


def fold_constants(root: Node, evaluate: Evaluate, *, immutable: bool = False) -> Node:
    """The plan with every largest constant expression replaced by its value; with `immutable` only such as have one
    value always, under all settings."""
    found: list[Any] = []
    root = _each_expr(root, _type_alone)

    def find(each: Any) -> Any:
        if isinstance(each, _FOLDED) and _is_constant(each) and (not immutable or _is_immutable(each)):
            # Constants may hold lists, which do not hash.
            if each not in found:
                found.append(each)
            return each
        return None

    _each_expr(root, find)
    if not found:
        return root
    values = evaluate(tuple(found))

    def fold(each: Any) -> Any:
        return values[found.index(each)] if isinstance(each, _FOLDED) and each in found else None

    return _each_expr(root, fold)


def _type_alone(expr: Any) -> Any:
    """pg_typeof looks at no value, but computing it may end in an error."""
    if not isinstance(expr, bound.Call) or expr.function.name != "pg_typeof":
        return None
    (arg,) = expr.args
    if isinstance(arg, bound.Constant):
        return None
    made = replace(expr, args=(bound.Constant(None, arg.type),))
    if isinstance(arg, bound.Column | bound.Aggregate):
        return made
    return bound.Case(((bound.Test(arg, "NULL", False), made),), made, expr.type)


def _is_constant(expr: Any) -> bool:
    for node in walk(expr):
        if isinstance(node, _NOT_CONSTANT):
            return False
        if isinstance(node, bound.Call) and (node.function.volatile or node.function.returns_set):
            return False
    return True


def _is_immutable(expr: Any) -> bool:
    for node in walk(expr):
        if isinstance(node, bound.Call) and not node.function.immutable:
            return False
        if isinstance(node, bound.Parameter) or not hasattr(node, "type"):
            return False
        # Time zones and what a text says of now stand in settings.
        if node.type.name not in _PLAIN:
            return False
        if isinstance(node, bound.Cast) and node.arg.type.name in _TEXTS and node.type.name not in _TEXTS:
            return False
    return True


def _each_expr(root: Node, change: Callable[[Any], Any]) -> Node:
    def over(node: Node) -> Node:
        changed: dict[str, Any] = {}
        for each in fields(node):
            before = getattr(node, each.name)
            if each.name in _OTHERS or isinstance(before, Node):
                continue
            after = transform(before, change)
            if after is not before:
                changed[each.name] = after
        return replace(node, **changed) if changed else node

    return rebuild(root, over)


_TEXTS = {"text", "varchar", "bpchar"}
_PLAIN = _TEXTS | {"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "date", "timestamp", "interval"}
_OTHERS = {"table", "columns", "labels", "kind", "op", "all", "number", "null_aware"}
