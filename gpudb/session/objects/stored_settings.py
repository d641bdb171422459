"""Settings that the catalog keeps for a role, a database or a routine: what ALTER … SET and RESET make of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.context import Context
from gpudb.session.settings.catalog import AUDIT, SETTINGS, find_setting
from gpudb.session.settings.constants import read_value


def change_settings(context: Context, settings: Mapping[str, str], change: Any) -> Mapping[str, str]:
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
        text = read_value(change.args, change.name)
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
    checked = setting.check(text)
    return checked if setting.merge is None else text
