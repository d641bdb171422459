"""CREATE, ALTER and DROP ROLE; passwords are stored as SCRAM-SHA-256 verifiers. GRANT and REVOKE are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog, Role
from gpudb.errors import FeatureNotSupported, SqlError, UndefinedObject
from gpudb.session.context import Context
from gpudb.session.results import Result
from gpudb.session.settings.catalog import check_permission, find_setting
from gpudb.session.settings.constants import constant_text
from gpudb.sql.parse.parser import inner, kind, present
from gpudb.values.scram import make_verifier, parse_verifier

_FLAGS = {"superuser": "superuser", "canlogin": "login", "createdb": "createdb", "createrole": "createrole"}


def _check_privileged(context: Context) -> None:
    """42501 unless the user is a superuser or has CREATEROLE."""
    role = context.transaction.catalog.roles.get(context.session.user)
    if role is None or not (role.superuser or role.createrole):
        raise SqlError.of("insufficient_privilege", "permission denied to change roles")


def create_role(context: Context) -> Result:
    """CREATE ROLE | USER name [options]."""
    node: Any = context.statement.node
    context.check_writable("CREATE ROLE")
    _check_privileged(context)
    catalog = context.transaction.catalog
    if node.role.startswith("pg_") or node.role in {"public", "none"}:
        raise SqlError.of("reserved_name", f'role name "{node.role}" is reserved')
    if node.role in catalog.roles:
        raise SqlError.of("duplicate_object", f'role "{node.role}" already exists')
    oid, catalog = catalog.allocate_oid()
    login = node.stmt_type == pg.ROLESTMT_USER
    role = _with_options(context, Role(oid, node.role, login=login), node.options)
    context.transaction.set_catalog(catalog.with_role(role))
    return Result("CREATE ROLE")


def alter_role(context: Context) -> Result:
    """ALTER ROLE | USER name options; a role may change its own password."""
    node: Any = context.statement.node
    context.check_writable("ALTER ROLE")
    catalog = context.transaction.catalog
    role = _find_role(context, catalog, node.role)
    only_own_password = role.name == context.session.user and all(
        inner(each).defname == "password" for each in node.options
    )
    if not only_own_password:
        _check_privileged(context)
    context.transaction.set_catalog(catalog.with_role(_with_options(context, role, node.options)))
    return Result("ALTER ROLE")


def alter_role_set(context: Context) -> Result:
    """ALTER ROLE name SET setting = value, RESET setting, RESET ALL."""

    node: Any = context.statement.node
    context.check_writable("ALTER ROLE")
    if node.database:
        raise FeatureNotSupported("ALTER ROLE … IN DATABASE is not supported")
    catalog = context.transaction.catalog
    role = _find_role(context, catalog, node.role)
    if role.name != context.session.user:
        _check_privileged(context)
    values = dict(role.settings)
    change = node.setstmt
    if change.kind == pg.VAR_RESET_ALL:
        # As in PostgreSQL, settings that the user may not change stay.
        superuser = _is_superuser(context)
        values = {name: value for name, value in values.items() if find_setting(name).superuser and not superuser}
    elif change.kind == pg.VAR_SET_VALUE:
        text = ", ".join(constant_text(each, change.name) for each in change.args)
        found = find_setting(change.name)
        check_permission(found, superuser=_is_superuser(context))
        values[found.name] = found.check(text)
    elif change.kind in (pg.VAR_RESET, pg.VAR_SET_DEFAULT):
        found = find_setting(change.name)
        check_permission(found, superuser=_is_superuser(context))
        values.pop(found.name, None)
    else:
        raise FeatureNotSupported("SET … FROM CURRENT is not supported")
    context.transaction.set_catalog(catalog.with_role(replace(role, settings=values)))
    return Result("ALTER ROLE")


def _is_superuser(context: Context) -> bool:
    return context.session.settings["is_superuser"] == "on"


def drop_role(context: Context) -> Result:
    """DROP ROLE | USER [IF EXISTS] name, …; 2BP01 if it owns an object."""
    node: Any = context.statement.node
    context.check_writable("DROP ROLE")
    _check_privileged(context)
    catalog = context.transaction.catalog
    for each in node.roles:
        name = inner(each).rolename
        if name not in catalog.roles:
            if node.missing_ok:
                context.notice(f'role "{name}" does not exist, skipping')
                continue
            raise UndefinedObject(f'role "{name}" does not exist')
        if name == context.session.user:
            raise SqlError.of("object_in_use", "current user cannot be dropped")
        owned = [r.name for r in (*catalog.relations.values(), *catalog.schemas.values()) if r.owner == name]
        if owned:
            message = f'role "{name}" cannot be dropped because some objects depend on it'
            raise SqlError.of("dependent_objects_still_exist", message, detail=f"owner of {', '.join(owned)}")
        catalog = catalog.without_role(name)
    context.transaction.set_catalog(catalog)
    return Result("DROP ROLE")


def _find_role(context: Context, catalog: Catalog, node: Any) -> Role:
    name = context.session.user if node.roletype != pg.ROLESPEC_CSTRING else node.rolename
    if name not in catalog.roles:
        raise UndefinedObject(f'role "{name}" does not exist')
    return catalog.roles[name]


def _with_options(context: Context, role: Role, options: Any) -> Role:
    for each in options:
        option = inner(each)
        name = option.defname
        if name == "password":
            role = replace(role, verifier=_verifier(option))
        elif name in _FLAGS:
            value = bool(inner(option.arg).boolval) if present(option.arg) else True
            if name == "superuser" and value and not context.transaction.catalog.roles[context.session.user].superuser:
                raise SqlError.of("insufficient_privilege", "only superusers may make superusers")
            flag: Any = {_FLAGS[name]: value}
            role = replace(role, **flag)
        elif name != "inherit":
            raise FeatureNotSupported(f"role option {name} is not supported")
    return role


def _verifier(option: Any) -> str | None:
    if not present(option.arg) or kind(option.arg) != "string":
        return None
    text = inner(option.arg).sval
    if not text:
        return None
    if parse_verifier(text) is not None:
        return str(text)
    return make_verifier(text)
