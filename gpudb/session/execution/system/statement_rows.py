"""Rows of pg_stat_statements and gpudb_query_log: who may read others' texts sees them, as in PostgreSQL."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal

from gpudb.catalog.postgres.extension_objects import STATEMENTS_RESET
from gpudb.observe.query_log import COLUMNS
from gpudb.observe.statement_statistics import Entry, Times
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.context import Context
from gpudb.session.execution.system.session_functions import check_superuser

Row = Mapping[str, object]
HIDDEN = "<insufficient privilege>"
_ALL_STATISTICS = "pg_read_all_stats"
_ZEROS = (
    *(f"{kind}_blks_{what}" for kind in ("shared", "local") for what in ("hit", "read", "dirtied", "written")),
    *("temp_blks_read", "temp_blks_written", "wal_records", "wal_fpi", "jit_functions"),
    *("jit_inlining_count", "jit_optimization_count", "jit_emission_count"),
)
_ZERO_TIMES = (
    *("blk_read_time", "blk_write_time", "temp_blk_read_time", "temp_blk_write_time", "jit_generation_time"),
    *("jit_inlining_time", "jit_optimization_time", "jit_emission_time"),
)
_ZERO_NUMERIC = {"v": Decimal(0), "s": 0}
_NOT_MEASURED: Row = {**dict.fromkeys(_ZEROS, 0), **dict.fromkeys(_ZERO_TIMES, 0.0), "wal_bytes": _ZERO_NUMERIC}
"""gpudb has no shared buffers, no write-ahead log and no just-in-time compilation by query."""


def statistics_rows(context: Context) -> list[Row]:
    """The rows of pg_stat_statements; statements that ended before are in it."""
    database, own = context.session.database, _get_own_role(context)
    database.recorder.drain()
    sees_all = _may_see_all(context)
    return [_make_row(each, shown=sees_all or each.role == own) for each in database.statistics.list_entries()]


def reset_statistics(context: Context, arguments: Sequence[object]) -> str | None:
    """pg_stat_statements_reset([userid [, dbid [, queryid]]]): 0 for all; strict. 42501 for roles without superuser."""
    check_superuser(context, f"permission denied for function {STATEMENTS_RESET}")
    if None in arguments:
        return None
    role, database, query = (*(each for each in arguments if isinstance(each, int)), 0, 0, 0)[:3]
    server = context.session.database
    server.recorder.drain()
    server.statistics.reset(role, query, database)
    return ""


def _make_row(entry: Entry, *, shown: bool) -> Row:
    return {
        "userid": entry.role,
        "dbid": entry.database,
        "toplevel": True,
        "queryid": entry.query_id if shown else None,
        "query": entry.text if shown else HIDDEN,
        "plans": entry.planning.count,
        **_name_times("plan", entry.planning),
        "calls": entry.execution.count,
        **_name_times("exec", entry.execution),
        "rows": entry.rows,
        **_NOT_MEASURED,
    }


def _name_times(phase: str, times: Times) -> Row:
    return {
        f"total_{phase}_time": times.total,
        f"min_{phase}_time": times.least,
        f"max_{phase}_time": times.greatest,
        f"mean_{phase}_time": times.mean,
        f"stddev_{phase}_time": times.deviation,
    }


def statistics_info_rows(context: Context) -> list[Row]:
    """The row of pg_stat_statements_info."""
    statistics = context.session.database.statistics
    return [{"dealloc": statistics.discarded, "stats_reset": statistics.reset_at}]


def query_log_rows(context: Context) -> list[Row]:
    """The rows of gpudb_query_log; of others' statements only when and how long they ran."""
    database, own = context.session.database, _get_own_role(context)
    database.recorder.drain()
    sees_all = _may_see_all(context)
    rows: list[Row] = []
    for number, *values in database.query_log.read():
        found = dict(zip(COLUMNS, values, strict=True))
        shown = sees_all or found["role_oid"] == own
        row: dict[str, object] = {"id": number, "ended_at": _make_moment(found["ended_at"]), "usename": found["role"]}
        row |= {"usesysid": found["role_oid"], "pid": found["pid"], "sqlstate": found["sqlstate"]}
        row |= {"query": found["query"] if shown else HIDDEN, "queryid": found["query_id"] if shown else None}
        row |= {name: found[name] for name in ("engine", "rows", "bytes")}
        row["fallback"] = found["fallback"] if shown else None
        row |= {"spilled_bytes": found["spilled"], "plan_hash": found["plan_hash"] if shown else None}
        for name, column in (
            ("duration", "seconds"), ("parse", "parse"), ("bind", "bind"), ("plan", "plan_seconds"),
            ("execute", "execute"), ("encode", "encode"),
        ):  # fmt: skip
            row[f"{name}_ms"] = 1000 * _read_float(found[column])
        rows.append(row)
    return rows


def _make_moment(seconds: object) -> dt.datetime:
    return dt.datetime.fromtimestamp(_read_float(seconds), dt.UTC)


def _read_float(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _get_own_role(context: Context) -> int:
    role = context.transaction.catalog.roles.get(context.session.user)
    return -1 if role is None else role.oid


def _may_see_all(context: Context) -> bool:
    return has_privileges_of(context.transaction.catalog, context.session.user, _ALL_STATISTICS)
