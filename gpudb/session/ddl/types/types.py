"""CREATE TYPE … AS ENUM and AS (…), and ALTER TYPE … ADD VALUE and RENAME VALUE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.postgres.oids import type_array
from gpudb.catalog.type_replacement import replace_type_definition
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.context import Context
from gpudb.session.ddl.query_columns import check_column_type
from gpudb.session.objects.names import permanent_schema, truncate_identifier
from gpudb.session.results import Result
from gpudb.sql.bind.types.type_names import resolve_type_name
from gpudb.sql.parse.parser import inner, strings
from gpudb.types import Label, SqlType, UserType, type_exists

_LABEL_BYTES = 63


def reserve_type(context: Context, names: tuple[str, ...], kind: str) -> tuple[UserType, Catalog]:
    """Allocates a new type's name and OIDs; returns it with the catalog; 42710 if the name is in use."""
    schema = permanent_schema(context, "".join(names[-2:-1]), "types")
    name = truncate_identifier(names[-1])
    check_type_name_free(context.transaction.catalog, schema, name)
    oid, catalog = context.transaction.catalog.allocate_oid()
    return UserType(oid, type_array(oid), schema, name, kind), catalog


def check_type_name_free(catalog: Catalog, schema: str, name: str) -> None:
    """42710 if a type or a relation has that name."""
    if catalog.find_type(name, (schema,)) is not None or catalog.relation(schema, name) is not None:
        raise SqlError.of("duplicate_object", f'type "{name}" already exists')


def find_type(context: Context, names: tuple[str, ...]) -> TypeDefinition:
    """The user-defined type of that name; 42704, 42501 for a system type."""
    found = context.transaction.catalog.find_type(names[-1], names[-2:-1] or context.session.search_path())
    if found is None:
        if type_exists(names[-1]):
            raise SqlError.of("insufficient_privilege", f"must be owner of type {names[-1]}")
        raise UndefinedObject(f'type "{".".join(names)}" does not exist')
    return found


def create_enum(context: Context) -> Result:
    """CREATE TYPE name AS ENUM ('label', …)."""
    node: Any = context.statement.node
    context.check_writable("CREATE TYPE")
    user, catalog = reserve_type(context, strings(node.type_name), "e")
    labels: list[Label] = []
    for name in strings(node.vals):
        _check_label(name)
        if any(each.name == name for each in labels):
            detail = f"Key (enumtypid, enumlabel)=({user.oid}, {name}) already exists."
            message = 'duplicate key value violates unique constraint "pg_enum_typid_label_index"'
            raise SqlError.of("unique_violation", message, detail=detail)
        oid, catalog = catalog.allocate_oid()
        labels.append(Label(oid, name, name))
    user = replace(user, labels=tuple(labels))
    definition = TypeDefinition(user.oid, user.schema, user.name, context.session.user, user.type)
    context.transaction.set_catalog(catalog.put(definition))
    return Result("CREATE TYPE")


def create_composite(context: Context) -> Result:
    """CREATE TYPE name AS (column type, …)."""
    node: Any = context.statement.node
    context.check_writable("CREATE TYPE")
    schema, name = node.typevar.schemaname, node.typevar.relname
    user, catalog = reserve_type(context, (schema, name) if schema else (name,), "c")
    binder = context.binder()
    fields: list[tuple[str, SqlType]] = []
    for each in node.coldeflist:
        definition = inner(each)
        if any(other == definition.colname for other, _ in fields):
            raise SqlError.of("duplicate_column", f'column "{definition.colname}" specified more than once')
        item = resolve_type_name(definition.type_name, binder)
        check_column_type(definition.colname, item)
        fields.append((truncate_identifier(definition.colname), item))
    if not fields:
        raise FeatureNotSupported("composite types without columns are not supported")
    composite = replace(user.type, fields=tuple(fields))
    definition = TypeDefinition(user.oid, user.schema, user.name, context.session.user, composite)
    context.transaction.set_catalog(catalog.put(definition))
    return Result("CREATE TYPE")


def _check_label(name: str) -> None:
    if len(name.encode()) > _LABEL_BYTES or not name:
        detail = f"Labels must be {_LABEL_BYTES} bytes or less."
        raise SqlError.of("invalid_name", f'invalid enum label "{name}"', detail=detail)


def alter_enum(context: Context) -> Result:
    """ALTER TYPE name ADD VALUE [IF NOT EXISTS] … [BEFORE | AFTER …], RENAME VALUE … TO …"""
    node: Any = context.statement.node
    context.check_writable("ALTER TYPE")
    names = strings(node.type_name)
    found = context.transaction.catalog.find_type(names[-1], names[-2:-1] or context.session.search_path())
    if found is None or found.type.labels is None:
        if found is None and not type_exists(names[-1]):
            raise UndefinedObject(f'type "{".".join(names)}" does not exist')
        shown = found.type if found is not None else ".".join(names)
        raise SqlError.of("wrong_object_type", f"{shown} is not an enum")
    labels = list(found.type.labels)
    known = [label.name for label in labels]
    catalog = context.transaction.catalog
    if node.old_val:
        index = _label_index(known, node.old_val)
        if node.new_val in known:
            raise SqlError.of("duplicate_object", f'enum label "{node.new_val}" already exists')
        _check_label(node.new_val)
        labels[index] = replace(labels[index], name=node.new_val)
    else:
        _check_label(node.new_val)
        if node.new_val in known:
            if node.skip_if_new_val_exists:
                context.notice(f'enum label "{node.new_val}" already exists, skipping', sqlstate="42710")
                return Result("ALTER TYPE")
            raise SqlError.of("duplicate_object", f'enum label "{node.new_val}" already exists')
        index = len(labels)
        if node.new_val_neighbor:
            index = _label_index(known, node.new_val_neighbor) + (1 if node.new_val_is_after else 0)
        oid, catalog = catalog.allocate_oid()
        # A renamed label keeps its first name in files, so a new label of that name is stored under another one.
        stored = node.new_val
        if any(label.stored == stored for label in labels):
            stored = f"{stored} {oid}"
        labels.insert(index, Label(oid, node.new_val, stored))
    user = replace(found.user, labels=tuple(labels))
    context.transaction.set_catalog(replace_type_definition(catalog, replace(found, type=user.type)))
    return Result("ALTER TYPE")


def _label_index(known: list[str], label: str) -> int:
    if label not in known:
        raise SqlError.of("invalid_parameter_value", f'"{label}" is not an existing enum label')
    return known.index(label)
