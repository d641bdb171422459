"""Arithmetic in a jsonpath: numeric's exact operators, with PostgreSQL's result scales."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal

from gpudb.errors import InvalidText, SqlError
from gpudb.types import FLOAT8
from gpudb.values.numbers import parse_float

_CONTEXT = Context(prec=2000, rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)
_MAX_SCALE = 1000
_SIGNIFICANT = 16


def _get_scale(value: Decimal) -> int:
    return max(0, -int(value.as_tuple().exponent))


def _get_leading_digit(value: Decimal) -> tuple[int, int]:
    """Returns the highest power of 10000 in a number, and its digit there."""
    if not value:
        return 0, 0
    weight = value.adjusted() // 4
    return weight, int(abs(value).scaleb(-4 * weight, _CONTEXT))


def _divide(a: Decimal, b: Decimal) -> Decimal:
    if not b:
        raise SqlError.of("division_by_zero", "division by zero")
    (a_weight, a_digit), (b_weight, b_digit) = _get_leading_digit(a), _get_leading_digit(b)
    weight = a_weight - b_weight - (a_digit <= b_digit)
    scale = min(max(_SIGNIFICANT - 4 * weight, _get_scale(a), _get_scale(b), 0), _MAX_SCALE)
    return _CONTEXT.divide(a, b).quantize(Decimal(1).scaleb(-scale), context=_CONTEXT)


def _modulo(a: Decimal, b: Decimal) -> Decimal:
    if not b:
        raise SqlError.of("division_by_zero", "division by zero")
    scale = max(_get_scale(a), _get_scale(b))
    return _CONTEXT.remainder(a, b).quantize(Decimal(1).scaleb(-scale), context=_CONTEXT)


BINARY: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _CONTEXT.add,
    "-": _CONTEXT.subtract,
    "*": _CONTEXT.multiply,
    "/": _divide,
    "%": _modulo,
}
UNARY: dict[str, Callable[[Decimal], Decimal]] = {
    "+1": lambda value: value,
    "-1": lambda value: value.copy_negate() if value else value,
    "abs": abs,
    "floor": lambda value: value.to_integral_value(ROUND_FLOOR, _CONTEXT) + 0,
    "ceiling": lambda value: value.to_integral_value(ROUND_CEILING, _CONTEXT) + 0,
}


def to_double(value: object) -> Decimal:
    """Evaluates .double() of a number or a string; 22036 if the result is not a finite float8."""
    numeric = isinstance(value, Decimal)
    if not numeric and not isinstance(value, str):
        raise non_numeric_item_error("jsonpath item method .double() can only be applied to a string or numeric value")
    try:
        number = parse_float(FLOAT8, str(value))
    except (InvalidText, SqlError):
        if numeric:
            message = "numeric argument of jsonpath item method .double() is out of range for type double precision"
        else:
            message = (
                "string argument of jsonpath item method .double() is not a valid representation"
                " of a double precision number"
            )
        raise non_numeric_item_error(message) from None
    if not math.isfinite(number):
        raise non_numeric_item_error("NaN or Infinity is not allowed for jsonpath item method .double()")
    if isinstance(value, Decimal):
        return value
    digits = Decimal(f"{number:.15g}")
    return digits.quantize(Decimal(1)) if int(digits.as_tuple().exponent) > 0 else digits


def non_numeric_item_error(message: str) -> SqlError:
    """Returns 22036."""
    return SqlError.of("non_numeric_sql_json_item", message)
