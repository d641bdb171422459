"""What roles are given about their logins: CONNECTION LIMIT, VALID UNTIL, and settings that only superusers give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.catalog.model import Role
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.settings.catalog import AUDIT, find_setting
from gpudb.sql.parse.parser import inner
from gpudb.types import TIMESTAMPTZ
from gpudb.values.calendar import microseconds_from_timestamp
from gpudb.values.text import parse_text

LOGIN_OPTIONS = frozenset({"connectionlimit", "validUntil"})


def with_login_option(context: Context, role: Role, option: Any) -> Role:
    """The role with one of LOGIN_OPTIONS; 22023 for an invalid limit, 22007 for an invalid time."""
    if option.defname == "connectionlimit":
        limit = int(inner(option.arg).ival)
        if limit < -1:
            raise SqlError.of("invalid_parameter_value", f"invalid connection limit: {limit}")
        return replace(role, connection_limit=limit)
    until: Any = parse_text(TIMESTAMPTZ, inner(option.arg).sval, context.session.settings["timezone"], context.started)
    return replace(role, valid_until=microseconds_from_timestamp(until))


def check_role_setting(context: Context, name: str) -> None:
    """Checks that the user may give roles a setting: 42501 for the audit's, 55P02 for those that cannot be changed."""
    found = find_setting(name)
    if found.name == AUDIT:
        if not _is_superuser(context):
            raise SqlError.of("insufficient_privilege", f'permission denied to set parameter "{found.name}"')
    elif found.fixed:
        raise SqlError.of("cant_change_runtime_param", f'parameter "{found.name}" cannot be changed')


def reset_role_settings(context: Context, role: Role) -> dict[str, str]:
    """The settings that a role keeps after RESET ALL: those that the user may not give."""
    return {name: value for name, value in role.settings.items() if name == AUDIT and not _is_superuser(context)}


def _is_superuser(context: Context) -> bool:
    role = context.transaction.catalog.roles.get(context.session.user)
    return role is not None and role.superuser
