"""CREATE SCHEMA with its elements, OWNER TO, and renamed schemas and relations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.model import Catalog, Schema
from gpudb.catalog.model_functions import list_with_model
from gpudb.catalog.relations import Relation
from gpudb.catalog.secured_objects import replace_owner
from gpudb.catalog.type_replacement import replace_type_definition
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.authorization.membership import can_set_role, is_superuser
from gpudb.session.authorization.privileges import check_owner
from gpudb.session.context import Context
from gpudb.session.ddl.databases.databases import change_database_owner
from gpudb.session.ddl.foreign_data.foreign_objects import find_foreign_object
from gpudb.session.ddl.parse_nodes import object_kind
from gpudb.session.ddl.types.alter_drop_types import rename_definition, set_type_owner
from gpudb.session.objects.large_objects import find_large_object
from gpudb.session.objects.renamed_objects import rename_in_texts
from gpudb.session.results import Result
from gpudb.session.routines.alter_drop import KINDS, require_altered
from gpudb.sql.bind.query.sources import SYSTEM_SCHEMAS
from gpudb.sql.parse.parser import RawStatement, deparse, inner, strings
from gpudb.sql.rewrite.rule import RelationNames, Renames

# PostgreSQL creates a schema's elements in order of kind, not as written.
_ELEMENTS = {"CreateSeqStmt": "sequence", "CreateStmt": "relation", "ViewStmt": "view", "IndexStmt": "relation"}


def create_schema(context: Context) -> Result:
    """CREATE SCHEMA [IF NOT EXISTS] name [AUTHORIZATION role] [element …]."""
    node: Any = context.statement.node
    context.check_writable("CREATE SCHEMA")
    owner = node.authrole.rolename or context.session.user
    name = node.schemaname or owner
    catalog = context.transaction.catalog
    if owner not in catalog.roles:
        raise UndefinedObject(f'role "{owner}" does not exist')
    if name.startswith("pg_"):
        raise _reserved_error(name)
    if name in catalog.schemas or name in SYSTEM_SCHEMAS:
        if node.if_not_exists:
            context.notice(f'schema "{name}" already exists, skipping', sqlstate="42P06")
            return Result("CREATE SCHEMA")
        raise SqlError.of("duplicate_schema", f'schema "{name}" already exists')
    oid, catalog = catalog.allocate_oid()
    context.transaction.set_catalog(catalog.put(Schema(oid, name, owner)))
    if len(node.schema_elts):
        _create_elements(context, name, node.schema_elts)
    return Result("CREATE SCHEMA")


def _create_elements(context: Context, schema: str, elements: Any) -> None:
    """Creates a schema's elements, with the schema first in the search path."""
    found = [inner(each) for each in elements]
    for each in found:
        if each.DESCRIPTOR.name not in _ELEMENTS:
            raise FeatureNotSupported(f"{each.DESCRIPTOR.name} in CREATE SCHEMA is not supported")
    settings = context.session.settings
    snapshot = settings.snapshot()
    quoted = schema.replace('"', '""')
    settings.set("search_path", f'"{quoted}", {settings["search_path"]}', local=True)
    try:
        for kind, field in _ELEMENTS.items():
            for each in found:
                if each.DESCRIPTOR.name == kind:
                    _create_element(context, schema, each, field)
    finally:
        settings.restore(snapshot)


def _create_element(context: Context, schema: str, element: Any, field: str) -> None:
    copy = type(element)()
    copy.CopyFrom(element)
    target = getattr(copy, field)
    if target.schemaname and target.schemaname != schema:
        message = f"CREATE specifies a schema ({target.schemaname}) different from the one being created ({schema})"
        raise SqlError.of("invalid_schema_definition", message)
    if target.relpersistence != "t":
        target.schemaname = schema
    statement = RawStatement(copy, deparse(copy), context.statement.start)
    handler = context.session.handlers[statement.kind]
    handler(replace(context, statement=statement, plan=None)).close()


def _reserved_error(name: str) -> SqlError:
    detail = 'The prefix "pg_" is reserved for system schemas.'
    return SqlError.of("reserved_name", f'unacceptable schema name "{name}"', detail=detail)


def change_owner(context: Context) -> Result:
    """ALTER SCHEMA, DATABASE, LARGE OBJECT, TYPE, DOMAIN, FUNCTION or PROCEDURE … OWNER TO."""
    node: Any = context.statement.node
    what = object_kind(node.object_type)
    context.check_writable(f"ALTER {what}")
    owner = node.newowner.rolename or context.session.user
    catalog = context.transaction.catalog
    if what in {"TYPE", "DOMAIN"}:
        return set_type_owner(context, strings(inner(node.object).items), owner, what)
    if what in {"FOREIGN_SERVER", "FDW"}:
        return _change_foreign_owner(context, inner(node.object).sval, owner, what)
    if what == "LARGEOBJECT":
        return _change_large_object_owner(context, inner(node.object), owner)
    if what == "DATABASE":
        return change_database_owner(context, inner(node.object).sval, owner)
    if what not in {"SCHEMA", *KINDS}:
        raise FeatureNotSupported(f"ALTER {what} … OWNER TO is not supported")
    if owner not in catalog.roles:
        raise UndefinedObject(f'role "{owner}" does not exist')
    if what in KINDS:
        found = require_altered(context, inner(node.object), what)
        for each in list_with_model(catalog, catalog.routines[found.key]):
            catalog = replace_owner(catalog, each, owner)
        context.transaction.set_catalog(catalog)
        return Result(f"ALTER {what}")
    name = inner(node.object).sval
    if name not in catalog.schemas:
        raise SqlError.of("invalid_schema_name", f'schema "{name}" does not exist')
    context.transaction.set_catalog(replace_owner(catalog, catalog.schemas[name], owner))
    return Result("ALTER SCHEMA")


def _change_large_object_owner(context: Context, node: Any, owner: str) -> Result:
    """ALTER LARGE OBJECT … OWNER TO; 42704, 42501."""
    catalog, role = context.transaction.catalog, context.session.user
    if owner not in catalog.roles:
        raise UndefinedObject(f'role "{owner}" does not exist')
    found = find_large_object(catalog, node)
    check_owner(catalog, role, found)
    if not can_set_role(catalog, role, owner):
        raise SqlError.of("insufficient_privilege", f'must be able to SET ROLE "{owner}"')
    context.transaction.set_catalog(replace_owner(catalog, found, owner))
    return Result("ALTER LARGE OBJECT")


def _change_foreign_owner(context: Context, name: str, owner: str, what: str) -> Result:
    """ALTER SERVER or FOREIGN DATA WRAPPER … OWNER TO; 42704, 42501."""
    catalog, role = context.transaction.catalog, context.session.user
    found = find_foreign_object(catalog, name, what)
    check_owner(catalog, role, found)
    if what == "FDW" and not is_superuser(catalog, owner):
        hint = "The owner of a foreign-data wrapper must be a superuser."
        message = f'permission denied to change owner of foreign-data wrapper "{name}"'
        raise SqlError.of("insufficient_privilege", message, hint=hint)
    if owner not in catalog.roles:
        raise UndefinedObject(f'role "{owner}" does not exist')
    if not can_set_role(catalog, role, owner):
        raise SqlError.of("insufficient_privilege", f'must be able to SET ROLE "{owner}"')
    context.transaction.set_catalog(replace_owner(catalog, found, owner))
    return Result("ALTER SERVER" if what == "FOREIGN_SERVER" else "ALTER FOREIGN DATA WRAPPER")


# ---- renames


def rename_schema(catalog: Catalog, old: str, new: str) -> Catalog:
    """The catalog after a schema is renamed, with the objects in it and references to it; 3F000, 42P06, 42939."""
    if old not in catalog.schemas:
        raise SqlError.of("invalid_schema_name", f'schema "{old}" does not exist')
    if new in catalog.schemas or new in SYSTEM_SCHEMAS:
        raise SqlError.of("duplicate_schema", f'schema "{new}" already exists')
    if new.startswith("pg_"):
        raise _reserved_error(new)
    schema = catalog.schemas[old]
    catalog = catalog.put(replace(schema, name=new))
    names = {(old, name): (new, name) for in_schema, name in catalog.relations if in_schema == old}
    catalog = rename_relations(catalog, names, {old: new})
    for routine in [each for each in catalog.routines.values() if each.schema == old]:
        catalog = catalog.drop(routine).put(replace(routine, schema=new))
    for definition in [each for each in catalog.types.values() if each.schema == old]:
        catalog = replace_type_definition(catalog, rename_definition(definition, new, definition.name))
    for default in [each for each in catalog.default_acls.values() if each.schema == old]:
        catalog = catalog.drop(default).put(replace(default, schema=new))
    return catalog.drop(schema)


def rename_relations(catalog: Catalog, names: RelationNames, schemas: dict[str, str] | None = None) -> Catalog:
    """The catalog after relations are renamed or moved, also in the texts that name them."""
    relations: list[Relation] = []
    catalog = rename_in_texts(catalog, Renames(names, schemas or {}))
    for key, relation in catalog.relations.items():
        schema, name = names.get(key, key)
        relations.append(relation if (schema, name) == key else replace(relation, schema=schema, name=name))
    for old in names:
        catalog = catalog.drop(catalog.relations[old])
    for relation in relations:
        catalog = catalog.put(relation)
    return catalog
