"""Calls of functions as DuckDB SQL, session functions among them."""

from __future__ import annotations

from dataclasses import replace

from gpudb.duckdb.expressions.renderer import ExpressionRenderer, render_by_kind
from gpudb.duckdb.rendered_sql import RenderedSql, unpack
from gpudb.errors import FeatureNotSupported
from gpudb.functions.library import get_comparison
from gpudb.functions.registry import MISSING, get_implementation
from gpudb.sql import bound

_TEXTS = frozenset({"text", "varchar", "name", "unknown"})
_FLOATS_EQUAL = frozenset({"float4eq", "float8eq", "float48eq", "float84eq"})
_CONSTANTS = (bound.Constant, bound.Parameter)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Call) -> RenderedSql:
    how = get_implementation(expr.function)
    # A session function is evaluated beforehand; over columns only if its template can look the value up.
    constants = tuple(_constant_value(renderer, arg) for arg in expr.args) if how.session is not None else ()
    if how.session is not None and (MISSING not in constants or how.duckdb is None):
        maker = renderer.session_values.get(how.session, MISSING)
        if maker is MISSING:
            raise FeatureNotSupported(f"function {expr.function} is not supported here")
        return renderer.render_constant(maker(*constants) if callable(maker) else maker, expr.type)
    compared = get_comparison(expr.function) is not None
    operands = renderer.render_operands(expr.args, expr.type, compared=compared)
    if expr.function.name in _FLOATS_EQUAL and not any(isinstance(each, _CONSTANTS) for each in expr.args):
        operands = replace(operands, sql=(_hide_equality(operands.sql[0]), *operands.sql[1:]))
    return renderer.apply_function(expr.function, operands)


def _constant_value(renderer: ExpressionRenderer, expr: bound.Expr) -> object:
    """Returns the value of a constant expression, or MISSING."""
    if isinstance(expr, bound.Constant):
        return expr.value
    if isinstance(expr, bound.Parameter):
        return renderer.parameters[expr.number - 1]
    if isinstance(expr, bound.Cast) and expr.type.modifier == -1:
        same = expr.type.name in _TEXTS and expr.arg.type.name in _TEXTS
        return _constant_value(renderer, expr.arg) if same else MISSING
    return MISSING


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.SetReturning) -> RenderedSql:
    listed = renderer.apply_function(expr.function, renderer.render_operands(expr.args, expr.type)).value
    return unpack(f"unnest({listed})", expr.type)


def _hide_equality(sql: str) -> str:
    """Disguises a compared float: DuckDB would propagate an equal constant, and so confuse 0 and -0."""
    return f"({sql} + 0)"
