"""Exact arithmetic over constants: dates plus intervals, sums, differences and products, casts to numeric.

Most queries have only such constants, and the embedded engine takes a thousand times as long. Other expressions, errors
and dates beyond Python's calendar have no value here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Context, Decimal, DecimalException, Inexact, Overflow
from operator import add, mul, sub
from typing import Any

from gpudb.sql import bound
from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS, fits_integer
from gpudb.values.calendar import days_in_month
from gpudb.values.interval import Interval

_EXACT = Context(prec=38, traps=[Inexact, Overflow])
_NONE = (type(None), str)


def evaluate_exact(expr: bound.Expr) -> bound.Constant | None:
    """Returns the value of a constant expression; None if the embedded engine must evaluate it."""
    match expr:
        case bound.Constant():
            return expr
        case bound.Cast(arg=arg, type=kind) if kind.name == "numeric" and arg.type.name in INTEGERS:
            value = evaluate_exact(arg)
            return None if value is None else _constant(value.value, kind)
        case bound.Call(function=function, args=(_, _) as args) if function.name in _COMPUTED:
            left, right = (evaluate_exact(each) for each in args)
            # Values beyond Python's calendar are texts.
            if left is None or right is None or isinstance(left.value, _NONE) or isinstance(right.value, _NONE):
                return None
            try:
                return _constant(_COMPUTED[function.name](left.value, right.value), expr.type)
            except (OverflowError, ValueError, DecimalException):
                return None
        case _:
            return None


def _constant(value: Any, kind: SqlType) -> bound.Constant | None:
    """Returns a value as a constant of its type; None if the type cannot represent it."""
    if kind.name in INTEGERS:
        return bound.Constant(value, kind) if fits_integer(value, kind.name) else None
    if kind.name == "numeric" and value is not None:
        # A numeric without a declared scale keeps the decimals of its operands.
        held = Decimal(value)
        digits, scale = kind.numeric_digits
        if not kind.is_carried:
            held = held.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
        exponent = held.as_tuple().exponent
        fits = isinstance(exponent, int) and -exponent <= scale and abs(held) < Decimal(10) ** (digits - scale)
        return bound.Constant(held, kind) if fits else None
    return bound.Constant(value, kind)


def _add_interval(sign: int) -> Callable[[dt.date, Interval], dt.datetime]:
    """Adds an interval to a date or timestamp: first the months, clamped to the last day, then days and time."""

    def move(start: dt.date, span: Interval) -> dt.datetime:
        moment = start if isinstance(start, dt.datetime) else dt.datetime.combine(start, dt.time())
        years, month = divmod(moment.year * 12 + moment.month - 1 + sign * span.months, 12)
        moment = moment.replace(years, month + 1, min(moment.day, days_in_month(years, month + 1)))
        return moment + sign * dt.timedelta(days=span.days, microseconds=span.microseconds)

    return move


_COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    **{f"{kind}_pl_interval": _add_interval(1) for kind in ("date", "timestamp")},
    **{f"{kind}_mi_interval": _add_interval(-1) for kind in ("date", "timestamp")},
    "date_pli": lambda day, count: day + dt.timedelta(days=count),
    "date_mii": lambda day, count: day - dt.timedelta(days=count),
    "numeric_add": _EXACT.add,
    "numeric_sub": _EXACT.subtract,
    "numeric_mul": _EXACT.multiply,
    **{f"int{size}{name}": made for size in (2, 4, 8) for name, made in (("pl", add), ("mi", sub), ("mul", mul))},
}
"""By PostgreSQL's function names."""
