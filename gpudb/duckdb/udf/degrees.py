"""Trigonometric functions of angles in degrees, which are exact where whole results are expected (float.c)."""

from __future__ import annotations

import math
from collections.abc import Callable

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import NumericOutOfRange

_RADIANS = 0.0174532925199432957692
"""Radians of a degree."""
_SINE_30 = math.sin(30 * _RADIANS)
_ONE_MINUS_COSINE_60 = 1 - math.cos(60 * _RADIANS)
_ARCSINE_HALF, _ARCCOSINE_HALF, _ARCTANGENT_1 = math.asin(0.5), math.acos(0.5), math.atan(1.0)


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    for name, angle in (("sind", _sind), ("cosd", _cosd), ("tand", _tand), ("cotd", _cotd)):
        registry.add_scalar(f"pg_{name}", "DOUBLE", "DOUBLE", _refuse(math.isinf, angle))
    for name, inverse in (("asind", _asind), ("acosd", _acosd)):
        registry.add_scalar(f"pg_{name}", "DOUBLE", "DOUBLE", _refuse(lambda x: abs(x) > 1, inverse))
    registry.add_scalar("pg_atand", "DOUBLE", "DOUBLE", lambda x: math.atan(x) / _ARCTANGENT_1 * 45)
    registry.add_scalar("pg_atan2d", "DOUBLE DOUBLE", "DOUBLE", lambda y, x: math.atan2(y, x) / _ARCTANGENT_1 * 45)


def _refuse(is_outside: Callable[[float], bool], function: Callable[[float], float]) -> Callable[[float], float]:
    """Returns the function with an error for what is outside its range, and NaN for NaN."""

    def checked(x: float) -> float:
        if is_outside(x):
            raise NumericOutOfRange("input is out of range")
        return x if math.isnan(x) else function(x)

    return checked


def _small_sine(x: float) -> float:
    """The sine of 0 to 30 degrees."""
    return math.sin(x * _RADIANS) / _SINE_30 / 2


def _large_cosine(x: float) -> float:
    """The cosine of 0 to 60 degrees."""
    return 1 - (1 - math.cos(x * _RADIANS)) / _ONE_MINUS_COSINE_60 / 2


def _sine(x: float) -> float:
    """The sine of 0 to 90 degrees."""
    return _small_sine(x) if x <= 30 else _large_cosine(90 - x)


def _cosine(x: float) -> float:
    """The cosine of 0 to 90 degrees."""
    return _large_cosine(x) if x <= 60 else _small_sine(90 - x)


_TANGENT_45 = _sine(45) / _cosine(45)
_COTANGENT_45 = _cosine(45) / _sine(45)


def _fold(x: float) -> tuple[float, float, float, float]:
    """Returns the angle of 0 to 90 degrees with the same functions up to their signs; the signs of sine, cosine and of
    their quotient.
    """
    x = math.fmod(x, 360)
    sine = cosine = quotient = 1.0
    if x < 0:
        x, sine, quotient = -x, -sine, -quotient
    if x > 180:
        x, sine, quotient = 360 - x, -sine, -quotient
    if x > 90:
        x, cosine, quotient = 180 - x, -cosine, -quotient
    return x, sine, cosine, quotient


def _sind(x: float) -> float:
    angle, sign, _, _ = _fold(x)
    return sign * _sine(angle)


def _cosd(x: float) -> float:
    angle, _, sign, _ = _fold(x)
    return sign * _cosine(angle)


def _divide(numerator: float, denominator: float) -> float:
    return (
        numerator / denominator if denominator else math.copysign(math.inf, numerator) * math.copysign(1, denominator)
    )


def _tand(x: float) -> float:
    angle, _, _, sign = _fold(x)
    # no zero has a sign
    return sign * (_divide(_sine(angle), _cosine(angle)) / _TANGENT_45) or 0.0


def _cotd(x: float) -> float:
    angle, _, _, sign = _fold(x)
    return sign * (_divide(_cosine(angle), _sine(angle)) / _COTANGENT_45) or 0.0


def _positive_arcsine(x: float) -> float:
    return math.asin(x) / _ARCSINE_HALF * 30 if x <= 0.5 else 90 - math.acos(x) / _ARCCOSINE_HALF * 60


def _asind(x: float) -> float:
    return _positive_arcsine(x) if x >= 0 else -_positive_arcsine(-x)


def _acosd(x: float) -> float:
    if x < 0:
        return 90 + _positive_arcsine(-x)
    return 90 - math.asin(x) / _ARCSINE_HALF * 30 if x <= 0.5 else math.acos(x) / _ARCCOSINE_HALF * 60
