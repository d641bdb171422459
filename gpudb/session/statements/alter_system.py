"""ALTER SYSTEM: the server's own settings, and defaults of settings for the sessions that begin later."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.results import Result
from gpudb.session.settings.catalog import find_setting
from gpudb.session.settings.constants import read_value


def alter_system(context: Context) -> Result:
    """ALTER SYSTEM SET name = value, RESET name, RESET ALL. 42501 unless the user is a superuser."""
    change: Any = context.statement.node.setstmt
    context.check_no_block("ALTER SYSTEM")
    is_superuser = context.session.settings["is_superuser"] == "on"
    system = context.session.database.system_settings
    if change.kind == pg.VAR_RESET_ALL:
        if not is_superuser:
            message = "permission denied to perform ALTER SYSTEM RESET ALL"
            raise SqlError.of("insufficient_privilege", message)
        system.clear()
        context.session.database.apply_system_settings()
        return Result("ALTER SYSTEM")
    found = find_setting(change.name)
    if not is_superuser:
        raise SqlError.of("insufficient_privilege", f'permission denied to set parameter "{found.name}"')
    if found.fixed and not found.system:
        raise SqlError.of("cant_change_runtime_param", f'parameter "{found.name}" cannot be changed')
    if change.kind == pg.VAR_SET_VALUE:
        text = read_value(change.args, change.name)
        system.change(found.name, found.check(text))
    elif change.kind in (pg.VAR_RESET, pg.VAR_SET_DEFAULT):
        system.change(found.name, None)
    else:
        raise FeatureNotSupported("SET … FROM CURRENT is not supported")
    context.session.database.apply_system_settings()
    return Result("ALTER SYSTEM")
