"""REASSIGN OWNED and DROP OWNED: every object that a role owns, and what it may do with those of others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.foreign import ForeignDataWrapper, ForeignServer
from gpudb.catalog.grants import revoke
from gpudb.catalog.large_objects import LargeObject
from gpudb.catalog.model import FIRST_USER_OID, Database, Schema
from gpudb.catalog.relations import Sequence, View
from gpudb.catalog.roles import Role
from gpudb.catalog.routines import Routine
from gpudb.catalog.secured_objects import (
    SecuredObject,
    get_owner,
    list_secured_objects,
    map_object_acls,
    replace_owner,
)
from gpudb.catalog.tables import Table
from gpudb.catalog.user_types import TypeDefinition
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.authorization.privileges import get_current_role
from gpudb.session.authorization.role_specs import resolve_role
from gpudb.session.context import Context
from gpudb.session.ddl.foreign_data.foreign_objects import drop_foreign_object
from gpudb.session.ddl.generic.drop import drop_schema
from gpudb.session.ddl.privileges.default_privileges import with_default
from gpudb.session.ddl.types.alter_drop_types import drop_with_users
from gpudb.session.execution.large_objects import drop_large_object
from gpudb.session.objects.relations import put_relation
from gpudb.session.objects.removal import drop_with_dependents
from gpudb.session.results import Result
from gpudb.session.routines.alter_drop import drop_routine
from gpudb.sql.parse.parser import inner
from gpudb.values.acl import Acl


def reassign_owned(context: Context) -> Result:
    """REASSIGN OWNED BY role, … TO role; 42704, 42501, 2BP01."""
    node: Any = context.statement.node
    context.check_writable("REASSIGN OWNED")
    catalog = context.transaction.catalog
    roles = [resolve_role(context.session, catalog, inner(each)) for each in node.roles]
    message = "permission denied to reassign objects"
    for role in roles:
        _check_privileges_of(context, role.name, message, "may reassign objects owned by it")
    owner = resolve_role(context.session, catalog, node.newrole).name
    _check_privileges_of(context, owner, message, "may reassign objects to it")
    for role in roles:
        if role.oid < FIRST_USER_OID:
            what = f"cannot reassign ownership of objects owned by role {role.name}"
            raise _pinned_error(f"{what} because they are required by the database system")
        for found in _list_owned(context, role.name):
            context.transaction.set_catalog(replace_owner(context.transaction.catalog, found, owner))
    return Result("REASSIGN OWNED")


def drop_owned(context: Context) -> Result:
    """DROP OWNED BY role, … [CASCADE]; 42704, 42501, 2BP01."""
    node: Any = context.statement.node
    context.check_writable("DROP OWNED")
    catalog, cascade = context.transaction.catalog, node.behavior == pg.DROP_CASCADE
    roles = [resolve_role(context.session, catalog, inner(each)) for each in node.roles]
    for role in roles:
        _check_privileges_of(context, role.name, "permission denied to drop objects", "may drop objects owned by it")
    for role in roles:
        if role.oid < FIRST_USER_OID:
            what = f"cannot drop objects owned by role {role.name}"
            raise _pinned_error(f"{what} because they are required by the database system")
        _revoke_all(context, role.name)
        _remove_from_policies(context, role)
    owned = [found for role in roles for found in _list_owned(context, role.name)]
    _drop(context, [found for found in owned if not isinstance(found, Database)], cascade=cascade)
    return Result("DROP OWNED")


def _check_privileges_of(context: Context, role: str, message: str, what: str) -> None:
    if not has_privileges_of(context.transaction.catalog, get_current_role(context), role):
        detail = f'Only roles with privileges of role "{role}" {what}.'
        raise SqlError.of("insufficient_privilege", message, detail=detail)


def _pinned_error(message: str) -> SqlError:
    return SqlError.of("dependent_objects_still_exist", message)


def _list_owned(context: Context, role: str) -> list[SecuredObject]:
    """Returns what a role owns in this database, and the databases that it owns."""
    owned = (found for found in list_secured_objects(context.transaction.catalog) if found.owner == role)
    return [found for found in owned if not _is_temporary_schema(found)]


def _is_temporary_schema(found: SecuredObject) -> bool:
    return isinstance(found, Schema) and found.name.startswith("pg_temp_")


def _revoke_all(context: Context, role: str) -> None:
    """Revokes the privileges of a role on objects of others and the roles that it granted, and drops its default
    privileges.
    """
    catalog = context.transaction.catalog
    for found in list(list_secured_objects(catalog)):
        owner = get_owner(catalog, found)
        if owner != role:
            catalog = map_object_acls(catalog, found, partial(_without, role, owner))
    for default in list(catalog.default_acls.values()):
        if default.role == role:
            catalog = catalog.drop(default)
        else:
            catalog = with_default(catalog, default, _without(role, default.role, default.acl))
    for grant in list(catalog.memberships.values()):
        if grant.grantor == role:
            catalog = catalog.drop(grant)
    if catalog is not context.transaction.catalog:
        context.transaction.set_catalog(catalog)


def _remove_from_policies(context: Context, role: Role) -> None:
    """Takes a role out of policies, and drops those that are for no other one."""
    for table in list(context.transaction.catalog.tables()):
        if any(role.oid in each.roles for each in table.policies):
            left = (replace(p, roles=tuple(oid for oid in p.roles if oid != role.oid)) for p in table.policies)
            put_relation(context, replace(table, policies=tuple(each for each in left if each.roles)))


def _without(role: str, owner: str, acl: Acl) -> Acl:
    """The list without what a role has by it, and what the role granted."""
    while item := next((each for each in acl if each.grantee == role), None):
        acl = revoke(acl, (role,), item.privileges, item.grantor, owner, option_only=False, cascade=True)
    return acl


def _drop(context: Context, owned: list[SecuredObject], *, cascade: bool) -> None:
    relations = [
        found
        for found in owned
        if isinstance(found, Table | View) or (isinstance(found, Sequence) and found.owned_by is None)
    ]
    if relations:
        drop_with_dependents(context, relations, cascade)
    for found in owned:
        if isinstance(found, Routine) and found.key in context.transaction.catalog.routines:
            drop_routine(context, found, cascade=cascade)
    types = context.transaction.catalog.types
    left = [found for found in owned if isinstance(found, TypeDefinition) and found.key in types]
    if left:
        drop_with_users(context, left, cascade)
    for found in owned:
        if isinstance(found, ForeignServer | ForeignDataWrapper):
            drop_foreign_object(context, found, cascade=cascade)
    for found in owned:
        if isinstance(found, LargeObject):
            drop_large_object(context, found)
    for found in owned:
        if isinstance(found, Schema) and found.name in context.transaction.catalog.schemas:
            drop_schema(context, found.name, missing_ok=False, cascade=cascade)
