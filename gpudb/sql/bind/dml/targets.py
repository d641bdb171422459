"""What all data changes share: the target, values of its columns, SET and RETURNING."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass, replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.relations import Sequence
from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import SYSTEM_COLUMNS, Table
from gpudb.catalog.tables import Column as TableColumn
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.checks import qualify_text
from gpudb.sql.bind.dml.part_assignments import assign_part
from gpudb.sql.bind.dml.view_targets import ChangeTarget, build_view_item, list_tests_of_only, resolve_target
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.stars import bind_list
from gpudb.sql.bind.query.select import bind_query, bind_targets
from gpudb.sql.bind.query.sources import build_source, find_relation, table_columns
from gpudb.sql.bind.scope import Columns, NamespaceItem, Scope
from gpudb.sql.bind.types.coercion import coerce_to_changed, coerce_to_column, fails_when_used
from gpudb.sql.bind.types.domains import get_domain_default
from gpudb.sql.bound import (
    CHANGED,
    Column,
    Constant,
    Cte,
    Default,
    Derived,
    Expr,
    FrameScan,
    OutputColumn,
    Query,
    Row,
    ScalarSubquery,
    Select,
)
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import expression_location, inner, kind, parse
from gpudb.types import INT8, TEXT, UNKNOWN
from gpudb.values.datetime_style import use_style

_PRIVILEGES = {"insert into": "a", "update": "w", "delete from": "d"}

ROW_ID = (OutputColumn("file", TEXT), OutputColumn("row", INT8))


def bind_target(binder: Binder, node: Any, verb: str, rel: int) -> ChangeTarget:
    """Returns the target of a change over relation `rel`; 42501 for a system catalog, 55000 for other views."""
    if node.schemaname in {"pg_catalog", "information_schema"}:
        message = f"permission denied for table {node.relname}"
        raise SqlError.of("insufficient_privilege", message, position=0)
    relation = find_relation(binder, node.schemaname, node.relname)
    if isinstance(relation, Sequence):
        raise SqlError.of("wrong_object_type", f'cannot change sequence "{relation.name}"')
    if isinstance(relation, Table) and relation.query is not None:
        raise SqlError.of("wrong_object_type", f'cannot change materialized view "{relation.name}"')
    result = resolve_target(binder, relation, rel, verb)
    result = replace(result, where=(*result.where, *list_tests_of_only(relation, node)))
    binder.accesses.add_target(rel, result.layers, _PRIVILEGES[verb])
    binder.accesses.select_below(rel, result.where)
    return result


def as_target(table: Table) -> ChangeTarget:
    """Returns a table as a target that is not read."""
    return ChangeTarget(table, 0, tuple((c.name, Column(0, n, c.type, c.name)) for n, c in enumerate(table.columns)))


def find_column(binder: Binder, changed: ChangeTarget, named: Any, verb: str) -> TableColumn:
    """Returns the table's column that a ResTarget message names; 42703, 0A000 for a computed column of a view."""
    column = changed.column(named.name, verb)
    if column is not None:
        return column
    if named.name in SYSTEM_COLUMNS and verb == "update":
        raise binder.locate(FeatureNotSupported(f'cannot assign to system column "{named.name}"'), named.location)
    missing = UndefinedColumn(f'column "{named.name}" of relation "{changed.relation.name}" does not exist')
    raise binder.locate(missing, named.location)


def _check_updated(expr: Expr, column: TableColumn) -> None:
    """Raises 428C9 if UPDATE assigns to a generated or GENERATED ALWAYS column."""
    if isinstance(expr, Default) or (column.generated is None and column.identity != "a"):
        return
    what = "a generated column" if column.generated else "an identity column defined as GENERATED ALWAYS"
    message = f'column "{column.name}" can only be updated to DEFAULT'
    raise SqlError.of("generated_always", message, detail=f'Column "{column.name}" is {what}.')


def assign(binder: Binder, expr: Expr, column: TableColumn) -> Expr:
    if isinstance(expr, Default):
        return bind_column_default(binder, column)
    return coerce_to_changed(binder, expr, column.name, column.type)


def bind_column_default(binder: Binder, column: TableColumn) -> Expr:
    """Binds the default of a column, or of its domain, as the column's type; NULL without one."""
    if (text := get_default_text(binder, column)) is not None:
        with binder.bind_stored(binder.text):
            return bind_default(binder, text, column)
    if column.type.domain is not None:
        return coerce_to_column(binder, Constant(None, UNKNOWN), column.name, column.type)
    return Constant(None, column.type)


def get_default_text(binder: Binder, column: TableColumn) -> str | None:
    """Returns the SQL text of the default of a column, or of its domain."""
    return column.default if column.default is not None else get_domain_default(binder, column.type)


@use_style()
def bind_default(binder: Binder, text: str, column: TableColumn) -> Expr:
    """Binds the text of a DEFAULT as a column's type; it may refer to no column."""
    node = inner(parse(f"SELECT {text}")[0].node.target_list[0]).val
    expr = bind_expression(binder, Scope(clause="DEFAULT expressions"), node)
    return coerce_to_changed(binder, expr, column.name, column.type)


def bind_declared_default(binder: Binder, text: str, column: TableColumn) -> str | None:
    """Returns a declared DEFAULT; None for one that is NULL and does not override a domain's."""
    binder.expansions = Expansions()
    try:
        result = bind_default(binder, text, column)
    except SqlError as error:
        if not fails_when_used(error):
            raise
        return qualify_text(binder, text)
    plain = column.type.domain is None and column.type.modifier == -1
    return None if plain and isinstance(result, Constant) and result.value is None else qualify_text(binder, text)


def bind_assignments(
    binder: Binder, scope: Scope, changed: ChangeTarget, nodes: Several[Any], old: Several[Expr], verb: str = "update"
) -> dict[str, Expr]:
    """Binds the assignments of SET over the `old` columns of a table; returns them by name. 42703, 42601, 428C9.

    `verb` is the verb of the statement, for errors about computed columns of a view.
    """
    table = changed.table
    binder.accesses.assign(changed.rel, [inner(each).name for each in nodes], insert=False)
    result: dict[str, Expr] = {}
    before = {column.name: expr for column, expr in zip(table.columns, old, strict=True)}
    wholly: set[str] = set()
    for column, target, value in _list_assignments(binder, scope, changed, nodes, verb):
        if len(target.indirection) and column.name not in wholly:
            _check_updated(value, column)
            base = result.get(column.name, before[column.name])
            result[column.name] = assign_part(binder, scope, column, target, base, value)
            continue
        wholly.add(column.name)
        if column.name in result:
            message = f'multiple assignments to same column "{column.name}"'
            raise SqlError.of("syntax_error", message)
        _check_updated(value, column)
        result[column.name] = assign(binder, value, column)
    return result


def _list_assignments(
    binder: Binder, scope: Scope, changed: ChangeTarget, nodes: Several[Any], verb: str
) -> list[tuple[TableColumn, Any, Expr]]:
    result: list[tuple[TableColumn, Any, Expr]] = []
    row: Expr | None = None
    for each in nodes:
        target = inner(each)
        column = find_column(binder, changed, target, verb)
        if kind(target.val) == "multi_assign_ref":
            reference = inner(target.val)
            if reference.colno == 1:
                row = _bind_multiple(binder, scope, reference)
            assert isinstance(row, Row)
            result.append((column, target, row.items[reference.colno - 1]))
        else:
            result.append((column, target, bind_expression(binder, scope, target.val)))
    return result


def _bind_multiple(binder: Binder, scope: Scope, reference: Any) -> Row:
    """Binds the values of SET (…) = ROW (…) or (SELECT …)."""
    source = inner(reference.source)
    message = "number of columns does not match number of values"
    if kind(reference.source) == "row_expr":
        items = tuple(expr for _, expr in bind_list(binder, scope, source.args))
        if len(items) != reference.ncolumns:
            raise binder.locate(SqlError.of("syntax_error", message), source.location)
        return Row(items)
    if kind(reference.source) != "sub_link" or source.sub_link_type != pg.EXPR_SUBLINK:
        message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression"
        raise binder.locate(FeatureNotSupported(message), expression_location(reference.source))
    query = bind_query(binder, inner(source.subselect), scope)
    if len(query.columns) != reference.ncolumns:
        raise binder.locate(SqlError.of("syntax_error", message), source.location)
    return Row(tuple(_select_column(binder, query, index) for index in range(len(query.columns))))


def _select_column(binder: Binder, query: Query, index: int) -> Expr:
    """Returns one column of a subquery of one row, as a value."""
    rel, column = binder.new_rel(), query.columns[index]
    result = Select((column,), (Column(rel, index, column.type, column.name),), Derived(rel, query))
    return ScalarSubquery(result, column.type)


@dataclass(frozen=True, slots=True)
class OtherRelations:
    """The relations of UPDATE … FROM and DELETE … USING, for RETURNING; `exprs` are all their expressions."""

    items: tuple[NamespaceItem, ...] = ()
    columns: Columns = ()
    exprs: tuple[Expr, ...] = ()

    def items_over(self, rel: int, first: int) -> tuple[NamespaceItem, ...]:
        """Returns the relations over a relation that has `exprs` as its columns from `first` on."""
        return tuple(NamespaceItem(i.alias, self._over(i.columns, rel, first), i.schema) for i in self.items)

    def columns_over(self, rel: int, first: int) -> Columns:
        """Returns the unqualified columns over such a relation."""
        return self._over(self.columns, rel, first)

    def _over(self, columns: Columns, rel: int, first: int) -> Columns:
        return tuple((n, Column(rel, first + self.exprs.index(expr), expr.type, n)) for n, expr in columns)


NO_OTHER_RELATIONS = OtherRelations()


def bind_returning(
    binder: Binder,
    changed: ChangeTarget,
    node: Any,
    level: Scope,
    ctes: tuple[Cte, ...],
    others: OtherRelations = NO_OTHER_RELATIONS,
) -> Select | None:
    """Binds RETURNING as a query of the frame CHANGED; the columns of `others` follow the table's there."""
    nodes = node.returning_clause.exprs if node.HasField("returning_clause") else ()
    if not len(nodes):
        return None
    scope, rel = Scope(parent=level.parent, ctes=level.ctes, clause="RETURNING"), binder.new_rel()
    table = changed.table
    columns = table_columns(table)
    alias = node.relation.alias if node.relation.HasField("alias") else None
    frame = (*columns, *(OutputColumn(f"gpudb$other{n}", expr.type) for n, expr in enumerate(others.exprs)))
    scan = FrameScan(rel, CHANGED, frame)
    if changed.view is None:
        row, oid = get_row_type(table), table.catalog_oid
        source = build_source(binder, rel, scan, columns, table.name, alias, table.schema, row, oid)
        scope.add(source.items, source.columns)
        binder.accesses.add_target_rows(rel, changed.rel, ((table, source.columns),))
    else:
        seen = resolve_target(binder, changed.view, rel, "delete from")
        binder.accesses.add_target_rows(rel, changed.rel, seen.layers)
        scope.add((build_view_item(seen, alias),), seen.columns)
    binder.accesses.add_derived(rel, others.exprs, len(columns))
    scope.add(others.items_over(rel, len(columns)), others.columns_over(rel, len(columns)))
    scope.rels.add(rel)
    targets = bind_targets(binder, scope, nodes)
    outputs = tuple(OutputColumn(name, expr.type) for name, expr in targets)
    return Select(outputs, tuple(expr for _, expr in targets), scan, ctes=ctes)
