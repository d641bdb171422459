"""The objects that have an owner and an access control list, and both of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gpudb.catalog.foreign import ForeignDataWrapper, ForeignServer
from gpudb.catalog.languages import Language
from gpudb.catalog.large_objects import LargeObject
from gpudb.catalog.model import BOOTSTRAP_ROLE_OID, Catalog, Database, Schema
from gpudb.catalog.predefined_roles import DATABASE_OWNER
from gpudb.catalog.relations import Relation, Sequence, View
from gpudb.catalog.role_memberships import get_database_owner
from gpudb.catalog.routines import Routine
from gpudb.catalog.tables import Table
from gpudb.catalog.user_types import TypeDefinition
from gpudb.values.acl import Acl, make_default_acl, rename_role

SecuredObject = (
    Relation
    | Schema
    | Routine
    | TypeDefinition
    | Database
    | ForeignDataWrapper
    | ForeignServer
    | Language
    | LargeObject
)

_PUBLIC_SCHEMA = 2200


def get_database(catalog: Catalog) -> Database:
    """Returns the database of a catalog."""
    return catalog.databases.get(catalog.database) or Database(catalog.database)


def get_kind(found: SecuredObject) -> str:
    """Returns the kind of an object in `acl.APPLICABLE`."""
    match found:
        case Table() | View():
            return "table"
        case Sequence():
            return "sequence"
        case Schema():
            return "schema"
        case Routine():
            return "function"
        case TypeDefinition():
            return "type"
        case Database():
            return "database"
        case ForeignDataWrapper():
            return "foreign-data wrapper"
        case ForeignServer():
            return "foreign server"
        case Language():
            return "language"
        case LargeObject():
            return "large object"


def describe_kind(found: SecuredObject) -> str:
    """Returns an object's kind as messages about privileges name it: `materialized view`, `domain`, …"""
    match found:
        case View():
            return "view"
        case Table():
            return {"m": "materialized view", "f": "foreign table"}.get(found.kind, "table")
        case Routine():
            return found.noun
        case TypeDefinition():
            return "domain" if found.user.kind == "d" else "type"
    return get_kind(found)


def get_owner(catalog: Catalog, found: SecuredObject) -> str:
    """Returns the name of an object's owner. As in PostgreSQL, schema public belongs to the database's owner."""
    if isinstance(found, Database):
        return get_database_owner(catalog, found) or ""
    if isinstance(found, Schema) and found.oid == _PUBLIC_SCHEMA:
        owner = catalog.roles.get(found.owner)
        return DATABASE_OWNER if owner is None or owner.oid == BOOTSTRAP_ROLE_OID else found.owner
    return found.owner


def get_acl(catalog: Catalog, found: SecuredObject) -> Acl:
    """Returns the access control list of an object: its own, or the default one."""
    if found.acl is not None:
        return found.acl
    return get_stored_acl(catalog, found) or make_default_acl(get_kind(found), get_owner(catalog, found))


def get_stored_acl(catalog: Catalog, found: SecuredObject) -> Acl | None:
    """Returns an object's own list as the system catalog shows it; None for the default one."""
    if found.acl is None and isinstance(found, Schema) and found.oid == _PUBLIC_SCHEMA:
        # As initdb makes it: every role may use schema public
        owner = get_owner(catalog, found)
        usage = replace(make_default_acl("type", owner)[0], privileges="U")
        return (*make_default_acl("schema", owner), usage)
    return found.acl


def replace_acl(catalog: Catalog, found: SecuredObject, acl: Acl) -> Catalog:
    """Returns a catalog in which an object has another access control list."""
    return catalog.put(replace(found, acl=acl))


def list_secured_objects(catalog: Catalog) -> Iterator[SecuredObject]:
    """Yields every object that has an owner: those of the database, and all databases."""
    yield from catalog.relations.values()
    yield from catalog.schemas.values()
    yield from catalog.routines.values()
    yield from catalog.types.values()
    yield from catalog.wrappers.values()
    yield from catalog.servers.values()
    yield from catalog.languages.values()
    yield from catalog.large_objects.values()
    yield from catalog.databases.values()


def list_acls(found: SecuredObject) -> list[Acl]:
    """Returns the lists of an object and of its columns that are not the default ones."""
    parts = (found, *found.columns) if isinstance(found, Table | View) else (found,)
    return [each.acl for each in parts if each.acl is not None]


def map_acls(catalog: Catalog, change: Callable[[Acl], Acl]) -> Catalog:
    """Returns a catalog in which `change` is applied to every list that is not a default one."""
    for found in list(list_secured_objects(catalog)):
        catalog = map_object_acls(catalog, found, change)
    return catalog


def map_object_acls(catalog: Catalog, found: SecuredObject, change: Callable[[Acl], Acl]) -> Catalog:
    """Returns a catalog in which `change` is applied to the lists of an object and of its columns."""
    acls = list_acls(found)
    if all(change(acl) == acl for acl in acls):
        return catalog
    if isinstance(found, Table | View):
        columns = tuple(
            each if each.acl is None else replace(each, acl=change(each.acl) or None) for each in found.columns
        )
        found = replace(found, columns=columns)
        if found.acl is None:
            return catalog.put(found)
    return catalog if found.acl is None else replace_acl(catalog, found, change(found.acl))


def replace_owner(catalog: Catalog, found: SecuredObject, owner: str) -> Catalog:
    """Returns a catalog in which an object has another owner, who takes the old one's place in its lists."""
    old = get_owner(catalog, found)
    catalog = map_object_acls(catalog, found, lambda acl: rename_role(acl, old, owner))
    return catalog.put(replace(catalog.current(found), owner=owner))
