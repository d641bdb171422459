"""INSERT: a query for the rows to write, converted to the table's columns."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Column as TableColumn
from gpudb.catalog.tables import Table
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.generated_columns import compute_generated
from gpudb.sql.bind.dml.on_conflict import bind_on_conflict
from gpudb.sql.bind.dml.part_assignments import assign_part
from gpudb.sql.bind.dml.rows_of_sets import select_sets
from gpudb.sql.bind.dml.targets import assign, bind_column_default, bind_returning, bind_target, find_column
from gpudb.sql.bind.dml.view_checks import bind_view_check
from gpudb.sql.bind.dml.view_targets import ChangeTarget
from gpudb.sql.bind.expressions.stars import bind_list
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bind.query.set_operations import check_lengths
from gpudb.sql.bind.query.sources import table_columns
from gpudb.sql.bind.query.with_clause import bind_with
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.column_coercion import coerce_columns
from gpudb.sql.bound import (
    Column,
    Default,
    Derived,
    Expr,
    Insert,
    Query,
    Select,
    SetReturning,
    Values,
)
from gpudb.sql.parse.parser import expression_location, inner, output_location, present
from gpudb.sql.parse.star_changes import is_one_column
from gpudb.sql.traverse import walk

_OVERRIDES = {pg.OVERRIDING_SYSTEM_VALUE: "SYSTEM", pg.OVERRIDING_USER_VALUE: "USER"}


def get_override(node: Any) -> str:
    """Returns SYSTEM or USER of OVERRIDING; '' without it."""
    return _OVERRIDES.get(node.override, "")


def bind_insert(binder: Binder, node: Any, outer: Scope | None = None) -> Insert:
    """Binds an InsertStmt message."""
    try:
        changed = bind_target(binder, node.relation, "insert into", binder.new_rel())
    except GpudbError as error:
        if error.sqlstate == "55000":
            raise
        raise binder.locate(error, node.relation.location) from None
    table = changed.table
    if not table.columns:
        raise FeatureNotSupported("rows without columns are not supported")
    scope = Scope(parent=outer)
    override = get_override(node)
    ctes = bind_with(binder, scope, node.with_clause) if node.HasField("with_clause") else ()
    target_columns = bind_insert_columns(binder, changed, node.cols, get_width(node))
    if not present(node.select_stmt):
        row = tuple(bind_column_default(binder, column) for column in table.columns)
        return _build_insert(binder, node, changed, scope, Values(table_columns(table), (row,), ctes=ctes))
    source = inner(node.select_stmt)
    source = select_sets(binder, source) or source
    if len(source.values_lists) and not source.sort_clause and not source.HasField("with_clause"):
        check_lengths(binder, source.values_lists, [len(inner(each).items) for each in source.values_lists])
        _record_columns(binder, changed, node.cols, len(inner(source.values_lists[0]).items))
        rows = tuple(
            bind_insert_row(binder, scope, table, target_columns, inner(each).items, node.cols, override)
            for each in source.values_lists
        )
        return _build_insert(binder, node, changed, scope, Values(table_columns(table), rows, ctes=ctes))
    query = bind_query(binder, source, scope, resolve_unknowns=False)
    _record_columns(binder, changed, node.cols, len(query.columns))
    try:
        _check_width(len(query.columns), target_columns, bool(len(node.cols)))
    except GpudbError as error:
        extra = len(query.columns) > len(target_columns)
        at = output_location(source, len(target_columns)) if extra else inner(node.cols[len(query.columns)]).location
        raise binder.locate(error, at) from None
    untyped = {
        index: c.type
        for index, c in enumerate(target_columns[: len(query.columns)])
        if query.columns[index].type.name == "unknown"
        and not (len(node.cols) and len(inner(node.cols[index]).indirection))
    }
    query = coerce_columns(binder, query, untyped, "a")
    rel = binder.new_rel()
    values: dict[str, Expr] = {}
    for index, (column, output) in enumerate(zip(target_columns, query.columns, strict=False)):
        target = inner(node.cols[index]) if len(node.cols) else None
        value = Column(rel, index, output.type, output.name)
        if target is not None and len(target.indirection):
            values[column.name] = assign_part(binder, scope, column, target, values.get(column.name), value)
        else:
            values[column.name] = _assign_output(binder, value, column, override, source)
    targets = tuple(
        values[column.name] if column.name in values else bind_column_default(binder, column)
        for column in table.columns
    )
    result = Select(table_columns(table), targets, Derived(rel, query), ctes=ctes)
    return _build_insert(binder, node, changed, scope, result)


def _record_columns(binder: Binder, changed: ChangeTarget, nodes: Several[Any], width: int) -> None:
    """Records the columns that receive values: those of the column list, else the first `width`."""
    names = [inner(each).name for each in nodes] or [name for name, _ in changed.columns[:width]]
    binder.accesses.assign(changed.rel, names, insert=True)


def _assign_output(binder: Binder, value: Column, column: TableColumn, override: str, source: Any) -> Expr:
    """Converts a query's output to a column; errors have the position of the selected expression."""
    try:
        return _assign(binder, value, column, override)
    except GpudbError as error:
        raise binder.locate(error, output_location(source, value.index)) from None


def _build_insert(binder: Binder, node: Any, changed: ChangeTarget, scope: Scope, query: Query) -> Insert:
    ctes, table = query.ctes, changed.table
    query = compute_generated(binder, table.name, table.columns, query)
    conflict = None
    if node.HasField("on_conflict_clause"):
        conflict = bind_on_conflict(binder, changed, node.relation, node.on_conflict_clause, scope)
        if conflict is not None and ctes:
            conflict = replace(conflict, conflicts=replace(conflict.conflicts, ctes=ctes))
    returning, check = bind_returning(binder, changed, node, scope, ctes), bind_view_check(binder, changed)
    return Insert(table, query, returning, conflict, changed.rel, view_check=check)


def get_width(node: Any) -> int:
    """Returns the width of an INSERT's longest row; 0 if a star leaves it open."""
    source = inner(node.select_stmt) if present(node.select_stmt) else None
    rows = source.values_lists if source is not None else ()
    if source is not None and not len(rows) and all(is_one_column(inner(t).val) for t in source.target_list):
        return len(source.target_list)
    return max((len(inner(each).items) for each in rows), default=0)


def bind_insert_columns(
    binder: Binder, changed: ChangeTarget, nodes: Several[Any], width: int = 0
) -> list[TableColumn]:
    """Returns the columns that a list of ResTarget messages names; all columns without a list. 42703, 42701.

    For a view the columns that receive values, the first `width` or all, must be columns of its table.
    """
    if not len(nodes):
        found = []
        for index, (name, _) in enumerate(changed.columns):
            if width and index >= width:
                break
            column = changed.column(name, "insert into")
            assert column is not None
            found.append(column)
        return found
    found = []
    for each in nodes:
        column = find_column(binder, changed, inner(each), "insert into")
        # Several items may assign to parts of one column
        if column in found and not len(inner(each).indirection):
            message = f'column "{column.name}" specified more than once'
            raise binder.locate(SqlError.of("duplicate_column", message), inner(each).location)
        found.append(column)
    return found


def _check_width(width: int, target_columns: Several[TableColumn], has_list: bool) -> None:
    if width > len(target_columns):
        raise SqlError.of("syntax_error", "INSERT has more expressions than target columns")
    if width < len(target_columns) and has_list:
        raise SqlError.of("syntax_error", "INSERT has more target columns than expressions")


def bind_insert_row(
    binder: Binder,
    scope: Scope,
    table: Table,
    target_columns: Several[TableColumn],
    nodes: Several[Any],
    column_list: Several[Any],
    override: str,
) -> tuple[Expr, ...]:
    """Binds a row of VALUES to all columns of the table; `column_list` is the INSERT's column list.

    `override` is SYSTEM or USER of OVERRIDING.
    """
    scope.clause = "VALUES"
    values = bind_list(binder, scope, nodes)
    try:
        _check_width(len(values), target_columns, bool(len(column_list)))
    except GpudbError as error:
        extra = len(values) > len(target_columns)
        at = expression_location(values[len(target_columns)][0]) if extra else inner(column_list[len(values)]).location
        raise binder.locate(error, at) from None
    assigned: dict[str, Expr] = {}
    for index, (column, (node, expr)) in enumerate(zip(target_columns, values, strict=False)):
        if any(isinstance(each, SetReturning) for each in walk(expr)):
            raise FeatureNotSupported("set-returning functions beside DEFAULT are not supported in INSERT … VALUES")
        target = inner(column_list[index]) if len(column_list) else None
        try:
            if target is not None and len(target.indirection):
                assigned[column.name] = assign_part(binder, scope, column, target, assigned.get(column.name), expr)
            else:
                assigned[column.name] = _assign(binder, expr, column, override)
        except GpudbError as error:
            location = getattr(inner(node), "location", -1)
            raise binder.locate(error, location) from None
    return tuple(assigned[c.name] if c.name in assigned else bind_column_default(binder, c) for c in table.columns)


def _assign(binder: Binder, expr: Expr, column: TableColumn, override: str) -> Expr:
    """Converts a value to a column of INSERT; 428C9 for a generated one.

    `override` is SYSTEM or USER of OVERRIDING.
    """
    if isinstance(expr, Default):
        return bind_column_default(binder, column)
    if column.identity and override == "USER":
        return bind_column_default(binder, column)
    if column.generated is None and (column.identity != "a" or override == "SYSTEM"):
        return assign(binder, expr, column)
    message = f'cannot insert a non-DEFAULT value into column "{column.name}"'
    if column.generated is not None:
        raise SqlError.of("generated_always", message, detail=f'Column "{column.name}" is a generated column.')
    detail = f'Column "{column.name}" is an identity column defined as GENERATED ALWAYS.'
    raise SqlError.of("generated_always", message, detail=detail, hint="Use OVERRIDING SYSTEM VALUE to override.")
