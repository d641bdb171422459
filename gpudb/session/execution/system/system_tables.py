"""Rows of functions over the server's state: settings, sessions, cursors, prepared statements, keywords."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from collections.abc import Sequence as RowSequence
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from gpudb import pgdata
from gpudb.catalog.postgres.function_tables import (
    DATABASE_ACTIVITY,
    LOCK_WAITS,
    MODELS,
    QUERY_LOG,
    QUERY_PROGRESS,
    RESOURCE_GROUPS,
    SEQUENCE_STATES,
    SNAPSHOTS,
    STATEMENTS,
    STATEMENTS_INFO,
    TABLE_ACTIVITY,
)
from gpudb.catalog.relations import Sequence
from gpudb.observe.redaction import redact_credentials
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.context import Context, SessionState
from gpudb.session.execution import sequence_values
from gpudb.session.execution.system import activity_rows, cluster_tables, extension_rows, statement_rows
from gpudb.session.execution.system.model_rows import model_rows
from gpudb.session.execution.system.pg_locks import lock_rows, wait_rows
from gpudb.session.execution.system.resource_group_rows import group_rows
from gpudb.session.execution.system.session_functions import check_superuser
from gpudb.session.execution.system.snapshot_rows import snapshot_rows
from gpudb.session.settings.catalog import SETTINGS, parse_milliseconds
from gpudb.session.settings.planner import base_units
from gpudb.session.state.role_names import find_role_name
from gpudb.types import SqlType
from gpudb.values.inet import parse_network_key

Row = Mapping[str, object]

_COPY_FROM, _COPY_TO = 1, 2
_SOURCES = {"FILE": 1, "PIPE": 3}
"""The numbers of PostgreSQL's progress of COPY (commands/progress.h)."""


def tables(context: Context) -> Mapping[str, Callable[[], RowSequence[Row]]]:
    """A function for each system function that returns its rows."""
    session = context.session
    return {
        "pg_show_all_settings": lambda: _settings(session),
        "pg_stat_get_activity": lambda: [_activity(each, context) for each in session.database.sessions()],
        "pg_stat_get_progress_info": lambda: _progress_rows(context),
        "pg_hba_file_rules": lambda: _hba_rules(context),
        "pg_listening_channels": lambda: [{"pg_listening_channels": each} for each in session.mailbox.channels],
        "pg_lock_status": lambda: lock_rows(context),
        LOCK_WAITS: lambda: wait_rows(context),
        "pg_cursor": lambda: _cursors(session),
        "pg_prepared_statement": lambda: _prepared(session),
        "pg_get_keywords": lambda: _keywords(),
        "pg_timezone_names": _time_zones,
        "pg_available_extensions": extension_rows.extension_rows,
        "pg_available_extension_versions": extension_rows.version_rows,
        "pg_timezone_abbrevs": _time_zone_abbreviations,
        "pgxc_node": lambda: cluster_tables.node_rows(context),
        "pgxc_class": lambda: cluster_tables.class_rows(context),
        "gpudb_resident": lambda: cluster_tables.resident_rows(context),
        "gpudb_devices": lambda: cluster_tables.device_rows(context),
        "pgstrom_device_info": lambda: cluster_tables.attribute_rows(context),
        QUERY_PROGRESS: lambda: _query_rows(context),
        DATABASE_ACTIVITY: lambda: activity_rows.database_rows(context),
        "pg_stat_get_archiver": lambda: activity_rows.archiver_rows(context),
        "pg_stat_get_wal": lambda: activity_rows.log_rows(context),
        "pg_stat_get_io": lambda: activity_rows.io_rows(context),
        TABLE_ACTIVITY: lambda: activity_rows.table_rows(context),
        STATEMENTS: lambda: statement_rows.statistics_rows(context),
        STATEMENTS_INFO: lambda: statement_rows.statistics_info_rows(context),
        QUERY_LOG: lambda: statement_rows.query_log_rows(context),
        MODELS: lambda: model_rows(context),
        RESOURCE_GROUPS: lambda: group_rows(context),
        SNAPSHOTS: lambda: snapshot_rows(context),
        SEQUENCE_STATES: lambda: [_sequence_state(context, each) for each in context.transaction.catalog.sequences()],
    }


def _sequence_state(context: Context, sequence: Sequence) -> Row:
    state = sequence_values.sequence_state(context, sequence)
    return {"oid": sequence.oid, "last_value": state.value, "log_cnt": state.reserved, "is_called": state.called}


@cache
def _postgresql_settings() -> Mapping[str, Row]:
    return {str(row["name"]).lower(): dict(row) for row in pgdata.load_table("settings").rows()}


def _settings(session: SessionState) -> list[Row]:
    """pg_settings: the settings that gpudb has, described as in PostgreSQL."""
    rows: dict[str, Row] = {}
    for name, value, description in session.settings.show_all():
        known = _postgresql_settings().get(name.lower())
        setting = SETTINGS[name.lower()]
        row: dict[str, object] = {
            "name": name, "short_desc": description, "category": "gpudb", "vartype": setting.kind,
            "context": "internal" if setting.fixed else "user", "source": "default", "pending_restart": False,
        }  # fmt: skip
        if known is None and setting.kind == "integer":
            row["unit"] = _find_unit((value, setting.default))
        row.update(known or {})
        shown, default = value, setting.default
        if row.get("unit") == "ms":
            shown, default = (each if each == "-1" else str(parse_milliseconds(each)) for each in (value, default))
        elif row.get("unit") == "s":
            shown, default = (str(parse_milliseconds(each) // 1000) for each in (value, default))
        elif row.get("unit") in {"kB", "8kB"}:
            shown, default = (base_units(each, str(row["unit"])) for each in (value, default))
        row.update(setting=shown, boot_val=default, reset_val=default)
        if value != setting.default:
            row["source"] = "session"
        rows[name.lower()] = _finish(row)
    return [rows[name] for name in sorted(rows)]


_TIMES, _SIZES = re.compile(r"\d+(ms|s|min|h|d)"), re.compile(r"\d+(kB|MB|GB|TB)")


def _find_unit(values: tuple[str, ...]) -> str | None:
    """Returns the base unit of a setting of gpudb's own whose values are shown with units: ms or kB, None for none."""
    for unit, pattern in (("ms", _TIMES), ("kB", _SIZES)):
        if any(pattern.fullmatch(each) for each in values):
            return unit
    return None


def _hba_rules(context: Context) -> RowSequence[Row]:
    check_superuser(context, "permission denied for view pg_hba_file_rules")
    return context.session.database.read_hba_rows()


def _finish(row: dict[str, object]) -> Row:
    values = row.get("enumvals")
    if isinstance(values, str):
        import json

        row["enumvals"] = json.loads(values)
    row["pending_restart"] = False
    row["sourceline"] = None
    return row


def _activity(session: SessionState, context: Context) -> Row:
    catalog = context.transaction.catalog
    of_role = session.identity.authenticated.oid
    is_own = session is context.session
    database = _find_database(session, context)
    state = (
        "active"
        if session.running.active
        else {"I": "idle", "T": "idle in transaction"}.get(session.transactions.status, "idle in transaction (aborted)")
    )
    started = session.running.started
    waits: tuple[str | None, str | None] = None, None
    if not is_own:
        # PostgreSQL reports the wait events of an extension under type Extension, too.
        waits = ("Client", "ClientRead") if state != "active" else waits
        waits = ("Extension", session.running.waits_for) if session.running.waits_for else waits
    asking = context.session.user
    owner = find_role_name(catalog, of_role)
    if not any(has_privileges_of(catalog, asking, each) for each in (owner, "pg_read_all_stats")):
        return {
            "datid": database,
            "pid": session.process_id,
            "usesysid": of_role,
            "query": "<insufficient privilege>",
        }
    return {
        "datid": database,
        "pid": session.process_id,
        "usesysid": of_role,
        "application_name": session.settings["application_name"],
        "state": "active" if is_own else state,
        "query": redact_credentials(session.running.text),
        "backend_type": "client backend",
        "backend_start": session.started,
        "xact_start": session.transactions.started,
        "query_start": started,
        "state_change": started,
        "client_addr": parse_network_key(SqlType("inet"), session.client) if session.client else None,
        "client_port": session.network.client_port,
        "wait_event_type": waits[0],
        "wait_event": waits[1],
        "ssl": session.network.tls_version is not None,
        "sslversion": session.network.tls_version,
        "sslcipher": session.network.tls_cipher,
        "sslbits": session.network.tls_bits,
        "gss_auth": False,
        "gss_enc": False,
        "gss_delegation": False,
    }


def _find_database(session: SessionState, context: Context) -> int | None:
    """Returns the OID of a session's database, as far as this transaction knows it."""
    found = context.transaction.catalog.databases.get(session.database_name)
    return None if found is None else found.oid


def _progress_rows(context: Context) -> list[Row]:
    """The sessions that copy; only the process of those of other roles, as in PostgreSQL."""
    catalog, asking, rows = context.transaction.catalog, context.session.user, list[Row]()
    for session in context.session.database.sessions():
        progress = session.running.progress
        if progress is None:
            continue
        row: dict[str, object] = {"pid": session.process_id, "datid": _find_database(session, context)}
        owner = find_role_name(catalog, session.identity.authenticated.oid)
        if any(has_privileges_of(catalog, asking, each) for each in (owner, "pg_read_all_stats")):
            row |= {"relid": progress.relation, "param1": progress.bytes_processed, "param2": progress.bytes_total}
            row |= {
                "param3": progress.rows,
                "param4": progress.excluded,
                "param5": _COPY_TO if progress.is_copy_to else _COPY_FROM,
            }
            row |= {"param6": _SOURCES[progress.source], "param7": progress.skipped}
            row |= {f"param{number}": 0 for number in range(8, 21)}
        rows.append(row)
    return rows


def _query_rows(context: Context) -> list[Row]:
    """The sessions with a running query; those of other roles need pg_read_all_stats, as in pg_stat_activity."""
    catalog, asking, rows = context.transaction.catalog, context.session.user, list[Row]()
    for session in context.session.database.sessions():
        owner = find_role_name(catalog, session.identity.authenticated.oid)
        may_read = any(has_privileges_of(catalog, asking, each) for each in (owner, "pg_read_all_stats"))
        if session.running.active and may_read:
            rows.append({"pid": session.process_id, "fraction": session.running.measure_progress()})
    return rows


def _cursors(session: SessionState) -> list[Row]:
    return [
        {
            "name": name,
            "statement": cursor.statement,
            "is_holdable": cursor.hold,
            "is_binary": False,
            "is_scrollable": cursor.rows.is_scrollable,
            "creation_time": cursor.declared,
        }
        for name, cursor in session.cursors.items()
    ]


def _prepared(session: SessionState) -> list[Row]:
    return [
        {
            "name": name,
            "statement": prepared.sql,
            "parameter_types": [item.oid for item in prepared.parameters],
            "result_types": [column.type.oid for column in prepared.columns or ()] or None,
            "from_sql": prepared.from_sql,
            "generic_plans": 0,
            "custom_plans": 0,
        }
        for name, prepared in session.prepared.items()
        if name
    ]


@cache
def _keywords() -> list[Row]:
    return [{**row, "barelabel": row["barelabel"] == "t"} for row in pgdata.load_table("keywords").rows()]


def _time_zones() -> list[Row]:
    now = dt.datetime.now(dt.UTC)
    rows: list[Row] = []
    for name in sorted(available_timezones()):
        if name.startswith(("posix/", "right/")) or name in {"localtime", "posixrules", "Factory"}:
            continue
        local = now.astimezone(ZoneInfo(name))
        offset, daylight = local.utcoffset() or dt.timedelta(), bool(local.dst())
        rows.append({"name": name, "abbrev": local.tzname(), "utc_offset": _interval(offset), "is_dst": daylight})
    return rows


def _time_zone_abbreviations() -> list[Row]:
    return [
        {
            "abbrev": abbreviation,
            "utc_offset": _interval(dt.timedelta(seconds=int(seconds))),
            "is_dst": daylight == "t",
        }
        for abbreviation, seconds, daylight in pgdata.load_table("timezone_abbrev").select(
            "abbrev", "seconds", "is_dst"
        )
    ]


def _interval(offset: dt.timedelta) -> tuple[int, int, int]:
    """Months, days and nanoseconds, the fields of an Arrow interval."""
    return (0, 0, int(offset.total_seconds()) * 1_000_000_000)
