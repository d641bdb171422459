"""ALTER TYPE … ADD, DROP, ALTER and RENAME ATTRIBUTE of composite types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.relations import Sequence
from gpudb.catalog.tables import Table
from gpudb.catalog.type_replacement import contains_type, replace_type_definition
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedColumn, UndefinedTable
from gpudb.session.context import Context
from gpudb.session.ddl.parse_nodes import definition_field
from gpudb.session.ddl.query_columns import check_column_type
from gpudb.session.ddl.tables.alter_table import alter_table
from gpudb.session.objects.names import range_text, truncate_identifier
from gpudb.session.results import Result
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.parse.parser import inner
from gpudb.types import SqlType

Fields = tuple[tuple[str, SqlType], ...]


def alter_table_or_type(context: Context) -> Result:
    """ALTER TABLE and its like, and ALTER TYPE … ATTRIBUTE, which have one kind of parse tree."""
    node: Any = context.statement.node
    if node.objtype != pg.OBJECT_TYPE:
        return alter_table(context)
    context.check_writable("ALTER TYPE")
    return _alter_attributes(context, node)


def _alter_attributes(context: Context, node: Any) -> Result:
    """ALTER TYPE name action, …; 42P01, 42701, 42703, 42809, 0A000 for a type that columns of tables have."""
    found = _find_composite(context, node.relation)
    if found is None:
        if not node.missing_ok:
            raise UndefinedTable(f'relation "{range_text(node.relation)}" does not exist')
        context.notice(f'relation "{node.relation.relname}" does not exist, skipping')
        return Result("ALTER TYPE")
    fields = found.type.fields
    for step in map(inner, node.cmds):
        fields = _change(context, found, fields, step)
    if not fields:
        raise FeatureNotSupported("composite types without columns are not supported")
    _put_fields(context, found, fields)
    return Result("ALTER TYPE")


def rename_attribute(context: Context, node: Any, new: str) -> Result:
    """ALTER TYPE name RENAME ATTRIBUTE old TO new; 42P01, 42703, 42701."""
    found = _find_composite(context, node.relation)
    if found is None:
        raise UndefinedTable(f'relation "{range_text(node.relation)}" does not exist')
    place = _find_place(found.type.fields, node.subname)
    if place is None:
        raise UndefinedColumn(f'column "{node.subname}" does not exist')
    _check_free(found, found.type.fields, new)
    fields = tuple((new if at == place else name, item) for at, (name, item) in enumerate(found.type.fields))
    _put_fields(context, found, fields)
    return Result("ALTER TYPE")


def _find_composite(context: Context, node: Any) -> TypeDefinition | None:
    """Returns the composite type that a RangeVar message names; 42809 for another kind of type or relation."""
    catalog, path = (
        context.transaction.catalog,
        (node.schemaname,) if node.schemaname else context.session.search_path(),
    )
    found = catalog.find_type(node.relname, path)
    if found is None and catalog.find(node.relname, path) is not None:
        raise SqlError.of("wrong_object_type", f'"{node.relname}" is not a composite type')
    if found is not None and found.user.kind != "c":
        return None
    return found


def _change(context: Context, found: TypeDefinition, fields: Fields, step: Any) -> Fields:
    action = pg.AlterTableType.Name(step.subtype).removeprefix("AT_")
    if action == "AddColumn":
        column = inner(definition_field(step))
        _check_free(found, fields, column.colname)
        return (*fields, (truncate_identifier(column.colname), _read_type(context, column.colname, column.type_name)))
    place = _find_place(fields, step.name)
    if action == "DropColumn" and place is None and step.missing_ok:
        context.notice(f'column "{step.name}" of relation "{found.name}" does not exist, skipping')
        return fields
    if place is None:
        raise UndefinedColumn(f'column "{step.name}" of relation "{found.name}" does not exist')
    if action == "DropColumn":
        return fields[:place] + fields[place + 1 :]
    if action == "AlterColumnType":
        changed = (step.name, _read_type(context, step.name, inner(definition_field(step)).type_name))
        return (*fields[:place], changed, *fields[place + 1 :])
    raise FeatureNotSupported(f"ALTER TYPE action {action} is not supported")


def _read_type(context: Context, name: str, node: Any) -> SqlType:
    item = resolve_type_name(node, context.binder())
    check_column_type(name, item)
    return item


def _find_place(fields: Fields, name: str) -> int | None:
    return next((place for place, (known, _) in enumerate(fields) if known == name), None)


def _check_free(found: TypeDefinition, fields: Fields, name: str) -> None:
    if _find_place(fields, name) is not None:
        raise SqlError.of("duplicate_column", f'column "{name}" of relation "{found.name}" already exists')


def _put_fields(context: Context, found: TypeDefinition, fields: Fields) -> None:
    """Replaces a type's fields, unless rows of tables have them."""
    catalog = context.transaction.catalog
    for relation in catalog.relations.values():
        for column in () if isinstance(relation, Sequence) else relation.columns:
            if isinstance(relation, Table) and contains_type(column.type, found.user):
                message = f'cannot alter type "{found.name}" because column "{relation.name}.{column.name}" uses it'
                raise FeatureNotSupported(message)
    changed = replace(found, type=replace(found.type, fields=fields))
    context.transaction.set_catalog(replace_type_definition(catalog, changed))
