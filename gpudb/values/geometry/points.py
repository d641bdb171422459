"""Points: columns of shape (rows, 2), each value x and y."""

from __future__ import annotations

import numpy as np

from gpudb.values.geometry.floats import (
    Doubles,
    Flags,
    add,
    divide,
    equal,
    measure,
    multiply,
    subtract,
)


def join(x: Doubles, y: Doubles) -> Doubles:
    """Returns points of coordinates."""
    return np.stack([x, y], axis=-1)


def same(one: Doubles, other: Doubles) -> Flags:
    """Whether points are the same: exactly, if a coordinate is NaN."""
    one, other = np.broadcast_arrays(one, other)
    close = equal(one, other).all(axis=-1)
    has_nan = np.isnan(one).any(axis=-1) | np.isnan(other).any(axis=-1)
    exact = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=-1)
    return np.where(has_nan, exact, close)


def distance(one: Doubles, other: Doubles) -> Doubles:
    """Returns the distances of points."""
    return measure(subtract(one[..., 0], other[..., 0]), subtract(one[..., 1], other[..., 1]))


def slope(one: Doubles, other: Doubles) -> Doubles:
    """Returns the slopes from points to others: infinite for a vertical one."""
    one, other = np.broadcast_arrays(one, other)
    result, rest = _find_extremes(one, other, np.inf, 0.0)
    rise, run = subtract(one[rest, 1], other[rest, 1]), subtract(one[rest, 0], other[rest, 0])
    result[rest] = divide(rise, run)
    return result


def inverse_slope(one: Doubles, other: Doubles) -> Doubles:
    """Returns the slopes of what is perpendicular to the way from points to others."""
    one, other = np.broadcast_arrays(one, other)
    result, rest = _find_extremes(one, other, 0.0, np.inf)
    rise, run = subtract(one[rest, 0], other[rest, 0]), subtract(other[rest, 1], one[rest, 1])
    result[rest] = divide(rise, run)
    return result


def _find_extremes(one: Doubles, other: Doubles, vertical: float, horizontal: float) -> tuple[Doubles, Flags]:
    """Returns the slopes of vertical ways, or else horizontal ones, and the rows of neither."""
    steep, flat = equal(one[..., 0], other[..., 0]), equal(one[..., 1], other[..., 1])
    return np.where(steep, vertical, horizontal), ~steep & ~flat


def combine_multiply(one: Doubles, other: Doubles) -> Doubles:
    """Returns points turned and scaled by others: the product of complex numbers."""
    x, y, u, v = one[..., 0], one[..., 1], other[..., 0], other[..., 1]
    real = subtract(multiply(x, u), multiply(y, v))
    return join(real, add(multiply(x, v), multiply(y, u)))


def combine_divide(one: Doubles, other: Doubles) -> Doubles:
    """Returns points turned back and scaled by others: the quotient of complex numbers; 22012."""
    x, y, u, v = one[..., 0], one[..., 1], other[..., 0], other[..., 1]
    size = add(multiply(u, u), multiply(v, v))
    real = divide(add(multiply(x, u), multiply(y, v)), size)
    return join(real, divide(subtract(multiply(y, u), multiply(x, v)), size))
