"""Aggregates that PostgreSQL lacks: what the binder makes of median, of several fractions, of DISTINCT and ORDER BY."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from gpudb.errors import FeatureNotSupported
from gpudb.functions.approximate import check_fractions
from gpudb.functions.library import functions_by_name
from gpudb.functions.registry import MISSING
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.aggregates import bind_aggregate
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.conversions import check_equality
from gpudb.sql.bound import Aggregate, Array, Case, Cast, Constant, Expr, SortKey, Test
from gpudb.types import FLOAT8

NAMES = frozenset({"approx_count_distinct", "approx_percentile", "median"})


def bind_added(binder: Binder, scope: Scope, call: Aggregate, *, windowed: bool) -> Expr:
    """Binds a call of an aggregate that PostgreSQL lacks; 0A000 as a window function, and for DISTINCT percentiles.

    The order of an aggregate's rows is irrelevant.
    """
    name = call.function.name
    if windowed:
        raise FeatureNotSupported(f"OVER is not supported for aggregate {name}")
    call = replace(call, order_by=())
    if name == "approx_count_distinct":
        check_equality(arg.type for arg in call.args)
        return bind_aggregate(binder, scope, replace(call, distinct=False))
    if call.distinct:
        raise FeatureNotSupported(f"DISTINCT is not supported for aggregate {name}")
    if name == "median":
        return bind_aggregate(binder, scope, _make_median(call))
    if call.args[1].type.element is None:
        return bind_aggregate(binder, scope, call)
    return _bind_fractions(binder, scope, call)


def _make_median(call: Aggregate) -> Aggregate:
    """Returns percentile_cont(0.5)."""
    (value,) = call.args
    (function,) = (
        each
        for each in functions_by_name()["percentile_cont"]
        if each.args[0].name == "float8" and each.args[1].name == value.type.name
    )
    half = Constant(0.5, FLOAT8)
    key = SortKey(value, descending=False, nulls_first=False)
    return Aggregate(function, (half,), call.type, within_group=(key,), filter=call.filter)


def _bind_fractions(binder: Binder, scope: Scope, call: Aggregate) -> Expr:
    """Binds a percentile at several fractions: an array of the percentiles, NULL for no values."""
    value, fractions, *accuracy = call.args
    given = [_get_number(each) for each in fractions.items] if isinstance(fractions, Array) else _get_number(fractions)
    items = [] if given is None else check_fractions(given)
    types = [FLOAT8, *(each.type for each in accuracy)]
    (function,) = (
        each
        for each in functions_by_name()["approx_percentile"]
        if [arg.name for arg in each.args[1:]] == [kind.name for kind in types]
    )
    calls = [
        bind_aggregate(
            binder,
            scope,
            replace(call, function=function, args=(value, Constant(item, FLOAT8), *accuracy), type=FLOAT8),
        )
        for item in items
    ]
    some = replace(call, function=function, args=(value, Constant(0.0, FLOAT8), *accuracy), type=FLOAT8)
    several = Constant(None, call.type) if given is None else Array(tuple(calls), call.type)
    return _unless_null(bind_aggregate(binder, scope, some), several)


def _unless_null(tested: Expr, value: Expr) -> Expr:
    return Case(((Test(tested, "NULL", negated=True), value),), Constant(None, value.type), value.type)


def _get_number(expr: Expr) -> object:
    """Returns a constant's value, that of a number as a float; MISSING if the expression is not constant."""
    inner = expr
    while isinstance(inner, Cast):
        if inner.type.name not in {"float8", "float8[]", "_float8", "numeric"} or inner.type.modifier != -1:
            return MISSING
        inner = inner.arg
    if inner is not expr and isinstance(inner, Constant) and isinstance(inner.value, int | Decimal):
        return float(inner.value)
    return expr.value if isinstance(expr, Constant) else MISSING
