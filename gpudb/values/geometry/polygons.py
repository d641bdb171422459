"""Paths and polygons: each value an array (points, 2); a path is also open or closed.

Points of a whole column are compared with one polygon at once.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from gpudb.errors import SqlError
from gpudb.values.geometry import boxes, lines, points
from gpudb.values.geometry.floats import (
    Doubles,
    Flags,
    add,
    divide,
    equal,
    greater,
    greater_or_equal,
    is_before,
    less,
    less_or_equal,
    multiply,
    subtract,
    vanishes,
)

_ON_EDGE = np.iinfo(np.int32).max


def list_edges(shape: Doubles, *, closed: bool) -> Doubles:
    """Returns the segments of a path or polygon, the closing one first."""
    before = np.roll(shape, 1, axis=0)
    edges = np.concatenate([before, shape], axis=-1)
    return edges if closed else edges[1:]


def bounds(shape: Doubles) -> Doubles:
    """Returns the least box around points."""
    high, low = shape[0].copy(), shape[0].copy()
    for point in shape[1:]:
        low = np.where(is_before(point, low), point, low)
        high = np.where(is_before(high, point), point, high)
    return np.concatenate([high, low])


def locate(at: Doubles, shape: Doubles) -> np.ndarray:
    """Returns for points 0 outside a polygon, 1 inside, 2 on an edge."""
    crossings, on_edge = np.zeros(len(at), np.int64), np.zeros(len(at), bool)
    x0, y0 = subtract(shape[0, 0], at[:, 0]), subtract(shape[0, 1], at[:, 1])
    before_x, before_y = x0, y0
    for point in (*shape[1:], None):
        x, y = (x0, y0) if point is None else (subtract(point[0], at[:, 0]), subtract(point[1], at[:, 1]))
        crossed = _cross_axis(x, y, before_x, before_y)
        touched = crossed == _ON_EDGE
        on_edge |= touched
        crossings += np.where(touched, 0, crossed)
        before_x, before_y = x, y
    return np.where(on_edge, 2, (crossings != 0).astype(np.int64))


def _cross_axis(x: Doubles, y: Doubles, before_x: Doubles, before_y: Doubles) -> np.ndarray:
    """Returns how an edge crosses the positive x axis: twice its direction, once if it begins or ends on the axis."""
    zero = np.float64(0.0)
    on_axis, was_on_axis = vanishes(y), vanishes(before_y)
    right, sign = greater(x, zero), np.where(greater(y, zero), 1, -1)
    # the edge ends on the axis
    from_axis_right = np.where(greater(before_x, zero), 0, _ON_EDGE)
    ends_right = np.where(was_on_axis, from_axis_right, np.where(less(before_y, zero), 1, -1))
    ends_left = np.where(was_on_axis, np.where(less(before_x, zero), 0, _ON_EDGE), 0)
    ends = np.where(vanishes(x), _ON_EDGE, np.where(right, ends_right, ends_left))
    # it ends elsewhere
    began = np.where(less(before_x, zero), 0, sign)
    same_side = ((sign < 0) & less(before_y, zero)) | ((sign > 0) & greater(before_y, zero))
    with np.errstate(all="ignore"):
        turn = (x - before_x) * y - (y - before_y) * x
    passes_left = ((sign < 0) & less(turn, zero)) | ((sign > 0) & greater(turn, zero))
    slanted = np.where(vanishes(turn), _ON_EDGE, np.where(passes_left, 0, 2 * sign))
    all_left = less(x, zero) & less_or_equal(before_x, zero)
    all_right = greater_or_equal(x, zero) & greater(before_x, zero)
    crossing = np.where(all_right, 2 * sign, np.where(all_left, 0, slanted))
    beyond = np.where(was_on_axis, began, np.where(same_side, 0, crossing))
    return np.where(on_axis, ends, beyond)


def distance_to_edges(at: Doubles, edges: Doubles) -> Doubles:
    """Returns the least distance of each point from segments."""
    best: Doubles | None = None
    for edge in edges:
        away = lines.closest_to_point(edge[None, :], at)[0]
        best = away if best is None else np.where(is_before(away, best), away, best)
    return np.zeros(len(at)) if best is None else best


def distance_to_polygon(at: Doubles, shape: Doubles) -> Doubles:
    """Returns the distances of points from a polygon, 0 inside."""
    away = distance_to_edges(at, list_edges(shape, closed=True))
    return np.where(locate(at, shape) != 0, 0.0, away)


def on_path(at: Doubles, shape: Doubles, *, closed: bool) -> Flags:
    """Whether points are on an open path, or in a closed one."""
    if closed:
        return locate(at, shape) != 0
    result = np.zeros(len(at), bool)
    before = points.distance(at, shape[0])
    for one, other in pairwise(shape):
        after = points.distance(at, other)
        result |= equal(add(before, after), points.distance(one, other))
        before = after
    return result


def _pair(one: Doubles, other: Doubles) -> tuple[Doubles, Doubles]:
    """Returns all pairs of segments of two shapes."""
    return one[:, None, :], other[None, :, :]


def edges_meet(one: Doubles, other: Doubles) -> bool:
    """Whether a segment of the one meets a segment of the other."""
    return bool(len(one) and len(other) and lines.cross_segments(*_pair(one, other))[0].any())


def edge_distance(one: Doubles, other: Doubles) -> float | None:
    """Returns the least distance between segments; None without any."""
    if not len(one) or not len(other):
        return None
    away = lines.closest_between(*_pair(one, other))[0]
    return float("nan") if np.isnan(away).all() else float(np.nanmin(away))


def paths_meet(one: Doubles, other: Doubles, closed: bool, others_closed: bool) -> bool:
    """Whether paths have a point in common."""
    if not boxes.overlap(bounds(one), bounds(other)):
        return False
    return edges_meet(list_edges(one, closed=closed), list_edges(other, closed=others_closed))


def polygons_overlap(one: Doubles, other: Doubles) -> bool:
    """Whether polygons have a point in common."""
    if not boxes.overlap(bounds(one), bounds(other)):
        return False
    if edges_meet(list_edges(one, closed=True), list_edges(other, closed=True)):
        return True
    return bool(locate(one[:1], other)[0] or locate(other[:1], one)[0])


def polygon_distance(one: Doubles, other: Doubles) -> float | None:
    """Returns the distance of polygons, 0 if they overlap."""
    if polygons_overlap(one, other):
        return 0.0
    return edge_distance(list_edges(one, closed=True), list_edges(other, closed=True))


def polygons_same(one: Doubles, other: Doubles) -> bool:
    """Whether polygons have the same points in the same order, from any of them on, in either direction."""
    if len(one) != len(other):
        return False
    for start in np.flatnonzero(points.same(other, one[0])).tolist():
        forward, backward = np.roll(other, -start, axis=0), np.roll(other[::-1], start + 1, axis=0)
        if points.same(forward, one).all() or points.same(backward, one).all():
            return True
    return False


def polygon_contains(one: Doubles, other: Doubles) -> bool:
    """Whether a polygon contains another one."""
    around = bounds(one)
    if not boxes.contains(around, bounds(other)):
        return False
    return all(_holds(edge[:2], edge[2:], one, around, 0) for edge in list_edges(other, closed=True))


def _holds(one: Doubles, other: Doubles, shape: Doubles, around: Doubles, start: int) -> bool:
    """Whether a segment is within a polygon, of which edges before `start` are known not to cross it."""
    if not boxes.contains_point(around, one) or not boxes.contains_point(around, other):
        return False
    tested = np.concatenate([one, other])
    held, crossed = True, False
    before = shape[start - 1]
    for number in range(start, len(shape)):
        edge = np.concatenate([before, shape[number]])
        begins, ends = bool(lines.on_segment(edge, one)), bool(lines.on_segment(edge, other))
        if begins and ends:
            return True
        if begins:
            held = _holds_touching(one, other, edge, shape, around, number + 1)
        elif ends:
            held = _holds_touching(other, one, edge, shape, around, number + 1)
        else:
            meets, where = lines.cross_segments(tested[None, :], edge[None, :])
            if meets[0]:
                crossed = True
                held = _holds(one, where[0], shape, around, number + 1) and _holds(
                    other, where[0], shape, around, number + 1
                )
        if not held:
            return False
        before = shape[number]
    if crossed:
        return True
    middle = divide(add(one, other), np.full(2, 2.0))
    return bool(locate(middle[None, :], shape)[0])


def _holds_touching(on: Doubles, off: Doubles, edge: Doubles, shape: Doubles, around: Doubles, start: int) -> bool:
    """Goes on with a segment of which `on` is on an edge and `off` is not."""
    tested = np.concatenate([on, off])
    first, last = edge[:2], edge[2:]
    if points.same(on, first):
        return _holds(off, last, shape, around, start) if lines.on_segment(tested, last) else True
    if points.same(on, last):
        return _holds(off, first, shape, around, start) if lines.on_segment(tested, first) else True
    for end in (first, last):
        if lines.on_segment(tested, end):
            return _holds(off, end, shape, around, start)
    return True


# ---- measures and conversions


def path_area(shape: Doubles) -> float:
    """Returns the area within a closed path."""
    after = np.roll(shape, -1, axis=0)
    total = np.float64(0.0)
    for (x, y), (u, v) in zip(shape, after, strict=True):
        total = subtract(add(total, multiply(x, v)), multiply(y, u))
    return float(np.abs(total) / 2)


def path_length(shape: Doubles, *, closed: bool) -> float:
    """Returns the length of a path."""
    total = np.float64(0.0)
    for each in lines.segment_length(list_edges(shape, closed=closed)):
        total = add(total, each)
    return float(total)


def to_circle(shape: Doubles) -> Doubles:
    """Returns the circle about a polygon's points: their mean, and their mean distance from it."""
    count, center, radius = np.float64(len(shape)), np.zeros(2), np.float64(0.0)
    for point in shape:
        center = add(center, point)
    center = divide(center, np.full(2, count))
    for away in points.distance(shape, center):
        radius = add(radius, away)
    return np.concatenate([center, [float(divide(radius, np.array(count)))]])


def from_circle(count: int, circle: Doubles) -> Doubles:
    """Returns a regular polygon in a circle; 0A000 for a radius of zero, 22023 for less than 2 points."""
    if vanishes(circle[2]):
        raise SqlError.of("feature_not_supported", "cannot convert circle with radius zero to polygon")
    if count < 2:
        raise SqlError.of("invalid_parameter_value", "must request at least 2 points")
    step = 2.0 * math.pi / count
    turns = [(math.cos(step * number), math.sin(step * number)) for number in range(count)]
    around = np.array(turns)
    x = subtract(circle[0], _scale(circle[2], around[:, 0]))
    return points.join(x, add(circle[1], _scale(circle[2], around[:, 1])))


def _scale(radius: np.float64, turns: Doubles) -> Doubles:
    return multiply(np.full(turns.shape, radius), turns)


def from_box(box: Doubles) -> Doubles:
    """Returns the corners of a box."""
    high, low = box[:2], box[2:]
    return np.array([low, [low[0], high[1]], high, [high[0], low[1]]])
