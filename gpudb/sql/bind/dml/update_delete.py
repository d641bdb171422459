"""UPDATE and DELETE: a query for the rows to change, their file positions, and their new columns."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import replace
from typing import Any

from gpudb.catalog.relations import View
from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import Table
from gpudb.errors import GpudbError
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.generated_columns import compute_generated, list_updated
from gpudb.sql.bind.dml.targets import (
    NO_OTHER_RELATIONS,
    ROW_ID,
    OtherRelations,
    bind_assignments,
    bind_returning,
    bind_target,
)
from gpudb.sql.bind.dml.view_checks import bind_view_check
from gpudb.sql.bind.dml.view_targets import ChangeTarget, build_view_item
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import conjunction
from gpudb.sql.bind.expressions.records import add_presence_columns
from gpudb.sql.bind.query.from_clause import bind_from
from gpudb.sql.bind.query.sources import Source, build_barrier, build_entries, build_source, table_columns
from gpudb.sql.bind.query.with_clause import bind_with
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import (
    Column,
    Constant,
    Cte,
    Delete,
    Derived,
    Expr,
    From,
    Join,
    OutputColumn,
    Query,
    Scan,
    Select,
    Update,
)
from gpudb.sql.parse.parser import parse, present
from gpudb.sql.traverse import replace_nodes
from gpudb.types import INT8, TEXT
from gpudb.values.datetime_style import use_style


def bind_update(binder: Binder, node: Any, outer: Scope | None = None) -> Update:
    """Binds an UpdateStmt message."""
    changed, scope, scan, ctes = _bind_target(binder, node, "update", outer)
    table = changed.table
    source, others = _join_others(binder, scope, scan, node, node.from_clause)
    scope.clause = "UPDATE"
    old = [Column(scan.rel, index, column.type, column.name) for index, column in enumerate(table.columns)]
    assigned = bind_assignments(binder, scope, changed, node.target_list, old)
    where = _bind_where(binder, scope, node, changed)
    new = [assigned.get(column.name, expr) for column, expr in zip(table.columns, old, strict=True)]
    is_joined = len(node.from_clause) > 0
    source = add_presence_columns(binder, source) or source
    query = replace(_build_query(table, scan.rel, source, where, new, others, is_joined=is_joined), ctes=ctes)
    result = compute_generated(binder, table.name, table.columns, query, len(ROW_ID))
    named = list_updated(table, assigned)
    returning = bind_returning(binder, changed, node, scope, ctes, others)
    return Update(table, result, returning, named, changed.rel, view_check=bind_view_check(binder, changed))


def bind_delete(binder: Binder, node: Any, outer: Scope | None = None) -> Delete:
    """Binds a DeleteStmt message."""
    changed, scope, scan, ctes = _bind_target(binder, node, "delete from", outer)
    table = changed.table
    source, others = _join_others(binder, scope, scan, node, node.using_clause)
    where = _bind_where(binder, scope, node, changed)
    old: list[Expr] = [Column(scan.rel, index, column.type, column.name) for index, column in enumerate(table.columns)]
    is_joined = len(node.using_clause) > 0
    source = add_presence_columns(binder, source) or source
    query = replace(_build_query(table, scan.rel, source, where, old, others, is_joined=is_joined), ctes=ctes)
    return Delete(table, query, bind_returning(binder, changed, node, scope, ctes, others), changed.rel)


def _bind_target(
    binder: Binder, node: Any, verb: str, outer: Scope | None
) -> tuple[ChangeTarget, Scope, Scan | Derived, tuple[Cte, ...]]:
    rel = binder.new_rel()
    try:
        changed = bind_target(binder, node.relation, verb, rel)
    except GpudbError as error:
        if error.sqlstate == "55000":
            raise
        raise binder.locate(error, node.relation.location) from None
    table = changed.table
    scope = Scope(parent=outer)
    ctes = bind_with(binder, scope, node.with_clause) if node.HasField("with_clause") else ()
    scan = _build_scan(binder, changed)
    alias = node.relation.alias if node.relation.HasField("alias") else None
    if changed.view is None:
        source = build_source(
            binder,
            rel,
            scan,
            table_columns(table),
            table.name,
            alias,
            table.schema,
            get_row_type(table),
            table.catalog_oid,
        )
    else:
        source = Source(scan, (build_view_item(changed, alias),), changed.columns, frozenset({rel}))
    scope.add(source.items, source.columns)
    scope.entries += build_entries(source, changed.relation.name)
    scope.rels.add(rel)
    return changed, scope, scan, ctes


def _build_scan(binder: Binder, changed: ChangeTarget) -> Scan | Derived:
    """Returns the rows of a target with their positions: of a security barrier view those that it shows."""
    table, rel, begun = changed.table, changed.rel, 0
    if table.kind == "v":
        return Derived(rel, bind_view_rows(binder, table))
    columns = (*table_columns(table), *ROW_ID)
    source: Scan | Derived = Scan(rel, table, row_ids=True)
    if changed.barriers:
        rel = binder.new_rel()
        binder.accesses.add_target_rows(rel, changed.rel, changed.layers)
        source = Scan(rel, table, row_ids=True)
    for end in changed.barriers:
        tests = [_move(test, changed.rel, rel) for test in changed.where[begun:end]]
        values = tuple(Column(rel, index, column.type, column.name) for index, column in enumerate(columns))
        query = build_barrier(Select(columns, values, source, conjunction(tests) if tests else None))
        rel = changed.rel if end == changed.barriers[-1] else binder.new_rel()
        source, begun = Derived(rel, query), end
    return source


@use_style()
def bind_view_rows(binder: Binder, table: Table) -> Query:
    """Binds the rows of a view that its INSTEAD OF triggers change; they have no positions."""
    view = binder.catalog.find_relation_by_oid(table.oid)
    assert isinstance(view, View)
    with binder.bind_stored(view.query, view.schema), binder.accesses.below(view):
        query = binder.bind_query(parse(view.query)[0].node, None)
    return build_barrier(query) if view.security_barrier else query


def _move(expr: Expr, old: int, new: int) -> Expr:
    """Returns an expression over relation `old` as one over relation `new`."""
    moved: Expr = replace_nodes(
        expr, lambda node: replace(node, rel=new) if isinstance(node, Column) and node.rel == old else None
    )
    return moved


def _join_others(
    binder: Binder, scope: Scope, scan: Scan | Derived, node: Any, nodes: Several[Any]
) -> tuple[From, OtherRelations]:
    """Returns the target joined to the relations of FROM or USING, and the columns of these for RETURNING."""
    items, columns = len(scope.items), len(scope.columns)
    scope.unreachable, scope.changed = frozenset(item.alias for item in scope.items), True
    source = bind_from(binder, scope, nodes)
    scope.unreachable, scope.changed = frozenset(), False
    if source is None:
        return scan, NO_OTHER_RELATIONS
    joined = Join("CROSS", scan, source, None)
    if not node.HasField("returning_clause"):
        return joined, NO_OTHER_RELATIONS
    added, unqualified = tuple(scope.items[items:]), tuple(scope.columns[columns:])
    named_columns = (pair for item in added for pair in item.columns)
    exprs = tuple(dict.fromkeys(expr for _, expr in (*named_columns, *unqualified)))
    return joined, OtherRelations(added, unqualified, exprs)


def _bind_where(binder: Binder, scope: Scope, node: Any, changed: ChangeTarget) -> Expr | None:
    """Returns the condition of the rows to change: that of the view, unless it is a barrier, and WHERE."""
    tests = list(changed.where[changed.barriers[-1] if changed.barriers else 0 :])
    if present(node.where_clause):
        scope.clause = "WHERE"
        tests.append(coerce_condition(binder, bind_expression(binder, scope, node.where_clause), "WHERE"))
    return conjunction(tests) if tests else None


def _build_query(
    table: Table,
    rel: int,
    source: From,
    where: Expr | None,
    values: Several[Expr],
    others: OtherRelations,
    *,
    is_joined: bool,
) -> Select:
    """Returns the query for file, row number and values of each matching row, and the columns of `others`."""
    width = len(table.columns)
    row_id: tuple[Expr, ...] = (Column(rel, width, TEXT, "file"), Column(rel, width + 1, INT8, "row"))
    besides = (OutputColumn(f"gpudb$other{n}", expr.type) for n, expr in enumerate(others.exprs))
    columns = (*ROW_ID, *table_columns(table), *besides)
    if table.kind == "v":
        row_id = (Constant(None, TEXT), Constant(None, INT8))
        old = tuple(Column(rel, index, column.type, column.name) for index, column in enumerate(table.columns))
        every = (*row_id, *values, *others.exprs, *old)
        return Select((*columns, *table_columns(table)), every, source, where)
    distinct: bool | tuple[Expr, ...] = row_id if is_joined else False
    return Select(columns, (*row_id, *values, *others.exprs), source, where, distinct=distinct)
