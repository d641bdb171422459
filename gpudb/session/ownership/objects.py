"""Checks of one object or schema that a definition names, with PostgreSQL's messages. What is missing passes: the
statement itself reports it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpudb.catalog.model import Schema
from gpudb.catalog.relations import Relation
from gpudb.catalog.secured_objects import describe_kind, get_database
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import can_set_role
from gpudb.session.authorization.privileges import (
    check_owner,
    check_privilege,
    get_current_role,
    is_owner,
    list_object_privileges,
    make_denied_error,
    make_owner_error,
)
from gpudb.session.context import Context
from gpudb.session.ddl.indexes.indexes import find_index
from gpudb.session.objects.names import resolve_range
from gpudb.session.routines.alter_drop import find_routine
from gpudb.sql.parse.parser import inner, position, strings


def may_use_schema_of(context: Context, node: Any) -> None:
    """42501 for a RangeVar message with a schema that the current role may not use."""
    if node.schemaname:
        context.session.check_schema(node.schemaname)


def _may_look_in(context: Context, names: tuple[str, ...]) -> None:
    if len(names) > 1:
        context.session.check_schema(names[-2])


def own_relation(context: Context, node: Any, noun: str | None = None) -> Relation | None:
    """Returns the relation of a RangeVar message; 42501 if another role owns it."""
    may_use_schema_of(context, node)
    found = resolve_range(context, node)
    if found is not None:
        check_owner(context.transaction.catalog, get_current_role(context), found, noun)
    return found


def own_named_relation(
    context: Context, names: tuple[str, ...], noun: str | None = None, *, schema_owner: bool = False
) -> None:
    """42501 if another role owns the relation of a qualified name, with `schema_owner` also its schema."""
    catalog, role = context.transaction.catalog, get_current_role(context)
    _may_look_in(context, names)
    found = catalog.find(names[-1], names[-2:-1] or context.session.search_path())
    if found is None or (schema_owner and owns_schema(context, found.schema)):
        return
    check_owner(catalog, role, found, noun)


def own_index(context: Context, names: tuple[str, ...], *, schema_owner: bool = False) -> None:
    """42501 if another role owns the table of an index, with `schema_owner` also its schema."""
    _may_look_in(context, names)
    found = find_index(context, names)
    if found is None or (schema_owner and owns_schema(context, found[0].schema)):
        return
    if not is_owner(context.transaction.catalog, get_current_role(context), found[0]):
        raise make_owner_error("index", names[-1])


def own_type(context: Context, names: tuple[str, ...], *, schema_owner: bool = False) -> TypeDefinition | None:
    """Returns the user-defined type of a qualified name; 42501 if another role owns it."""
    found = find_named_type(context, names)
    if found is None or (schema_owner and owns_schema(context, found.schema)):
        return found
    if not is_owner(context.transaction.catalog, get_current_role(context), found):
        raise make_owner_error("type", str(found.user))
    return found


def find_named_type(context: Context, names: tuple[str, ...]) -> TypeDefinition | None:
    """Returns the user-defined type of a qualified name; 42501 for one in a schema that may not be used."""
    _may_look_in(context, names)
    return context.transaction.catalog.find_type(names[-1], names[-2:-1] or context.session.search_path())


def own_routine(context: Context, node: Any, what: str, *, schema_owner: bool = False) -> str | None:
    """Returns the schema of the routine of an ObjectWithArgs message; 42501 if another role owns it."""
    names = strings(node.objname)
    _may_look_in(context, names)
    found = find_routine(context, node, what)
    if found is None:
        return None
    if schema_owner and owns_schema(context, found.schema):
        return found.schema
    if not is_owner(context.transaction.catalog, get_current_role(context), found):
        raise make_owner_error(what.lower(), ".".join(names))
    return found.schema


def own_schema(context: Context, name: str) -> None:
    """42501 if another role owns a schema."""
    if name in context.transaction.catalog.schemas and not owns_schema(context, name):
        raise make_owner_error("schema", name)


def owns_schema(context: Context, name: str) -> bool:
    """Whether the current role owns a schema."""
    found = context.transaction.catalog.schemas.get(name)
    if found is None or name == context.session.temporary_schema:
        return found is not None
    return is_owner(context.transaction.catalog, get_current_role(context), found)


# ---- creation


def find_creation_schema(context: Context, name: str, *, temporary: bool = False) -> str | None:
    """Returns the schema in which a statement creates an object; None if it does not exist."""
    session, catalog = context.session, context.transaction.catalog
    if temporary or name in ("pg_temp", session.temporary_schema):
        return session.temporary_schema
    if name:
        return name if name in catalog.schemas else None
    usable = (each for each in session.search_path() if each in catalog.schemas and each != session.temporary_schema)
    return next(usable, None)


def may_create(context: Context, schema: str | None, role: str | None = None) -> None:
    """42501 if a role, by default the current one, may not create objects in a schema."""
    catalog = context.transaction.catalog
    role = role or get_current_role(context)
    if schema is None:
        return
    if schema == context.session.temporary_schema:
        database = get_database(catalog)
        if "T" not in list_object_privileges(catalog, role, database):
            message = f'permission denied to create temporary tables in database "{database.name}"'
            raise SqlError.of("insufficient_privilege", message)
        return
    found = catalog.schemas.get(schema)
    if isinstance(found, Schema):
        check_privilege(catalog, role, found, "C")


def may_create_schemas(context: Context) -> None:
    """42501 if the current role may not create schemas in the database."""
    catalog = context.transaction.catalog
    check_privilege(catalog, get_current_role(context), get_database(catalog), "C")


def may_give_to(context: Context, role: str, schema: str | None) -> None:
    """42501 if the current role may not make another one the owner of an object in a schema."""
    catalog = context.transaction.catalog
    if role not in catalog.roles:
        return
    if not can_set_role(catalog, get_current_role(context), role):
        raise SqlError.of("insufficient_privilege", f'must be able to SET ROLE "{role}"')
    may_create(context, schema, role)


def may_use_types(context: Context, nodes: Iterable[Any]) -> None:
    """42501 for a user-defined type, of a TypeName message, that the current role may not use in a definition."""
    catalog, role = context.transaction.catalog, get_current_role(context)
    for node in nodes:
        names = strings(node.names)
        try:
            found = find_named_type(context, names) if names and names[0] != "pg_catalog" else None
        except SqlError as error:
            raise error.at(position(context.statement.text, node.location)) from None
        if found is not None and "U" not in list_object_privileges(catalog, role, found):
            raise make_denied_error("type", str(found.user))


def may_read(context: Context, node: Any) -> None:
    """42501 if the current role may not read the relation of a RangeVar message."""
    found = resolve_range(context, node)
    if found is not None:
        catalog, role = context.transaction.catalog, get_current_role(context)
        if "r" not in list_object_privileges(catalog, role, found):
            raise make_denied_error(describe_kind(found), found.name)


def column_types(elements: Iterable[Any]) -> list[Any]:
    """Returns the TypeName messages of the columns in a list of table elements."""
    found = [inner(each) for each in elements]
    return [each.type_name for each in found if each.DESCRIPTOR.name == "ColumnDef"]
