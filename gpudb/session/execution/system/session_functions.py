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
from gpudb.session.execution.system import activity_rows
from gpudb.session.settings.catalog import VERSION
from gpudb.text_search.configurations import get_configuration_oid
from gpudb.values.interval import Interval

_SLICE_S = 0.01
_RESETS: Mapping[str, Callable[..., None]] = {
    "pg_stat_reset": activity_rows.reset_database,
    "pg_stat_reset_shared": activity_rows.reset_shared,
    "pg_stat_reset_single_table_counters": activity_rows.reset_table,
}


def values(context: Context) -> Mapping[str, object]:
    """The result of each session function in one statement, by key; a callable takes the call's constant arguments."""
    return {
        **{name: find(context) for name, find in _VALUES.items()},
        **{name: partial(call, context) for name, call in _CALLS.items()},
        **{name: partial(_reset, context, name, run) for name, run in _RESETS.items()},
    }


def _started(context: Context) -> dt.datetime:
    return context.session.transactions.started or context.started


# Results that are known before the statement runs
_VALUES: Mapping[str, Callable[[Context], object]] = {
    "pg_client_encoding": lambda context: context.session.settings["client_encoding"],
    "now": _started,
    "transaction_timestamp": _started,
    "statement_timestamp": lambda context: context.started,
    "current_user": lambda context: context.session.user,
    "session_user": lambda context: context.session.identity.session_user,
    "user": lambda context: context.session.user,
    "current_role": lambda context: context.session.user,
    "current_database": lambda context: context.transaction.catalog.database,
    "current_catalog": lambda context: context.transaction.catalog.database,
    "version": lambda _: f"PostgreSQL {VERSION} (gpudb) on x86_64-pc-linux-gnu, compiled by gpudb, 64-bit",
    "pg_backend_pid": lambda context: context.session.process_id,
    "bgwriter_reset": lambda context: context.session.database.activity_reset.shared_at.get(
        "bgwriter", context.session.database.started
    ),
    "pg_postmaster_start_time": lambda context: context.session.database.started,
    "pg_conf_load_time": lambda context: context.session.database.configuration_loaded,
    "txid_current": lambda context: context.transaction.number,
    "pg_current_xact_id": lambda context: context.transaction.number,
    "inet_client_addr": lambda context: context.session.client or None,
    "inet_client_port": lambda context: context.session.network.client_port,
    "inet_server_addr": lambda context: context.session.network.server_address,
    "inet_server_port": lambda context: context.session.network.server_port,
    "pg_current_logfile": lambda _: None,
    "current_query": lambda context: context.session.running.text,
    "pg_is_in_recovery": lambda _: False,
    "get_current_ts_config": lambda context: get_configuration_oid(
        context.session.settings["default_text_search_config"]
    ),
    "pg_trigger_depth": lambda context: len(context.session.triggered),
    "system_user": lambda context: context.session.system_user,
    "last_commit_lsn": lambda context: _format_position(context.session.database.store.last_commit),
}


def _format_position(number: int) -> str:
    return f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"


def _current_setting(context: Context, name: object, missing_ok: object = False) -> object:
    try:
        return context.session.settings[_text(name)]
    except SqlError:
        if missing_ok is True:
            return None
        raise


def _schemas(context: Context, implicit: object) -> list[str]:
    session = context.session
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


def _current_schema(context: Context) -> str | None:
    return next(iter(_schemas(context, False)), None)


def _temporary_schema(context: Context) -> int:
    return map_schema_oids(context.transaction.catalog).get(context.session.temporary_schema, 0)


def _sleep(context: Context, seconds: object) -> str | None:
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


def _sleep_for(context: Context, span: object) -> str | None:
    if isinstance(span, Interval):
        return _sleep(context, (span.months * 30 + span.days) * 86_400 + span.microseconds / 1_000_000)
    return _sleep(context, span)


def _sleep_until(context: Context, instant: object) -> str | None:
    if isinstance(instant, dt.datetime):
        return _sleep(context, (instant - dt.datetime.now(dt.UTC)).total_seconds())
    if instant == "infinity":
        raise SqlError.of("feature_not_supported", "to sleep for ever is not supported")
    return _sleep(context, 0 if isinstance(instant, str) else instant)


def _reload_configuration(context: Context) -> bool:
    check_superuser(context, "permission denied for function pg_reload_conf")
    context.session.database.reload_configuration()
    return True


def _reset(context: Context, name: str, run: Callable[..., None], *arguments: object) -> str | None:
    """Resets counts: for superusers, strict."""
    check_superuser(context, f"permission denied for function {name}")
    if None in arguments:
        return None
    if MISSING in arguments:
        raise SqlError.of("feature_not_supported", f"the argument of {name} must be a constant here")
    run(context, *arguments)
    return ""


def set_config(context: Context, name: object, value: object, local: object) -> object:
    """Sets a setting; returns its value."""
    key, text, session = _text(name), _text(value), context.session
    if key.lower() in ROLE_SETTINGS:
        change_role_setting(session, context.transaction.catalog, key.lower(), text, local=local is True)
    else:
        session.settings.set(key, text, local=local is True)
    return session.settings[key]


# What a call does, with its arguments
_CALLS: Mapping[str, Callable[..., object]] = {
    "pg_sleep": _sleep,
    "pg_sleep_for": _sleep_for,
    "pg_sleep_until": _sleep_until,
    "clock_timestamp": lambda _: dt.datetime.now(dt.UTC),
    "timeofday": lambda _: dt.datetime.now(dt.UTC).strftime("%a %b %d %H:%M:%S.%f %Y UTC"),
    "current_schema": _current_schema,
    "current_schemas": _schemas,
    "current_setting": _current_setting,
    "set_config": set_config,
    "pg_reload_conf": _reload_configuration,
    "pg_my_temp_schema": _temporary_schema,
}


def check_superuser(context: Context, message: str) -> None:
    """42501 with this message unless the user is a superuser."""
    role = context.transaction.catalog.roles.get(context.session.user)
    if role is None or not role.superuser:
        raise SqlError.of("insufficient_privilege", message)


def _text(value: object) -> str:
    if value is MISSING or value is None:
        raise SqlError.of("feature_not_supported", "a setting's name and value must be constants here")
    return str(value)
