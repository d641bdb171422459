"""Arrays in expressions: ARRAY[…], its casts, subscripts and slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.errors import DatatypeMismatch, FeatureNotSupported, SqlError
from gpudb.functions import resolve
from gpudb.functions.array_text import WITH_DIMENSIONS
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import jsonb_subscripts
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce, coerce_array_item, unify_branches
from gpudb.sql.bound import Array, Call, Case, Cast, Column, Constant, Expr, Parameter, Subscript, Test
from gpudb.sql.parse.parser import inner, kind, present
from gpudb.types import INT4, TEXT, SqlType
from gpudb.types.facts import GEOMETRIC_PARTS
from gpudb.values.array import MAX_DIMENSIONS


def bind_array(binder: Binder, scope: Scope, node: Any) -> Expr:
    """Binds an A_ArrayExpr message: ARRAY[…]."""
    items = [binder.bind_expression(scope, each) for each in node.elements]
    if not items:
        raise SqlError.of(
            "indeterminate_datatype",
            "cannot determine type of empty array",
            hint="Explicitly cast to the desired type, for example ARRAY[]::integer[].",
        )
    _, element = unify_branches(binder, items, "ARRAY")
    items = [coerce_array_item(binder, item, element) for item in items]
    return Array(tuple(items), _array_type(items, element))


def bind_cast_array(binder: Binder, scope: Scope, node: Any, target: SqlType) -> Expr:
    """Binds ARRAY[…]::type[]: each element is converted by itself, including those of nested arrays."""
    element = target.element
    assert element is not None
    flat = replace(target, dims=1)
    items: list[Expr] = []
    for each in node.elements:
        if kind(each) == "a_array_expr":
            items.append(bind_cast_array(binder, scope, inner(each), flat))
            continue
        item = binder.bind_expression(scope, each)
        items.append(coerce_array_item(binder, item, flat if item.type.element is not None else element, "e"))
    nested = [item.type for item in items if item.type.element is not None]
    if not nested:
        return Array(tuple(items), flat)
    deepest = replace(flat, dims=max(item.dims for item in nested))
    items = [coerce_array_item(binder, item, deepest) for item in items]
    return Array(tuple(items), _array_type(items, deepest))


def _array_type(items: Sequence[Expr], element: SqlType) -> SqlType:
    """Returns the type of ARRAY[…]; nested arrays add a dimension. 2202E if their shapes differ."""
    if element.element is not None:
        shapes = {(item.type.dims, len(item.items)) for item in items if isinstance(item, Array)}
        if len(shapes) > 1 or len({item.type.dims for item in items}) > 1:
            message = "multidimensional arrays must have array expressions with matching dimensions"
            raise SqlError.of("array_subscript_error", message)
    return element.array


def bind_subscripts(binder: Binder, scope: Scope, arg: Expr, steps: Sequence[Any]) -> Expr:
    """Binds array[i][j] of A_Indices messages; NULL for a wrong number of subscripts.

    One slice makes all subscripts slices.
    """
    if not any(step.is_slice for step in steps):
        arg = _read_with_dimensions(arg, len(steps))
    if len(steps) == 1 and arg.type.dims == 1 and arg.type.name != "jsonb":
        return bind_subscript(binder, scope, arg, steps[0])
    element = arg.type.element
    if len(steps) > MAX_DIMENSIONS and arg.type.name != "jsonb":
        message = f"number of array dimensions ({len(steps)}) exceeds the maximum allowed ({MAX_DIMENSIONS})"
        raise SqlError.of("program_limit_exceeded", message)
    if arg.type.name == "jsonb":
        return jsonb_subscripts.bind_subscripts(binder, scope, arg, steps)
    if element is None:
        result = arg
        for step in steps:
            result = bind_subscript(binder, scope, result, step)
        return result
    if any(step.is_slice for step in steps):
        parts = [_bind_slice(binder, scope, arg, step) for step in steps]
        if len(parts) > arg.type.dims:
            return Case(((Test(arg, "NULL", True), Constant([], arg.type)),), Constant(None, arg.type), arg.type)
        first, *rest = parts
        return replace(first, inner=tuple((part.low, part.high) for part in rest))
    if len(steps) != arg.type.dims:
        for step in steps:
            _bind_index(binder, scope, step.uidx)
        return _find_nothing(arg, element)
    result = arg
    for step in steps:
        inner_type = result.type.item or element
        found = bind_subscript(binder, scope, result, step)
        assert isinstance(found, Subscript)
        result = replace(found, type=inner_type)
    return result


def _read_with_dimensions(arg: Expr, dims: int) -> Expr:
    """Returns an array that is read from text as one of so many dimensions, which is NULL if it has others."""
    is_read = isinstance(arg, Cast) and arg.type.element is not None and arg.arg.type.name in {"text", "varchar"}
    if not is_read or dims > MAX_DIMENSIONS:
        return arg
    assert isinstance(arg, Cast)
    text = Call(WITH_DIMENSIONS, (arg.arg, Constant(dims, INT4)), TEXT)
    return replace(arg, arg=text, type=replace(arg.type, dims=dims))


def _find_nothing(arg: Expr, element: SqlType) -> Expr:
    """Returns NULL, but evaluates an array that may turn out to have other dimensions than it should (0A000)."""
    if isinstance(arg, Column | Constant | Parameter):
        return Constant(None, element)
    result = arg
    while result.type.element is not None:
        result = Subscript(result, None, Constant(0, INT4), False, result.type.item or element)
    return result


def _bind_slice(binder: Binder, scope: Scope, arg: Expr, step: Any) -> Subscript:
    """Binds one step as a slice; an index alone is a slice from 1."""
    low = None if not step.is_slice else _bind_index(binder, scope, step.lidx)
    return Subscript(arg, low, _bind_index(binder, scope, step.uidx), True, arg.type)


def _bind_index(binder: Binder, scope: Scope, node: Any) -> Expr | None:
    if not present(node):
        return None
    index = binder.bind_expression(scope, node)
    if not resolve.can_coerce(index.type.plain, INT4, "a"):
        raise DatatypeMismatch("array subscript must have type integer")
    return coerce(binder, index, INT4, "a")


def bind_subscript(binder: Binder, scope: Scope, arg: Expr, step: Any) -> Expr:
    """Binds one A_Indices message, of an array or a name."""
    element = resolve.get_element_type(arg.type)
    if arg.type.name == "name":
        if step.is_slice:
            raise FeatureNotSupported("slices of fixed-length arrays not implemented")
        return Subscript(arg, None, _bind_index(binder, scope, step.uidx), False, SqlType("char"))
    if arg.type.name in GEOMETRIC_PARTS:
        if step.is_slice:
            raise FeatureNotSupported("slices of fixed-length arrays not implemented")
        index = _bind_index(binder, scope, step.uidx)
        return Subscript(arg, None, index, False, SqlType(GEOMETRIC_PARTS[arg.type.name]))
    if element is None:
        message = f"cannot subscript type {arg.type} because it does not support subscripting"
        raise binder.locate_expr(DatatypeMismatch(message), arg)
    low, high = _bind_index(binder, scope, step.lidx), _bind_index(binder, scope, step.uidx)
    return Subscript(arg, low, high, step.is_slice, arg.type if step.is_slice else element)
