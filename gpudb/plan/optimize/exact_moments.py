"""Correlations and regressions of exact numbers are computed from exact sums: their arguments lose the cast to float8.

corr(a::float8, b::float8), for integers or numerics of one scale
→ corr(a, b), whose state is the sums of a, b, a², b² and a·b
"""

from __future__ import annotations

from dataclasses import replace

from gpudb.plan.tree.nodes import Aggregate, Node
from gpudb.plan.tree.traversal import rebuild
from gpudb.sql import bound
from gpudb.types import INT8, SqlType
from gpudb.types.facts import INTEGERS

FUNCTIONS = frozenset(
    "corr covar_pop covar_samp regr_avgx regr_avgy regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy".split()
)
"""Aggregates of two floats that are functions of the moments."""
_EXACT_FLOATS = 2.0**53
"""Integers of smaller size are exact as floats."""


def is_exact(kind: SqlType) -> bool:
    """Returns whether a type's values are integers, or numerics of one scale."""
    return kind.name in INTEGERS or (kind.name == "numeric" and not kind.is_carried)


def use_exact_moments(root: Node) -> Node:
    """Removes the casts of exact arguments."""

    def change(node: Node) -> Node:
        if not isinstance(node, Aggregate) or not any(map(_is_cast, node.calls)):
            return node
        return replace(node, calls=tuple(_without_casts(call) if _is_cast(call) else call for call in node.calls))

    return rebuild(root, change)


def _is_cast(call: bound.Aggregate) -> bool:
    if call.function.name not in FUNCTIONS or call.distinct:
        return False
    exact = [_exact_argument(arg) for arg in call.args]
    return None not in exact and not all(isinstance(arg, bound.Constant) for arg in exact)


def _without_casts(call: bound.Aggregate) -> bound.Aggregate:
    return replace(call, args=tuple(arg for each in call.args if (arg := _exact_argument(each)) is not None))


def _exact_argument(arg: bound.Expr) -> bound.Expr | None:
    """Returns the exact number of which an argument is a cast, or the integer that a constant is; else None."""
    if isinstance(arg, bound.Cast) and is_exact(arg.arg.type):
        return arg.arg
    if isinstance(arg, bound.Constant) and isinstance(arg.value, float) and abs(arg.value) < _EXACT_FLOATS:
        return bound.Constant(int(arg.value), INT8) if arg.value.is_integer() else None
    return None
