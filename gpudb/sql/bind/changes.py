"""INSERT, UPDATE and DELETE: a query that gives the rows to write, converted to the table's columns."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Column as TableColumn
from gpudb.catalog.model import Sequence, Table
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError, UndefinedColumn
from gpudb.sql.bind.binder import Binder
from gpudb.sql.bind.coerce import condition, stored
from gpudb.sql.bind.domains import domain_default
from gpudb.sql.bind.expressions import bind_expression
from gpudb.sql.bind.from_clause import bind_from, find_relation, named, table_columns
from gpudb.sql.bind.generated import with_generated
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.select import bind_query, bind_targets, bind_with
from gpudb.sql.bind.wrap import retyped
from gpudb.sql.bound import (
    CHANGED,
    Column,
    Constant,
    Cte,
    Default,
    Delete,
    Derived,
    Expr,
    FrameScan,
    From,
    Insert,
    Join,
    OutputColumn,
    Query,
    Row,
    Scan,
    Select,
    SetReturning,
    Update,
    Values,
)
from gpudb.sql.parse import inner, kind, leftmost, parse, present
from gpudb.sql.traverse import walk
from gpudb.types import INT8, TEXT, UNKNOWN

ROW_ID = (OutputColumn("file", TEXT), OutputColumn("row", INT8))


_OVERRIDES = {pg.OVERRIDING_SYSTEM_VALUE: "SYSTEM", pg.OVERRIDING_USER_VALUE: "USER"}


def target_table(binder: Binder, node: Any, verb: str) -> Table:
    """The table that a statement changes; 42809 for a view or a system catalog."""
    if node.schemaname in {"pg_catalog", "information_schema"}:
        raise SqlError.of("insufficient_privilege", f"permission denied for table {node.relname}")
    relation = find_relation(binder, node.schemaname, node.relname)
    if isinstance(relation, Sequence):
        raise SqlError.of("wrong_object_type", f'cannot change sequence "{relation.name}"')
    if isinstance(relation, Table) and relation.query is not None:
        raise SqlError.of("wrong_object_type", f'cannot change materialized view "{relation.name}"')
    if not isinstance(relation, Table):
        raise SqlError.of("wrong_object_type", f'cannot {verb} view "{node.relname}"')
    return relation


def bind_insert(binder: Binder, node: Any) -> Insert:
    """An InsertStmt message."""
    if node.HasField("on_conflict_clause"):
        raise FeatureNotSupported("INSERT … ON CONFLICT is not supported")
    try:
        table = target_table(binder, node.relation, "insert into")
    except GpudbError as error:
        raise binder.locate(error, node.relation.location) from None
    scope = Scope()
    override = _OVERRIDES.get(node.override, "")
    ctes = bind_with(binder, scope, node.with_clause) if node.HasField("with_clause") else ()
    wanted = _insert_columns(binder, table, node.cols)
    if not present(node.select_stmt):
        row = tuple(default_of(binder, column) for column in table.columns)
        return _inserted(binder, node, table, Values(table_columns(table), (row,), ctes=ctes))
    source = inner(node.select_stmt)
    if len(source.values_lists) and not source.sort_clause and not source.HasField("with_clause"):
        rows = tuple(
            _row(binder, scope, table, wanted, inner(each).items, node.cols, override) for each in source.values_lists
        )
        return _inserted(binder, node, table, Values(table_columns(table), rows, ctes=ctes))
    query = bind_query(binder, source, scope, settle=False)
    _check_width(len(query.columns), wanted, bool(len(node.cols)))
    untyped = {
        index: c.type
        for index, c in enumerate(wanted[: len(query.columns)])
        if query.columns[index].type.name == "unknown"
    }
    query = retyped(binder, query, untyped, "a")
    rel = binder.rel()
    given = {
        column.name: _given(binder, Column(rel, index, output.type, output.name), column, override)
        for index, (column, output) in enumerate(zip(wanted, query.columns, strict=False))
    }
    targets = tuple(
        given[column.name] if column.name in given else default_of(binder, column) for column in table.columns
    )
    made = Select(table_columns(table), targets, Derived(rel, query), ctes=ctes)
    return _inserted(binder, node, table, made)


def _inserted(binder: Binder, node: Any, table: Table, query: Query) -> Insert:
    query = with_generated(binder, table.name, table.columns, query)
    return Insert(table, query, _returning(binder, table, node, node.relation))


def _insert_columns(binder: Binder, table: Table, nodes: Several[Any]) -> list[TableColumn]:
    if not len(nodes):
        return list(table.columns)
    found: list[TableColumn] = []
    for each in nodes:
        column = table_column(binder, table, inner(each))
        if column in found:
            message = f'column "{column.name}" specified more than once'
            raise binder.locate(SqlError.of("duplicate_column", message), inner(each).location)
        found.append(column)
    return found


def table_column(binder: Binder, table: Table, target: Any) -> TableColumn:
    """The column that a ResTarget message names; 42703."""
    if len(target.indirection):
        raise FeatureNotSupported("assigning to part of a column is not supported")
    for column in table.columns:
        if column.name == target.name:
            return column
    error = UndefinedColumn(f'column "{target.name}" of relation "{table.name}" does not exist')
    raise binder.locate(error, target.location)


def _check_width(width: int, wanted: Several[TableColumn], listed: bool) -> None:
    if width > len(wanted):
        raise SqlError.of("syntax_error", "INSERT has more expressions than target columns")
    if width < len(wanted) and listed:
        raise SqlError.of("syntax_error", "INSERT has more target columns than expressions")


def _row(
    binder: Binder,
    scope: Scope,
    table: Table,
    wanted: Several[TableColumn],
    nodes: Several[Any],
    listed: Several[Any],
    override: str,
) -> tuple[Expr, ...]:
    scope.clause = "VALUES"
    try:
        _check_width(len(nodes), wanted, bool(len(listed)))
    except GpudbError as error:
        extra = len(nodes) > len(wanted)
        at = leftmost(nodes[len(wanted)]) if extra else inner(listed[len(nodes)]).location
        raise binder.locate(error, at) from None
    given: dict[str, Expr] = {}
    for column, node in zip(wanted, nodes, strict=False):
        expr = bind_expression(binder, scope, node)
        if any(isinstance(each, SetReturning) for each in walk(expr)):
            raise FeatureNotSupported("set-returning functions are not supported in INSERT … VALUES")
        try:
            given[column.name] = _given(binder, expr, column, override)
        except GpudbError as error:
            location = getattr(inner(node), "location", -1)
            raise binder.locate(error, location) from None
    return tuple(given[c.name] if c.name in given else default_of(binder, c) for c in table.columns)


def _given(binder: Binder, expr: Expr, column: TableColumn, override: str) -> Expr:
    """A value for a column of INSERT: `override` is OVERRIDING's SYSTEM or USER; 428C9 for what computes itself."""
    if isinstance(expr, Default):
        return default_of(binder, column)
    if column.identity and override == "USER":
        return default_of(binder, column)
    if column.generated is None and (column.identity != "a" or override == "SYSTEM"):
        return _assigned(binder, expr, column)
    message = f'cannot insert a non-DEFAULT value into column "{column.name}"'
    if column.generated is not None:
        raise SqlError.of("generated_always", message, detail=f'Column "{column.name}" is a generated column.')
    detail = f'Column "{column.name}" is an identity column defined as GENERATED ALWAYS.'
    raise SqlError.of("generated_always", message, detail=detail, hint="Use OVERRIDING SYSTEM VALUE to override.")


def _check_updated(expr: Expr, column: TableColumn) -> None:
    """428C9 where UPDATE gives a value to a column that computes itself."""
    if isinstance(expr, Default) or (column.generated is None and column.identity != "a"):
        return
    what = "a generated column" if column.generated else "an identity column defined as GENERATED ALWAYS"
    message = f'column "{column.name}" can only be updated to DEFAULT'
    raise SqlError.of("generated_always", message, detail=f'Column "{column.name}" is {what}.')


def _assigned(binder: Binder, expr: Expr, column: TableColumn) -> Expr:
    if isinstance(expr, Default):
        return default_of(binder, column)
    return stored(binder, expr, column.name, column.type)


def default_of(binder: Binder, column: TableColumn) -> Expr:
    """A column's default, or its domain's, converted to its type; NULL without one."""
    if (text := default_text(binder, column)) is not None:
        return bind_default(binder, text, column)
    if column.type.domain is not None:
        return stored(binder, Constant(None, UNKNOWN), column.name, column.type)
    return Constant(None, column.type)


def default_text(binder: Binder, column: TableColumn) -> str | None:
    """The SQL text of a column's default, or of its domain's."""
    return column.default if column.default is not None else domain_default(binder, column.type)


def bind_default(binder: Binder, text: str, column: TableColumn) -> Expr:
    """DEFAULT text as an expression of the column's type; it may name no column."""
    node = inner(parse(f"SELECT {text}")[0].node.target_list[0]).val
    expr = bind_expression(binder, Scope(clause="DEFAULT expressions"), node)
    return stored(binder, expr, column.name, column.type)


# ------------------------------------------------------------------------------------------------ UPDATE, DELETE


def bind_update(binder: Binder, node: Any) -> Update:
    """An UpdateStmt message."""
    table, scope, scan, ctes = _target(binder, node, "update")
    source = _with_others(binder, scope, scan, node.from_clause)
    scope.clause = "UPDATE"
    assigned: dict[str, Expr] = {}
    for column, value in _assignments(binder, scope, table, node.target_list):
        if column.name in assigned:
            message = f'multiple assignments to same column "{column.name}"'
            raise SqlError.of("syntax_error", message)
        _check_updated(value, column)
        assigned[column.name] = _assigned(binder, value, column)
    where = _where(binder, scope, node)
    old = [Column(scan.rel, index, column.type, column.name) for index, column in enumerate(table.columns)]
    new = [assigned.get(column.name, expr) for column, expr in zip(table.columns, old, strict=True)]
    query = replace(_rows(table, scan.rel, source, where, new, several=len(node.from_clause) > 0), ctes=ctes)
    made = with_generated(binder, table.name, table.columns, query, len(ROW_ID))
    return Update(table, made, _returning(binder, table, node, node.relation))


def _assignments(binder: Binder, scope: Scope, table: Table, nodes: Several[Any]) -> list[tuple[TableColumn, Expr]]:
    made: list[tuple[TableColumn, Expr]] = []
    row: Expr | None = None
    for each in nodes:
        target = inner(each)
        column = table_column(binder, table, target)
        if kind(target.val) == "multi_assign_ref":
            reference = inner(target.val)
            if reference.colno == 1:
                row = _multiple(binder, scope, reference)
            assert isinstance(row, Row)
            if len(row.items) != reference.ncolumns:
                message = "number of columns does not match number of values"
                raise SqlError.of("syntax_error", message)
            made.append((column, row.items[reference.colno - 1]))
        else:
            made.append((column, bind_expression(binder, scope, target.val)))
    return made


def _multiple(binder: Binder, scope: Scope, reference: Any) -> Row:
    if kind(reference.source) != "row_expr":
        raise FeatureNotSupported("UPDATE … SET (…) = (SELECT …) is not supported")
    return Row(tuple(bind_expression(binder, scope, each) for each in inner(reference.source).args))


def bind_delete(binder: Binder, node: Any) -> Delete:
    """A DeleteStmt message."""
    table, scope, scan, ctes = _target(binder, node, "delete from")
    source = _with_others(binder, scope, scan, node.using_clause)
    where = _where(binder, scope, node)
    old: list[Expr] = [Column(scan.rel, index, column.type, column.name) for index, column in enumerate(table.columns)]
    query = replace(_rows(table, scan.rel, source, where, old, several=len(node.using_clause) > 0), ctes=ctes)
    return Delete(table, query, _returning(binder, table, node, node.relation))


def _target(binder: Binder, node: Any, verb: str) -> tuple[Table, Scope, Scan, tuple[Cte, ...]]:
    try:
        table = target_table(binder, node.relation, verb)
    except GpudbError as error:
        raise binder.locate(error, node.relation.location) from None
    scope, rel = Scope(), binder.rel()
    ctes = bind_with(binder, scope, node.with_clause) if node.HasField("with_clause") else ()
    scan = Scan(rel, table, row_ids=True)
    alias = node.relation.alias if node.relation.HasField("alias") else None
    source = named(binder, rel, scan, table_columns(table), table.name, alias, table.schema)
    scope.add(source.items, source.columns)
    scope.rels.add(rel)
    return table, scope, scan, ctes


def _with_others(binder: Binder, scope: Scope, scan: Scan, nodes: Several[Any]) -> From:
    others = bind_from(binder, scope, nodes)
    return scan if others is None else Join("CROSS", scan, others, None)


def _where(binder: Binder, scope: Scope, node: Any) -> Expr | None:
    if not present(node.where_clause):
        return None
    scope.clause = "WHERE"
    return condition(binder, bind_expression(binder, scope, node.where_clause), "WHERE")


def _rows(table: Table, rel: int, source: From, where: Expr | None, values: Several[Expr], *, several: bool) -> Select:
    """File, row number and values of the rows that match, each row once."""
    width = len(table.columns)
    row_id = (Column(rel, width, TEXT, "file"), Column(rel, width + 1, INT8, "row"))
    columns = (*ROW_ID, *table_columns(table))
    distinct: bool | tuple[Expr, ...] = row_id if several else False
    return Select(columns, (*row_id, *values), source, where, distinct=distinct)


def _returning(binder: Binder, table: Table, node: Any, relation: Any) -> Select | None:
    """RETURNING over the rows written or removed, as a query of the frame CHANGED."""
    nodes = node.returning_clause.exprs if node.HasField("returning_clause") else ()
    if not len(nodes):
        return None
    scope, rel = Scope(clause="RETURNING"), binder.rel()
    columns = table_columns(table)
    alias = relation.alias if relation.HasField("alias") else None
    scan = FrameScan(rel, CHANGED, columns)
    source = named(binder, rel, scan, columns, table.name, alias, table.schema)
    scope.add(source.items, source.columns)
    scope.rels.add(rel)
    targets = bind_targets(binder, scope, nodes)
    outputs = tuple(OutputColumn(name, expr.type) for name, expr in targets)
    return Select(outputs, tuple(expr for _, expr in targets), scan)
