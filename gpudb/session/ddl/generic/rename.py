"""ALTER … RENAME and SET SCHEMA of relations, columns, constraints, indexes, types, roles and schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.relations import Relation, Sequence, View
from gpudb.catalog.tables import Column, Table
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn, UndefinedTable
from gpudb.session.context import Context
from gpudb.session.ddl.constraints.alter_constraints import constraints_after_rename, rename_constraint
from gpudb.session.ddl.constraints.foreign_keys import rename_referenced_column
from gpudb.session.ddl.databases.databases import rename_database
from gpudb.session.ddl.databases.schemas import rename_relations, rename_schema
from gpudb.session.ddl.foreign_data.foreign_objects import rename_foreign_object
from gpudb.session.ddl.generic.composite_attributes import rename_attribute
from gpudb.session.ddl.indexes.indexes import rename_index
from gpudb.session.ddl.parse_nodes import command_kind, object_kind
from gpudb.session.ddl.policies import rename_policy
from gpudb.session.ddl.roles.roles import rename_role
from gpudb.session.ddl.tables.generated_columns import rename_in_expressions as renamed_references
from gpudb.session.ddl.tables.identity import assign_sequences
from gpudb.session.ddl.triggers import rename_trigger, rename_trigger_columns
from gpudb.session.ddl.types.alter_drop_types import move_type, rename_type
from gpudb.session.ddl.types.domains import rename_domain_constraint
from gpudb.session.ddl.views.view_rewrites import keep_column_name
from gpudb.session.objects.names import (
    check_column_name,
    check_name_free,
    range_text,
    resolve_range,
    target_schema,
    truncate_identifier,
)
from gpudb.session.objects.policies import rename_in_policies
from gpudb.session.objects.relations import find_column, put_relation
from gpudb.session.objects.sequences import owned_sequences
from gpudb.session.results import Result
from gpudb.session.routines.alter_drop import KINDS, move_routine, rename_routine
from gpudb.sql.parse.parser import inner


def rename(context: Context) -> Result:
    """ALTER … RENAME of objects and of their columns and constraints."""
    node: Any = context.statement.node
    what = object_kind(node.rename_type)
    context.check_writable(f"ALTER {what}")
    if what not in _RENAMES:
        raise FeatureNotSupported(f"ALTER {what} … RENAME is not supported")
    return _RENAMES[what](context, node, what, truncate_identifier(node.newname))


def _rename_schema(context: Context, node: Any, what: str, new: str) -> Result:
    context.transaction.set_catalog(rename_schema(context.transaction.catalog, node.subname, new))
    return Result("ALTER SCHEMA")


def _rename_index(context: Context, node: Any, what: str, new: str) -> Result:
    path = tuple(filter(None, (node.relation.schemaname, node.relation.relname)))
    rename_index(context, path, new, missing_ok=node.missing_ok)
    return Result("ALTER INDEX")


def _rename_foreign_object(context: Context, node: Any, what: str, new: str) -> Result:
    return rename_foreign_object(context, inner(node.object).sval, new, what)


def _rename_relation(context: Context, node: Any, what: str, new: str) -> Result:
    """Renames a relation, a column or a constraint of one."""
    catalog = context.transaction.catalog
    relation = resolve_range(context, node.relation)
    kinds = (pg.OBJECT_VIEW, pg.OBJECT_MATVIEW, pg.OBJECT_FOREIGN_TABLE)
    renamed = node.relation_type if what == "COLUMN" and node.relation_type in kinds else node.rename_type
    tag = f"ALTER {command_kind(renamed)}" if what != "TABCONSTRAINT" and renamed != pg.OBJECT_COLUMN else "ALTER TABLE"
    if relation is None:
        if node.missing_ok:
            context.notice(f'relation "{node.relation.relname}" does not exist, skipping')
            return Result(tag)
        raise UndefinedTable(f'relation "{range_text(node.relation)}" does not exist')
    if what == "TABCONSTRAINT":
        if not isinstance(relation, Table):
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a table')
        rename_constraint(context, relation, node.subname, new)
    elif what == "COLUMN":
        _rename_columns(context, relation, node.subname, new)
    else:
        _check_kind(relation, what)
        check_name_free(catalog, relation.schema, new)
        if isinstance(relation, Table) and relation.policies:
            policies = rename_in_policies(context, relation, replace(relation, name=new))
            put_relation(context, replace(relation, policies=policies))
        moved = {(relation.schema, relation.name): (relation.schema, new)}
        context.transaction.set_catalog(rename_relations(context.transaction.catalog, moved))
    return Result(tag)


_RENAMES: Mapping[str, Callable[[Context, Any, str, str], Result]] = {
    "SCHEMA": _rename_schema,
    "ROLE": lambda context, node, what, new: rename_role(context, node.subname, new),
    "DATABASE": lambda context, node, what, new: rename_database(context, node.subname, new),
    **dict.fromkeys(KINDS, rename_routine),
    "POLICY": lambda context, node, what, new: rename_policy(context, node, new),
    "TRIGGER": lambda context, node, what, new: rename_trigger(context, node, new),
    "DOMCONSTRAINT": lambda context, node, what, new: rename_domain_constraint(context, node),
    **dict.fromkeys(("TYPE", "DOMAIN"), lambda context, node, what, new: rename_type(context, node, what)),
    "ATTRIBUTE": lambda context, node, what, new: rename_attribute(context, node, new),
    "INDEX": _rename_index,
    **dict.fromkeys(("FOREIGN_SERVER", "FDW"), _rename_foreign_object),
    **dict.fromkeys(
        ("TABLE", "VIEW", "COLUMN", "TABCONSTRAINT", "SEQUENCE", "MATVIEW", "FOREIGN_TABLE"), _rename_relation
    ),
}


def _rename_columns(context: Context, relation: Relation, old: str, new: str) -> None:
    """Renames a column of a relation and of a table's partitions; 42703, 42701, 42809, 42P16."""
    if all(each.name != old for each in relation.columns):
        raise UndefinedColumn(f'column "{old}" does not exist')
    column = find_column(relation, old)
    if isinstance(relation, Table):
        check_column_name(new)
    if any(each.name == new for each in relation.columns):
        message = f'column "{new}" of relation "{relation.name}" already exists'
        raise SqlError.of("duplicate_column", message)
    columns = tuple(replace(c, name=new) if c is column else c for c in relation.columns)
    if isinstance(relation, Sequence):
        raise SqlError.of("wrong_object_type", f'cannot rename columns of relation "{relation.name}"')
    if isinstance(relation, View):
        put_relation(context, replace(relation, columns=columns))
        _alias_in_views(context, relation, column)
        return
    if relation.partition_bound is not None:
        raise SqlError.of("invalid_table_definition", f'cannot rename inherited column "{column.name}"')
    for each in (relation, *list_partitions(context.transaction.catalog, relation)):
        _rename_column(context, each, find_column(each, column.name), new)


def _rename_column(context: Context, relation: Table, column: Column, new: str) -> None:
    """Renames a column of a table, and where other objects name it."""
    columns = tuple(replace(c, name=new) if c is column else c for c in relation.columns)
    columns = renamed_references(columns, column.name, new)
    partitioned_by = relation.partitioned_by
    if partitioned_by is not None:
        names = tuple(new if name == column.name else name for name in partitioned_by.columns)
        partitioned_by = replace(partitioned_by, columns=names)
    key = tuple(new if name == column.name else name for name in relation.primary_key)
    distribution = relation.distribution
    if distribution is not None:
        spread = tuple(new if name == column.name else name for name in distribution.columns)
        distribution = replace(distribution, columns=spread)
    altered = replace(relation, columns=columns, primary_key=key, distribution=distribution)
    altered = replace(altered, partitioned_by=partitioned_by)
    altered = replace(altered, policies=rename_in_policies(context, relation, altered, column.name))
    altered = replace(altered, triggers=rename_trigger_columns(relation, column.name, new))
    put_relation(context, replace(altered, constraints=constraints_after_rename(relation, column.name, new)))
    catalog = context.transaction.catalog
    context.transaction.set_catalog(rename_referenced_column(catalog, relation.oid, column.name, new))
    _alias_in_views(context, relation, column)
    assign_sequences(
        context, relation.oid, [(each, new) for each in owned_sequences(context, relation.oid, column.name)]
    )


def _alias_in_views(context: Context, relation: Relation, column: Column) -> None:
    """Gives views over a renamed column an alias with its old name."""
    catalog, index = context.transaction.catalog, relation.columns.index(column)
    context.transaction.set_catalog(keep_column_name(catalog, relation, index, column.name))


def _check_kind(relation: Relation, what: str) -> None:
    """42809 for a relation of another kind than ALTER names; ALTER TABLE accepts any."""
    materialized = isinstance(relation, Table) and relation.query is not None
    fits = {"VIEW": isinstance(relation, View), "MATVIEW": materialized, "SEQUENCE": isinstance(relation, Sequence)}
    fits["FOREIGN_TABLE"] = relation.kind == "f"
    if not fits.get(what, True):
        noun = {"MATVIEW": "materialized view", "FOREIGN_TABLE": "foreign table"}.get(what, what.lower())
        raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a {noun}')


def set_schema(context: Context) -> Result:
    """ALTER TABLE … SET SCHEMA."""
    node: Any = context.statement.node
    context.check_writable("ALTER TABLE")
    what = object_kind(node.object_type)
    if what in {"TYPE", "DOMAIN"}:
        return move_type(context, node, what)
    if what in KINDS:
        return move_routine(context, node, what)
    if what not in {"TABLE", "VIEW", "SEQUENCE", "MATVIEW"}:
        raise FeatureNotSupported(f"ALTER {what} … SET SCHEMA is not supported")
    relation = resolve_range(context, node.relation)
    if relation is None:
        raise UndefinedTable(f'relation "{range_text(node.relation)}" does not exist')
    _check_kind(relation, what)
    schema = target_schema(context, node.newschema)
    check_name_free(context.transaction.catalog, schema, relation.name)
    moved: list[Relation] = [relation]
    if isinstance(relation, Sequence) and relation.owned_by is not None:
        table = context.transaction.catalog.find_relation_by_oid(relation.owned_by[0])
        detail = f'Sequence "{relation.name}" is linked to table "{table.name if table is not None else ""}".'
        raise FeatureNotSupported("cannot move an owned sequence into another schema", detail=detail)
    if isinstance(relation, Table):
        moved += owned_sequences(context, relation.oid)
    names = {(each.schema, each.name): (schema, each.name) for each in moved}
    context.transaction.set_catalog(rename_relations(context.transaction.catalog, names))
    return Result(f"ALTER {command_kind(node.object_type)}")
