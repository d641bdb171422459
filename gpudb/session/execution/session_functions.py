"""Results of functions over the session: the time, the user, settings, other sessions."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Mapping
from functools import partial

from gpudb.catalog.postgres.names import map_schema_oids
from gpudb.errors import SqlError
from gpudb.functions.registry import MISSING
from gpudb.session.authorization.session_role import ROLE_SETTINGS, change_role_setting
from gpudb.session.context import Context
from gpudb.session.execution import activity_rows
from gpudb.session.settings.catalog import VERSION
from gpudb.values.interval import Interval

_SLICE_S = 0.01
_RESETS: Mapping[str, Callable[..., None]] = {
    "pg_stat_reset": activity_rows.reset_database,
    "pg_stat_reset_shared": activity_rows.reset_shared,
    "pg_stat_reset_single_table_counters": activity_rows.reset_table,
}


def values(context: Context) -> Mapping[str, object]:
    """The result of each session function in one statement, by key; a callable takes the call's constant arguments."""
    session = context.session
    started = session.transactions.started or context.started

    def current_setting(name: object, missing_ok: object = False) -> object:
        try:
            return session.settings[_text(name)]
        except SqlError:
            if missing_ok is True:
                return None
            raise

    def schemas(implicit: object) -> list[str]:
        known = map_schema_oids(context.transaction.catalog)
        first, *listed = path = session.search_path()
        if "pg_temp" in session.settings["search_path"]:
            listed = list(path)
        found = [name for name in listed if name in known]
        if implicit is not True:
            return found
        # Searched although the path does not list them: the temporary schema, and pg_catalog.
        before = [name for name in (first, "pg_catalog") if name in known and name not in found]
        return [*before, *found]

    def sleep(seconds: object) -> str | None:
        """Waits for a time; a cancel ends the wait."""
        if seconds is None:
            return None
        if seconds is MISSING:
            raise SqlError.of("feature_not_supported", "a time to sleep must be a constant here")
        until = time.monotonic() + (float(seconds) if isinstance(seconds, int | float) else 0.0)
        while (remaining := until - time.monotonic()) > 0:
            context.cancel.check()
            time.sleep(min(remaining, _SLICE_S))
        return ""

    def sleep_for(span: object) -> str | None:
        if isinstance(span, Interval):
            return sleep((span.months * 30 + span.days) * 86_400 + span.microseconds / 1_000_000)
        return sleep(span)

    def sleep_until(instant: object) -> str | None:
        if isinstance(instant, dt.datetime):
            return sleep((instant - dt.datetime.now(dt.UTC)).total_seconds())
        if instant == "infinity":
            raise SqlError.of("feature_not_supported", "to sleep for ever is not supported")
        return sleep(0 if isinstance(instant, str) else instant)

    def reload_configuration() -> bool:
        check_superuser(context, "permission denied for function pg_reload_conf")
        session.database.reload_configuration()
        return True

    def reset(name: str, run: Callable[..., None]) -> Callable[..., str | None]:
        """A function that resets counts: for superusers, strict."""

        def call(*arguments: object) -> str | None:
            check_superuser(context, f"permission denied for function {name}")
            if None in arguments:
                return None
            if MISSING in arguments:
                raise SqlError.of("feature_not_supported", f"the argument of {name} must be a constant here")
            run(context, *arguments)
            return ""

        return call

    return {
        **{name: reset(name, run) for name, run in _RESETS.items()},
        "pg_client_encoding": session.settings["client_encoding"],
        "pg_sleep": sleep,
        "pg_sleep_for": sleep_for,
        "pg_sleep_until": sleep_until,
        "now": started,
        "transaction_timestamp": started,
        "statement_timestamp": context.started,
        "clock_timestamp": lambda: dt.datetime.now(dt.UTC),
        "timeofday": lambda: dt.datetime.now(dt.UTC).strftime("%a %b %d %H:%M:%S.%f %Y UTC"),
        "current_user": session.user,
        "session_user": session.identity.session_user,
        "user": session.user,
        "current_role": session.user,
        "current_database": context.transaction.catalog.database,
        "current_catalog": context.transaction.catalog.database,
        "current_schema": lambda: next(iter(schemas(False)), None),
        "current_schemas": schemas,
        "version": f"PostgreSQL {VERSION} (gpudb) on x86_64-pc-linux-gnu, compiled by gpudb, 64-bit",
        "current_setting": current_setting,
        "set_config": partial(set_config, context),
        "pg_backend_pid": session.process_id,
        "pg_postmaster_start_time": session.database.started,
        "pg_conf_load_time": session.database.configuration_loaded,
        "pg_reload_conf": reload_configuration,
        "pg_my_temp_schema": lambda: map_schema_oids(context.transaction.catalog).get(session.temporary_schema, 0),
        "txid_current": context.transaction.number,
        "pg_current_xact_id": context.transaction.number,
        "inet_client_addr": session.client or None,
        "inet_client_port": session.network.client_port,
        "inet_server_addr": session.network.server_address,
        "inet_server_port": session.network.server_port,
        "pg_current_logfile": None,
        "current_query": session.running.text,
        "pg_is_in_recovery": False,
        "pg_trigger_depth": len(session.triggered),
    }


def set_config(context: Context, name: object, value: object, local: object) -> object:
    """Sets a setting; returns its value."""
    key, text, session = _text(name), _text(value), context.session
    if key.lower() in ROLE_SETTINGS:
        change_role_setting(session, context.transaction.catalog, key.lower(), text, local=local is True)
    else:
        session.settings.set(key, text, local=local is True)
    return session.settings[key]


def check_superuser(context: Context, message: str) -> None:
    """42501 with this message unless the user is a superuser."""
    role = context.transaction.catalog.roles.get(context.session.user)
    if role is None or not role.superuser:
        raise SqlError.of("insufficient_privilege", message)


def _text(value: object) -> str:
    if value is MISSING or value is None:
        raise SqlError.of("feature_not_supported", "a setting's name and value must be constants here")
    return str(value)
