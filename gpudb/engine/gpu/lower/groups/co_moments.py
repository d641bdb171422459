"""Correlations, covariances and regressions of exact numbers: states of exact sums, from which floats are computed.

The arguments are y and x, in this order; rows in which one is NULL do not count. The state's columns are `name` + "n"
(the count), and the sums that the function needs: "y", "x", "yy", "xx", "xy".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from gpudb.engine.gpu.lower.expressions.deferred import DeferredSteps
from gpudb.engine.gpu.lower.values import Value
from gpudb.plan.optimize.exact_moments import FUNCTIONS, is_exact
from gpudb.sql import bound

_SUMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("corr", "regr_r2"), ("y", "x", "yy", "xx", "xy")),
    **dict.fromkeys(("covar_pop", "covar_samp", "regr_sxy"), ("y", "x", "xy")),
    **dict.fromkeys(("regr_slope", "regr_intercept"), ("y", "x", "xx", "xy")),
    "regr_sxx": ("x", "xx"),
    "regr_syy": ("y", "yy"),
    "regr_avgx": ("x",),
    "regr_avgy": ("y",),
}


def is_co_moment(call: bound.Aggregate) -> bool:
    """Returns whether a call is a function of the moments of exact numbers."""
    return call.function.name in FUNCTIONS and not call.distinct and all(is_exact(arg.type) for arg in call.args)


def sums_of(call: bound.Aggregate) -> tuple[str, ...]:
    """Returns the sums in a call's state."""
    return _SUMS[call.function.name]


def partial(args: Sequence[Value], name: str, call: bound.Aggregate) -> list[pl.Expr]:
    """Returns the columns of the state of rows."""
    both = args[0].expr.is_not_null() & args[1].expr.is_not_null()
    y, x = (pl.when(both).then(arg.expr.cast(pl.Int128)).otherwise(None) for arg in args)
    factors = {"y": y, "x": x}
    result = [both.cast(pl.Int64).sum().cast(pl.Int64).alias(name + "n")]
    for each in sums_of(call):
        terms = [factors[letter] for letter in each]
        product = terms[0] if len(terms) == 1 else terms[0] * terms[1]
        result.append(product.sum().cast(pl.Int128).alias(name + each))
    return result


def merge(name: str, call: bound.Aggregate) -> list[pl.Expr]:
    """Returns the columns of a state that merges others."""
    return [pl.col(name + each).sum() for each in ("n", *sums_of(call))]


def final(name: str, call: bound.Aggregate, deferred: DeferredSteps) -> Value:
    """Returns a call's value."""
    decimals = {letter: _scale(arg) for letter, arg in zip("yx", call.args, strict=True)}
    count = pl.col(name + "n")
    rows = count.cast(pl.Float64)

    def moment(products: str) -> pl.Expr:
        """Returns the sum of the products of distances to the means."""
        one, other = products[0], products[1]
        value = deferred.defer_co_moment(name, one, other)
        return value / rows / 10.0 ** (decimals[one] + decimals[other])

    def average(letter: str) -> pl.Expr:
        return pl.col(name + letter).cast(pl.Float64) / rows / 10.0 ** decimals[letter]

    result = _RESULTS[call.function.name](moment, average, rows)
    least = 2 if call.function.name == "covar_samp" else 1
    return Value(call.type, pl.when(count >= least).then(result).otherwise(None))


def _scale(arg: bound.Expr) -> int:
    return arg.type.numeric_digits[1] if arg.type.name == "numeric" else 0


Moment = Callable[[str], pl.Expr]


def _unless_zero(divisor: pl.Expr) -> pl.Expr:
    return pl.when(divisor == 0).then(None).otherwise(divisor)


def _correlation(moment: Moment, average: Moment, rows: pl.Expr) -> pl.Expr:
    return moment("xy") / (_unless_zero(moment("xx")) * _unless_zero(moment("yy"))).sqrt()


def _determination(moment: Moment, average: Moment, rows: pl.Expr) -> pl.Expr:
    xx, yy, xy = _unless_zero(moment("xx")), moment("yy"), moment("xy")
    flat = pl.when(xx.is_not_null()).then(1.0).otherwise(None)
    return pl.when(yy == 0).then(flat).otherwise(xy * xy / (xx * yy))


def _intercept(moment: Moment, average: Moment, rows: pl.Expr) -> pl.Expr:
    return average("y") - average("x") * (moment("xy") / _unless_zero(moment("xx")))


_RESULTS: Mapping[str, Callable[[Moment, Moment, pl.Expr], pl.Expr]] = {
    "corr": _correlation,
    "covar_pop": lambda moment, average, rows: moment("xy") / rows,
    "covar_samp": lambda moment, average, rows: moment("xy") / (rows - 1),
    "regr_r2": _determination,
    "regr_slope": lambda moment, average, rows: moment("xy") / _unless_zero(moment("xx")),
    "regr_intercept": _intercept,
    "regr_sxx": lambda moment, average, rows: moment("xx"),
    "regr_syy": lambda moment, average, rows: moment("yy"),
    "regr_sxy": lambda moment, average, rows: moment("xy"),
    "regr_avgx": lambda moment, average, rows: average("x"),
    "regr_avgy": lambda moment, average, rows: average("y"),
}
