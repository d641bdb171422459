"""Upper bound of an expression's distinct values by its columns' ranges: fields of dates, integers of casts.

The number of groups is estimated by it: timestamps over three years have three years, however many timestamps exist.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from gpudb.plan.cost.profile import ColumnProfile
from gpudb.sql import bound
from gpudb.sql.traverse import is_volatile
from gpudb.types.facts import INTEGERS, NUMBERS

_UNIT_DAYS = {
    "minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 28.0, "quarter": 90.0, "year": 365.0,
    "isoyear": 364.0, "decade": 3652.0, "century": 36524.0, "millennium": 365_242.0,
}  # fmt: skip
"""Minimum length of a unit in days."""
_CYCLE_LENGTHS = {
    "minute": 60, "hour": 24, "day": 31, "week": 53, "month": 12, "quarter": 4, "dow": 7, "isodow": 7, "doy": 366,
}  # fmt: skip
"""Number of values of a field that repeats."""
_DAY_LENGTHS = {"date": 1.0, "timestamp": 86_400e6, "timestamptz": 86_400e6}
"""Length of a day in the units of a column's range."""


def max_values(expr: Any, columns: Sequence[ColumnProfile]) -> float:
    """Returns the maximum number of distinct non-NULL values of an expression over columns; infinite if unknown."""
    match expr:
        case bound.Column(index=index):
            return columns[index].distinct
        case bound.Cast(arg=arg, type=kind):
            found = max_values(arg, columns)
            between = _range(arg, columns) if kind.name in INTEGERS and arg.type.name in NUMBERS else None
            # Rounding may reach the next integer at both ends.
            return found if between is None else min(found, math.floor(between[1]) - math.floor(between[0]) + 2)
        case bound.Call(args=(bound.Constant(value=str(unit)), arg)) if expr.function.name in {"extract", "date_part"}:
            return min(_CYCLE_LENGTHS.get(unit.lower(), math.inf), _count_units(unit.lower(), arg, columns))
        case bound.Call(args=(bound.Constant(value=str(unit)), arg, *_)) if expr.function.name == "date_trunc":
            return _count_units(unit.lower(), arg, columns)
        case bound.Call(args=args) if args and not is_volatile(expr):
            # As many as there are combinations of its arguments' values.
            return math.prod(max_values(arg, columns) for arg in args if not isinstance(arg, bound.Constant))
    return math.inf


def _count_units(unit: str, arg: Any, columns: Sequence[ColumnProfile]) -> float:
    """Returns how many of a unit of time the values of a column span."""
    between, a_day, days = _range(arg, columns), _DAY_LENGTHS.get(arg.type.name), _UNIT_DAYS.get(unit)
    if between is None or a_day is None or days is None:
        return math.inf
    return math.floor((between[1] - between[0]) / a_day / days) + 2


def _range(arg: Any, columns: Sequence[ColumnProfile]) -> tuple[float, float] | None:
    """Returns the least and the greatest value of a column, or of an expression that keeps or reverses their order."""
    match arg:
        case bound.Column(index=index):
            low, high = columns[index].low, columns[index].high
            return None if low is None or high is None or not math.isfinite(high - low) else (low, high)
        case bound.Cast(arg=inner, type=kind) if kind.name in NUMBERS and inner.type.name in NUMBERS:
            return _range(inner, columns)
        case bound.Call(function=function, args=(inner,)) if function.name in _ROUNDINGS:
            return _range(inner, columns)
        case bound.Call(function=function, args=(inner, bound.Constant(value=int() | float() | Decimal() as by))):
            found = _ARITHMETIC.search(function.name)
            between = None if found is None else _range(inner, columns)
            if found is None or between is None or (found[1] == "div" and not by):
                return None
            ends = sorted(_OPERATIONS[found[1]](end, float(by)) for end in between)
            return (ends[0], ends[1]) if math.isfinite(ends[1] - ends[0]) else None
    return None


_ROUNDINGS = frozenset({"floor", "ceil", "ceiling", "trunc", "round"})
_ARITHMETIC = re.compile(r"^(?:int\d+|float\d+|numeric_)(pl|add|mi|sub|mul|div)$")
_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "pl": operator.add, "add": operator.add, "mi": operator.sub, "sub": operator.sub, "mul": operator.mul,
    "div": operator.truediv,
}  # fmt: skip
