"""CREATE TABLE and CREATE TABLE AS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.tables import Column, Table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.ddl.access_methods import check_access_method
from gpudb.session.ddl.constraints.constraints import CONSTRAINTS, Definition, add_constraints, column_constraints
from gpudb.session.ddl.partitions.partition_bounds import read_partition_key
from gpudb.session.ddl.partitions.partitions import check_keys_include, create_partition
from gpudb.session.ddl.query_columns import (
    bind_stored_query,
    cast_to_columns,
    check_column_type,
    stored_columns,
)
from gpudb.session.ddl.tables.distribution import declared_distribution
from gpudb.session.ddl.tables.generated_columns import define_generated_columns
from gpudb.session.ddl.tables.identity import assign_sequences, copy_identities, expand_serials
from gpudb.session.ddl.tables.storage_parameters import check_storage_parameters
from gpudb.session.ddl.tables.table_like import copy_elements, copy_indexes
from gpudb.session.ddl.tables.temporary_tables import on_commit
from gpudb.session.ddl.views.materialized_views import create_materialized_view
from gpudb.session.execution.locks_and_snapshots.restarts import undoing_layouts
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.objects.names import (
    check_column_name,
    check_name_free,
    find_new_name,
    truncate_identifier,
)
from gpudb.session.objects.relations import put_relation
from gpudb.session.objects.stored_expressions import default_expression
from gpudb.session.results import Result
from gpudb.sql.bind.dml.checks import deparse_check
from gpudb.sql.bind.dml.targets import bind_declared_default
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.parse.parser import RawStatement, inner, kind, strings
from gpudb.types import SqlType

MAX_COLUMNS = 1600


def create_table(context: Context) -> Result:
    """CREATE [TEMPORARY] TABLE [IF NOT EXISTS] … [DISTRIBUTE BY …]."""
    node: Any = context.statement.node
    context.check_writable("CREATE TABLE")
    if len(node.inh_relations) and not node.HasField("partbound"):
        raise FeatureNotSupported("CREATE TABLE … INHERITS is not supported")
    check_storage_parameters(node.options)
    check_access_method(node.access_method)
    if node.HasField("of_typename"):
        raise FeatureNotSupported("CREATE TABLE … OF is not supported")
    temporary = node.relation.relpersistence == "t" or node.relation.schemaname == "pg_temp"
    found = find_new_name(
        context, node.relation, if_not_exists=node.if_not_exists, temporary=temporary, location=node.relation.location
    )
    if found is None:
        return Result("CREATE TABLE")
    schema, name = found
    if node.HasField("partbound"):
        create_partition(context, node, schema, name, temporary=temporary)
    else:
        define_table(context, node, schema, name, temporary=temporary)
    return Result("CREATE TABLE")


def define_table(
    context: Context,
    node: Any,
    schema: str,
    name: str,
    *,
    temporary: bool = False,
    change: Callable[[Table], Table] = lambda table: table,
) -> None:
    """Creates the table of a CreateStmt message; `change` is applied to its first definition."""
    check_name_free(context.transaction.catalog, schema, name)
    elements, sequences = expand_serials(context, schema, name, node.table_elts, temporary=temporary)
    columns, constraints = _elements(context, elements)
    columns = list(define_generated_columns(context, name, columns, elements))
    oid, catalog = context.transaction.catalog.allocate_oid()
    context.transaction.set_catalog(catalog)
    table = Table(
        oid,
        schema,
        name,
        tuple(columns),
        context.session.user,
        distribution=declared_distribution(context.statement, columns),
        temporary=temporary,
        on_commit=on_commit(node.oncommit, temporary=temporary),
    )
    if node.HasField("partspec"):
        table = replace(table, kind="p", partitioned_by=read_partition_key(context, node.partspec, table.columns))
    table = copy_indexes(context, add_constraints(context, change(table), constraints, new=True), elements)
    check_keys_include(table)
    put_relation(context, table)
    assign_sequences(context, oid, sequences)
    copy_identities(context, oid)


def _elements(context: Context, elements: Any) -> tuple[list[Column], list[Definition]]:
    columns: list[Column] = []
    constraints: list[Definition] = []
    for each in elements:
        node = inner(each)
        if kind(each) == "column_def":
            column = column_definition(context, node)
            if any(other.name == column.name for other in columns):
                raise SqlError.of("duplicate_column", f'column "{column.name}" specified more than once')
            columns.append(column)
            constraints += column_constraints(node.constraints, column.name)
        elif kind(each) == "constraint":
            constraints.append((node, None))
        else:
            copied, copied_constraints = copy_elements(context, node)
            columns += copied
            constraints += copied_constraints
    if len(columns) > MAX_COLUMNS:
        raise SqlError.of("too_many_columns", f"tables can have at most {MAX_COLUMNS} columns")
    return columns, constraints


def column_definition(context: Context, node: Any) -> Column:
    """A ColumnDef message as a column, without its table constraints (see `column_constraints`)."""
    check_column_name(node.colname)
    try:
        column_type = resolve_type_name(node.type_name, context.binder())
        check_column_type(node.colname, column_type)
    except SqlError as error:
        raise context.binder().locate(error, node.type_name.location) from None
    if node.HasField("coll_clause") and strings(node.coll_clause.collname)[-1] not in {
        "C",
        "POSIX",
        "default",
    }:
        raise FeatureNotSupported("collations other than C are not supported")
    column = Column(truncate_identifier(node.colname), column_type)
    for each in node.constraints:
        constraint = inner(each)
        if constraint.contype in CONSTRAINTS:
            continue
        match pg.ConstrType.Name(constraint.contype).removeprefix("CONSTR_"):
            case "NOTNULL":
                column = replace(column, not_null=True)
            case "NULL":
                pass
            case "DEFAULT":
                text = default_expression(context, constraint.raw_expr)
                column = replace(column, default=bind_declared_default(context.binder(), text, column))
            case "IDENTITY":
                column = replace(column, identity=constraint.generated_when)
            case "GENERATED":
                column = replace(column, generated=deparse_check(constraint.raw_expr))
            case other:
                raise FeatureNotSupported(f"{other} constraints are not supported")
    return column


def is_table_of_query(statement: RawStatement) -> bool:
    """Whether a statement is CREATE TABLE AS a SELECT, which may have parameters."""
    node: Any = statement.node
    if statement.kind != "CreateTableAsStmt" or node.objtype == pg.OBJECT_MATVIEW:
        return False
    return kind(node.query) == "select_stmt"


def describe_table_as(context: Context) -> tuple[tuple[SqlType, ...], None]:
    """The types of the parameters `$n` of a CREATE TABLE AS, and no columns."""
    binder = context.binder(describing=True)
    binder.declare_parameters(context.parameter_oids)
    source: Any = context.statement.node
    bind_query(binder, inner(source.query), None)
    return binder.get_parameter_types(), None


@undoing_layouts
def create_table_as(context: Context) -> Result:
    """CREATE TABLE … AS query [WITH NO DATA]; SELECT … INTO."""
    node: Any = context.statement.node
    if node.objtype == pg.OBJECT_MATVIEW:
        return create_materialized_view(context)
    context.check_writable("SELECT INTO" if node.is_select_into else "CREATE TABLE AS")
    into = node.into
    check_storage_parameters(into.options)
    check_access_method(into.access_method)
    temporary = into.rel.relpersistence == "t" or into.rel.schemaname == "pg_temp"
    found = find_new_name(
        context, into.rel, if_not_exists=node.if_not_exists, temporary=temporary, location=into.rel.location
    )
    if found is None:
        return Result("CREATE TABLE AS")
    schema, name = found
    check_name_free(context.transaction.catalog, schema, name)
    binder = context.binder()
    binder.declare_parameters(context.parameter_oids)
    query = bind_stored_query(context, binder, node, "CREATE TABLE AS")
    columns = stored_columns(context, query, strings(into.col_names), "CREATE TABLE AS")
    oid, catalog = context.transaction.catalog.allocate_oid()
    table = Table(
        oid,
        schema,
        name,
        columns,
        context.session.user,
        temporary=temporary,
        distribution=declared_distribution(context.statement, columns),
        on_commit=on_commit(into.on_commit, temporary=temporary),
    )
    context.transaction.set_catalog(catalog.put(table))
    if into.skip_data:
        return Result("CREATE TABLE AS")
    stream = run_query(context, cast_to_columns(query, columns))
    try:
        count = context.transaction.append(oid, iter(stream))
    finally:
        stream.close()
    return Result(f"SELECT {count}")
