"""What is computed of geometric values, by the signatures of PostgreSQL's functions, over whole columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import SqlError
from gpudb.types.facts import GEOMETRIC, GEOMETRIC_WIDTHS
from gpudb.values.geometry import boxes, lines, points, polygons
from gpudb.values.geometry.floats import (
    add,
    different,
    equal,
    greater,
    greater_or_equal,
    less,
    less_or_equal,
    multiply,
    subtract,
    vanishes,
)
from gpudb.values.geometry.forms import Shape, read_doubles, read_shape, write_doubles, write_shape


class Missing(NamedTuple):
    """Values of which those that are not `there` are NULL."""

    values: Any
    there: Any


class Operation(NamedTuple):
    """A function: the types of its arguments and of its result, and what computes it.

    `kernel` takes arrays of doubles, or with `kind` each it takes rows, and with `kind` shape the rows of an array that
    have the same path or polygon.
    """

    arguments: tuple[str, ...]
    result: str
    kernel: Callable[..., Any]
    kind: str = "columns"


_ARROW = {"float8": pa.float64(), "int4": pa.int32(), "bool": pa.bool_()}


def evaluate(operation: Operation, columns: Sequence[pa.Array]) -> pa.Array:
    """Computes a column; NULL where an argument is NULL."""
    valid = columns[0].is_valid()
    for each in columns[1:]:
        valid = pc.and_(valid, each.is_valid())
    complete = pc.all(valid).as_py() is not False
    taken = [each if complete else each.filter(valid) for each in columns]
    found = _RUNNERS[operation.kind](operation, taken)
    there = None
    if isinstance(found, Missing):
        found, there = found
    made = _encode(operation.result, found)
    if there is not None:
        made = pc.if_else(pa.array(np.asarray(there, bool)), made, pa.scalar(None, made.type))
    if complete:
        return made
    places = pc.subtract(pc.cumulative_sum(pc.cast(valid, pa.int64())), 1)
    return made.take(pc.if_else(valid, places, pa.scalar(None, pa.int64())))


def _decode(kind: str, column: pa.Array) -> Any:
    if kind in GEOMETRIC_WIDTHS:
        return read_doubles(column, GEOMETRIC_WIDTHS[kind])
    if kind in GEOMETRIC:
        return [read_shape(kind, value) for value in column.to_pylist()]
    return column.to_numpy(zero_copy_only=False)


def _encode(kind: str, values: Any) -> pa.Array:
    if kind in GEOMETRIC_WIDTHS:
        return write_doubles(np.asarray(values, np.float64).reshape(-1, GEOMETRIC_WIDTHS[kind]))
    if kind in GEOMETRIC:
        return pa.array([None if each is None else write_shape(kind, each) for each in values], pa.binary())
    return pa.array(values, _ARROW[kind])


def _run_columns(operation: Operation, columns: Sequence[pa.Array]) -> Any:
    return operation.kernel(*(_decode(kind, column) for kind, column in zip(operation.arguments, columns, strict=True)))


def _run_each(operation: Operation, columns: Sequence[pa.Array]) -> Any:
    decoded = [_decode(kind, column) for kind, column in zip(operation.arguments, columns, strict=True)]
    found = [operation.kernel(*row) for row in zip(*decoded, strict=True)]
    if operation.result not in GEOMETRIC_WIDTHS:
        return found
    there = [each is not None for each in found]
    blank = np.zeros(GEOMETRIC_WIDTHS[operation.result])
    return Missing(np.array([blank if each is None else each for each in found]).reshape(len(found), -1), there)


def _run_by_shape(operation: Operation, columns: Sequence[pa.Array]) -> Any:
    """Calls the kernel for all rows with the same path or polygon at once; results are one number a row."""
    place = next(n for n, kind in enumerate(operation.arguments) if kind not in GEOMETRIC_WIDTHS)
    coded = columns[place].dictionary_encode()
    codes = coded.indices.to_numpy()
    others = _decode(operation.arguments[1 - place], columns[1 - place])
    found = np.zeros(len(codes), bool if operation.result == "bool" else np.float64)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(coded.dictionary)))[:-1]
    parts = np.split(order, ends) if len(codes) else []
    for value, rows in zip(coded.dictionary.to_pylist(), parts, strict=False):
        found[rows] = operation.kernel(others[rows], read_shape(operation.arguments[place], value))
    return found


_RUNNERS: Mapping[str, Callable[[Operation, Sequence[pa.Array]], Any]] = {
    "columns": _run_columns,
    "each": _run_each,
    "shape": _run_by_shape,
}

OPERATIONS: dict[str, Operation] = {}
"""By signature, as `point_add(point,point)`."""


def _put(signature: str, result: str, kernel: Callable[..., Any], kind: str = "columns") -> None:
    arguments = tuple(signature.partition("(")[2].rstrip(")").split(","))
    OPERATIONS[signature] = Operation(arguments, result, kernel, kind)


# ---- points

_X, _Y = 0, 1


def _compare(test: Callable[..., Any], *axes: int) -> Callable[..., Any]:
    def compare(one: Any, other: Any) -> Any:
        return test(one[:, axes[0]], other[:, axes[-1]])

    return compare


_put("point(float8,float8)", "point", points.join)
_put("point_eq(point,point)", "bool", points.same)
_put("point_ne(point,point)", "bool", lambda one, other: ~points.same(one, other))
for _name, _test, _axis in (
    ("left", less, _X),
    ("right", greater, _X),
    ("above", greater, _Y),
    ("below", less, _Y),
    ("vert", equal, _X),
    ("horiz", equal, _Y),
):
    _put(f"point_{_name}(point,point)", "bool", _compare(_test, _axis))
_put("isvertical(point,point)", "bool", _compare(equal, _X))
_put("ishorizontal(point,point)", "bool", _compare(equal, _Y))
_put("point_distance(point,point)", "float8", points.distance)
_put("slope(point,point)", "float8", points.slope)
_ARITHMETIC = {
    "add": add,
    "sub": subtract,
    "mul": points.combine_multiply,
    "div": points.combine_divide,
}
for _name, _kernel in _ARITHMETIC.items():
    _put(f"point_{_name}(point,point)", "point", _kernel)

# ---- lines and segments


def _take(found: tuple[Any, Any]) -> Any:
    return found[0]


def _meet(cross: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    def meet(one: Any, other: Any) -> Missing:
        found, where = cross(one, other)
        return Missing(where, found)

    return meet


def _closest(measure: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    """Returns the closest points of a measure of distances, NULL where there is none."""

    def closest(one: Any, other: Any) -> Missing:
        away, where = measure(one, other)
        return Missing(where, ~np.isnan(away))

    return closest


def _swap(kernel: Callable[..., Any]) -> Callable[..., Any]:
    return lambda one, other: kernel(other, one)


def _distance(measure: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    return lambda one, other: measure(one, other)[0]


def _close_segments(one: Any, other: Any) -> Missing:
    away, where = lines.closest_between(other, one)
    return Missing(where, ~np.isnan(away) & (lines.segment_slope(one) != lines.segment_slope(other)))


def _close_line(line: Any, segment: Any) -> Missing:
    away, where = lines.closest_to_line(segment, line)
    return Missing(where, ~np.isnan(away) & (lines.segment_slope(segment) != lines.slope(line)))


_put("line(point,point)", "line", lines.make_line_through)
_put("line_eq(line,line)", "bool", lines.same_lines)
_put("line_intersect(line,line)", "bool", lambda one, other: lines.cross_lines(one, other)[0])
_put("line_interpt(line,line)", "point", _meet(lines.cross_lines))
_put("line_distance(line,line)", "float8", lines.line_distance)
for _names, _type, _kernel in (
    ("line_parallel isparallel", "line", lambda one, other: ~lines.cross_lines(one, other)[0]),
    ("line_perp isperp", "line", lines.is_perpendicular),
    ("lseg_parallel isparallel", "lseg", lines.are_parallel),
    ("lseg_perp isperp", "lseg", lines.are_perpendicular),
):
    for _name in _names.split():
        _put(f"{_name}({_type},{_type})", "bool", _kernel)
for _name in ("line_vertical", "isvertical"):
    _put(f"{_name}(line)", "bool", lambda line: vanishes(line[:, 1]))
for _name in ("line_horizontal", "ishorizontal"):
    _put(f"{_name}(line)", "bool", lambda line: vanishes(line[:, 0]))
for _name in ("lseg_vertical", "isvertical"):
    _put(f"{_name}(lseg)", "bool", lambda segment: equal(segment[:, 0], segment[:, 2]))
for _name in ("lseg_horizontal", "ishorizontal"):
    _put(f"{_name}(lseg)", "bool", lambda segment: equal(segment[:, 1], segment[:, 3]))


def _same_segments(one: Any, other: Any) -> Any:
    return points.same(one[:, :2], other[:, :2]) & points.same(one[:, 2:], other[:, 2:])


def _compare_measures(test: Callable[..., Any], measure: Callable[..., Any]) -> Callable[..., Any]:
    return lambda one, other: test(measure(one), measure(other))


_ORDER: Mapping[str, Callable[..., Any]] = {
    "lt": less,
    "le": less_or_equal,
    "gt": greater,
    "ge": greater_or_equal,
}
_put("lseg(point,point)", "lseg", lines.segment)
_put("lseg_eq(lseg,lseg)", "bool", _same_segments)
_put("lseg_ne(lseg,lseg)", "bool", lambda one, other: ~_same_segments(one, other))
for _name, _test in _ORDER.items():
    _put(f"lseg_{_name}(lseg,lseg)", "bool", _compare_measures(_test, lines.segment_length))
    _put(f"box_{_name}(box,box)", "bool", _compare_measures(_test, boxes.area))
    _put(f"circle_{_name}(circle,circle)", "bool", _compare_measures(_test, boxes.circle_area))
for _name in ("lseg_length", "length"):
    _put(f"{_name}(lseg)", "float8", lines.segment_length)
for _name in ("lseg_center", "point"):
    _put(f"{_name}(lseg)", "point", lines.segment_center)
_put("lseg_distance(lseg,lseg)", "float8", _distance(lines.closest_between))
_put("lseg_intersect(lseg,lseg)", "bool", lambda one, other: lines.cross_segments(one, other)[0])
_put("lseg_interpt(lseg,lseg)", "point", _meet(lines.cross_segments))
_put("inter_sl(lseg,line)", "bool", lambda segment, line: lines.cross_segment_line(segment, line)[0])
_put("on_pl(point,line)", "bool", _swap(lines.on_line))
_put("on_ps(point,lseg)", "bool", _swap(lines.on_segment))
_put(
    "on_sl(lseg,line)",
    "bool",
    lambda segment, line: lines.on_line(line, segment[:, :2]) & lines.on_line(line, segment[:, 2:]),
)
_MEASURES: tuple[tuple[str, Callable[..., tuple[Any, Any]]], ...] = (
    ("pl(point,line)", _swap(lines.closest_on_line)),
    ("lp(line,point)", lines.closest_on_line),
    ("ps(point,lseg)", _swap(lines.closest_to_point)),
    ("sp(lseg,point)", lines.closest_to_point),
    ("sl(lseg,line)", lines.closest_to_line),
    ("ls(line,lseg)", _swap(lines.closest_to_line)),
    ("pb(point,box)", _swap(boxes.closest_to_point)),
    ("bp(box,point)", boxes.closest_to_point),
    ("sb(lseg,box)", _swap(boxes.closest_to_segment)),
    ("bs(box,lseg)", boxes.closest_to_segment),
)
for _signature, _measure in _MEASURES:
    _put(f"dist_{_signature}", "float8", _distance(_measure))
    if _signature[:2] in ("pl", "ps", "pb", "sb"):
        _put(f"close_{_signature}", "point", _closest(_measure))
_put("close_lseg(lseg,lseg)", "point", _close_segments)
_put("close_ls(line,lseg)", "point", _close_line)

# ---- boxes


def _at(column: int, others: int, test: Callable[..., Any]) -> Callable[..., Any]:
    return lambda one, other: test(one[:, column], other[:, others])


def _move_box(combine: Callable[..., Any]) -> Callable[..., Any]:
    def move(box: Any, by: Any) -> Any:
        return boxes.make_box(combine(box[:, :2], by), combine(box[:, 2:], by))

    return move


_HIGH_X, _HIGH_Y, _LOW_X, _LOW_Y = range(4)
_put("box(point,point)", "box", boxes.make_box)
_put("box(point)", "box", lambda at: np.concatenate([at, at], axis=1))
_put(
    "box_same(box,box)",
    "bool",
    lambda one, other: points.same(one[:, :2], other[:, :2]) & points.same(one[:, 2:], other[:, 2:]),
)
_put("box_eq(box,box)", "bool", _compare_measures(equal, boxes.area))
_put("box_overlap(box,box)", "bool", boxes.overlap)
_put("box_contain(box,box)", "bool", boxes.contains)
_put("box_contained(box,box)", "bool", _swap(boxes.contains))
_put("box_contain_pt(box,point)", "bool", boxes.contains_point)
_put("on_pb(point,box)", "bool", _swap(boxes.contains_point))
for _name, _kernel in (
    ("left", _at(_HIGH_X, _LOW_X, less)),
    ("overleft", _at(_HIGH_X, _HIGH_X, less_or_equal)),
    ("right", _at(_LOW_X, _HIGH_X, greater)),
    ("overright", _at(_LOW_X, _LOW_X, greater_or_equal)),
    ("below", _at(_HIGH_Y, _LOW_Y, less)),
    ("overbelow", _at(_HIGH_Y, _HIGH_Y, less_or_equal)),
    ("above", _at(_LOW_Y, _HIGH_Y, greater)),
    ("overabove", _at(_LOW_Y, _LOW_Y, greater_or_equal)),
    ("below_eq", _at(_HIGH_Y, _LOW_Y, less_or_equal)),
    ("above_eq", _at(_LOW_Y, _HIGH_Y, greater_or_equal)),
):
    _put(f"box_{_name}(box,box)", "bool", _kernel)
for _name, _kernel in (("add", add), ("sub", subtract)):
    _put(f"box_{_name}(box,point)", "box", lambda box, by, move=_kernel: move(box, np.concatenate([by, by], axis=1)))
for _name, _kernel in (("mul", points.combine_multiply), ("div", points.combine_divide)):
    _put(f"box_{_name}(box,point)", "box", _move_box(_kernel))
_put("box_intersect(box,box)", "box", lambda one, other: Missing(*boxes.intersection(one, other)))
_put("bound_box(box,box)", "box", boxes.bound)
_put("box_distance(box,box)", "float8", lambda one, other: points.distance(boxes.center(one), boxes.center(other)))
for _name in ("box_center", "center", "point"):
    _put(f"{_name}(box)", "point", boxes.center)
_put("area(box)", "float8", boxes.area)
_put("width(box)", "float8", boxes.width)
_put("height(box)", "float8", boxes.height)
for _name in ("diagonal", "lseg"):
    _put(f"{_name}(box)", "lseg", lambda box: box)
_put(
    "on_sb(lseg,box)",
    "bool",
    lambda segment, box: boxes.contains_point(box, segment[:, :2]) & boxes.contains_point(box, segment[:, 2:]),
)
_put("inter_sb(lseg,box)", "bool", _swap(boxes.crosses_segment))
_put("inter_lb(line,box)", "bool", boxes.crosses_line)

# ---- circles


def _point_circle_distance(at: Any, circle: Any) -> Any:
    return boxes.clip(subtract(points.distance(at, circle[:, :2]), circle[:, 2]))


def _move_circle(move: Callable[..., Any]) -> Callable[..., Any]:
    return lambda circle, by: boxes.circle(move(circle[:, :2], by), circle[:, 2])


_put("circle(point,float8)", "circle", boxes.circle)
_put("circle(box)", "circle", boxes.box_to_circle)
_put("box(circle)", "box", boxes.circle_to_box)
_put("circle_same(circle,circle)", "bool", boxes.circles_same)
_put("circle_eq(circle,circle)", "bool", _compare_measures(equal, boxes.circle_area))
_put("circle_ne(circle,circle)", "bool", _compare_measures(different, boxes.circle_area))
_put("circle_overlap(circle,circle)", "bool", boxes.circles_overlap)
_put("circle_contain(circle,circle)", "bool", boxes.circle_contains)
_put("circle_contained(circle,circle)", "bool", _swap(boxes.circle_contains))
_put("circle_contain_pt(circle,point)", "bool", boxes.circle_contains_point)
_put("pt_contained_circle(point,circle)", "bool", _swap(boxes.circle_contains_point))
for _name, _axis, _kernel_name in (
    ("left", _X, "left"),
    ("overleft", _X, "over_left"),
    ("right", _X, "right"),
    ("overright", _X, "over_right"),
    ("below", _Y, "left"),
    ("overbelow", _Y, "over_left"),
    ("above", _Y, "right"),
    ("overabove", _Y, "over_right"),
):
    _put(f"circle_{_name}(circle,circle)", "bool", partial(boxes.compare_ends, _axis, _kernel_name))
_put("circle_add_pt(circle,point)", "circle", _move_circle(add))
_put("circle_sub_pt(circle,point)", "circle", _move_circle(subtract))
_put("circle_mul_pt(circle,point)", "circle", partial(boxes.scale_circle, divides=False))
_put("circle_div_pt(circle,point)", "circle", partial(boxes.scale_circle, divides=True))
_put("circle_distance(circle,circle)", "float8", boxes.circle_distance)
_put("dist_pc(point,circle)", "float8", _point_circle_distance)
_put("dist_cpoint(circle,point)", "float8", _swap(_point_circle_distance))
for _name in ("circle_center", "center", "point"):
    _put(f"{_name}(circle)", "point", lambda circle: circle[:, :2])
_put("radius(circle)", "float8", lambda circle: circle[:, 2])
_put("diameter(circle)", "float8", lambda circle: multiply(circle[:, 2], np.full(len(circle), 2.0)))
_put("area(circle)", "float8", boxes.circle_area)

# ---- paths


def _change_path(combine: Callable[..., Any]) -> Callable[..., Any]:
    def change(path: Shape, by: Any) -> Shape:
        return Shape(combine(path.points, np.broadcast_to(by, path.points.shape)), path.closed)

    return change


def _join_paths(one: Shape, other: Shape) -> Shape | None:
    if one.closed or other.closed:
        return None
    return Shape(np.concatenate([one.points, other.points]), closed=False)


def _path_to_polygon(path: Shape) -> Shape:
    if not path.closed:
        raise SqlError.of("invalid_parameter_value", "open path cannot be converted to polygon")
    return path


def _path_edges(path: Shape) -> Any:
    return polygons.list_edges(path.points, closed=path.closed)


def _point_path_distance(at: Any, path: Shape) -> Any:
    return polygons.distance_to_edges(at, _path_edges(path))


for _name, _kernel in _ARITHMETIC.items():
    _put(f"path_{_name}_pt(path,point)", "path", _change_path(_kernel), "each")
_put("path_add(path,path)", "path", _join_paths, "each")
for _name in ("path_length", "length"):
    _put(f"{_name}(path)", "float8", lambda path: polygons.path_length(path.points, closed=path.closed), "each")
_put("area(path)", "float8", lambda path: polygons.path_area(path.points) if path.closed else None, "each")
for _name in ("path_npoints", "npoints"):
    _put(f"{_name}(path)", "int4", lambda path: len(path.points), "each")
for _name in ("poly_npoints", "npoints"):
    _put(f"{_name}(polygon)", "int4", lambda shape: len(shape.points), "each")
_put("isclosed(path)", "bool", lambda path: path.closed, "each")
_put("isopen(path)", "bool", lambda path: not path.closed, "each")
_put("pclose(path)", "path", lambda path: Shape(path.points, closed=True), "each")
_put("popen(path)", "path", lambda path: Shape(path.points, closed=False), "each")
for _name, _order in (
    ("eq", lambda one, other: one == other),
    ("lt", lambda one, other: one < other),
    ("le", lambda one, other: one <= other),
    ("gt", lambda one, other: one > other),
    ("ge", lambda one, other: one >= other),
):
    _put(
        f"path_n_{_name}(path,path)",
        "bool",
        lambda one, other, order=_order: order(len(one.points), len(other.points)),
        "each",
    )
_put(
    "path_inter(path,path)",
    "bool",
    lambda one, other: polygons.paths_meet(one.points, other.points, one.closed, other.closed),
    "each",
)
_put(
    "path_distance(path,path)",
    "float8",
    lambda one, other: polygons.edge_distance(_path_edges(one), _path_edges(other)),
    "each",
)
for _signature in ("on_ppath(point,path)", "path_contain_pt(path,point)"):
    _put(_signature, "bool", lambda at, path: polygons.on_path(at, path.points, closed=path.closed), "shape")
for _signature in ("dist_ppath(point,path)", "dist_pathp(path,point)"):
    _put(_signature, "float8", _point_path_distance, "shape")
_put("polygon(path)", "polygon", _path_to_polygon, "each")
_put("path(polygon)", "path", lambda shape: shape, "each")

# ---- polygons


def _bounds(shapes: Sequence[Shape]) -> Any:
    return np.array([polygons.bounds(each.points) for each in shapes]).reshape(-1, 4)


def _compare_bounds(column: int, others: int, test: Callable[..., Any]) -> Callable[..., Any]:
    return lambda one, other: test(_bounds(one)[:, column], _bounds(other)[:, others])


def _circle_polygon_distance(circle: Any, shape: Shape) -> Any:
    away = polygons.distance_to_polygon(circle[:, :2], shape.points)
    return boxes.clip(subtract(away, circle[:, 2]))


def _centers(shapes: Sequence[Shape]) -> Any:
    return np.array([polygons.to_circle(each.points)[:2] for each in shapes]).reshape(-1, 2)


for _name, _kernel in (
    ("left", _compare_bounds(_HIGH_X, _LOW_X, np.less)),
    ("overleft", _compare_bounds(_HIGH_X, _HIGH_X, np.less_equal)),
    ("right", _compare_bounds(_LOW_X, _HIGH_X, np.greater)),
    ("overright", _compare_bounds(_LOW_X, _LOW_X, np.greater_equal)),
    ("below", _compare_bounds(_HIGH_Y, _LOW_Y, np.less)),
    ("overbelow", _compare_bounds(_HIGH_Y, _HIGH_Y, np.less_equal)),
    ("above", _compare_bounds(_LOW_Y, _HIGH_Y, np.greater)),
    ("overabove", _compare_bounds(_LOW_Y, _LOW_Y, np.greater_equal)),
):
    _put(f"poly_{_name}(polygon,polygon)", "bool", _kernel)
for _name, _of_pair in (
    ("poly_same", polygons.polygons_same),
    ("poly_overlap", polygons.polygons_overlap),
    ("poly_contain", polygons.polygon_contains),
    ("poly_contained", lambda one, other: polygons.polygon_contains(other, one)),
):
    _put(
        f"{_name}(polygon,polygon)",
        "bool",
        lambda one, other, test=_of_pair: test(one.points, other.points),
        "each",
    )
_put(
    "poly_distance(polygon,polygon)",
    "float8",
    lambda one, other: polygons.polygon_distance(one.points, other.points),
    "each",
)
for _signature in ("poly_contain_pt(polygon,point)", "pt_contained_poly(point,polygon)"):
    _put(_signature, "bool", lambda at, shape: polygons.locate(at, shape.points) != 0, "shape")
for _signature in ("dist_ppoly(point,polygon)", "dist_polyp(polygon,point)"):
    _put(_signature, "float8", lambda at, shape: polygons.distance_to_polygon(at, shape.points), "shape")
for _signature in ("dist_cpoly(circle,polygon)", "dist_polyc(polygon,circle)"):
    _put(_signature, "float8", _circle_polygon_distance, "shape")
for _name in ("poly_center", "point"):
    _put(f"{_name}(polygon)", "point", _centers)
_put("circle(polygon)", "circle", lambda shape: polygons.to_circle(shape.points), "each")
_put("box(polygon)", "box", _bounds)
_put("polygon(box)", "polygon", lambda box: Shape(polygons.from_box(box)), "each")
_put("polygon(circle)", "polygon", lambda circle: Shape(polygons.from_circle(12, circle)), "each")
_put("polygon(int4,circle)", "polygon", lambda count, circle: Shape(polygons.from_circle(int(count), circle)), "each")
