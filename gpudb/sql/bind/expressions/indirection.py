"""Indirection: subscripts and fields behind an expression, `(e)[1].name`."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

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
            result = _bind_field(binder, scope, result, node, len(node.indirection) - len(steps))
            steps.pop(0)
    return result


def _bind_field(binder: Binder, scope: Scope, arg: Expr, node: Any, place: int) -> Expr:
    """Binds (record).name, which may be a function of the record: the step at a place of an indirection."""
    step = node.indirection[place]
    if kind(step) == "a_star":
        raise FeatureNotSupported("(record).* is not supported")
    written = calls.Written(node, _get_row(node, place), place + 1 == len(node.indirection))
    return calls.bind_member(binder, scope, arg, inner(step).sval, written)


def _get_row(node: Any, place: int) -> Any:
    """Returns the Node of what is before a step."""
    if place == 0:
        return node.arg
    return pg.Node(a_indirection=pg.A_Indirection(arg=node.arg, indirection=node.indirection[:place]))
