"""Mathematical functions that DuckDB lacks: roots, powers and logarithms of numeric (numeric.c), degrees (float.c)."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import NumericOutOfRange, SqlError, numeric_overflow
from gpudb.exact.numerics import MOST_SHOWN

_SIGNIFICANT = 16
_LN10_INVERSE = 0.434294481903252
_EXACT = Context(prec=200, rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)
_DIGITS = 38


def register(registry: FunctionRegistry) -> None:
    """Registers the functions.

    A numeric is passed as text that keeps its display scale; behind the operands is the most decimals of the result.
    """
    for name, one in (
        ("sqrt", _sqrt), ("exp", _exp), ("ln", _ln), ("log10", lambda text, most: _log("10", text, most)),
    ):  # fmt: skip
        registry.add_scalar(f"pg_numeric_{name}", "VARCHAR INTEGER", "VARCHAR", one)
    registry.add_scalar("pg_numeric_trim", "VARCHAR", "VARCHAR", _trim)
    for name, two in (("power", _power), ("log", _log), ("gcd", _gcd), ("lcm", _lcm)):
        registry.add_scalar(f"pg_numeric_{name}", "VARCHAR VARCHAR INTEGER", "VARCHAR", two)
    for name, angle in (("sind", _sind), ("cosd", _cosd), ("tand", _tand), ("cotd", _cotd)):
        registry.add_scalar(f"pg_{name}", "DOUBLE", "DOUBLE", _require_finite(angle))
    for name, inverse in (("asind", _asind), ("acosd", _acosd)):
        registry.add_scalar(f"pg_{name}", "DOUBLE", "DOUBLE", _require_within_one(inverse))
    registry.add_scalar("pg_atand", "DOUBLE", "DOUBLE", lambda x: math.degrees(math.atan(x)))
    registry.add_scalar("pg_atan2d", "DOUBLE DOUBLE", "DOUBLE", lambda y, x: math.degrees(math.atan2(y, x)))
    registry.add_scalar("pg_erf", "DOUBLE", "DOUBLE", math.erf)
    registry.add_scalar("pg_erfc", "DOUBLE", "DOUBLE", math.erfc)
    registry.add_scalar("pg_bit_count", "BLOB", "BIGINT", lambda b: int.from_bytes(b).bit_count())


# ---------------------------------------------------------------------------------------------- numeric


def _context(digits: int) -> Context:
    return Context(prec=max(digits, 60), rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)


def _decimals(value: Decimal) -> int:
    return max(0, -int(value.as_tuple().exponent))


def _weight(value: Decimal) -> int:
    """Returns the power of 10000 of a number's first base-10000 digit."""
    return value.adjusted() // 4 if value else 0


def _first_digit(value: Decimal, weight: int) -> int:
    return int(abs(value).scaleb(-4 * weight, _context(60)))


def _round(value: Decimal, scale: int, most: int, least: int = 0) -> str:
    """Returns a value at its display scale, of at most 38 decimals; 22003 unless it has `most` decimals at most.

    Decimals are rounded where only the operands' display scale, `least`, which is greater than 20, asks for them.
    """
    if value and value.adjusted() >= _DIGITS - most:
        raise numeric_overflow()
    result = value.quantize(Decimal(1).scaleb(-max(0, scale)), context=_context(scale + _DIGITS))
    exact = not _EXACT.remainder(result.scaleb(most, _EXACT), Decimal(1))
    required = scale if scale > least or scale <= MOST_SHOWN else _SIGNIFICANT
    if required > most and not exact:
        raise numeric_overflow(lost=True)
    decimals = max(0, min(scale, _DIGITS if exact else most))
    result = result.quantize(Decimal(1).scaleb(-decimals), context=_EXACT)
    return format(result if result else abs(result), "f")


def _sqrt(text: str, most: int) -> str:
    value = Decimal(text)
    if value < 0:
        message = "cannot take square root of a negative number"
        raise SqlError.of("invalid_argument_for_power_function", message)
    weight = _weight(value)
    digits = weight * 2 + 1 if weight >= 0 else 1 - (1 - weight * 4) // 2
    scale = max(_SIGNIFICANT - digits, _decimals(value), 0)
    return _round(_context(120).sqrt(value), scale, most, _decimals(value))


def _exp(text: str, most: int) -> str:
    value = Decimal(text)
    decimals = float(value) * _LN10_INVERSE
    if abs(decimals) > 1000:
        if decimals > 0:
            raise numeric_overflow()
        return _round(Decimal(0), most, most)
    scale = max(_SIGNIFICANT - int(decimals), _decimals(value), 0)
    return _round(_context(120).exp(value), scale, most, _decimals(value))


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
        rest = value - 1
        if not rest:
            return 0
        weight = _weight(rest)
        return weight * 4 + int(math.log10(_first_digit(rest, weight)))
    weight = _weight(value)
    digits, power = _first_digit(value, weight), weight * 4
    if value != Decimal(digits).scaleb(power):
        digits, power = _first_digit(value, weight - 1), power - 4
    logarithm = abs(math.log(digits) + power * 2.302585092994046)
    return int(math.log10(logarithm)) if logarithm else 0


def _ln(text: str, most: int) -> str:
    value = _check_positive(Decimal(text))
    scale = max(_SIGNIFICANT - _log_weight(value), _decimals(value), 0)
    return _round(_context(120).ln(value), scale, most, _decimals(value))


def _log(base_text: str, text: str, most: int) -> str:
    base, value = _check_positive(Decimal(base_text)), _check_positive(Decimal(text))
    scale = _SIGNIFICANT - (_log_weight(value) - _log_weight(base))
    context = _context(120)
    if base == 1:
        raise SqlError.of("division_by_zero", "division by zero")
    result = context.divide(context.ln(value), context.ln(base))
    least = max(_decimals(base), _decimals(value))
    return _round(result, max(scale, least), most, least)


def _power(base_text: str, text: str, most: int) -> str:
    base, exponent = Decimal(base_text), Decimal(text)
    least = max(_decimals(base), _decimals(exponent), 0)
    whole = exponent == exponent.to_integral_value()
    if base == 0 and exponent < 0:
        message = "zero raised to a negative power is undefined"
        raise SqlError.of("invalid_argument_for_power_function", message)
    if base < 0 and not whole:
        message = "a negative number raised to a non-integer power yields a complex result"
        raise SqlError.of("invalid_argument_for_power_function", message)
    if base == 0:
        return _round(Decimal(1 if exponent == 0 else 0), max(_SIGNIFICANT, least), most)
    decimals = float(exponent) * math.log10(abs(float(base)))
    if not whole:
        decimals = float(exponent) * math.log(float(base)) * _LN10_INVERSE
    if decimals > 1000:
        raise numeric_overflow()
    if decimals < -1000:
        return _round(Decimal(0), most, most)
    scale = max(_SIGNIFICANT - int(decimals), least)
    return _round(_context(200).power(base, exponent), scale, most, least)


def _unscale(*texts: str) -> tuple[list[int], int]:
    values = [Decimal(text) for text in texts]
    scale = max(map(_decimals, values))
    return [int(value.scaleb(scale, _context(120))) for value in values], scale


def _gcd(a: str, b: str, most: int) -> str:
    units, scale = _unscale(a, b)
    return _round(Decimal(math.gcd(*units)).scaleb(-scale), scale, most, scale)


def _lcm(a: str, b: str, most: int) -> str:
    units, scale = _unscale(a, b)
    return _round(Decimal(math.lcm(*units)).scaleb(-scale), scale, most, scale)


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


# ---------------------------------------------------------------------------------------------- degrees


def _require_finite(function: Callable[[float], float]) -> Callable[[float], float]:
    def checked(x: float) -> float:
        if math.isinf(x):
            raise NumericOutOfRange("input is out of range")
        return x if math.isnan(x) else function(x)

    return checked


def _require_within_one(function: Callable[[float], float]) -> Callable[[float], float]:
    def checked(x: float) -> float:
        if abs(x) > 1:
            raise NumericOutOfRange("input is out of range")
        return x if math.isnan(x) else function(x)

    return checked


_EXACT_SINES = {0.0: 0.0, 30.0: 0.5, 90.0: 1.0}


def _sind(x: float) -> float:
    x = math.fmod(x, 360)
    sign = math.copysign(1.0, x)
    x = abs(x)
    if x > 180:
        sign, x = -sign, 360 - x
    x = 180 - x if x > 90 else x
    return sign * _EXACT_SINES.get(x, math.sin(math.radians(x)))


def _cosd(x: float) -> float:
    x = abs(math.fmod(x, 360))
    x = 360 - x if x > 180 else x
    sign = 1.0
    if x > 90:
        sign, x = -1.0, 180 - x
    return sign * _EXACT_SINES.get(90 - x, math.cos(math.radians(x)))


def _tand(x: float) -> float:
    sine, cosine = _sind(x), _cosd(x)
    if cosine == 0:
        return math.copysign(math.inf, sine)
    # no zero has a sign
    return 0.0 + (
        1.0 * math.copysign(1, sine * cosine)
        if abs(sine) == abs(cosine) or math.fmod(x, 90) in (45, -45)
        else sine / cosine
    )


def _cotd(x: float) -> float:
    sine, cosine = _sind(x), _cosd(x)
    if sine == 0:
        return math.copysign(math.inf, sine * cosine)
    return math.copysign(1, sine * cosine) if math.fmod(x, 90) in (45, -45) else cosine / sine


_EXACT_ARCSINES = {0.0: 0.0, 0.5: 30.0, 1.0: 90.0}


def _asind(x: float) -> float:
    return math.copysign(_EXACT_ARCSINES.get(abs(x), math.degrees(math.asin(abs(x)))), x)


def _acosd(x: float) -> float:
    return 90 - _asind(x) if abs(x) in _EXACT_ARCSINES else math.degrees(math.acos(x))
