"""GRANT and REVOKE of roles, and the memberships that CREATE ROLE and ALTER GROUP name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.roles import Role
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.role_checks import check_may_change_members
from gpudb.session.authorization.role_grants import (
    GrantChange,
    GrantOptions,
    check_role_takes_members,
    get_bootstrap_role,
    grant_role,
    revoke_role,
)
from gpudb.session.authorization.role_specs import find_role, resolve_role
from gpudb.session.context import Context
from gpudb.session.ddl.roles.role_options import RoleOptions
from gpudb.session.results import Result
from gpudb.session.settings.checks import boolean
from gpudb.sql.parse.parser import inner, kind, position, present

_NO_OPTIONS = GrantOptions()
_OPTIONS = frozenset({"admin", "inherit", "set"})


def grant_or_revoke_role(context: Context) -> Result:
    """GRANT role TO role [WITH option …] [GRANTED BY role], and REVOKE [option OPTION FOR] role FROM role."""
    node: Any = context.statement.node
    grants = bool(node.is_grant)
    tag = "GRANT ROLE" if grants else "REVOKE ROLE"
    context.check_writable(tag)
    actor, catalog = context.session.user, context.transaction.catalog
    options = _read_options(context, node.opt)
    grantor = resolve_role(context.session, catalog, node.grantor).name if node.HasField("grantor") else None
    members = _resolve_all(context, map(inner, node.grantee_roles))
    change = GrantChange(catalog)
    for each in node.granted_roles:
        privilege = inner(each)
        if not privilege.priv_name or len(privilege.cols):
            message = "column names cannot be included in GRANT/REVOKE ROLE"
            raise SqlError.of("invalid_grant_operation", message)
        role = find_role(change.catalog, privilege.priv_name)
        check_role_takes_members(change.catalog, actor, role, grants=grants)
        if grants:
            grant_role(change, actor, role, members, options, grantor)
        else:
            cascade = node.behavior == pg.DROP_CASCADE
            revoke_role(change, actor, role, members, options, grantor, cascade=cascade)
    _finish(context, change)
    return Result(tag)


def grant_new_role(context: Context, role: Role, options: RoleOptions) -> None:
    """Makes the grants of CREATE ROLE: IN ROLE, ROLE and ADMIN, and ADMIN OPTION for a creator with CREATEROLE."""
    session, actor = context.session, context.session.user
    change = GrantChange(context.transaction.catalog)
    for spec in options.member_of:
        group = resolve_role(session, change.catalog, spec)
        check_role_takes_members(change.catalog, actor, group, grants=True)
        grant_role(change, actor, group, [role], _NO_OPTIONS)
    if not is_superuser(change.catalog, actor):
        bootstrap = get_bootstrap_role(change.catalog)
        creator = find_role(change.catalog, actor)
        grant_role(change, bootstrap, role, [creator], GrantOptions(True, False, False), bootstrap)
        given = {word.strip().lower() for word in session.settings["createrole_self_grant"].split(",")} - {""}
        if given:
            own = GrantOptions(False, "inherit" in given, "set" in given)
            grant_role(change, actor, role, [creator], own, actor)
    grant_role(change, actor, role, _resolve_all(context, options.members), _NO_OPTIONS)
    grant_role(change, actor, role, _resolve_all(context, options.admins), GrantOptions(admin=True))
    _finish(context, change)


def change_members(context: Context, role: Role, members: Iterable[Any], *, grants: bool) -> None:
    """Makes the grants of ALTER GROUP … ADD USER, or revokes those of DROP USER."""
    change = GrantChange(context.transaction.catalog)
    actor = context.session.user
    check_may_change_members(change.catalog, actor, role)
    if grants:
        grant_role(change, actor, role, _resolve_all(context, members), _NO_OPTIONS)
    else:
        revoke_role(change, actor, role, _resolve_all(context, members), _NO_OPTIONS)
    _finish(context, change)


def _finish(context: Context, change: GrantChange) -> None:
    for severity, message in change.messages:
        context.notice(message, severity=severity, sqlstate="01000" if severity == "WARNING" else "00000")
    context.transaction.set_catalog(change.catalog)


def _resolve_all(context: Context, specs: Iterable[Any]) -> list[Role]:
    return [resolve_role(context.session, context.transaction.catalog, spec) for spec in specs]


def _read_options(context: Context, options: Any) -> GrantOptions:
    """Returns the options of GRANT and REVOKE; 42601, 22023."""
    found: dict[str, bool] = {}
    for each in options:
        option = inner(each)
        name = option.defname
        if name not in _OPTIONS:
            error = SqlError.of("syntax_error", f'unrecognized role option "{name}"')
            raise error.at(position(context.statement.text, option.location))
        found[name] = _read_boolean(context, option)
    return GrantOptions(**found)


def _read_boolean(context: Context, option: Any) -> bool:
    if not present(option.arg):
        return True
    if kind(option.arg) == "boolean":
        return bool(inner(option.arg).boolval)
    text = str(inner(option.arg).sval)
    try:
        return boolean(option.defname)(text) == "on"
    except SqlError:
        message = f'unrecognized value for role option "{option.defname}": "{text}"'
        error = SqlError.of("invalid_parameter_value", message)
        raise error.at(position(context.statement.text, option.location)) from None
