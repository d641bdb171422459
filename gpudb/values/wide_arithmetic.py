"""Arithmetic of wide numerics as PostgreSQL defines it (numeric.c): any number of digits, NaN and infinities.

A value is a Decimal whose exponent is its display scale (see `wide_numerics`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Decimal

from gpudb.errors import NUMERIC_OVERFLOW, FeatureNotSupported, NumericOutOfRange, SqlError
from gpudb.types import SqlType
from gpudb.types.facts import INTEGER_LIMITS
from gpudb.values import numeric_powers
from gpudb.values.numeric_powers import MOST_SHOWN, SIGNIFICANT, first_digit, root_to, weight_of
from gpudb.values.wide_numerics import (
    EXACT,
    INFINITY,
    NAN,
    NEGATIVE_INFINITY,
    normalize,
    round_to,
    scale_of,
)

_MOST_FACTORIAL = 32_177
_MOST_ROUNDED = 2000
"""How far from the point values are rounded to places."""
MOST_IN_SERIES = 10_000_000
"""The most numbers of a series, which is built whole."""
_ZERO, _ONE = Decimal(0), Decimal(1)


def _division_by_zero() -> SqlError:
    return SqlError.of("division_by_zero", "division by zero")


def add(a: Decimal, b: Decimal) -> Decimal:
    """Returns a sum."""
    if a.is_finite() and b.is_finite():
        return normalize(EXACT.add(a, b))
    if a.is_nan() or b.is_nan() or (a.is_infinite() and b.is_infinite() and a != b):
        return NAN
    return normalize(a if a.is_infinite() else b)


def negate(a: Decimal) -> Decimal:
    """Returns the negative of a value."""
    return a if a.is_nan() else normalize(a.copy_negate())


def subtract(a: Decimal, b: Decimal) -> Decimal:
    """Returns a difference."""
    return add(a, negate(b))


def multiply(a: Decimal, b: Decimal) -> Decimal:
    """Returns a product."""
    if a.is_finite() and b.is_finite():
        return normalize(EXACT.multiply(a, b))
    if a.is_nan() or b.is_nan() or not a or not b:
        return NAN
    return INFINITY if (a > 0) == (b > 0) else NEGATIVE_INFINITY


def quotient_scale(a: Decimal, b: Decimal) -> int:
    """Returns the decimals that a quotient of finite values shows (select_div_scale)."""
    weights = weight_of(a), weight_of(b)
    digits = [first_digit(value, weight) if value else 0 for value, weight in zip((a, b), weights, strict=True)]
    weight = weights[0] - weights[1] - (digits[0] <= digits[1])
    return min(max(SIGNIFICANT - weight * 4, scale_of(a), scale_of(b), 0), MOST_SHOWN)


def _divide_special(a: Decimal, b: Decimal) -> Decimal | None:
    """Returns the quotient of values of which one is not finite; None for finite ones. 22012."""
    if a.is_nan() or b.is_nan() or (a.is_infinite() and b.is_infinite()):
        return NAN
    if not b:
        raise _division_by_zero()
    if a.is_infinite():
        return INFINITY if (a > 0) == (b > 0) else NEGATIVE_INFINITY
    return _ZERO if b.is_infinite() else None


def divide(a: Decimal, b: Decimal) -> Decimal:
    """Returns a quotient with PostgreSQL's scale; 22012."""
    special = _divide_special(a, b)
    return divide_to(a, b, quotient_scale(a, b)) if special is None else special


def divide_to(a: Decimal, b: Decimal, scale: int) -> Decimal:
    """Returns a quotient of finite values rounded half away from zero to a scale; exact, as it is one of integers."""
    above, below = scale_of(a), scale_of(b)
    dividend = int(a.scaleb(above, EXACT)) * 10 ** max(scale + below - above, 0)
    divisor = int(b.scaleb(below, EXACT)) * 10 ** max(above - below - scale, 0)
    whole, rest = divmod(abs(dividend), abs(divisor))
    whole += 2 * rest >= abs(divisor)
    result = Decimal(whole).scaleb(-scale, EXACT)
    return normalize(result.copy_negate() if (dividend < 0) != (divisor < 0) else result)


def whole_quotient(a: Decimal, b: Decimal) -> Decimal:
    """Returns a quotient without its fraction, `div(a, b)`; 22012."""
    special = _divide_special(a, b)
    return normalize(EXACT.divide_int(a, b)) if special is None else special


def remainder(a: Decimal, b: Decimal) -> Decimal:
    """Returns the remainder of a quotient, with the sign of the dividend; 22012."""
    if a.is_nan() or b.is_nan():
        return NAN
    if not b:
        raise _division_by_zero()
    if a.is_infinite():
        return NAN
    if b.is_infinite():
        return a
    return normalize(round_to(EXACT.remainder(a, b), max(scale_of(a), scale_of(b))))


def absolute(a: Decimal) -> Decimal:
    """Returns a value's size."""
    return normalize(a.copy_abs())


def sign(a: Decimal) -> Decimal:
    """Returns -1, 0 or 1; NaN for NaN."""
    return a if a.is_nan() else Decimal((a > 0) - (a < 0))


def ceiling(a: Decimal) -> Decimal:
    """Returns the least integer that is not below a value."""
    return normalize(a.to_integral_value(ROUND_CEILING, EXACT)) if a.is_finite() else a


def floor(a: Decimal) -> Decimal:
    """Returns the greatest integer that is not above a value."""
    return normalize(a.to_integral_value(ROUND_FLOOR, EXACT)) if a.is_finite() else a


def round_places(a: Decimal, places: int) -> Decimal:
    """Rounds half away from zero to decimals, or to tens, hundreds … for places below zero."""
    return normalize(round_to(a, max(-_MOST_ROUNDED, min(places, _MOST_ROUNDED)))) if a.is_finite() else a


def truncate_places(a: Decimal, places: int) -> Decimal:
    """Drops decimals, or the last digits before the point for places below zero."""
    if not a.is_finite():
        return a
    places = max(-_MOST_ROUNDED, min(places, _MOST_ROUNDED))
    cut = a.quantize(_ONE.scaleb(-places, EXACT), ROUND_DOWN, EXACT)
    return normalize(cut if places >= 0 or cut else _ZERO)


def trim_scale(a: Decimal) -> Decimal:
    """Returns a value without zeros at the end of its decimals."""
    return round_to(a, min_scale(a) or 0) if a.is_finite() else a


def min_scale(a: Decimal) -> int | None:
    """Returns how many decimals a value needs; None if it is not finite."""
    if not a.is_finite():
        return None
    return max(0, -int(a.normalize(EXACT).as_tuple().exponent)) if a else 0


def shown_scale(a: Decimal) -> int | None:
    """Returns how many decimals a value shows; None if it is not finite."""
    return scale_of(a) if a.is_finite() else None


def square_root(a: Decimal) -> Decimal:
    """Returns the square root; 2201F below zero."""
    if a.is_nan() or (a.is_infinite() and a > 0):
        return a
    return numeric_powers.square_root(Decimal(-1) if a.is_infinite() else a)


def exponential(a: Decimal) -> Decimal:
    """Returns e to the power of a value; 22003 from e⁶⁰⁰⁰ on."""
    if a.is_finite():
        return numeric_powers.exponential(a)
    return _ZERO if a.is_infinite() and a < 0 else a


def logarithm(a: Decimal) -> Decimal:
    """Returns the natural logarithm; 2201E unless the value is above zero."""
    if a.is_nan() or (a.is_infinite() and a > 0):
        return a
    return numeric_powers.logarithm(Decimal(-1) if a.is_infinite() else a)


def logarithm_to_base(base: Decimal, a: Decimal) -> Decimal:
    """Returns the logarithm to a base; 2201E unless both are above zero, 22012 for base 1."""
    if base.is_nan() or a.is_nan():
        return NAN
    if base.is_finite() and a.is_finite():
        return numeric_powers.logarithm_to_base(base, a)
    for value in (base, a):
        if value <= 0:
            what = "zero" if value == 0 else "a negative number"
            raise SqlError.of("invalid_argument_for_logarithm", f"cannot take logarithm of {what}")
    if base.is_infinite():
        return NAN if a.is_infinite() else _ZERO
    return INFINITY


def decimal_logarithm(a: Decimal) -> Decimal:
    """Returns the logarithm to base 10; 2201E unless the value is above zero."""
    return logarithm_to_base(Decimal(10), a)


def power(a: Decimal, b: Decimal) -> Decimal:
    """Returns a power; 2201F for one of zero or of a negative number that is undefined."""
    if a.is_finite() and b.is_finite():
        return numeric_powers.power(a, b)
    if a.is_nan():
        return _ONE if b.is_finite() and not b else NAN
    if b.is_nan():
        return _ONE if a == 1 else NAN
    if b.is_finite() and (not b or (a < 0 and b != b.to_integral_value(context=EXACT))):
        return _ONE if not b else numeric_powers.power(Decimal(-1), b)  # which raises
    if not a:
        return numeric_powers.power(a, Decimal(-1)) if b < 0 else _ZERO  # the former raises
    if b.is_infinite():
        size = a.copy_abs()
        if size == 1:
            return _ONE
        return INFINITY if (size > 1) == (b > 0) else _ZERO
    if b < 0:
        return _ZERO
    return NEGATIVE_INFINITY if a < 0 and EXACT.remainder(b, Decimal(2)) else INFINITY


def greatest_divisor(a: Decimal, b: Decimal) -> Decimal:
    """Returns the greatest common divisor; NaN unless both are finite."""
    return numeric_powers.greatest_divisor(a, b) if a.is_finite() and b.is_finite() else NAN


def least_multiple(a: Decimal, b: Decimal) -> Decimal:
    """Returns the least common multiple; NaN unless both are finite."""
    return normalize(numeric_powers.least_multiple(a, b)) if a.is_finite() and b.is_finite() else NAN


def factorial(count: int) -> Decimal:
    """Returns the product of all integers up to a number; 22003 for negative ones, and beyond PostgreSQL's limit."""
    if count < 0:
        raise NumericOutOfRange("factorial of a negative number is undefined")
    if count > _MOST_FACTORIAL:
        raise NumericOutOfRange(NUMERIC_OVERFLOW)
    return Decimal(math.factorial(count))


def bucket(value: Decimal, low: Decimal, high: Decimal, count: int) -> int:
    """Returns the bucket of a value, of `count` equal ones between two bounds; 2201G."""
    state = "invalid_argument_for_width_bucket_function"
    if count <= 0:
        raise SqlError.of(state, "count must be greater than zero")
    if value.is_nan() or low.is_nan() or high.is_nan():
        raise SqlError.of(state, "operand, lower bound, and upper bound cannot be NaN")
    if low.is_infinite() or high.is_infinite():
        raise SqlError.of(state, "lower and upper bounds must be finite")
    if low == high:
        raise SqlError.of(state, "lower bound cannot equal upper bound")
    if value < low if low < high else value > low:
        return 0
    if value >= high if low < high else value <= high:
        return _fit_integer(count + 1)
    part, width = EXACT.multiply(EXACT.subtract(value, low), Decimal(count)), EXACT.subtract(high, low)
    # rounded to the decimals of a quotient first, as PostgreSQL does
    return min(int(divide_to(part, width, quotient_scale(part, width))) + 1, count)


def _fit_integer(value: int) -> int:
    if value > INTEGER_LIMITS["int4"][1]:
        raise NumericOutOfRange("integer out of range")
    return value


def to_integer(value: Decimal, type_: SqlType) -> int:
    """Rounds a value to an integer type; 0A000 for NaN and the infinities, 22003."""
    if not value.is_finite():
        raise FeatureNotSupported(f"cannot convert {'NaN' if value.is_nan() else 'infinity'} to {type_}")
    least, greatest = INTEGER_LIMITS[type_.name]
    if value.adjusted() > len(str(greatest)) or not least <= (whole := int(round_to(value, 0))) <= greatest:
        raise NumericOutOfRange(f"{type_} out of range")
    return whole


def series(start: Decimal, stop: Decimal, step: Decimal = _ONE) -> list[Decimal]:
    """Returns the numbers from one to another by a step; 22023 for what is not finite, and for step 0."""
    for value, name in ((start, "start value"), (stop, "stop value"), (step, "step size")):
        if not value.is_finite():
            what = "NaN" if value.is_nan() else "infinity"
            raise SqlError.of("invalid_parameter_value", f"{name} cannot be {what}")
    if not step:
        raise SqlError.of("invalid_parameter_value", "step size cannot equal zero")
    found: list[Decimal] = []
    while start <= stop if step > 0 else start >= stop:
        if len(found) > MOST_IN_SERIES:
            raise SqlError.of("program_limit_exceeded", f"a series of more than {MOST_IN_SERIES} numerics")
        found.append(start)
        start = add(start, step)
    return found


# ---- aggregates


def total(values: Iterable[Decimal]) -> Decimal | None:
    """Returns the sum of values; None without any."""
    result: Decimal | None = None
    for value in values:
        if result is None:
            result = value
        elif result.is_finite() and value.is_finite():
            result = EXACT.add(result, value)
        else:
            result = add(result, value)
    return None if result is None else normalize(result)


def average(values: list[Decimal]) -> Decimal | None:
    """Returns the mean of values; None without any."""
    summed = total(values)
    return None if summed is None else divide(summed, Decimal(len(values)))


def deviation(values: list[Decimal], *, sample: bool, root: bool) -> Decimal | None:
    """Returns the variance of values, or its `root`; None for too few values, NaN if one is not finite."""
    count = len(values)
    if count <= sample:
        return None
    if not all(value.is_finite() for value in values):
        return NAN
    summed = total(values) or _ZERO
    squares = total(EXACT.multiply(value, value) for value in values) or _ZERO
    spread = EXACT.subtract(EXACT.multiply(Decimal(count), squares), EXACT.multiply(summed, summed))
    if spread <= 0:
        return _ZERO
    pairs = Decimal(count * (count - 1) if sample else count * count)
    scale = quotient_scale(spread, pairs)
    variance = divide_to(spread, pairs, scale)
    return root_to(variance, scale) if root else variance
