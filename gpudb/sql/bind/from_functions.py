"""Functions in FROM: of any kind, those that users made, and records with the columns that are given for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions import resolve
from gpudb.functions.registry import implementation
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.calls import given_names, plain, unnamed
from gpudb.sql.bind.coerce import coerce, settled
from gpudb.sql.bind.expressions import bind_expression
from gpudb.sql.bind.from_clause import Source, named, system_relation
from gpudb.sql.bind.operators import apply_operator
from gpudb.sql.bind.output_names import output_name
from gpudb.sql.bind.routines import as_function, chosen, complete, find_routines, result_names, rows
from gpudb.sql.bind.rows_from import rows_from, several
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.type_names import type_name
from gpudb.sql.bound import (
    ArraySubquery,
    Call,
    Case,
    Column,
    Constant,
    Derived,
    Expr,
    FunctionScan,
    OutputColumn,
    Select,
    SetReturning,
    Test,
)
from gpudb.sql.parse import inner, kind, leftmost, strings
from gpudb.types import INT8, TEXT, SqlType

_RECORDS = frozenset({"json_to_record", "jsonb_to_record", "json_to_recordset", "jsonb_to_recordset"})


def bind_function(binder: Binder, scope: Scope, node: Any) -> Source:
    """A RangeFunction message."""
    alias = node.alias if node.HasField("alias") else None
    items = inner(node.functions[0]).items
    part = items[0]
    single = len(node.functions) == 1
    if (not single or kind(part) == "func_call") and (calls := several(node)) is not None:
        derived, outputs = rows_from(binder, scope, calls, node.ordinality)
        return named(binder, derived.rel, derived, outputs, "" if node.is_rowsfrom else calls[0][0], alias)
    columns = list(node.coldeflist)
    if len(items) > 1 and kind(items[1]) == "list":
        columns = list(inner(items[1]).items)
    name = strings(inner(part).funcname)[-1] if kind(part) == "func_call" else output_name(part)
    if kind(part) == "func_call" and (system := binder.system("pg_catalog", f"{name}()")) is not None:
        binder.stable = False
        return system_relation(binder, binder.rel(), f"pg_catalog.{name}()", system, alias)
    if kind(part) == "func_call" and (made := _routine(binder, scope, inner(part), node)) is not None:
        return made
    if name in _RECORDS:
        return _record(binder, scope, part, name, columns, alias)
    expr = _bound(binder, scope, part)
    if columns:
        message = 'a column definition list is only allowed for functions returning "record"'
        raise binder.locate(SqlError.of("syntax_error", message), inner(columns[0]).location)
    outputs = _columns(expr, name, alias)
    rel = binder.rel()
    if not isinstance(expr, SetReturning | Call):
        expr = settled(binder, expr)
        ordinals = (Constant(1, INT8),) if node.ordinality else ()
        outputs = (OutputColumn(outputs[0].name, expr.type), *_ordinality(node))
        made = named(binder, rel, Derived(rel, Select(outputs, (expr, *ordinals)), True), outputs, name, alias)
    else:
        implementation(expr.function)
        outputs = (*outputs, *_ordinality(node))
        scan = FunctionScan(rel, expr.function, expr.args, outputs, node.ordinality, lateral=True)
        row = expr.type if expr.type.user is not None and expr.type.fields and not node.ordinality else None
        made = named(binder, rel, scan, outputs, name, alias, row=row)
    if _has_fields(expr) or node.ordinality:
        return made
    return replace(made, items=tuple(replace(item, scalar=True) for item in made.items))


def _routine(binder: Binder, scope: Scope, node: Any, item: Any) -> Source | None:
    """A function that a user made: its body as a subquery that sees what is to its left; None for another function."""
    names = strings(node.funcname)
    routines = find_routines(binder, names)
    if not routines:
        return None
    clause, scope.clause = scope.clause, "FROM"
    try:
        args = [bind_expression(binder, scope, unnamed(each)) for each in node.args]
    finally:
        scope.clause = clause
    own, types = tuple(map(as_function, routines)), tuple(arg.type.plain for arg in args)
    candidate = resolve.function(names[-1], types, "f", node.func_variadic, own, given_names(node.args))
    routine = chosen(routines, candidate)
    if routine is None:
        return None
    if item.ordinality:
        raise FeatureNotSupported("WITH ORDINALITY of a function in SQL is not supported")
    routine, args = complete(binder, routine, candidate, args)
    query = rows(binder, routine, args)
    alias = item.alias if item.HasField("alias") else None
    given = result_names(routine, alias.aliasname if alias is not None else None)
    columns = tuple(OutputColumn(name, c.type) for name, c in zip(given, query.columns, strict=True))
    rel = binder.rel()
    return named(binder, rel, Derived(rel, query, lateral=True), columns, routine.name, alias)


def _bound(binder: Binder, scope: Scope, part: Any) -> Expr:
    outer, scope.clause = scope.clause, "FROM"
    sets = scope.sets
    try:
        expr = bind_expression(binder, scope, part)
    finally:
        scope.clause = outer
    if scope.sets - sets > isinstance(expr, SetReturning):
        raise FeatureNotSupported("set-returning functions must appear at top level of FROM")
    return expr


def _ordinality(node: Any) -> tuple[OutputColumn, ...]:
    return (OutputColumn("ordinality", INT8),) if node.ordinality else ()


def _columns(expr: Expr, name: str, alias: Any) -> tuple[OutputColumn, ...]:
    """A function's columns: its record's fields, or one that is called as its result, its alias or itself."""
    if _has_fields(expr):
        return tuple(OutputColumn(each, item) for each, item in expr.type.fields)
    named_out = expr.function.out_names if isinstance(expr, SetReturning | Call) else ()
    return (OutputColumn(named_out[0] if named_out else name if alias is None else alias.aliasname, expr.type),)


def _has_fields(expr: Expr) -> bool:
    return bool(expr.type.fields) and expr.type.element is None


def _record(binder: Binder, scope: Scope, part: Any, name: str, columns: Sequence[Any], alias: Any) -> Source:
    """json_to_record and its kin: the fields that a column definition list names, each converted to its type."""
    if not columns:
        message = 'a column definition list is required for functions returning "record"'
        raise binder.locate(SqlError.of("syntax_error", message), leftmost(part))
    kind_of = SqlType(name.partition("_")[0])
    row = coerce(binder, _bound(binder, scope, inner(part).args[0]), kind_of)
    source = None
    if name.endswith("set"):
        elements = plain(binder, f"{kind_of.name}_array_elements", (row,))
        assert isinstance(elements, Call)
        items = binder.rel()
        source = FunctionScan(items, elements.function, elements.args, (OutputColumn("value", kind_of),), lateral=True)
        row = Column(items, 0, kind_of, "value")
    outputs, targets = [], []
    for each in map(inner, columns):
        target = type_name(each.type_name, binder)
        if target.element is not None and not target.element.fields:
            outputs.append(OutputColumn(each.colname, target))
            targets.append(_items(binder, row, each.colname, target, target.element))
            continue
        if target.element is not None or target.fields:
            raise FeatureNotSupported(f"a field of type {target} in {name} is not supported")
        arrow = "->" if target.name in {"json", "jsonb"} else "->>"
        value = apply_operator(binder, arrow, row, Constant(each.colname, TEXT))
        outputs.append(OutputColumn(each.colname, target))
        targets.append(coerce(binder, value, target, "e"))
    rel = binder.rel()
    query = Select(tuple(outputs), tuple(targets), source)
    return named(binder, rel, Derived(rel, query, True), outputs, name, alias)


def _items(binder: Binder, row: Expr, name: str, target: SqlType, element: SqlType) -> Expr:
    """A member that is an array of JSON as an array of values, item by item; NULL where it is null or missing."""
    there = Test(apply_operator(binder, "->>", row, Constant(name, TEXT)), "NULL", negated=True)
    # null has no elements: it is not asked for any
    member = Case(
        ((there, apply_operator(binder, "->", row, Constant(name, TEXT))),), Constant(None, row.type), row.type
    )
    function = "_array_elements" if element.name in {"json", "jsonb"} else "_array_elements_text"
    elements = plain(binder, f"{row.type.name}{function}", (member,))
    assert isinstance(elements, Call)
    rel = binder.rel()
    scan = FunctionScan(rel, elements.function, elements.args, (OutputColumn("value", elements.type),), lateral=True)
    item = coerce(binder, Column(rel, 0, elements.type, "value"), element, "e")
    listed = ArraySubquery(Select((OutputColumn("value", element),), (item,), scan), target)
    return Case(((there, listed),), Constant(None, target), target)
