"""Functions whose rows describe the server's state, not the catalog: settings, sessions, cursors, locks.

They occur in FROM, mostly inside PostgreSQL's own views; each is a relation with the columns that PostgreSQL declares.
The session supplies the rows (`Settings.system`); a function that it does not know has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gpudb.functions.library import functions_by_name
from gpudb.types import BOOL, INT8, NUMERIC, OID, TEXT, TIMESTAMPTZ, SqlType

NAMES = frozenset(
    """pg_show_all_settings pg_show_all_file_settings pg_lock_status pg_cursor pg_prepared_statement pg_prepared_xact
    pg_stat_get_activity pg_get_keywords pg_timezone_names pg_timezone_abbrevs pg_available_extensions
    pg_available_extension_versions pg_hba_file_rules pg_ident_file_mappings pg_get_replication_slots
    pg_show_replication_origin_status pg_stat_get_wal_senders pg_stat_get_wal_receiver pg_stat_get_progress_info
    pg_stat_get_subscription pg_stat_get_slru pg_stat_get_io pg_stat_get_recovery_prefetch pg_config
    pg_ls_waldir pg_get_shmem_allocations pg_get_backend_memory_contexts pg_get_publication_tables pg_stat_get_archiver
    pg_stat_get_wal pg_get_multixact_members pg_listening_channels pg_stat_get_replication_slot
    pg_stat_get_subscription_stats""".split()
)  # fmt: skip

SEQUENCE_STATES = "gpudb_sequence_states"
"""Position of each sequence: not a PostgreSQL function, but the source of SELECT from a sequence and of
pg_sequences.
"""
SNAPSHOTS = "gpudb_snapshots"
"""The kept snapshots of tables; with an argument, of one table."""
MODELS = "gpudb_models"
"""The models that the current role may score rows with."""
RESOURCE_GROUPS = "gpudb_resource_groups"
"""The resource groups, their limits, and how many of their transactions run and wait on this server."""
LOCK_WAITS = "gpudb_lock_waits"
"""The sessions that wait for a lock, and for whom: not a PostgreSQL function, but the source of pg_blocking_pids."""
QUERY_PROGRESS = "gpudb_progress"
"""The queries that run now, and the fraction of each that is done."""
PROGRESS = "pg_stat_get_progress_info"
"""Progress of the commands of one kind, which its argument names."""

STATEMENTS, STATEMENTS_INFO, QUERY_LOG = "pg_stat_statements", "pg_stat_statements_info", "gpudb_query_log"
"""Statistics by query, as PostgreSQL's extension of this name has them, and the log of finished statements."""
DATABASE_ACTIVITY, TABLE_ACTIVITY = "gpudb_database_activity", "gpudb_table_activity"
"""Not PostgreSQL's functions, but the sources of pg_stat_database and of pg_stat_all_tables."""

_NAME, _INT4, _CLASS = SqlType("name"), SqlType("int4"), SqlType("regclass")
_FLOAT, _JSON = SqlType("float8"), SqlType("jsonb")
_BLOCKS = tuple(f"{kind}_blks_{what}" for kind in ("shared", "local") for what in ("hit", "read", "dirtied", "written"))
_JIT = ("inlining", "optimization", "emission")


def _make_times(phase: str) -> tuple[tuple[str, SqlType], ...]:
    return tuple((f"{each}_{phase}_time", _FLOAT) for each in ("total", "min", "max", "mean", "stddev"))


_OWN_COLUMNS: Mapping[str, tuple[tuple[str, SqlType], ...]] = {
    SEQUENCE_STATES: (("oid", OID), ("last_value", INT8), ("log_cnt", INT8), ("is_called", BOOL)),
    "pgxc_node": (
        ("oid", OID), ("node_name", _NAME), ("node_type", SqlType("char")), ("node_port", _INT4), ("node_host", _NAME),
        ("nodeis_primary", BOOL), ("nodeis_preferred", BOOL), ("node_id", _INT4),
    ),
    "pgxc_class": (
        ("pcrelid", OID), ("pclocatortype", SqlType("char")), ("pcattnum", SqlType("int2")),
        ("pchashalgorithm", SqlType("int2")), ("pchashbuckets", SqlType("int2")), ("nodeoids", SqlType("oidvector")),
    ),
    "gpudb_resident": (
        ("table", _CLASS), ("column", TEXT), ("worker", _INT4), ("form", TEXT), ("parts", INT8), ("bytes", INT8),
        ("hits", INT8), ("pinned", BOOL),
    ),
    "gpudb_devices": (
        ("worker", _INT4), ("node_name", TEXT), ("host", TEXT), ("port", _INT4), ("kind", TEXT), ("name", TEXT),
        ("memory_bytes", INT8), ("resident_bytes", INT8), ("utilization", _FLOAT), ("memory_utilization", _FLOAT),
    ),
    STATEMENTS: (
        ("userid", OID), ("dbid", OID), ("toplevel", BOOL), ("queryid", INT8), ("query", TEXT), ("plans", INT8),
        *_make_times("plan"), ("calls", INT8), *_make_times("exec"), ("rows", INT8),
        *((each, INT8) for each in (*_BLOCKS, "temp_blks_read", "temp_blks_written")),
        *((f"{each}_time", _FLOAT) for each in ("blk_read", "blk_write", "temp_blk_read", "temp_blk_write")),
        ("wal_records", INT8), ("wal_fpi", INT8), ("wal_bytes", NUMERIC),
        ("jit_functions", INT8), ("jit_generation_time", _FLOAT),
        *(column for each in _JIT for column in ((f"jit_{each}_count", INT8), (f"jit_{each}_time", _FLOAT))),
    ),
    DATABASE_ACTIVITY: (
        ("oid", OID), ("numbackends", _INT4),
        *((each, INT8) for each in ("xact_commit", "xact_rollback", "sessions")),
        *((f"tuples_{each}", INT8) for each in ("inserted", "updated", "deleted")),
        ("active_time", _FLOAT), ("stat_reset_time", TIMESTAMPTZ),
    ),
    TABLE_ACTIVITY: (("oid", OID), *((each, INT8) for each in ("inserted", "updated", "deleted"))),
    STATEMENTS_INFO: (("dealloc", INT8), ("stats_reset", TIMESTAMPTZ)),
    QUERY_LOG: (
        ("id", INT8), ("ended_at", TIMESTAMPTZ), ("usename", _NAME), ("usesysid", OID), ("pid", _INT4),
        ("query", TEXT), ("queryid", INT8), ("sqlstate", TEXT), ("engine", TEXT), ("fallback", TEXT),
        ("duration_ms", _FLOAT), *((f"{each}_ms", _FLOAT) for each in ("parse", "bind", "plan", "execute", "encode")),
        ("rows", INT8), ("bytes", INT8), ("spilled_bytes", INT8), ("plan_hash", TEXT),
    ),
    SNAPSHOTS: (
        ("table", _CLASS), ("snapshot_id", INT8), ("committed_at", TIMESTAMPTZ), ("operation", TEXT), ("rows", INT8),
        ("files", INT8), ("bytes", INT8), ("current", BOOL),
    ),
    MODELS: (
        ("model", _NAME), ("schema", _NAME), ("owner", _NAME), ("function", TEXT), ("kind", TEXT), ("task", TEXT),
        ("state", TEXT), ("version", _INT4), ("created", TIMESTAMPTZ), ("rows", INT8), ("features", _JSON),
        ("target", TEXT), ("labels", _JSON), ("metrics", _JSON), ("parameters", _JSON), ("library", TEXT),
        ("bytes", INT8), ("snapshots", _JSON), ("training_query", TEXT),
    ),
    RESOURCE_GROUPS: (
        ("oid", OID), ("name", _NAME), ("concurrency", _INT4), ("memory_bytes", INT8), ("memory_share", _FLOAT),
        ("temporary_space_bytes", INT8), ("statement_seconds", _FLOAT), ("workers", _FLOAT),
        ("roles", SqlType("name").array), ("running", INT8), ("queued", INT8), ("total_admitted", INT8),
        ("total_queued", INT8),
    ),
    LOCK_WAITS: (("pid", _INT4), ("blocker", _INT4)),
    QUERY_PROGRESS: (("pid", _INT4), ("fraction", SqlType("float8"))),
    "pgstrom_device_info": (("gpu_id", _INT4), ("att_name", TEXT), ("att_value", TEXT), ("att_desc", TEXT)),
}  # fmt: skip
RELATIONS = frozenset(
    {
        *("pgxc_node", "pgxc_class", "gpudb_resident", "gpudb_devices", SNAPSHOTS, MODELS, RESOURCE_GROUPS),
        *(STATEMENTS, STATEMENTS_INFO, QUERY_LOG, QUERY_PROGRESS),
    }
)
"""Those that stand in FROM without parentheses, as views do."""


@cache
def get_function_columns(name: str) -> tuple[tuple[str, SqlType], ...] | None:
    """Returns the columns of a function's rows; None for other functions."""
    if name in _OWN_COLUMNS:
        return _OWN_COLUMNS[name]
    if name not in NAMES:
        return None
    function = functions_by_name()[name][0]
    if not function.out_types:
        return ((name, TEXT if function.result.name == "record" else function.result),)
    return tuple(zip(function.out_names, function.out_types, strict=True))
