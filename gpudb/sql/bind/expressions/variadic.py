"""VARIADIC arrays of functions over any types: `concat(VARIADIC a)` is a call with the items of `a`."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.errors import DatatypeMismatch, FeatureNotSupported
from gpudb.functions import resolve
from gpudb.functions.library import Function
from gpudb.functions.variadic_arrays import get_array_variant
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.operators import build_call
from gpudb.sql.bind.types.coercion import resolve_unknown
from gpudb.sql.bound import Array, Call, Case, Constant, Expr, Test
from gpudb.types import INT4, TEXT, SqlType

# Results of calls without items, which the functions do not have
_OF_NOTHING = {"concat": Constant("", TEXT), "num_nulls": Constant(0, INT4), "num_nonnulls": Constant(0, INT4)}


def expand_variadic(binder: Binder, function: Function, args: Sequence[Expr]) -> Expr:
    """Returns the call with the items of its last argument in place of it; 42804 if that is no array."""
    *before, array = args
    if array.type.element is None and not _is_null(array):
        raise binder.locate_expr(DatatypeMismatch("VARIADIC argument must be an array"), array)
    if _is_null(array):
        return Constant(None, function.result) if function.name != "format" else _call(binder, function.name, before)
    items = _get_items(binder, array)
    if items is not None:
        return _call(binder, function.name, [*before, *items])
    if function.name in {"concat", "concat_ws"} and len(before) == (function.name == "concat_ws"):
        between = before or [Constant("", TEXT)]
        text = _call(binder, "array_to_string", [array, *between])
        return Case(((Test(array, "NULL"), Constant(None, TEXT)),), text, TEXT)
    over = get_array_variant(function)
    if over is None:
        message = f"function {function.name} of a VARIADIC array that is not written out is not supported"
        raise FeatureNotSupported(message)
    return Call(over, (*before, array), function.result)


def _call(binder: Binder, name: str, args: Sequence[Expr]) -> Expr:
    if not args and name in _OF_NOTHING:
        return _OF_NOTHING[name]
    if name == "concat_ws" and len(args) == 1:
        args = [*args, Constant(None, TEXT)]
    return build_call(binder, resolve.resolve_function(name, tuple(arg.type.plain for arg in args)), args)


def _is_null(array: Expr) -> bool:
    return isinstance(array, Constant) and array.value is None


def _get_items(binder: Binder, array: Expr) -> list[Expr] | None:
    """Returns the items of an array that is written out, of all dimensions; None for any other."""
    if isinstance(array, Array):
        result: list[Expr] = []
        for item in array.items:
            inner = _get_items(binder, item) if item.type.element is not None else [resolve_unknown(binder, item)]
            if inner is None:
                return None
            result += inner
        return result
    if isinstance(array, Constant) and isinstance(array.value, list) and array.type.element is not None:
        return _flatten(array.value, array.type.element)
    return None


def _flatten(values: Sequence[object], item: SqlType) -> list[Expr]:
    result: list[Expr] = []
    for value in values:
        result += _flatten(value, item) if isinstance(value, list) else [Constant(value, item)]
    return result
