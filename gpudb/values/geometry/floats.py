"""Double precision as PostgreSQL computes with it: overflow, underflow and division by zero are errors; comparisons of
coordinates that differ by no more than 1e-6 take them for equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudb.errors import SqlError

EPSILON = 1e-6
Doubles = Any
"""An array of doubles, or one of them: NumPy's stubs know no shapes."""
Flags = Any
"""An array of booleans, or one of them."""


def _check(result: Doubles, *operands: Doubles, may_vanish: bool = False) -> Doubles:
    """22003 for a result that is infinite, or that vanishes, without an operand that is so."""
    wrong = np.isinf(result)
    if wrong.any():
        for each in operands:
            wrong = wrong & ~np.isinf(each)
        if wrong.any():
            raise SqlError.of("numeric_value_out_of_range", "value out of range: overflow")
    if may_vanish:
        gone = (result == 0) & (operands[0] != 0)
        if len(operands) > 1:
            gone = gone & ((operands[1] != 0) & ~np.isinf(operands[1]))
        if gone.any():
            raise SqlError.of("numeric_value_out_of_range", "value out of range: underflow")
    return result


def add(one: Doubles, other: Doubles) -> Doubles:
    """Returns sums."""
    with np.errstate(all="ignore"):
        return _check(one + other, one, other)


def subtract(one: Doubles, other: Doubles) -> Doubles:
    """Returns differences."""
    with np.errstate(all="ignore"):
        return _check(one - other, one, other)


def multiply(one: Doubles, other: Doubles) -> Doubles:
    """Returns products."""
    with np.errstate(all="ignore"):
        return _check(one * other, one, other, may_vanish=True)


def divide(one: Doubles, other: Doubles) -> Doubles:
    """Returns quotients; 22012."""
    if ((other == 0) & ~np.isnan(one)).any():
        raise SqlError.of("division_by_zero", "division by zero")
    with np.errstate(all="ignore"):
        result = one / other
    if (np.isinf(result) & ~np.isinf(one)).any():
        raise SqlError.of("numeric_value_out_of_range", "value out of range: overflow")
    if ((result == 0) & (one != 0) & ~np.isinf(other)).any():
        raise SqlError.of("numeric_value_out_of_range", "value out of range: underflow")
    return result


def measure(x: Doubles, y: Doubles) -> Doubles:
    """Returns the lengths of vectors, by PostgreSQL's formula."""
    x, y = np.broadcast_arrays(np.abs(x), np.abs(y))
    larger, smaller = np.maximum(x, y), np.minimum(x, y)
    with np.errstate(all="ignore"):
        ratio = smaller / larger
        result = larger * np.sqrt(1.0 + ratio * ratio)
    result = np.where(smaller == 0, larger, result)
    result = np.where(np.isnan(x) | np.isnan(y), np.nan, result)
    result = np.where(np.isinf(x) | np.isinf(y), np.inf, result)
    return _check(result, x, y)


def equal(one: Doubles, other: Doubles) -> Flags:
    """Whether numbers are taken for equal."""
    with np.errstate(all="ignore"):
        return (one == other) | (np.abs(one - other) <= EPSILON)


def different(one: Doubles, other: Doubles) -> Flags:
    """Whether numbers are not taken for equal; NaN is neither equal nor different."""
    with np.errstate(all="ignore"):
        return (one != other) & (np.abs(one - other) > EPSILON)


def less(one: Doubles, other: Doubles) -> Flags:
    """Whether numbers are less by more than the tolerance."""
    with np.errstate(all="ignore"):
        return one + EPSILON < other


def less_or_equal(one: Doubles, other: Doubles) -> Flags:
    """Whether numbers are less, or taken for equal."""
    with np.errstate(all="ignore"):
        return one <= other + EPSILON


def greater(one: Doubles, other: Doubles) -> Flags:
    """Whether numbers are greater by more than the tolerance."""
    with np.errstate(all="ignore"):
        return one > other + EPSILON


def greater_or_equal(one: Doubles, other: Doubles) -> Flags:
    """Whether numbers are greater, or taken for equal."""
    with np.errstate(all="ignore"):
        return one + EPSILON >= other


def vanishes(number: Doubles) -> Flags:
    """Whether numbers are taken for zero."""
    return np.abs(number) <= EPSILON


def is_before(one: Doubles, other: Doubles) -> Flags:
    """Whether numbers are exactly less, with NaN above all others."""
    return (one < other) | (np.isnan(other) & ~np.isnan(one))
