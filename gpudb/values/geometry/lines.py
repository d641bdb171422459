"""Lines (rows, 3), each A, B and C of `Ax + By + C = 0`, and segments (rows, 4), each x1, y1, x2 and y2.

Functions that return flags and points have the points of rows without one as NaN.
"""

from __future__ import annotations

import numpy as np

from gpudb.errors import SqlError
from gpudb.values.geometry import points
from gpudb.values.geometry.floats import (
    Doubles,
    Flags,
    add,
    divide,
    equal,
    is_before,
    measure,
    multiply,
    subtract,
    vanishes,
)


def split(segments: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the end points of segments."""
    return segments[..., :2], segments[..., 2:]


def segment(one: Doubles, other: Doubles) -> Doubles:
    """Returns segments between points."""
    one, other = np.broadcast_arrays(one, other)
    return np.concatenate([one, other], axis=-1)


def make_line(through: Doubles, slopes: Doubles) -> Doubles:
    """Returns lines through points with slopes, of which infinite ones are vertical."""
    through = np.broadcast_to(through, (*slopes.shape, 2))
    lines = np.empty((*slopes.shape, 3))
    steep, flat = np.isinf(slopes), slopes == 0
    lines[steep, 0], lines[steep, 1], lines[steep, 2] = -1.0, 0.0, through[steep, 0]
    lines[flat, 0], lines[flat, 1], lines[flat, 2] = 0.0, -1.0, through[flat, 1]
    rest = ~steep & ~flat
    lines[rest, 0], lines[rest, 1] = slopes[rest], -1.0
    lines[rest, 2] = subtract(through[rest, 1], multiply(slopes[rest], through[rest, 0])) + 0.0
    return lines


def make_line_through(one: Doubles, other: Doubles, condition: str = "invalid_parameter_value") -> Doubles:
    """Returns lines through two points; an error of a condition if they are the same."""
    if points.same(one, other).any():
        raise SqlError.of(condition, "invalid line specification: must be two distinct points")
    return make_line(one, points.slope(one, other))


def slope(lines: Doubles) -> Doubles:
    """Returns the slopes of lines."""
    return _slope(lines[..., 0], -lines[..., 1], vanishes(lines[..., 0]), vanishes(lines[..., 1]))


def inverse_slope(lines: Doubles) -> Doubles:
    """Returns the slopes of what is perpendicular to lines."""
    flat, steep = vanishes(lines[..., 0]), vanishes(lines[..., 1])
    result = np.where(flat, np.inf, 0.0)
    rest = ~flat & ~steep
    result[rest] = divide(lines[rest, 1], lines[rest, 0])
    return result


def _slope(rise: Doubles, run: Doubles, flat: Flags, steep: Flags) -> Doubles:
    result = np.where(flat, 0.0, np.inf)
    rest = ~flat & ~steep
    result[rest] = divide(rise[rest], run[rest])
    return result


def cross_lines(one: Doubles, other: Doubles) -> tuple[Flags, Doubles]:
    """Whether lines meet in a point, and where."""
    one, other = np.broadcast_arrays(one, other)
    found, where = np.zeros(one.shape[:-1], bool), np.full((*one.shape[:-1], 2), np.nan)
    first = ~vanishes(one[..., 1])
    second = ~first & ~vanishes(other[..., 1])
    for rows, left, right in ((first, one, other), (second, other, one)):
        _cross(left, right, rows, found, where)
    return found, where


def _cross(one: Doubles, other: Doubles, rows: Flags, found: Flags, where: Doubles) -> None:
    a, b, c = (one[rows, place] for place in range(3))
    d, e, f = (other[rows, place] for place in range(3))
    parallel = equal(d, multiply(a, divide(e, b)))
    rows = rows.copy()
    rows[rows] = ~parallel
    a, b, c, d, e, f = (each[~parallel] for each in (a, b, c, d, e, f))
    x = divide(subtract(multiply(b, f), multiply(e, c)), subtract(multiply(a, e), multiply(d, b)))
    y = divide(-add(multiply(a, x), c), b)
    found[rows] = True
    where[rows] = points.join(x, y) + 0.0


def is_perpendicular(one: Doubles, other: Doubles) -> Flags:
    """Whether lines are perpendicular."""
    one, other = np.broadcast_arrays(one, other)
    zero, others = vanishes(one), vanishes(other)
    result = np.zeros(one.shape[:-1], bool)
    open_rows = np.ones(one.shape[:-1], bool)
    for test, answer in (
        (zero[..., 0], others[..., 1]),
        (others[..., 0], zero[..., 1]),
        (zero[..., 1], others[..., 0]),
        (others[..., 1], zero[..., 0]),
    ):
        chosen = open_rows & test
        result[chosen] = answer[chosen]
        open_rows &= ~test
    a, b, d, e = one[open_rows, 0], one[open_rows, 1], other[open_rows, 0], other[open_rows, 1]
    result[open_rows] = equal(divide(multiply(a, d), multiply(b, e)), np.float64(-1.0))
    return result


def same_lines(one: Doubles, other: Doubles) -> Flags:
    """Whether lines are the same: proportional, or exactly equal if a number is NaN."""
    one, other = np.broadcast_arrays(one, other)
    has_nan = np.isnan(one).any(axis=-1) | np.isnan(other).any(axis=-1)
    exact = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=-1)
    ratio = np.ones(one.shape[:-1])
    left = ~has_nan
    for place in range(3):
        chosen = left & ~vanishes(other[..., place])
        ratio[chosen] = divide(one[chosen, place], other[chosen, place])
        left &= ~chosen
    result = exact.copy()
    plain = ~has_nan
    scaled = multiply(ratio[plain][:, None], other[plain])
    result[plain] = equal(one[plain], scaled).all(axis=-1)
    return result


def line_distance(one: Doubles, other: Doubles) -> Doubles:
    """Returns the distances of lines."""
    one, other = np.broadcast_arrays(one, other)
    apart = ~cross_lines(one, other)[0]
    result, ratio = np.zeros(apart.shape), np.ones(apart.shape)
    left = apart.copy()
    for place in range(2):
        usable = [~vanishes(each[..., place]) & ~np.isnan(each[..., place]) for each in (one, other)]
        chosen = left & usable[0] & usable[1]
        ratio[chosen] = divide(one[chosen, place], other[chosen, place])
        left &= ~chosen
    gap = np.abs(subtract(one[apart, 2], multiply(ratio[apart], other[apart, 2])))
    result[apart] = divide(gap, measure(one[apart, 0], one[apart, 1]))
    return result


def on_line(lines: Doubles, at: Doubles) -> Flags:
    """Whether points are on lines."""
    sums = add(multiply(lines[..., 0], at[..., 0]), multiply(lines[..., 1], at[..., 1]))
    return vanishes(add(sums, lines[..., 2]))


def on_segment(segments: Doubles, at: Doubles) -> Flags:
    """Whether points are on segments: the ways to both ends are as long as the segment."""
    one, other = split(segments)
    with np.errstate(all="ignore"):
        ways = points.distance(at, one) + points.distance(at, other)
    return equal(ways, points.distance(one, other))


def to_line(segments: Doubles) -> Doubles:
    """Returns the lines on which segments are."""
    one, other = split(segments)
    return make_line(one, points.slope(one, other))


def cross_segment_line(segments: Doubles, lines: Doubles) -> tuple[Flags, Doubles]:
    """Whether segments meet lines, and where."""
    shape = np.broadcast_shapes(segments.shape[:-1], lines.shape[:-1])
    segments, lines = np.broadcast_to(segments, (*shape, 4)), np.broadcast_to(lines, (*shape, 3))
    found, where = cross_lines(to_line(segments), lines)
    found[found] = on_segment(segments[found], where[found])
    where[~found] = np.nan
    one, other = split(segments)
    for end in (other, one):
        at_end = found.copy()
        at_end[found] = points.same(end[found], where[found])
        where[at_end] = end[at_end]
    return found, where


def cross_segments(one: Doubles, other: Doubles) -> tuple[Flags, Doubles]:
    """Whether segments meet in a point, and where."""
    one, other = np.broadcast_arrays(one, other)
    found, where = cross_segment_line(one, to_line(other))
    found[found] = on_segment(other[found], where[found])
    where[~found] = np.nan
    return found, where


def closest_on_line(lines: Doubles, at: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the distances of points from lines, and the closest points; NaN and the points where there is none."""
    shape = np.broadcast_shapes(lines.shape[:-1], at.shape[:-1])
    lines, at = np.broadcast_to(lines, (*shape, 3)), np.broadcast_to(at, (*shape, 2))
    found, where = cross_lines(make_line(at, inverse_slope(lines)), lines)
    away = np.full(shape, np.nan)
    away[found] = points.distance(where[found], at[found])
    where[~found] = at[~found]
    return away, where


def closest_to_line(segments: Doubles, lines: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the distances of segments from lines, and the closest points of the segments."""
    found, where = cross_segment_line(segments, lines)
    segments = np.broadcast_to(segments, (*found.shape, 4))
    one, other = split(segments)
    first, second = closest_on_line(lines, one)[0], closest_on_line(lines, other)[0]
    with np.errstate(all="ignore"):
        nearer = first < second
    away = np.where(found, 0.0, np.where(nearer, first, second))
    where = np.where(found[..., None], where, np.where(nearer[..., None], one, other))
    return away, where


def closest_to_point(segments: Doubles, at: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the distances of points from segments, and the closest points of the segments."""
    shape = np.broadcast_shapes(segments.shape[:-1], at.shape[:-1])
    segments, at = np.broadcast_to(segments, (*shape, 4)), np.broadcast_to(at, (*shape, 2))
    one, other = split(segments)
    _, where = closest_to_line(segments, make_line(at, points.inverse_slope(one, other)))
    return points.distance(where, at), where


def closest_between(on: Doubles, to: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the distances of segments from others, and the closest points of the first ones."""
    on, to = np.broadcast_arrays(on, to)
    found, meeting = cross_segments(on, to)
    (first, last), (start, end) = split(on), split(to)
    away, where = closest_to_point(on, start)
    away, where = _take_nearer((away, where), closest_to_point(on, end))
    for point in (first, last):
        away, where = _take_nearer((away, where), (closest_to_point(to, point)[0], point))
    return np.where(found, 0.0, away), np.where(found[..., None], meeting, where)


def take_nearest(*candidates: tuple[Doubles, Doubles]) -> tuple[Doubles, Doubles]:
    """Returns the least distances among candidates, and their points; of equal ones the first."""
    best = candidates[0]
    for each in candidates[1:]:
        best = _take_nearer(best, each)
    return best


def _take_nearer(best: tuple[Doubles, Doubles], other: tuple[Doubles, Doubles]) -> tuple[Doubles, Doubles]:
    nearer = is_before(other[0], best[0])
    return np.where(nearer, other[0], best[0]), np.where(nearer[..., None], other[1], best[1])


def segment_length(segments: Doubles) -> Doubles:
    """Returns the lengths of segments."""
    return points.distance(*split(segments))


def segment_center(segments: Doubles) -> Doubles:
    """Returns the middles of segments."""
    one, other = split(segments)
    return divide(add(one, other), np.full(one.shape, 2.0))


def segment_slope(segments: Doubles) -> Doubles:
    """Returns the slopes of segments."""
    return points.slope(*split(segments))


def are_parallel(one: Doubles, other: Doubles) -> Flags:
    """Whether segments are parallel."""
    return equal(segment_slope(one), segment_slope(other))


def are_perpendicular(one: Doubles, other: Doubles) -> Flags:
    """Whether segments are perpendicular."""
    return equal(segment_slope(one), points.inverse_slope(*split(other)))
