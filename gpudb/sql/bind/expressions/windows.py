"""Window calls: OVER clauses, named windows, frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions import resolve
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.ordering import bind_sort_keys
from gpudb.sql.bind.scope import Scope, get_clause_name
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bind.types.conversions import check_equality
from gpudb.sql.bound import Call, Column, Expr, Frame, SortKey, Window
from gpudb.sql.parse.parser import inner, present
from gpudb.sql.parse.qualify import WINDOW as QUALIFY
from gpudb.sql.traverse import walk
from gpudb.types import INT8, UNKNOWN, SqlType

_ALLOWED = {"", "SELECT", "ORDER BY", "QUALIFY"}


def collect_windows(nodes: Sequence[Any]) -> dict[str, object]:
    """Returns the definitions of a WINDOW clause by name; 42P20 for a duplicate name."""
    found: dict[str, object] = {}
    for each in nodes:
        if inner(each).name == QUALIFY:
            continue
        if inner(each).name in found:
            raise SqlError.of("windowing_error", f'window "{inner(each).name}" is already defined')
        found[inner(each).name] = inner(each)
    return found


def bind_window(binder: Binder, scope: Scope, node: Any, call: Call, filter_expr: Expr | None) -> Expr:
    """Binds a window call with its OVER clause, which may inherit from a named window."""
    if scope.clause not in _ALLOWED:
        raise SqlError.of("windowing_error", f"window functions are not allowed in {get_clause_name(scope.clause)}")
    if scope.in_window:
        raise SqlError.of("windowing_error", "window function calls cannot be nested")
    if node.agg_distinct:
        raise FeatureNotSupported("DISTINCT is not implemented for window functions")
    if len(node.agg_order):
        raise FeatureNotSupported("aggregate ORDER BY is not implemented for window functions")
    partition, order, frame = _bind_definition(binder, scope, node.over)
    if filter_expr is not None and call.function.kind == "w":
        raise FeatureNotSupported("FILTER is not implemented for non-aggregate window functions")
    return Window(call.function, call.args, call.type, partition, order, frame, filter_expr, False, node.agg_star)


Definition = tuple[tuple[Expr, ...], tuple[SortKey, ...], Frame | None]


def _bind_definition(binder: Binder, scope: Scope, node: Any) -> Definition:
    base: Definition = ((), (), None)
    defined = scope.windows.get(node.name)
    if node.name and defined is not node:
        # OVER w; a definition in WINDOW carries its own name
        if defined is None:
            error = SqlError.of("undefined_object", f'window "{node.name}" does not exist')
            raise binder.locate(error, node.location)
        return _bind_definition(binder, scope, defined)
    named = node.refname
    if named:
        if named not in scope.windows or named == node.name:
            error = SqlError.of("undefined_object", f'window "{named}" does not exist')
            raise binder.locate(error, node.location)
        base = _bind_definition(binder, scope, scope.windows[named])
        if base[2] is not None:
            raise SqlError.of("windowing_error", f'cannot copy window "{named}" because it has a frame clause')
    clause, scope.clause = scope.clause, "window definitions"
    try:
        partition = tuple(binder.bind_expression(scope, each) for each in node.partition_clause)
        check_equality(each.type for each in partition)
        order = bind_sort_keys(binder, scope, node.order_clause)
        frame = _bind_frame(binder, scope, node, order or base[1])
    finally:
        scope.clause = clause
    if named and (partition or (order and base[1])):
        what = "PARTITION BY" if partition else "ORDER BY"
        raise SqlError.of("windowing_error", f'cannot override {what} clause of window "{named}"')
    return partition or base[0], order or base[1], frame


# PostgreSQL's FRAMEOPTION_* bits
_NONDEFAULT, _RANGE, _ROWS, _GROUPS = 0x1, 0x2, 0x4, 0x8
_START = {
    0x20: "UNBOUNDED PRECEDING",
    0x80: "UNBOUNDED FOLLOWING",
    0x200: "CURRENT ROW",
    0x800: "PRECEDING",
    0x2000: "FOLLOWING",
}
_END = {
    0x40: "UNBOUNDED PRECEDING",
    0x100: "UNBOUNDED FOLLOWING",
    0x400: "CURRENT ROW",
    0x1000: "PRECEDING",
    0x4000: "FOLLOWING",
}
_EXCLUDE = {0x8000: "CURRENT ROW", 0x10000: "GROUP", 0x20000: "TIES"}


def _bind_frame(binder: Binder, scope: Scope, node: Any, order: Sequence[SortKey]) -> Frame | None:
    options = node.frame_options
    if not options & _NONDEFAULT:
        return None
    unit = "ROWS" if options & _ROWS else "GROUPS" if options & _GROUPS else "RANGE"
    start = next(text for bit, text in _START.items() if options & bit)
    end = next(text for bit, text in _END.items() if options & bit)
    exclude = next((text for bit, text in _EXCLUDE.items() if options & bit), None)
    if unit == "GROUPS" and not order:
        raise binder.locate(SqlError.of("windowing_error", "GROUPS mode requires an ORDER BY clause"), node.location)
    if unit == "RANGE" and len(order) != 1 and (present(node.start_offset) or present(node.end_offset)):
        message = "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
        raise binder.locate(SqlError.of("windowing_error", message), node.location)
    first, last = (_bind_offset(binder, scope, each, unit, order) for each in (node.start_offset, node.end_offset))
    return Frame(unit, start, first, end, last, exclude)  # type: ignore[arg-type]


# Offset types of RANGE by the column's type: PostgreSQL's in_range functions (pg_amproc)
_INTEGER_OFFSETS = ("int8", "int4", "int2")
_RANGE_OFFSETS = {
    "int2": _INTEGER_OFFSETS,
    "int4": _INTEGER_OFFSETS,
    "int8": ("int8",),
    "float4": ("float8",),
    "float8": ("float8",),
    "numeric": ("numeric",),
    **dict.fromkeys(("date", "timestamp", "timestamptz", "time", "interval"), ("interval",)),
}


def _bind_offset(binder: Binder, scope: Scope, node: Any, unit: str, order: Sequence[SortKey]) -> Expr | None:
    """Binds a frame's offset: a number of rows or groups, or for RANGE a distance from the only sort key."""
    if not present(node):
        return None
    clause, scope.clause = scope.clause, f"window {unit}"
    try:
        expr = binder.bind_expression(scope, node)
    finally:
        scope.clause = clause
    for column in walk(expr):
        if isinstance(column, Column) and column.rel in scope.rels:
            message = f"argument of {unit} must not contain variables"
            raise binder.locate_expr(SqlError.of("invalid_column_reference", message), column)
    if unit != "RANGE":
        return coerce(binder, expr, INT8, "a")
    key = order[0].expr.type.plain
    taken = _RANGE_OFFSETS.get(key.name)
    refused = f"RANGE with offset PRECEDING/FOLLOWING is not supported for column type {key}"
    if taken is None:
        raise binder.locate_expr(FeatureNotSupported(refused), order[0].expr)
    if expr.type == UNKNOWN:
        return coerce(binder, expr, SqlType(key.name if key.name in taken else taken[0]))
    fitting = [each for each in taken if resolve.can_coerce(expr.type.plain, SqlType(each))]
    if not fitting:
        message = f"{refused} and offset type {expr.type.plain}"
        hint = "Cast the offset value to an appropriate type."
        raise binder.locate_expr(FeatureNotSupported(message, hint=hint), expr)
    # DuckDB adds integers of any width; other offsets have only one type
    return expr if key.name in _INTEGER_OFFSETS else coerce(binder, expr, SqlType(fitting[0]))
