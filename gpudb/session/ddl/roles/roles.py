"""CREATE, ALTER, RENAME and DROP ROLE, also as USER and GROUP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog import role_renaming
from gpudb.catalog.model import BOOTSTRAP_ROLE_OID, FIRST_USER_OID, Catalog
from gpudb.catalog.resource_groups import list_groups
from gpudb.catalog.roles import Role
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.role_checks import (
    check_may_alter,
    check_may_comment,
    check_may_create,
    check_may_drop,
    check_may_drop_any,
    check_may_rename,
    denied,
)
from gpudb.session.authorization.role_specs import (
    check_not_reserved,
    find_role,
    is_reserved,
    reserved_error,
    resolve_role,
)
from gpudb.session.context import Context
from gpudb.session.ddl.roles.role_grants import change_members, grant_new_role
from gpudb.session.ddl.roles.role_options import RoleOptions, read_role_options
from gpudb.session.objects.role_dependents import check_no_dependents
from gpudb.session.results import Result
from gpudb.sql.parse.parser import inner


def create_role(context: Context) -> Result:
    """CREATE ROLE | USER | GROUP name [options]."""
    node: Any = context.statement.node
    context.check_writable("CREATE ROLE")
    options = read_role_options(context, node.options)
    _read_resource_group(context, options)
    attributes = {"login": node.stmt_type == pg.ROLESTMT_USER, **options.attributes}
    catalog = context.transaction.catalog
    check_may_create(catalog, context.session.user, attributes)
    if is_reserved(node.role):
        raise reserved_error(node.role)
    if node.role in catalog.roles:
        raise SqlError.of("duplicate_object", f'role "{node.role}" already exists')
    oid, catalog = catalog.allocate_oid()
    role = Role(oid, node.role, **attributes)
    context.transaction.set_catalog(catalog.put(role))
    grant_new_role(context, role, options)
    return Result("CREATE ROLE")


def alter_role(context: Context) -> Result:
    """ALTER ROLE | USER name options, ALTER GROUP name ADD | DROP USER; a role may change its own password."""
    node: Any = context.statement.node
    context.check_writable("ALTER ROLE")
    check_not_reserved(node.role)
    options = read_role_options(context, node.options)
    _read_resource_group(context, options)
    catalog = context.transaction.catalog
    role = resolve_role(context.session, catalog, node.role)
    check_may_alter(catalog, context.session.user, role, options.attributes.keys())
    if role.oid == BOOTSTRAP_ROLE_OID and options.attributes.get("superuser") is False:
        detail = "The bootstrap user must have the SUPERUSER attribute."
        raise FeatureNotSupported("permission denied to alter role", detail=detail)
    if options.attributes:
        context.transaction.set_catalog(catalog.put(replace(role, **options.attributes)))
    if options.members:
        change_members(context, role, options.members, grants=node.action > 0)
    return Result("ALTER ROLE")


def _read_resource_group(context: Context, options: RoleOptions) -> None:
    """Adds the field that RESOURCE GROUP sets; 42501 unless a superuser gives it, 42704 for an unknown group."""
    clause = context.statement.resource_group
    if clause is None:
        return
    catalog = context.transaction.catalog
    if not is_superuser(catalog, context.session.user):
        raise denied("alter role", "Only roles with the SUPERUSER attribute may change the resource group of a role.")
    if clause.name is not None and clause.name not in list_groups(catalog.resource_groups):
        raise UndefinedObject(f'resource group "{clause.name}" does not exist')
    options.attributes["resource_group"] = clause.name


def drop_role(context: Context) -> Result:
    """DROP ROLE | USER | GROUP [IF EXISTS] name, …; 2BP01 if anything depends on it. Its memberships go with it."""
    node: Any = context.statement.node
    context.check_writable("DROP ROLE")
    session, catalog = context.session, context.transaction.catalog
    check_may_drop_any(catalog, session.user)
    dropped: list[Role] = []
    for each in node.roles:
        spec = inner(each)
        if spec.roletype != pg.ROLESPEC_CSTRING:
            raise SqlError.of("invalid_parameter_value", "cannot use special role specifier in DROP ROLE")
        name = spec.rolename
        if name not in catalog.roles:
            if not node.missing_ok:
                raise UndefinedObject(f'role "{name}" does not exist')
            context.notice(f'role "{name}" does not exist, skipping')
            continue
        for known, what in ((session.user, "current"), (session.identity.session_user, "session")):
            if name == known:
                raise SqlError.of("object_in_use", f"{what} user cannot be dropped")
        check_may_drop(catalog, session.user, catalog.roles[name])
        dropped.append(catalog.roles[name])
    names = {role.name for role in dropped}
    for grant in catalog.memberships.values():
        if grant.role in names or grant.member in names:
            catalog = catalog.drop(grant)
    context.transaction.set_catalog(catalog)
    for role in dropped:
        if role.oid < FIRST_USER_OID:
            message = f"cannot drop role {role.name} because it is required by the database system"
            raise SqlError.of("dependent_objects_still_exist", message)
        check_no_dependents(context, role)
        catalog = _forget_settings(catalog.drop(role), role)
    context.transaction.set_catalog(catalog)
    return Result("DROP ROLE")


def _forget_settings(catalog: Catalog, role: Role) -> Catalog:
    """Returns the catalog without the settings of a role in databases."""
    for database in catalog.databases.values():
        if str(role.oid) in database.role_settings:
            kept = {oid: each for oid, each in database.role_settings.items() if oid != str(role.oid)}
            catalog = catalog.put(replace(database, role_settings=kept))
    return catalog


def rename_role(context: Context, old: str, new: str) -> Result:
    """ALTER ROLE | USER | GROUP … RENAME TO."""
    session, catalog = context.session, context.transaction.catalog
    role = find_role(catalog, old)
    for known, what in ((session.identity.session_user, "session"), (session.user, "current")):
        if old == known:
            raise FeatureNotSupported(f"{what} user cannot be renamed")
    for name in (old, new):
        if is_reserved(name):
            raise reserved_error(name)
    if new in catalog.roles:
        raise SqlError.of("duplicate_object", f'role "{new}" already exists')
    check_may_rename(catalog, session.user, role)
    context.transaction.set_catalog(role_renaming.rename_role(catalog, role, new))
    return Result("ALTER ROLE")


def comment_on_role(context: Context, name: str, text: str | None) -> Result:
    """COMMENT ON ROLE."""
    catalog = context.transaction.catalog
    role = find_role(catalog, name)
    check_may_comment(catalog, context.session.user, role)
    context.transaction.set_catalog(catalog.put(replace(role, comment=text)))
    return Result("COMMENT")
