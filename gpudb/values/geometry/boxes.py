"""Boxes (rows, 4), each an upper right and a lower left corner, and circles (rows, 3), each a center and a radius."""

from __future__ import annotations

import math

import numpy as np

from gpudb.values.geometry import lines, points
from gpudb.values.geometry.floats import (
    Doubles,
    Flags,
    add,
    divide,
    greater,
    greater_or_equal,
    less,
    less_or_equal,
    measure,
    multiply,
    subtract,
)


def make_box(one: Doubles, other: Doubles) -> Doubles:
    """Returns boxes of opposite corners; NaN is above all other coordinates."""
    one, other = np.broadcast_arrays(one, other)
    first_is_higher = (one > other) | (np.isnan(one) & ~np.isnan(other))
    high, low = np.where(first_is_higher, one, other), np.where(first_is_higher, other, one)
    return np.concatenate([high, low], axis=-1)


def split(boxes: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the upper right and the lower left corners."""
    return boxes[..., :2], boxes[..., 2:]


def overlap(one: Doubles, other: Doubles) -> Flags:
    """Whether boxes have a point in common."""
    (high, low), (others_high, others_low) = split(one), split(other)
    return (less_or_equal(low, others_high) & less_or_equal(others_low, high)).all(axis=-1)


def contains(one: Doubles, other: Doubles) -> Flags:
    """Whether boxes contain others."""
    (high, low), (others_high, others_low) = split(one), split(other)
    return (greater_or_equal(high, others_high) & less_or_equal(low, others_low)).all(axis=-1)


def contains_point(boxes: Doubles, at: Doubles) -> Flags:
    """Whether points are in boxes, exactly."""
    high, low = split(boxes)
    return ((high >= at) & (low <= at)).all(axis=-1)


def center(boxes: Doubles) -> Doubles:
    """Returns the centers of boxes."""
    high, low = split(boxes)
    return divide(add(high, low), np.full(high.shape, 2.0))


def width(boxes: Doubles) -> Doubles:
    """Returns the widths of boxes."""
    return subtract(boxes[..., 0], boxes[..., 2])


def height(boxes: Doubles) -> Doubles:
    """Returns the heights of boxes."""
    return subtract(boxes[..., 1], boxes[..., 3])


def area(boxes: Doubles) -> Doubles:
    """Returns the areas of boxes."""
    return multiply(width(boxes), height(boxes))


def intersection(one: Doubles, other: Doubles) -> tuple[Doubles, Flags]:
    """Returns what boxes have in common, and whether there is something."""
    (high, low), (others_high, others_low) = split(one), split(other)
    common = np.concatenate([np.fmin(high, others_high), np.maximum(low, others_low)], axis=-1)
    return common, overlap(one, other)


def bound(one: Doubles, other: Doubles) -> Doubles:
    """Returns the least boxes around two."""
    (high, low), (others_high, others_low) = split(one), split(other)
    return np.concatenate([np.maximum(high, others_high), np.fmin(low, others_low)], axis=-1)


def list_sides(boxes: Doubles) -> list[Doubles]:
    """Returns the four sides of boxes as segments, in the order in which PostgreSQL tries them."""
    high, low = split(boxes)
    upper_left, lower_right = points.join(low[..., 0], high[..., 1]), points.join(high[..., 0], low[..., 1])
    pairs = ((low, upper_left), (high, upper_left), (low, lower_right), (high, lower_right))
    return [lines.segment(*pair) for pair in pairs]


def closest_to_point(boxes: Doubles, at: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the distances of points from boxes, and the closest points of the boxes."""
    inside = contains_point(boxes, at)
    away, where = lines.take_nearest(*(lines.closest_to_point(side, at) for side in list_sides(boxes)))
    return np.where(inside, 0.0, away), np.where(inside[..., None], at, where)


def crosses_segment(boxes: Doubles, segments: Doubles) -> Flags:
    """Whether segments have a point in boxes."""
    one, other = lines.split(segments)
    result = contains_point(boxes, one) | contains_point(boxes, other)
    for side in list_sides(boxes):
        result = result | lines.cross_segments(side, segments)[0]
    around = np.concatenate([np.maximum(one, other), np.fmin(one, other)], axis=-1)
    return result & overlap(around, boxes)


def closest_to_segment(boxes: Doubles, segments: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the distances of segments from boxes, and the closest points."""
    meets = crosses_segment(boxes, segments)
    away, where = lines.take_nearest(*(lines.closest_between(side, segments) for side in list_sides(boxes)))
    inside = lines.closest_to_point(segments, center(boxes))[1]
    return np.where(meets, 0.0, away), np.where(meets[..., None], inside, where)


def crosses_line(line: Doubles, boxes: Doubles) -> Flags:
    """Whether lines meet sides of boxes."""
    result = np.zeros(np.broadcast_shapes(line.shape[:-1], boxes.shape[:-1]), bool)
    for side in list_sides(boxes):
        result = result | lines.cross_segment_line(side, line)[0]
    return result


# ---- circles


def split_circle(circles: Doubles) -> tuple[Doubles, Doubles]:
    """Returns the centers and the radii."""
    return circles[..., :2], circles[..., 2]


def circle(at: Doubles, radius: Doubles) -> Doubles:
    """Returns circles of centers and radii."""
    return np.concatenate([at, radius[..., None]], axis=-1)


def circle_area(circles: Doubles) -> Doubles:
    """Returns the areas of circles."""
    radius = circles[..., 2]
    return multiply(multiply(radius, radius), np.full(radius.shape, math.pi))


def circle_distance(one: Doubles, other: Doubles) -> Doubles:
    """Returns the distances between circles, 0 for those that touch."""
    (at, radius), (to, others) = split_circle(one), split_circle(other)
    return clip(subtract(points.distance(at, to), add(radius, others)))


def clip(distances: Doubles) -> Doubles:
    """Returns distances, 0 for negative ones."""
    with np.errstate(all="ignore"):
        return np.where(distances < 0, 0.0, distances)


def circles_same(one: Doubles, other: Doubles) -> Flags:
    """Whether circles are the same."""
    (at, radius), (to, others) = split_circle(one), split_circle(other)
    with np.errstate(all="ignore"):
        close = (np.isnan(radius) & np.isnan(others)) | (radius == others) | (np.abs(radius - others) <= 1e-6)
    return close & points.same(at, to)


def circles_overlap(one: Doubles, other: Doubles) -> Flags:
    """Whether circles have a point in common."""
    (at, radius), (to, others) = split_circle(one), split_circle(other)
    return less_or_equal(points.distance(at, to), add(radius, others))


def circle_contains(one: Doubles, other: Doubles) -> Flags:
    """Whether circles contain others."""
    (at, radius), (to, others) = split_circle(one), split_circle(other)
    return less_or_equal(points.distance(at, to), subtract(radius, others))


def circle_contains_point(circles: Doubles, at: Doubles) -> Flags:
    """Whether points are in circles, exactly."""
    middle, radius = split_circle(circles)
    return points.distance(middle, at) <= radius


def compare_ends(axis: int, test: str, one: Doubles, other: Doubles) -> Flags:
    """Compares where circles begin and end on an axis: `left`, `over_left`, `right` or `over_right`."""
    (at, radius), (to, others) = split_circle(one), split_circle(other)
    at, to = at[..., axis], to[..., axis]
    if test == "left":
        return less(add(at, radius), subtract(to, others))
    if test == "over_left":
        return less_or_equal(add(at, radius), add(to, others))
    if test == "right":
        return greater(subtract(at, radius), add(to, others))
    return greater_or_equal(subtract(at, radius), subtract(to, others))


def scale_circle(circles: Doubles, by: Doubles, *, divides: bool) -> Doubles:
    """Returns circles turned and scaled by points."""
    at, radius = split_circle(circles)
    size = measure(by[..., 0], by[..., 1])
    if divides:
        return circle(points.combine_divide(at, by), divide(radius, size))
    return circle(points.combine_multiply(at, by), multiply(radius, size))


def circle_to_box(circles: Doubles) -> Doubles:
    """Returns the boxes inside circles."""
    at, radius = split_circle(circles)
    delta = divide(radius, np.full(radius.shape, math.sqrt(2.0)))[..., None]
    return np.concatenate([add(at, delta), subtract(at, delta)], axis=-1)


def box_to_circle(boxes: Doubles) -> Doubles:
    """Returns the circles around boxes."""
    at = center(boxes)
    return circle(at, points.distance(at, split(boxes)[0]))
