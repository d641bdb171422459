"""What pg_stat_database, pg_stat_all_tables and pg_stat_io count since the last reset, and the resets."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal

from gpudb.catalog.secured_objects import get_database
from gpudb.errors import SqlError
from gpudb.observe.activity_reset import Counts, subtract
from gpudb.session.context import Context

Row = Mapping[str, object]

_CHANGES = ("inserted", "updated", "deleted")
_READS, _WRITES, _COMPACTIONS = "bulkread", "bulkwrite", "vacuum"
"""The contexts of pg_stat_io that gpudb counts."""
_TARGETS = ("archiver", "bgwriter", "io", "recovery_prefetch", "wal")
"""What pg_stat_reset_shared takes; of these gpudb counts only io."""


def database_rows(context: Context) -> list[Row]:
    """The activity of each database."""
    server = context.session.database
    server.recorder.drain()
    reset = server.activity_reset
    rows: list[Row] = []
    for catalog in server.store.catalogs().values():
        oid, known = get_database(catalog).oid, {table.oid for table in catalog.tables()}
        row: dict[str, object] = {"oid": oid, "numbackends": server.count_sessions(oid).open}
        row |= subtract(_count_database(context, oid), reset.databases.get(oid, {}))
        counts = [
            subtract(each, reset.database_tables.get(table, {}))
            for table, each in _count_tables(context).items()
            if table in known
        ]
        row |= {f"tuples_{change}": sum(each[change] for each in counts) for change in _CHANGES}
        row["stat_reset_time"] = reset.databases_at.get(oid, server.started)
        rows.append(row)
    return rows


def _count_database(context: Context, oid: int) -> Counts:
    server = context.session.database
    sessions = server.count_sessions(oid)
    counts: dict[str, float] = {"xact_commit": sessions.commits, "xact_rollback": sessions.rollbacks}
    counts["sessions"] = sessions.opened
    counts["active_time"] = 1000 * server.statements.seconds[oid]
    return counts


def table_rows(context: Context) -> list[Row]:
    """The changed rows of each table."""
    start = context.session.database.activity_reset.tables
    return [{"oid": oid, **subtract(counts, start.get(oid, {}))} for oid, counts in _count_tables(context).items()]


def _count_tables(context: Context) -> dict[int, Counts]:
    tables = context.session.database.store.activity.list_tables()
    return {oid: {name: getattr(each, name) for name in _CHANGES} for oid, each in tables.items()}


def archiver_rows(context: Context) -> list[Row]:
    """What was archived of a log of changes: nothing, for there is none."""
    counts = {"archived_count": 0, "failed_count": 0}
    return [{**counts, "stats_reset": _find_reset(context, "archiver")}]


def log_rows(context: Context) -> list[Row]:
    """What was written to a log of changes: nothing, for there is none."""
    counts = dict.fromkeys(("wal_records", "wal_fpi", "wal_buffers_full", "wal_write", "wal_sync"), 0)
    times = dict.fromkeys(("wal_write_time", "wal_sync_time"), 0.0)
    size = {"v": Decimal(0), "s": 0}
    return [{**counts, **times, "wal_bytes": size, "stats_reset": _find_reset(context, "wal")}]


def _find_reset(context: Context, target: str) -> dt.datetime:
    server = context.session.database
    return server.activity_reset.shared_at.get(target, server.started)


def io_rows(context: Context) -> list[Row]:
    """What the server itself reads and writes of tables' files, in bytes (`op_bytes` is 1); NULL is not counted."""
    reset = context.session.database.activity_reset
    counted = {name: subtract(each, reset.io.get(name, {})) for name, each in _count_io(context).items()}
    return [
        {
            "backend_type": "autovacuum worker" if name == _COMPACTIONS else "client backend",
            "object": "relation",
            "context": name,
            "op_bytes": 1,
            "stats_reset": reset.io_at,
            **counts,
        }
        for name, counts in counted.items()
    ]


def _count_io(context: Context) -> Mapping[str, Counts]:
    database = context.session.database
    activity = database.store.activity
    return {
        _READS: {"reads": database.cpu.instance.loaded.read_bytes},
        _WRITES: {"writes": activity.written_bytes},
        _COMPACTIONS: {"writes": activity.compacted_bytes},
    }


def reset_database(context: Context) -> None:
    """pg_stat_reset: the counts of the database and of all its tables."""
    server, catalog = context.session.database, context.transaction.catalog
    server.recorder.drain()
    reset, oid = server.activity_reset, get_database(catalog).oid
    reset.databases[oid], reset.databases_at[oid] = _count_database(context, oid), dt.datetime.now(dt.UTC)
    known = {table.oid for table in catalog.tables()}
    counts = {oid: each for oid, each in _count_tables(context).items() if oid in known}
    reset.tables |= counts
    reset.database_tables |= counts


def reset_table(context: Context, oid: object) -> None:
    """pg_stat_reset_single_table_counters."""
    counts = _count_tables(context).get(oid) if isinstance(oid, int) else None
    if counts is not None and isinstance(oid, int):
        context.session.database.activity_reset.tables[oid] = counts


def reset_shared(context: Context, target: object) -> None:
    """pg_stat_reset_shared; 22023 for an unknown target."""
    if target not in _TARGETS:
        hint = 'Target must be "archiver", "bgwriter", "io", "recovery_prefetch", or "wal".'
        raise SqlError.of("invalid_parameter_value", f'unrecognized reset target: "{target}"', hint=hint)
    reset = context.session.database.activity_reset
    reset.shared_at[str(target)] = dt.datetime.now(dt.UTC)
    if target == "io":
        reset.io, reset.io_at = _count_io(context), dt.datetime.now(dt.UTC)
