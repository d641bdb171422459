"""What depends on a role: the objects that it owns or has privileges on, and the grants of roles that it made."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gpudb.catalog.foreign import ForeignDataWrapper, ForeignServer
from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.languages import Language
from gpudb.catalog.large_objects import LargeObject
from gpudb.catalog.model import Catalog, Database, Schema
from gpudb.catalog.relations import Sequence, View
from gpudb.catalog.roles import Role
from gpudb.catalog.routines import Routine, get_routine_path
from gpudb.catalog.secured_objects import SecuredObject, get_owner, list_secured_objects
from gpudb.catalog.tables import Table
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.objects.dependents import describe_relation
from gpudb.values.acl import Acl

_SHOWN = 100
_DEFAULT_KINDS = {"r": "relations", "S": "sequences", "f": "functions", "T": "types", "n": "schemas"}


def check_no_dependents(context: Context, role: Role) -> None:
    """2BP01 with PostgreSQL's list if anything depends on a role that is to be dropped."""
    found = [text for *_, text in sorted(_list_dependents(context, role))]
    for name, catalog in sorted(context.session.database.store.catalogs().items()):
        if name != context.transaction.catalog.database:
            count = sum(1 for _ in _iter_local(catalog, role, lambda _: ""))
            found += [f"{count} object{'s' if count > 1 else ''} in database {quote_name(name)}"] if count else []
    if not found:
        return
    shown = found[:_SHOWN]
    if len(found) > _SHOWN:
        shown.append(f"and {len(found) - _SHOWN} other objects (see server log for list)")
    message = f'role "{role.name}" cannot be dropped because some objects depend on it'
    raise SqlError.of("dependent_objects_still_exist", message, detail="\n".join(shown))


def _list_dependents(context: Context, role: Role) -> Iterator[tuple[int, int, str]]:
    """Yields OID, column number and description of each object of this database, and of those that all share."""
    catalog = context.transaction.catalog
    yield from _iter_local(catalog, role, lambda found: _describe(context, found))
    for database in catalog.databases.values():
        if get_owner(catalog, database) == role.name:
            yield 0, 0, f"owner of {_describe(context, database)}"
        elif database.acl is not None and _names_role(database.acl, role.name):
            yield 0, 0, f"privileges for {_describe(context, database)}"
    for grant in catalog.memberships.values():
        if grant.grantor == role.name:
            yield grant.oid, 0, f"privileges for membership of role {grant.member} in role {grant.role}"


def _iter_local(
    catalog: Catalog, role: Role, describe: Callable[[SecuredObject], str]
) -> Iterator[tuple[int, int, str]]:
    """Yields OID, column number and description of each object of one database."""
    for found in list_secured_objects(catalog):
        if isinstance(found, Database):
            continue
        if get_owner(catalog, found) == role.name:
            if not isinstance(found, Schema) or not found.name.startswith("pg_temp_"):
                yield found.oid, 0, f"owner of {describe(found)}"
        elif found.acl is not None and _names_role(found.acl, role.name):
            yield found.oid, 0, f"privileges for {describe(found)}"
        for policy in found.policies if isinstance(found, Table) else ():
            if role.oid in policy.roles:
                yield policy.oid, 0, f"target of policy {policy.name} on {describe(found)}"
        if isinstance(found, Table | View):
            for number, column in enumerate(found.columns, 1):
                if column.acl is not None and _names_role(column.acl, role.name) and found.owner != role.name:
                    yield found.oid, number, f"privileges for column {column.name} of {describe(found)}"
    for default in catalog.default_acls.values():
        what = f"default privileges on new {_DEFAULT_KINDS[default.kind]} belonging to role {default.role}"
        what += f" in schema {quote_name(default.schema)}" if default.schema else ""
        if default.role == role.name:
            yield default.oid, 0, f"owner of {what}"
        elif _names_role(default.acl, role.name):
            yield default.oid, 0, f"privileges for {what}"
    for mapping in catalog.user_mappings.values():
        server = catalog.find_server(mapping.server)
        if mapping.role == role.oid and server is not None:
            yield mapping.oid, 0, f"owner of user mapping for {role.name} on server {quote_name(server.name)}"


def _names_role(acl: Acl, role: str) -> bool:
    return any(role in (item.grantee, item.grantor) for item in acl)


def _describe(context: Context, found: SecuredObject) -> str:
    """An object as messages name it: its kind, and its name with the schema unless the search path resolves it."""
    catalog, path = context.transaction.catalog, context.session.search_path()
    match found:
        case Table() | View() | Sequence():
            return describe_relation(context, found)
        case Schema():
            return f"schema {quote_name(found.name)}"
        case TypeDefinition():
            known = catalog.find_type(found.name, path)
            name = quote_name(found.name)
            is_visible = known is not None and known.oid == found.oid
            return f"type {name if is_visible else f'{quote_name(found.schema)}.{name}'}"
        case Routine():
            is_visible = found in catalog.find_routines(found.name, get_routine_path("", path))
            return f"function {'' if is_visible else f'{quote_name(found.schema)}.'}{found.identity}"
        case ForeignDataWrapper():
            return f"foreign-data wrapper {quote_name(found.name)}"
        case ForeignServer():
            return f"server {quote_name(found.name)}"
        case Language():
            return f"language {quote_name(found.name)}"
        case LargeObject():
            return f"large object {found.name}"
    return f"database {quote_name(found.name)}"
