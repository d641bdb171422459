"""CREATE VIEW: a query stored as text with qualified names; ALTER VIEW … SET or DROP DEFAULT of a column."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.relations import View
from gpudb.catalog.tables import Column
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn
from gpudb.session.authorization.privileges import check_column_types
from gpudb.session.context import Context
from gpudb.session.ddl.query_columns import query_columns
from gpudb.session.ddl.views.view_options import check_updatable, read_view_options, show_options
from gpudb.session.objects.names import check_name_free, target_schema, truncate_identifier
from gpudb.session.objects.relations import put_relation
from gpudb.session.objects.stored_expressions import default_expression
from gpudb.session.results import Result
from gpudb.sql.bind.dml.targets import bind_declared_default
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bound import Scan
from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import changes_data, deparse, inner, strings
from gpudb.sql.rewrite import rewrite_stored
from gpudb.sql.traverse import walk


def create_view(context: Context) -> Result:
    """CREATE [OR REPLACE] [TEMPORARY] VIEW."""
    node: Any = context.statement.node
    context.check_writable("CREATE VIEW")
    options = show_options(read_view_options(node.options))
    if node.with_check_option not in (0, pg.NO_CHECK_OPTION):
        scope = "local" if node.with_check_option == pg.LOCAL_CHECK_OPTION else "cascaded"
        options += (f"check_option={scope}",)
    temporary = node.view.relpersistence == "t"
    binder = context.binder()
    body = inner(node.query)
    if changes_data(body):
        raise FeatureNotSupported("views must not contain data-modifying statements in WITH")
    binder.expansions = Expansions()
    query = bind_query(binder, body, None)
    if binder.parameters:
        raise SqlError.of("undefined_parameter", "there is no parameter $1")
    used = {n.table.schema for n in walk(query) if isinstance(n, Scan)}
    temporary = temporary or context.session.temporary_schema in used
    schema = target_schema(context, node.view.schemaname, temporary=temporary, location=node.view.location)
    name = truncate_identifier(node.view.relname)
    columns = query_columns(query, strings(node.aliases), "CREATE VIEW")
    check_column_types(context.transaction.catalog, context.session.user, (column.type for column in columns))
    body = rewrite_stored(body, context.transaction.catalog, context.session.search_path(), binder.expansions)
    text = deparse(body)
    old = context.transaction.catalog.relation(schema, name)
    if old is not None and not node.replace:
        check_name_free(context.transaction.catalog, schema, name)
    if old is not None:
        if not isinstance(old, View):
            raise SqlError.of("wrong_object_type", f'"{name}" is not a view')
        _check_replaced(old, columns)
        kept = {each.name: (each.default, each.acl) for each in old.columns}
        columns = tuple(
            replace(each, default=kept.get(each.name, (None, None))[0], acl=kept.get(each.name, (None, None))[1])
            for each in columns
        )
        view = replace(old, columns=columns, query=text, options=options)
        check_updatable(context, view)
        put_relation(context, view)
        return Result("CREATE VIEW")
    oid, catalog = context.transaction.catalog.allocate_oid()
    view = View(oid, schema, name, columns, context.session.user, text, options=options)
    check_updatable(context, view)
    context.transaction.set_catalog(catalog.put(view))
    return Result("CREATE VIEW")


def set_view_default(context: Context, view: View, name: str, node: Any) -> None:
    """Sets the default of a view's column, or removes it if `node` is None; 42703."""
    column = next((each for each in view.columns if each.name == name), None)
    if column is None:
        raise UndefinedColumn(f'column "{name}" of relation "{view.name}" does not exist')
    text = None
    if node is not None:
        text = bind_declared_default(context.binder(), default_expression(context, node), column)
    columns = tuple(replace(each, default=text) if each is column else each for each in view.columns)
    catalog = context.transaction.catalog
    context.transaction.set_catalog(catalog.put(replace(view, columns=columns)))


def _check_replaced(old: View, columns: tuple[Column, ...]) -> None:
    if len(columns) < len(old.columns):
        raise SqlError.of("invalid_table_definition", "cannot drop columns from view")
    for before, after in zip(old.columns, columns, strict=False):
        if before.name != after.name:
            message = f'cannot change name of view column "{before.name}" to "{after.name}"'
            hint = "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."
            raise SqlError.of("invalid_table_definition", message, hint=hint)
        if before.type != after.type:
            message = f'cannot change data type of view column "{before.name}" from {before.type} to {after.type}'
            raise SqlError.of("invalid_table_definition", message)
