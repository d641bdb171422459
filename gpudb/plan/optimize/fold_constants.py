"""Computes constant expressions once, on the embedded engine, which has all of PostgreSQL's functions.

An expression that fails stays as it is: it may stand where no row reaches it. A strict function of NULL is NULL,
whatever its other operands are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpudb.plan.tree.nodes import Node
from gpudb.plan.tree.traversal import child_exprs, flatten, rebuild, transform, walk_nodes
from gpudb.sql import bound
from gpudb.sql.traverse import is_volatile
from gpudb.types.facts import EXACT_NUMBERS, FLOATS

Evaluate = Callable[[Sequence[bound.Expr]], Sequence[bound.Constant | None]]
"""Evaluates expressions over no input; None for one that fails or whose type has no constants."""

_FOLDED = (
    bound.Call, bound.Cast, bound.InList, bound.Choice, bound.Case, bound.DistinctFrom, bound.AnyArray, bound.BoolOp,
    bound.Test,
)  # fmt: skip
_NOT_CONSTANT = (
    bound.Aggregate, bound.Window, bound.SetReturning, bound.Grouping, bound.ScalarSubquery, bound.DomainValue,
)  # fmt: skip


def fold_immutable(root: Node, evaluate: Evaluate) -> Node:
    """Replaces the largest constant expressions of a plan whose value is the same under all settings."""
    return _fold(root, evaluate, immutable=True)


def fold_constants(root: Node, evaluate: Evaluate) -> Node:
    """Replaces the largest constant expressions of a plan by their values under a request's settings."""
    return _fold(root, evaluate, immutable=False)


def _fold(root: Node, evaluate: Evaluate, *, immutable: bool) -> Node:
    finding = _ConstantFinder(immutable)
    finding.collect(root)
    if finding.asks_type:
        root = _transform_exprs(root, _drop_argument)
        finding = _ConstantFinder(immutable)
        finding.collect(root)
    found = finding.found
    if found:
        values = evaluate(tuple(found))

        def fold(each: Any) -> Any:
            return values[found.index(each)] if isinstance(each, _FOLDED) and each in found else None

        root = _transform_exprs(root, fold)
    return _transform_exprs(root, _fold_null)


class _ConstantFinder:
    """Collects the largest constant expressions of a plan in `found`; `asks_type` is set if pg_typeof is called."""

    def __init__(self, immutable: bool) -> None:
        self._immutable = immutable
        self.found: list[Any] = []
        self.asks_type = False

    def collect(self, root: Node) -> None:
        """Collects from a plan."""
        for node in walk_nodes(root):
            for name in node.expressions:
                value = getattr(node, name)
                for each in flatten((value,)):
                    if self._is_constant(each):
                        self._add(each)

    def _is_constant(self, expr: Any) -> bool:
        """Returns whether an expression is constant; of one that is not, adds its largest constant parts."""
        if expr.__class__ is bound.Column:
            return False
        self.asks_type = self.asks_type or _is_type_query(expr)
        below = child_exprs(expr)
        constant = [self._is_constant(each) for each in below]
        if all(constant) and self._can_fold(expr):
            return True
        for each, found in zip(below, constant, strict=True):
            if found:
                self._add(each)
        return False

    def _can_fold(self, expr: Any) -> bool:
        """Returns whether an expression over constants is constant itself."""
        if isinstance(expr, _NOT_CONSTANT):
            return False
        if is_volatile(expr) or (isinstance(expr, bound.Call) and expr.function.returns_set):
            return False
        return not self._immutable or _is_immutable(expr)

    def _add(self, expr: Any) -> None:
        if not isinstance(expr, _FOLDED):
            for each in child_exprs(expr):
                self._add(each)
        elif expr not in self.found:
            # Constants may hold lists, which are not hashable.
            self.found.append(expr)


def _is_type_query(expr: Any) -> bool:
    """Returns whether an expression is pg_typeof of more than a constant."""
    if not isinstance(expr, bound.Call) or expr.function.name != "pg_typeof":
        return False
    return not isinstance(expr.args[0], bound.Constant)


def _drop_argument(expr: Any) -> Any:
    """Drops the argument of pg_typeof, whose value is not used and whose evaluation may fail."""
    if not _is_type_query(expr):
        return None
    (arg,) = expr.args
    made = replace(expr, args=(bound.Constant(None, arg.type),))
    if isinstance(arg, bound.Column | bound.Aggregate):
        return made
    return bound.Case(((bound.Test(arg, "NULL", False), made),), made, expr.type)


def _fold_null(expr: Any) -> Any:
    """Returns NULL for a strict function of NULL, whose other operands may fail."""
    return bound.Constant(None, expr.type) if isinstance(expr, bound.Call) and _is_null(expr) else None


def _is_null(expr: Any) -> bool:
    match expr:
        case bound.Constant(value=value):
            return value is None
        case bound.Cast(arg=arg):
            return _is_null(arg)
        case bound.Call(function=function, args=args):
            return function.strict and not function.returns_set and any(map(_is_null, args))
    return False


def _is_immutable(expr: Any) -> bool:
    """Returns whether an expression over unchanging values has one value under all settings."""
    if isinstance(expr, bound.Parameter | bound.SortKey | bound.Frame):
        return False
    if isinstance(expr, bound.Call) and not expr.function.immutable:
        return False
    # Time zones and the meaning of texts such as 'now' depend on settings.
    if expr.type.name not in _SETTING_FREE:
        return False
    return not (isinstance(expr, bound.Cast) and expr.arg.type.name in _TEXTS and expr.type.name not in _TEXTS)


def _transform_exprs(root: Node, change: Callable[[Any], Any]) -> Node:
    def over(node: Node) -> Node:
        changed: dict[str, Any] = {}
        for name in node.expressions:
            before = getattr(node, name)
            after = transform(before, change)
            if after is not before:
                changed[name] = after
        return replace(node, **changed) if changed else node

    return rebuild(root, over)


_TEXTS = {"text", "varchar", "bpchar"}
_SETTING_FREE = EXACT_NUMBERS | FLOATS | _TEXTS | {"bool", "date", "timestamp", "interval"}
