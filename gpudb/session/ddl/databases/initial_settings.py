"""ALTER ROLE … SET and ALTER DATABASE … SET: the settings with which sessions begin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import FIRST_DATABASE
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import check_owner, get_current_role
from gpudb.session.authorization.role_checks import check_may_change_settings, denied
from gpudb.session.authorization.role_specs import check_not_reserved, resolve_role
from gpudb.session.context import Context
from gpudb.session.ddl.databases.databases import find_database
from gpudb.session.results import Result
from gpudb.session.settings.catalog import AUDIT, SETTINGS, find_setting
from gpudb.session.settings.constants import constant_text


def alter_role_set(context: Context) -> Result:
    """ALTER ROLE name | ALL [IN DATABASE name] SET setting = value | FROM CURRENT, RESET setting, RESET ALL."""
    node: Any = context.statement.node
    context.check_writable("ALTER ROLE")
    if not node.HasField("role"):
        return _alter_all_roles(context, node)
    catalog, user = context.transaction.catalog, context.session.user
    check_not_reserved(node.role)
    role = resolve_role(context.session, catalog, node.role)
    check_may_change_settings(catalog, user, role)
    if node.database:
        database = find_database(catalog, node.database)
        settings = _change(context, database.role_settings.get(str(role.oid), {}), node.setstmt)
        others = {oid: each for oid, each in database.role_settings.items() if oid != str(role.oid)}
        of_roles = {**others, str(role.oid): settings} if settings else others
        changed = catalog.put(replace(database, role_settings=of_roles))
    else:
        changed = catalog.put(replace(role, settings=_change(context, role.settings, node.setstmt)))
    context.transaction.set_catalog(changed)
    return Result("ALTER ROLE")


def _alter_all_roles(context: Context, node: Any) -> Result:
    catalog, user = context.transaction.catalog, context.session.user
    if node.database:
        _alter_database(context, node.database, node.setstmt)
        return Result("ALTER ROLE")
    if not is_superuser(catalog, user):
        detail = "Only roles with the SUPERUSER attribute may alter settings globally."
        raise denied("alter setting", detail)
    database = find_database(catalog, FIRST_DATABASE)
    changed = replace(database, all_settings=_change(context, database.all_settings, node.setstmt))
    context.transaction.set_catalog(catalog.put(changed))
    return Result("ALTER ROLE")


def alter_database_set(context: Context) -> Result:
    """ALTER DATABASE name SET setting = value | FROM CURRENT, RESET setting, RESET ALL."""
    node: Any = context.statement.node
    context.check_writable("ALTER DATABASE")
    _alter_database(context, node.dbname, node.setstmt)
    return Result("ALTER DATABASE")


def _alter_database(context: Context, name: str, change: Any) -> None:
    database = find_database(context.transaction.catalog, name)
    check_owner(context.transaction.catalog, get_current_role(context), database)
    changed = replace(database, settings=_change(context, database.settings, change))
    context.transaction.set_catalog(context.transaction.catalog.put(changed))


def _change(context: Context, settings: Mapping[str, str], change: Any) -> Mapping[str, str]:
    """Returns stored settings after a VariableSetStmt message; 42501 for those that only superusers change."""
    values = dict(settings)
    if change.kind == pg.VAR_RESET_ALL:
        privileged = is_superuser(context.transaction.catalog, context.session.user)
        values = {} if privileged else {name: each for name, each in values.items() if _is_for_superusers(name)}
    elif change.kind in (pg.VAR_RESET, pg.VAR_SET_DEFAULT):
        values.pop(_find_name(context, change.name), None)
    elif change.kind == pg.VAR_SET_CURRENT:
        values[_find_name(context, change.name)] = context.session.settings[change.name]
    elif change.kind == pg.VAR_SET_VALUE:
        text = ", ".join(constant_text(each, change.name) for each in change.args)
        values[_find_name(context, change.name)] = _check_value(context, change.name, text)
    else:
        raise FeatureNotSupported(f"ALTER … SET {change.name} is not supported")
    return MappingProxyType(values)


def _is_custom(name: str) -> bool:
    return "." in name and name.lower() not in SETTINGS


def _is_for_superusers(name: str) -> bool:
    if _is_custom(name):
        return True
    setting = find_setting(name)
    return setting.superuser or setting.name == AUDIT


def _find_name(context: Context, name: str) -> str:
    """Returns a setting's name; 42501 for one that only superusers give a role, if the user is none."""
    found = name.lower() if _is_custom(name) else find_setting(name).name
    if not _is_for_superusers(name):
        return found
    if not is_superuser(context.transaction.catalog, context.session.user):
        raise SqlError.of("insufficient_privilege", f'permission denied to set parameter "{name}"')
    return found


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
