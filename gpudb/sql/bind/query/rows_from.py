"""ROWS FROM (…) and unnest of several arrays: functions side by side, the shorter ones padded with NULLs.

Set-returning functions in one select list return the same, so it becomes a subquery of that form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpudb.errors import FeatureNotSupported
from gpudb.functions import resolve
from gpudb.functions.registry import Function, get_implementation
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions import operators
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.records import get_field
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.rows import is_row
from gpudb.sql.bound import Array, Call, Column, Derived, Expr, OutputColumn, Select, SetReturning, Window
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.types import INT8


def list_functions(node: Any) -> list[tuple[str, list[Any]]] | None:
    """Returns the functions of a RangeFunction message with their argument nodes; None for a single function."""
    calls: list[tuple[str, list[Any]]] = []
    for each in node.functions:
        items = inner(each).items
        if kind(items[0]) != "func_call":
            raise FeatureNotSupported("this expression in FROM is not supported")
        if len(items) > 1 and kind(items[1]):
            raise FeatureNotSupported("a column definition list is not supported")
        call = inner(items[0])
        name, args = strings(call.funcname)[-1], list(call.args)
        calls += [(name, [arg]) for arg in args] if name == "unnest" and len(args) > 1 else [(name, args)]
    return calls if len(calls) > 1 else None


def bind_rows_from(
    binder: Binder, scope: Scope, calls: Sequence[tuple[str, Sequence[Any]]], ordinality: bool
) -> tuple[Derived, tuple[OutputColumn, ...]]:
    """Binds the functions side by side as a lateral subquery; returns it and its columns."""
    columns: list[OutputColumn] = []
    targets: list[Expr] = []
    outer, scope.clause = scope.clause, "FROM"
    try:
        for name, nodes in calls:
            args = [bind_expression(binder, scope, each) for each in nodes]
            candidate = resolve.resolve_function(name, tuple(arg.type.plain for arg in args), "f")
            rows = _as_set(binder, operators.build_call(binder, candidate, args))
            if is_row(rows.type) and rows.type.fields:
                targets += [get_field(rows, index) for index in range(len(rows.type.fields))]
                columns += [OutputColumn(each, item) for each, item in rows.type.fields]
            else:
                targets.append(rows)
                columns.append(OutputColumn(rows.function.out_names[0] if rows.function.out_names else name, rows.type))
    finally:
        scope.clause = outer
    query = Select(tuple(columns), tuple(targets))
    if ordinality:
        rel = binder.new_rel()
        inputs: list[Expr] = [Column(rel, n, column.type, column.name) for n, column in enumerate(columns)]
        number = resolve.resolve_function("row_number", (), "w").target
        assert isinstance(number, Function)
        columns.append(OutputColumn("ordinality", INT8))
        query = Select(tuple(columns), (*inputs, Window(number, (), INT8)), Derived(rel, query, lateral=True))
    return Derived(binder.new_rel(), query, lateral=True), tuple(columns)


def _as_set(binder: Binder, call: Call) -> SetReturning:
    """Returns a call as a set; a scalar becomes a set of one value."""
    get_implementation(call.function)
    if call.function.returns_set:
        return SetReturning(call.function, call.args, call.type)
    listed = Array((call,), call.type.array)
    unnest = operators.build_call(binder, resolve.resolve_function("unnest", (listed.type.plain,), "f"), (listed,))
    return SetReturning(unnest.function, unnest.args, call.type)
