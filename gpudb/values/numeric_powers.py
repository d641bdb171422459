"""Roots, exponentials, logarithms and powers of finite numerics, with the scales of PostgreSQL (numeric.c).

A value is a Decimal whose exponent is its display scale.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache

from gpudb.errors import NUMERIC_OVERFLOW, NumericOutOfRange, SqlError
from gpudb.values.wide_numerics import EXACT, MOST_WHOLE_DIGITS, normalize, round_to, scale_of

SIGNIFICANT, MOST_SHOWN = 16, 1000
"""The least digits of a result, and the most decimals that its operands' sizes ask for."""
_LN10_INVERSE = 0.434294481903252
_LARGEST_EXPONENT = 6000
"""The power of e from which PostgreSQL computes no exponential."""
_GUARD = 24
"""Digits that are computed beyond those of a result, so that rounding twice rounds as once."""


@cache
def _context(digits: int) -> Context:
    return Context(prec=max(digits, 28), rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999)


def weight_of(value: Decimal) -> int:
    """Returns the power of 10000 of a number's first base-10000 digit."""
    return value.adjusted() // 4 if value else 0


def first_digit(value: Decimal, weight: int) -> int:
    """Returns the base-10000 digits of a number down to that of a weight."""
    return int(value.copy_abs().scaleb(-4 * weight, EXACT))


def choose_scale(digits: int, *operands: Decimal) -> int:
    """Returns the scale of a result of so many digits before the point, of at least the operands' scales."""
    return min(max(SIGNIFICANT - digits, *map(scale_of, operands), 0), MOST_SHOWN)


def square_root(value: Decimal) -> Decimal:
    """Returns the square root; 2201F below zero."""
    if value < 0:
        message = "cannot take square root of a negative number"
        raise SqlError.of("invalid_argument_for_power_function", message)
    weight = weight_of(value)
    digits = weight * 2 + 1 if weight >= 0 else 1 - (1 - weight * 4) // 2
    return root_to(value, choose_scale(digits, value))


def root_to(value: Decimal, scale: int) -> Decimal:
    """Returns the square root of a value that is not negative, rounded half up to a scale."""
    square = int(value.scaleb(2 * scale, EXACT))
    root = math.isqrt(square)
    root += square - root * root > root
    return Decimal(root).scaleb(-scale, EXACT)


def exponential(value: Decimal) -> Decimal:
    """Returns e to the power of a value; 22003 from e⁶⁰⁰⁰ on."""
    decimals = max(-2000.0, min(2000.0, float(value) * _LN10_INVERSE))
    return _exponential_to(value, choose_scale(int(decimals), value))


def _exponential_to(value: Decimal, scale: int) -> Decimal:
    if value.copy_abs() >= _LARGEST_EXPONENT:
        if value > 0:
            raise NumericOutOfRange(NUMERIC_OVERFLOW)
        return Decimal(0).scaleb(-scale)
    digits = scale + max(int(float(value) * _LN10_INVERSE), 0) + _GUARD
    return round_to(_context(digits).exp(value), scale)


def _check_positive(value: Decimal) -> Decimal:
    if value > 0:
        return value
    what = "zero" if value == 0 else "a negative number"
    raise SqlError.of("invalid_argument_for_logarithm", f"cannot take logarithm of {what}")


def _log_weight(value: Decimal) -> int:
    """Estimates the decimal weight of a logarithm, as estimate_ln_dweight does."""
    if value <= 0:
        return 0
    if Decimal("0.9") <= value <= Decimal("1.1"):
        rest = EXACT.subtract(value, Decimal(1))
        if not rest:
            return 0
        weight = weight_of(rest)
        return weight * 4 + int(math.log10(first_digit(rest, weight)))
    weight = weight_of(value)
    digits, power = first_digit(value, weight), weight * 4
    if value != Decimal(digits).scaleb(power, EXACT):
        digits, power = first_digit(value, weight - 1), power - 4
    logarithm = abs(math.log(digits) + power * 2.302585092994046)
    return int(math.log10(logarithm)) if logarithm else 0


def logarithm(value: Decimal) -> Decimal:
    """Returns the natural logarithm; 2201E unless the value is above zero."""
    _check_positive(value)
    scale = choose_scale(_log_weight(value), value)
    return round_to(_context(scale + _GUARD).ln(value), scale)


def logarithm_to_base(base: Decimal, value: Decimal) -> Decimal:
    """Returns the logarithm to a base; 2201E unless both are above zero, 22012 for base 1."""
    _check_positive(base), _check_positive(value)
    scale = choose_scale(_log_weight(value) - _log_weight(base), base, value)
    if base == 1:
        raise SqlError.of("division_by_zero", "division by zero")
    context = _context(scale + 2 * _GUARD)
    return round_to(context.divide(context.ln(value), context.ln(base)), scale)


def decimal_logarithm(value: Decimal) -> Decimal:
    """Returns the logarithm to base 10; 2201E unless the value is above zero."""
    return logarithm_to_base(Decimal(10), value)


def power(base: Decimal, exponent: Decimal) -> Decimal:
    """Returns a power; 2201F for one of zero or of a negative number that is undefined, 22003 beyond the limits."""
    whole = exponent == exponent.to_integral_value(context=EXACT)
    if base == 0 and exponent < 0:
        message = "zero raised to a negative power is undefined"
        raise SqlError.of("invalid_argument_for_power_function", message)
    if base < 0 and not whole:
        message = "a negative number raised to a non-integer power yields a complex result"
        raise SqlError.of("invalid_argument_for_power_function", message)
    if whole and exponent.copy_abs() < 2**31:
        return _whole_power(base, int(exponent), exponent)
    if base == 0:
        return Decimal(0).scaleb(-SIGNIFICANT)
    size = float(_context(30).multiply(exponent, _context(30).ln(base.copy_abs())))
    if abs(size) > _LARGEST_EXPONENT * 1.003:
        if size > 0:
            raise NumericOutOfRange(NUMERIC_OVERFLOW)
        return Decimal(0).scaleb(-MOST_SHOWN)
    scale = choose_scale(int(size * _LN10_INVERSE), base, exponent)
    if abs(size) >= _LARGEST_EXPONENT:
        return _exponential_to(Decimal(size), scale)
    result = _context(scale + max(int(size), 0) + 2 * _GUARD).power(base.copy_abs(), exponent)
    is_negative = base < 0 and EXACT.remainder(exponent, Decimal(2)) != 0
    return round_to(result.copy_negate() if is_negative else result, scale)


def _whole_power(base: Decimal, times: int, exponent: Decimal) -> Decimal:
    decimals = times * _leading_logarithm(base)
    if decimals > MOST_WHOLE_DIGITS:
        raise NumericOutOfRange(NUMERIC_OVERFLOW)
    if decimals + 1 < -MOST_SHOWN:
        return Decimal(0).scaleb(-MOST_SHOWN)
    scale = choose_scale(int(decimals), base, exponent)
    if times == 0:
        return round_to(Decimal(1), scale)
    if not base:
        return Decimal(0).scaleb(-scale)
    return normalize(round_to(_context(scale + max(int(decimals), 0) + _GUARD).power(base, times), scale))


def _leading_logarithm(value: Decimal) -> float:
    """Returns the decimal logarithm of a number's size by its first digits; 0 for zero."""
    if not value:
        return 0.0
    weight = weight_of(value)
    lower = weight
    while lower > weight - 3 and value != Decimal(first_digit(value, lower)).scaleb(4 * lower, EXACT).copy_sign(value):
        lower -= 1
    return math.log10(first_digit(value, lower)) + 4 * lower


def greatest_divisor(a: Decimal, b: Decimal) -> Decimal:
    """Returns the greatest common divisor."""
    (one, other), scale = _units(a, b)
    return Decimal(math.gcd(one, other)).scaleb(-scale, EXACT)


def least_multiple(a: Decimal, b: Decimal) -> Decimal:
    """Returns the least common multiple."""
    (one, other), scale = _units(a, b)
    return Decimal(math.lcm(one, other)).scaleb(-scale, EXACT)


def _units(*values: Decimal) -> tuple[list[int], int]:
    scale = max(map(scale_of, values))
    return [int(value.scaleb(scale, EXACT)) for value in values], scale
