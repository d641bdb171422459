"""Functions of PostgreSQL over single Python values, which compiled expressions call: exact, with its errors."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation, Rounded
from typing import NoReturn

from gpudb.errors import SqlError
from gpudb.types import MAX_DIGITS, SqlType, widen
from gpudb.types.facts import DISPLAY_NAMES
from gpudb.values import format_text, parse_text, wide_arithmetic

_FITTING = Context(prec=MAX_DIGITS, rounding=ROUND_HALF_UP, traps=[Inexact, Rounded, InvalidOperation])
"""Raises an ArithmeticError for a result of more digits than 38."""


def raise_out_of_range(name: str) -> NoReturn:
    """22003 for an integer type."""
    raise SqlError.of("numeric_value_out_of_range", f"{DISPLAY_NAMES[name]} out of range")


def raise_division_by_zero() -> NoReturn:
    """22012."""
    raise SqlError.of("division_by_zero", "division by zero")


def divide_integers(a: int, b: int) -> int:
    """a / b, towards zero; 22012."""
    if b == 0:
        raise_division_by_zero()
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def remainder_of_integers(a: int, b: int) -> int:
    """a % b, with the sign of a; 22012."""
    if b == 0:
        raise_division_by_zero()
    return abs(a) % abs(b) if a >= 0 else -(abs(a) % abs(b))


def add_numeric(a: Decimal, b: Decimal) -> Decimal:
    """a + b."""
    try:
        result = _FITTING.add(a, b)
    except ArithmeticError:
        return wide_arithmetic.add(a, b)
    return result if result.is_finite() else wide_arithmetic.add(a, b)


def subtract_numeric(a: Decimal, b: Decimal) -> Decimal:
    """a - b."""
    try:
        result = _FITTING.subtract(a, b)
    except ArithmeticError:
        return wide_arithmetic.subtract(a, b)
    return result if result.is_finite() else wide_arithmetic.subtract(a, b)


multiply_numeric = wide_arithmetic.multiply
divide_numeric = wide_arithmetic.divide
negate_numeric = wide_arithmetic.negate


def numeric_to_integer(value: Decimal, name: str, low: int, high: int) -> int:
    """Rounds half away from zero; 22003, 0A000 for a value that is not finite."""
    return wide_arithmetic.to_integer(value, SqlType(name))


def float_to_integer(value: float, name: str, low: int, high: int) -> int:
    """Rounds half to even; 22003."""
    if math.isnan(value) or math.isinf(value):
        raise_out_of_range(name)
    result = round(value)
    if not low <= result <= high:
        raise_out_of_range(name)
    return result


def check_float(result: float, *operands: float) -> float:
    """22003 for a result that is infinite although no operand is."""
    if math.isinf(result) and not any(map(math.isinf, operands)):
        raise SqlError.of("numeric_value_out_of_range", "value out of range: overflow")
    return result


def multiply_float(a: float, b: float) -> float:
    """a * b; 22003 for an overflow or an underflow."""
    result = check_float(a * b, a, b)
    if result == 0 and a != 0 and b != 0:
        raise SqlError.of("numeric_value_out_of_range", "value out of range: underflow")
    return result


def divide_float(a: float, b: float) -> float:
    """a / b; 22012, 22003."""
    if b == 0:
        if math.isnan(a):
            return a
        raise_division_by_zero()
    result = a / b
    if math.isinf(result) and not math.isinf(a):
        raise SqlError.of("numeric_value_out_of_range", "value out of range: overflow")
    if result == 0 and a != 0 and not math.isinf(b):
        raise SqlError.of("numeric_value_out_of_range", "value out of range: underflow")
    return result


def order_float(value: float) -> tuple[bool, float]:
    """A key by which floats compare as in PostgreSQL: NaN equals itself and is the greatest."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def both(a: bool | None, b: bool | None) -> bool | None:
    """a AND b in three-valued logic."""
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def either(a: bool | None, b: bool | None) -> bool | None:
    """a OR b in three-valued logic."""
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def is_in(value: object, items: tuple[object, ...]) -> bool | None:
    """value IN (items); NULL if it is none of them and one is NULL."""
    if value is None:
        return None
    if value in items:
        return True
    return None if None in items else False


def get_item(array: list[object], *places: int) -> object:
    """The item of an array at places from 1 on; None outside it."""
    found: object = array
    for place in places:
        if not isinstance(found, list) or not 0 < place <= len(found):
            return None
        found = found[place - 1]
    return found


def get_single_item(array: list[object], place: int) -> object:
    """The item of an array of one dimension at a place from 1 on; None outside it."""
    return array[place - 1] if 0 < place <= len(array) else None


def show(item: SqlType, value: object) -> str:
    """A value as text, whatever the session's time zone."""
    return format_text(item, value)


def read(item: SqlType, text: str) -> object:
    """A text as a value, whatever the session's time zone."""
    return parse_text(widen(item), text)
