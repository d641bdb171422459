"""CREATE, ALTER, RENAME and DROP ROLE, also as USER and GROUP."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import BOOTSTRAP_ROLE_OID, FIRST_USER_OID, Catalog, Role
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.role_checks import (
    check_may_alter,
    check_may_change_settings,
    check_may_comment,
    check_may_create,
    check_may_drop,
    check_may_drop_any,
    check_may_rename,
)
from gpudb.session.authorization.role_specs import (
    check_not_reserved,
    find_role,
    is_reserved,
    reserved_error,
    resolve_role,
)
from gpudb.session.context import Context
from gpudb.session.ddl.role_grants import change_members, grant_new_role
from gpudb.session.ddl.role_options import read_role_options
from gpudb.session.objects.role_dependents import check_no_dependents
from gpudb.session.results import Result
from gpudb.session.settings.catalog import AUDIT, SETTINGS, find_setting
from gpudb.session.settings.constants import constant_text
from gpudb.sql.parse.parser import inner


def create_role(context: Context) -> Result:
    """CREATE ROLE | USER | GROUP name [options]."""
    node: Any = context.statement.node
    context.check_writable("CREATE ROLE")
    options = read_role_options(context, node.options)
    attributes = {"login": node.stmt_type == pg.ROLESTMT_USER, **options.attributes}
    catalog = context.transaction.catalog
    check_may_create(catalog, context.session.user, attributes)
    if is_reserved(node.role):
        raise reserved_error(node.role)
    if node.role in catalog.roles:
        raise SqlError.of("duplicate_object", f'role "{node.role}" already exists')
    oid, catalog = catalog.allocate_oid()
    role = Role(oid, node.role, **attributes)
    context.transaction.set_catalog(catalog.with_role(role))
    grant_new_role(context, role, options)
    return Result("CREATE ROLE")


def alter_role(context: Context) -> Result:
    """ALTER ROLE | USER name options, ALTER GROUP name ADD | DROP USER; a role may change its own password."""
    node: Any = context.statement.node
    context.check_writable("ALTER ROLE")
    check_not_reserved(node.role)
    options = read_role_options(context, node.options)
    catalog = context.transaction.catalog
    role = resolve_role(context.session, catalog, node.role)
    check_may_alter(catalog, context.session.user, role, options.attributes.keys())
    if role.oid == BOOTSTRAP_ROLE_OID and options.attributes.get("superuser") is False:
        detail = "The bootstrap user must have the SUPERUSER attribute."
        raise FeatureNotSupported("permission denied to alter role", detail=detail)
    if options.attributes:
        context.transaction.set_catalog(catalog.with_role(replace(role, **options.attributes)))
    if options.members:
        change_members(context, role, options.members, grants=node.action > 0)
    return Result("ALTER ROLE")


def alter_role_set(context: Context) -> Result:
    """ALTER ROLE name SET setting = value | FROM CURRENT, RESET setting, RESET ALL."""
    node: Any = context.statement.node
    context.check_writable("ALTER ROLE")
    if node.database:
        raise FeatureNotSupported("ALTER ROLE … IN DATABASE is not supported")
    if not node.HasField("role"):
        raise FeatureNotSupported("ALTER ROLE ALL is not supported", hint="Set the server's setting instead.")
    catalog = context.transaction.catalog
    check_not_reserved(node.role)
    role = resolve_role(context.session, catalog, node.role)
    check_may_change_settings(catalog, context.session.user, role)
    values = dict(role.settings)
    change = node.setstmt
    if change.kind == pg.VAR_RESET_ALL:
        is_free = is_superuser(catalog, context.session.user)
        values = {} if is_free else {name: value for name, value in values.items() if _needs_superuser(name)}
    elif change.kind in (pg.VAR_RESET, pg.VAR_SET_DEFAULT):
        values.pop(_find_name(context, change.name), None)
    elif change.kind == pg.VAR_SET_CURRENT:
        values[_find_name(context, change.name)] = context.session.settings[change.name]
    elif change.kind == pg.VAR_SET_VALUE:
        text = ", ".join(constant_text(each, change.name) for each in change.args)
        values[_find_name(context, change.name)] = _check_value(context, change.name, text)
    else:
        raise FeatureNotSupported(f"ALTER ROLE … SET {change.name} is not supported")
    context.transaction.set_catalog(catalog.with_role(replace(role, settings=MappingProxyType(values))))
    return Result("ALTER ROLE")


def _is_custom(name: str) -> bool:
    return "." in name and name.lower() not in SETTINGS


def _needs_superuser(name: str) -> bool:
    return _is_custom(name) or name.lower() == AUDIT


def _find_name(context: Context, name: str) -> str:
    """Returns a setting's name; 42501 for the audit's and for clients' own, which only superusers keep for a role."""
    if not _needs_superuser(name):
        return find_setting(name).name
    if not is_superuser(context.transaction.catalog, context.session.user):
        raise SqlError.of("insufficient_privilege", f'permission denied to set parameter "{name}"')
    return name.lower()


def _check_value(context: Context, name: str, text: str) -> str:
    """Returns the canonical text of a value. A role need not exist yet: it is looked up when a session begins."""
    if _is_custom(name):
        return text
    setting = find_setting(name)
    if setting.name == "role":
        if text != "none" and text not in context.transaction.catalog.roles:
            context.notice(f'role "{text}" does not exist', sqlstate="42704")
        return text
    if setting.fixed and setting.name != AUDIT:
        message = f'parameter "{setting.name}" cannot be changed'
        raise SqlError.of("cant_change_runtime_param", message)
    return setting.check(text)


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
        for known, what in ((session.user, "current"), (session.session_user, "session")):
            if name == known:
                raise SqlError.of("object_in_use", f"{what} user cannot be dropped")
        check_may_drop(catalog, session.user, catalog.roles[name])
        dropped.append(catalog.roles[name])
    names = {role.name for role in dropped}
    for grant in catalog.memberships.values():
        if grant.role in names or grant.member in names:
            catalog = catalog.without_membership(grant.key)
    context.transaction.set_catalog(catalog)
    for role in dropped:
        if role.oid < FIRST_USER_OID:
            message = f"cannot drop role {role.name} because it is required by the database system"
            raise SqlError.of("dependent_objects_still_exist", message)
        check_no_dependents(context, role)
        catalog = catalog.without_role(role.name)
    context.transaction.set_catalog(catalog)
    return Result("DROP ROLE")


def rename_role(context: Context, old: str, new: str) -> Result:
    """ALTER ROLE | USER | GROUP … RENAME TO."""
    session, catalog = context.session, context.transaction.catalog
    role = find_role(catalog, old)
    for known, what in ((session.session_user, "session"), (session.user, "current")):
        if old == known:
            raise FeatureNotSupported(f"{what} user cannot be renamed")
    for name in (old, new):
        if is_reserved(name):
            raise reserved_error(name)
    if new in catalog.roles:
        raise SqlError.of("duplicate_object", f'role "{new}" already exists')
    check_may_rename(catalog, session.user, role)
    context.transaction.set_catalog(_with_renamed_role(catalog, role, new))
    return Result("ALTER ROLE")


def _with_renamed_role(catalog: Catalog, role: Role, new: str) -> Catalog:
    """Returns the catalog in which a role, and every reference to it, has another name."""
    old = role.name
    catalog = catalog.without_role(old).with_role(replace(role, name=new))
    for relation in catalog.relations.values():
        if relation.owner == old:
            catalog = catalog.with_relation(replace(relation, owner=new))
    for schema in catalog.schemas.values():
        if schema.owner == old:
            catalog = catalog.with_schema(replace(schema, owner=new))
    for definition in catalog.types.values():
        if definition.owner == old:
            catalog = catalog.with_type(replace(definition, owner=new))
    for routine in catalog.routines.values():
        if routine.owner == old:
            catalog = catalog.with_routine(replace(routine, owner=new))
    for grant in catalog.memberships.values():
        if old in (grant.role, grant.member, grant.grantor):
            names: dict[str, Any] = {
                field: new if getattr(grant, field) == old else getattr(grant, field)
                for field in ("role", "member", "grantor")
            }
            catalog = catalog.without_membership(grant.key).with_membership(replace(grant, **names))
    return catalog


def comment_on_role(context: Context, name: str, text: str | None) -> Result:
    """COMMENT ON ROLE."""
    catalog = context.transaction.catalog
    role = find_role(catalog, name)
    check_may_comment(catalog, context.session.user, role)
    context.transaction.set_catalog(catalog.with_role(replace(role, comment=text)))
    return Result("COMMENT")
