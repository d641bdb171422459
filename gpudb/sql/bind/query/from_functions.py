"""Functions in FROM: built-in and user-defined ones, and records with a column definition list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.catalog.postgres.function_tables import PROGRESS, SNAPSHOTS
from gpudb.catalog.routines import NO_RELATION, Argument, Routine
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedFunction
from gpudb.functions.carried import is_wide_layout, use_layout
from gpudb.functions.registry import get_implementation
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.calls import drop_void_parameters, get_argument_names, strip_argument_name
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import apply_operator
from gpudb.sql.bind.expressions.records import get_field
from gpudb.sql.bind.expressions.routines import (
    bind_rows,
    complete_call,
    find_routines,
    get_result_names,
    get_routine,
    has_routines,
    record_routine,
    resolve_call,
    runs_on_device,
    scan_function,
    spread_row,
)
from gpudb.sql.bind.expressions.text_search_queries import bind_statistics
from gpudb.sql.bind.query.from_files import FUNCTIONS, bind_files
from gpudb.sql.bind.query.output_names import derive_output_name
from gpudb.sql.bind.query.rows_from import bind_rows_from, list_functions
from gpudb.sql.bind.query.sources import Source, build_source, build_system_source
from gpudb.sql.bind.query.table_functions import bind_table_function, is_table_function
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.coercion import coerce, resolve_unknown
from gpudb.sql.bind.types.type_names import resolve_value_type
from gpudb.sql.bound import (
    Call,
    Column,
    Constant,
    Derived,
    Expr,
    FunctionScan,
    OutputColumn,
    Row,
    Select,
    SetReturning,
    SystemScan,
)
from gpudb.sql.parse.parser import expression_location, inner, kind, strings
from gpudb.types import INT8, TEXT, SqlType, widen

_RECORDS = frozenset(
    f"{prefix}_{name}"
    for prefix in ("json", "jsonb")
    for name in ("to_record", "to_recordset", "populate_record", "populate_recordset")
) | {"matrix_unnest"}


def bind_function(binder: Binder, scope: Scope, node: Any) -> Source:
    """Binds a RangeFunction message."""
    alias = node.alias if node.HasField("alias") else None
    items = inner(node.functions[0]).items
    part = items[0]
    single = len(node.functions) == 1
    if (not single or kind(part) == "func_call") and (calls := list_functions(node)) is not None:
        derived, outputs = bind_rows_from(binder, scope, calls, node.ordinality)
        return build_source(binder, derived.rel, derived, outputs, "" if node.is_rowsfrom else calls[0][0], alias)
    columns = list(node.coldeflist)
    if len(items) > 1 and kind(items[1]) == "list":
        columns = list(inner(items[1]).items)
    name = strings(inner(part).funcname)[-1] if kind(part) == "func_call" else derive_output_name(part)
    if kind(part) == "func_call" and (system := binder.system_columns("pg_catalog", f"{name}()")) is not None:
        binder.cacheable = False
        if name == PROGRESS and len(inner(part).args) == 1:
            return _bind_progress(binder, scope, inner(part), system, alias)
        if name == SNAPSHOTS and len(inner(part).args):
            return _bind_table_snapshots(binder, scope, inner(part), system, alias)
        return build_system_source(binder, binder.new_rel(), f"pg_catalog.{name}()", system, alias)
    if kind(part) == "func_call" and name in FUNCTIONS and not has_routines(binder, strings(inner(part).funcname)):
        return bind_files(binder, inner(part), columns, node, alias)
    if kind(part) == "func_call" and is_table_function(binder, strings(inner(part).funcname)):
        found = bind_table_function(binder, scope, inner(part), columns, node)
        if found is not None:
            return found
    if kind(part) == "func_call" and (result := _bind_routine(binder, scope, inner(part), node)) is not None:
        return result
    expr = _bind_call(binder, scope, part)
    if name == "ts_stat" and isinstance(expr, SetReturning) and not node.ordinality:
        query = bind_statistics(binder, expr.args)
        return build_source(binder, rel := binder.new_rel(), Derived(rel, query), query.columns, name, alias)
    if name in _RECORDS and expr.type.name == "record" and not expr.type.fields:
        expr = _apply_column_definitions(binder, expr, part, columns)
    elif columns:
        message = 'a column definition list is only allowed for functions returning "record"'
        raise binder.locate(SqlError.of("syntax_error", message), inner(columns[0]).location)
    if isinstance(expr, SetReturning | Call) and _has_fields(expr) and (name in _RECORDS or len(expr.type.fields) == 1):
        return _select_fields(binder, expr, node, name, alias)
    if expr.type.name == "record" and not expr.type.fields and isinstance(expr, SetReturning):
        message = 'a column definition list is required for functions returning "record"'
        raise binder.locate(SqlError.of("syntax_error", message), expression_location(part))
    outputs = _get_columns(expr, name, alias)
    rel = binder.new_rel()
    if isinstance(expr, Row):
        result = build_source(binder, rel, Derived(rel, Select(outputs, expr.items)), outputs, name, alias)
    elif not isinstance(expr, SetReturning | Call) or kind(part) == "sqlvalue_function" or _is_of_session(expr):
        expr = resolve_unknown(binder, expr)
        ordinals = (Constant(1, INT8),) if node.ordinality else ()
        outputs = (OutputColumn(outputs[0].name, expr.type), *_ordinality_columns(node))
        result = build_source(binder, rel, Derived(rel, Select(outputs, (expr, *ordinals)), True), outputs, name, alias)
    else:
        get_implementation(expr.function)
        outputs = (*outputs, *_ordinality_columns(node))
        scan = FunctionScan(rel, expr.function, expr.args, outputs, node.ordinality, lateral=True)
        row = expr.type if expr.type.user is not None and expr.type.fields and not node.ordinality else None
        result = build_source(binder, rel, scan, outputs, name, alias, row=row)
    if _has_fields(expr) or node.ordinality:
        return result
    return replace(result, items=tuple(replace(item, scalar=True) for item in result.items))


def _bind_table_snapshots(
    binder: Binder, scope: Scope, call: Any, columns: tuple[OutputColumn, ...], alias: Any
) -> Source:
    """Binds gpudb_snapshots('t'): the rows of one table."""
    if len(call.args) != 1:
        raise UndefinedFunction(f"function {SNAPSHOTS} takes a table, or nothing")
    inside, rel = binder.new_rel(), binder.new_rel()
    level = Scope(parent=scope.parent, ctes=scope.ctes, clause="FROM")
    table = coerce(binder, bind_expression(binder, level, call.args[0]), columns[0].type)
    rows = tuple(Column(inside, index, column.type, column.name) for index, column in enumerate(columns))
    test = apply_operator(binder, "=", rows[0], table)
    query = Select(columns, rows, SystemScan(inside, f"pg_catalog.{SNAPSHOTS}()", columns), test)
    return build_source(binder, rel, Derived(rel, query), columns, SNAPSHOTS, alias)


def _bind_progress(binder: Binder, scope: Scope, call: Any, columns: tuple[OutputColumn, ...], alias: Any) -> Source:
    """Binds pg_stat_get_progress_info('COPY'): the rows are those of COPY; other commands have none."""
    inside, rel = binder.new_rel(), binder.new_rel()
    level = Scope(parent=scope.parent, ctes=scope.ctes, clause="FROM")
    command = coerce(binder, bind_expression(binder, level, call.args[0]), TEXT)
    rows = tuple(Column(inside, index, column.type, column.name) for index, column in enumerate(columns))
    test = apply_operator(binder, "~~*", command, Constant("COPY", TEXT))
    query = Select(columns, rows, SystemScan(inside, f"pg_catalog.{PROGRESS}()", columns), test)
    return build_source(binder, rel, Derived(rel, query), columns, PROGRESS, alias)


def _bind_routine(binder: Binder, scope: Scope, node: Any, item: Any) -> Source | None:
    """Binds a user-defined function as a lateral subquery of its body; None for a built-in function."""
    written, node = node, drop_void_parameters(binder, node)
    names = strings(node.funcname)
    try:
        routines = find_routines(binder, names)
    except SqlError as error:
        raise binder.locate(error, node.location) from None
    if not routines:
        return None
    clause, scope.clause = scope.clause, "FROM"
    try:
        args = [bind_expression(binder, scope, strip_argument_name(each)) for each in node.args]
    finally:
        scope.clause = clause
    named = get_argument_names(node.args)
    candidate = resolve_call(binder, names, args, routines, kinds="f", variadic=node.func_variadic, named=named)
    routine = get_routine(routines, candidate, args)
    if routine is None:
        return None
    record_routine(binder, written, routine)
    if routine.result.name == "trigger":
        message = f'function "{routine.name}" in FROM has unsupported return type trigger'
        raise binder.locate(SqlError.of("datatype_mismatch", message), node.location)
    routine, args = complete_call(binder, routine, candidate, args)
    routine = _declare_columns(binder, routine, node, item)
    if item.ordinality and (runs_on_device(routine) or (not routine.outputs and routine.result.fields)):
        raise FeatureNotSupported("WITH ORDINALITY of this function is not supported")
    query = scan_function(binder, routine, args, numbered=True) if item.ordinality else bind_rows(binder, routine, args)
    alias = item.alias if item.HasField("alias") else None
    names_in_from = get_result_names(routine, alias.aliasname if alias is not None else None)
    if not routine.outputs and routine.result.fields and routine.result.element is None:
        query, names_in_from = spread_row(binder, query), tuple(name for name, _ in routine.result.fields)
    names_in_from = (*names_in_from, *(each.name for each in _ordinality_columns(item)))
    columns = tuple(OutputColumn(name, c.type) for name, c in zip(names_in_from, query.columns, strict=True))
    rel = binder.new_rel()
    return build_source(binder, rel, Derived(rel, query, lateral=True), columns, routine.name, alias)


def _declare_columns(binder: Binder, routine: Routine, node: Any, item: Any) -> Routine:
    """Returns a function of records with the columns of its column definition list; 42601."""
    items = inner(item.functions[0]).items
    columns = [inner(each) for each in item.coldeflist]
    if len(items) > 1 and kind(items[1]) == "list":
        columns = [inner(each) for each in inner(items[1]).items]
    returns_records = routine.result.name == "record" and not routine.outputs
    if columns and not returns_records:
        message = 'a column definition list is only allowed for functions returning "record"'
        if routine.outputs and not routine.rows_of:
            message = "a column definition list is redundant for a function with OUT parameters"
        raise binder.locate(SqlError.of("syntax_error", message), columns[0].location)
    if not returns_records:
        return routine
    if not columns:
        message = 'a column definition list is required for functions returning "record"'
        raise binder.locate(SqlError.of("syntax_error", message), node.location)
    declared = tuple(Argument(each.colname, resolve_value_type(each.type_name, binder), "t") for each in columns)
    result = declared[0].type if len(declared) == 1 else routine.result
    return replace(routine, arguments=(*routine.arguments, *declared), result=result, rows_of=NO_RELATION)


def _bind_call(binder: Binder, scope: Scope, part: Any) -> Expr:
    outer, scope.clause = scope.clause, "FROM"
    sets = scope.set_calls
    try:
        expr = bind_expression(binder, scope, part)
    finally:
        scope.clause = outer
    if scope.set_calls - sets > isinstance(expr, SetReturning):
        raise FeatureNotSupported("set-returning functions must appear at top level of FROM")
    return expr


def _is_of_session(expr: Expr) -> bool:
    """Returns whether the session gives a call's result, not the engine."""
    return isinstance(expr, Call) and get_implementation(expr.function).session is not None


def _ordinality_columns(node: Any) -> tuple[OutputColumn, ...]:
    return (OutputColumn("ordinality", INT8),) if node.ordinality else ()


def _get_columns(expr: Expr, name: str, alias: Any) -> tuple[OutputColumn, ...]:
    """Returns a function's columns: its record's fields, or one named after its result, its alias or itself."""
    if _has_fields(expr):
        return tuple(OutputColumn(each, item) for each, item in expr.type.fields)
    named_out = expr.function.out_names if isinstance(expr, SetReturning | Call) else ()
    return (OutputColumn(named_out[0] if named_out else name if alias is None else alias.aliasname, expr.type),)


def _has_fields(expr: Expr) -> bool:
    return bool(expr.type.fields) and expr.type.element is None


def _apply_column_definitions(binder: Binder, expr: Expr, part: Any, columns: Sequence[Any]) -> Expr:
    """Returns a record with the fields of its column definition list."""
    if not columns:
        message = 'a column definition list is required for functions returning "record"'
        raise binder.locate(SqlError.of("syntax_error", message), expression_location(part))
    fields = [(each.colname, resolve_value_type(each.type_name, binder)) for each in map(inner, columns)]
    assert isinstance(expr, SetReturning | Call)
    if any(item.name.lstrip("_") == "numeric" for _, item in fields):
        use_layout()
        fields = [(name, widen(item)) for name, item in fields] if is_wide_layout() else fields
    return replace(expr, type=SqlType("record", fields=tuple(fields)))


def _select_fields(binder: Binder, expr: SetReturning | Call, node: Any, name: str, alias: Any) -> Source:
    """Returns a function's rows, each as one value, with the fields selected from that."""
    rows = binder.new_rel()
    scan_columns = (OutputColumn("value", expr.type), *_ordinality_columns(node))
    scan = FunctionScan(rows, expr.function, expr.args, scan_columns, node.ordinality, lateral=True)
    outputs = [OutputColumn(each, item) for each, item in expr.type.fields]
    targets = [get_field(Column(rows, 0, expr.type, "value"), index) for index in range(len(outputs))]
    if node.ordinality:
        outputs += _ordinality_columns(node)
        targets.append(Column(rows, 1, INT8, "ordinality"))
    rel = binder.new_rel()
    row = expr.type if expr.type.user is not None and not node.ordinality else None
    query = Select(tuple(outputs), tuple(targets), scan)
    return build_source(binder, rel, Derived(rel, query, True), outputs, name, alias, row=row)
