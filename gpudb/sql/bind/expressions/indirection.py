"""Indirection: subscripts and fields behind an expression, `(e)[1].name`."""

from __future__ import annotations

from typing import Any

from gpudb.errors import FeatureNotSupported
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import arrays, calls
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bound import Expr
from gpudb.sql.parse.parser import inner, kind


def bind_indirection(binder: Binder, scope: Scope, node: Any) -> Expr:
    result = binder.bind_expression(scope, node.arg)
    steps = list(node.indirection)
    while steps:
        count = next((n for n, step in enumerate(steps) if kind(step) != "a_indices"), len(steps))
        if count:
            result = arrays.bind_subscripts(binder, scope, result, [inner(step) for step in steps[:count]])
            steps = steps[count:]
        else:
            result = _bind_field(binder, scope, result, steps.pop(0))
    return result


def _bind_field(binder: Binder, scope: Scope, arg: Expr, step: Any) -> Expr:
    """Binds (record).name, which may be a function of the record."""
    if kind(step) == "a_star":
        raise FeatureNotSupported("(record).* is not supported")
    return calls.bind_member(binder, scope, arg, inner(step).sval)
