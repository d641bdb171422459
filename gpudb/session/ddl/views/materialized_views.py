"""CREATE and REFRESH MATERIALIZED VIEW: a table with the rows of a query."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.tables import Column, Table, Unique
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedTable
from gpudb.session.authorization.authorize import authorize
from gpudb.session.authorization.privileges import act_as
from gpudb.session.context import Context
from gpudb.session.ddl.access_methods import check_access_method
from gpudb.session.ddl.query_columns import (
    bind_stored_query,
    cast_to_columns,
    stored_columns,
)
from gpudb.session.execution.locks_and_snapshots.restarts import undoing_layouts
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.objects.names import (
    check_name_free,
    find_new_name,
    range_text,
    resolve_range,
)
from gpudb.session.objects.relations import lock_table, put_relation
from gpudb.session.results import Result
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bound import Query, Scan
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import deparse, inner, parse, strings
from gpudb.sql.rewrite import rewrite_stored
from gpudb.sql.traverse import walk
from gpudb.types import widen
from gpudb.values.datetime_style import use_style


@undoing_layouts
def create_materialized_view(context: Context) -> Result:
    """CREATE MATERIALIZED VIEW [IF NOT EXISTS] name [(column, …)] AS query [WITH NO DATA]."""
    node: Any = context.statement.node
    context.check_writable("CREATE MATERIALIZED VIEW")
    into = node.into
    check_access_method(into.access_method)
    if len(into.options) or into.table_space_name:
        raise FeatureNotSupported("storage options of a materialized view are not supported")
    if context.statement.distribution is not None:
        raise FeatureNotSupported("DISTRIBUTE BY of a materialized view is not supported")
    found = find_new_name(context, into.rel, if_not_exists=node.if_not_exists)
    if found is None:
        return Result("CREATE MATERIALIZED VIEW")
    schema, name = found
    check_name_free(context.transaction.catalog, schema, name)
    binder = context.binder()
    binder.expansions = Expansions()
    query = bind_stored_query(context, binder, node, "CREATE MATERIALIZED VIEW … AS")
    if binder.parameters:
        raise FeatureNotSupported("materialized views may not be defined using bound parameters")
    if any(isinstance(n, Scan) and n.table.schema == context.session.temporary_schema for n in walk(query)):
        raise FeatureNotSupported("materialized views must not use temporary tables or views")
    columns = stored_columns(context, query, strings(into.col_names), "CREATE MATERIALIZED VIEW")
    body = rewrite_stored(
        inner(node.query), context.transaction.catalog, context.session.search_path(), binder.expansions
    )
    text = deparse(body)
    oid, catalog = context.transaction.catalog.allocate_oid()
    view = Table(oid, schema, name, columns, context.session.user, kind="m", query=text, populated=not into.skip_data)
    context.transaction.set_catalog(catalog.put(view))
    if into.skip_data:
        return Result("CREATE MATERIALIZED VIEW")
    return Result(f"SELECT {_fill(context, context.transaction.table(oid), query)}")


@undoing_layouts
def refresh(context: Context) -> Result:
    """REFRESH MATERIALIZED VIEW [CONCURRENTLY] name [WITH NO DATA].

    Readers keep their snapshot in any case, so CONCURRENTLY only adds its checks.
    """
    node: Any = context.statement.node
    context.check_writable("REFRESH MATERIALIZED VIEW")
    if node.concurrent and node.skip_data:
        message = "CONCURRENTLY and WITH NO DATA options cannot be used together"
        raise SqlError.of("syntax_error", message)
    relation = resolve_range(context, node.relation)
    if relation is None:
        raise UndefinedTable(f'relation "{range_text(node.relation)}" does not exist')
    if not isinstance(relation, Table) or relation.query is None:
        raise FeatureNotSupported(f'"{relation.name}" is not a materialized view')
    if node.concurrent:
        _check_concurrent(relation)
    lock_table(context, relation)
    table = context.transaction.table(relation.oid)
    if table.populated is bool(node.skip_data):
        table = replace(table, populated=not node.skip_data)
        put_relation(context, table)
    if node.skip_data:
        context.transaction.truncate(table.oid)
    else:
        # Not with the privileges of a superuser who refreshes it: the query is its owner's
        with act_as(context.session, table.owner):
            _fill(context, context.transaction.table(table.oid), _bind_stored_query(context, table))
    return Result("REFRESH MATERIALIZED VIEW")


def _check_concurrent(table: Table) -> None:
    if not table.populated:
        message = "CONCURRENTLY cannot be used when the materialized view is not populated"
        raise SqlError.of("feature_not_supported", message)
    if not any(isinstance(each, Unique) and each.is_key for each in table.constraints):
        message = f'cannot refresh materialized view "{table.schema}.{table.name}" concurrently'
        hint = "Create a unique index with no WHERE clause on one or more columns of the materialized view."
        raise SqlError.of("object_not_in_prerequisite_state", message, hint=hint)


@use_style()
def _bind_stored_query(context: Context, table: Table) -> Query:
    """Binds the stored query, whose names are qualified; it reads with the privileges of the view's owner."""
    assert table.query is not None
    binder = context.binder()
    with binder.bind_stored(table.query, table.schema), binder.accesses.run_as(table.owner):
        result = bind_query(binder, parse(table.query)[0].node, None)
    allowed = authorize(context, result, binder.accesses)
    assert isinstance(allowed, Query)
    return allowed


def _fill(context: Context, table: Table, query: Query) -> int:
    """Replaces the rows by those of the query; returns their number."""
    if any(output.type.wide and not column.type.wide for output, column in zip(query.columns, table.columns)):
        table = _widen_columns(context, table, query)
    columns: tuple[Column, ...] = table.columns
    stream = run_query(context, cast_to_columns(query, columns))
    try:
        return context.transaction.replace(table.oid, table.files, iter(stream))
    finally:
        stream.close()


def _widen_columns(context: Context, table: Table, query: Query) -> Table:
    """Makes those columns wide that are in the query, whose rows will replace all of the table's."""
    columns = tuple(
        replace(column, type=widen(column.type), field_id=0) if output.type.wide and not column.type.wide else column
        for output, column in zip(query.columns, table.columns, strict=True)
    )
    context.transaction.truncate(table.oid)
    put_relation(context, replace(context.transaction.table(table.oid), columns=columns))
    return context.transaction.table(table.oid)
