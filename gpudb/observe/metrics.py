"""Every metric that the server exports: its name, type, meaning and labels.

Names are Prometheus' and OpenTelemetry's: a base unit and `_total` as suffixes. No label has text of users.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. The name of a counter has the suffix `_total`, those of a histogram's series get their own."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    labels: tuple[str, ...] = ()


METRICS = (
    Metric("gpudb_build_info", "gauge", "Always 1; the label has gpudb's version.", ("version",)),
    Metric("gpudb_start_time_seconds", "gauge", "When the database was opened, in seconds since 1970 UTC."),
    Metric("gpudb_ready", "gauge", "1 while /readyz answers 200, else 0."),
    Metric("gpudb_connections", "gauge", "Clients by the state that pg_stat_activity shows.", ("state",)),
    Metric("gpudb_connections_limit", "gauge", "The setting max_connections."),
    Metric("gpudb_connections_unauthenticated", "gauge", "Clients that have not authenticated yet."),
    Metric("gpudb_accepted_connections_total", "counter", "Connections so far, those that were not let in included."),
    Metric("gpudb_received_bytes_total", "counter", "Bytes from clients, without encryption."),
    Metric("gpudb_sent_bytes_total", "counter", "Bytes to clients, without encryption."),
    Metric(
        "gpudb_statements_total",
        "counter",
        "Finished statements by engine (none: those that need none) and SQLSTATE class (00: successful).",
        ("engine", "sqlstate_class"),
    ),
    Metric(
        "gpudb_statement_duration_seconds",
        "histogram",
        "Time of statements from their message to their last row, by engine.",
        ("engine",),
    ),
    Metric(
        "gpudb_statement_phase_seconds_total",
        "counter",
        "Time of statements by phase: parse, bind, plan (for workers), execute, encode.",
        ("phase",),
    ),
    Metric("gpudb_statement_rows_total", "counter", "Rows that statements returned or changed."),
    Metric("gpudb_statement_result_bytes_total", "counter", "Bytes of the rows that statements returned."),
    Metric(
        "gpudb_fallbacks_total",
        "counter",
        "Statements that the embedded engine ran since the workers do not support a construct, by its class.",
        ("construct",),
    ),
    Metric("gpudb_transactions_total", "counter", "Transactions that were committed or rolled back.", ("outcome",)),
    Metric(
        "gpudb_admitted_statements",
        "gauge",
        "Statements that run after admission; those of a few milliseconds need none.",
        ("engine",),
    ),
    Metric("gpudb_queued_statements", "gauge", "Statements that wait for admission.", ("engine",)),
    Metric(
        "gpudb_resource_group_running", "gauge", "Transactions that have a place in their resource group.", ("group",)
    ),
    Metric("gpudb_resource_group_waiting", "gauge", "Transactions that wait for such a place.", ("group",)),
    Metric(
        "gpudb_resource_group_admitted_total", "counter", "Transactions that got a place in their group.", ("group",)
    ),
    Metric("gpudb_resource_group_queued_total", "counter", "Transactions that had to wait for it.", ("group",)),
    Metric("gpudb_cached_plans", "gauge", "Statements in the plan cache."),
    Metric("gpudb_plan_cache_hits_total", "counter", "Statements whose plan was in the plan cache."),
    Metric("gpudb_plan_cache_misses_total", "counter", "Statements whose plan was not."),
    Metric("gpudb_loaded_tables_bytes", "gauge", "Estimated memory of the tables that the CPU engine has loaded."),
    Metric("gpudb_loaded_tables_limit_bytes", "gauge", "Limit of these."),
    Metric("gpudb_loaded_tables_read_bytes_total", "counter", "Bytes of files that the CPU engine loaded into memory."),
    Metric("gpudb_spill_bytes", "gauge", "Temporary files of operations that exceed memory, without those of workers."),
    Metric("gpudb_worker_spilled_bytes_total", "counter", "Bytes that statements wrote to workers' temporary files."),
    Metric("gpudb_commits_total", "counter", "Commits that changed tables or definitions."),
    Metric("gpudb_written_rows_total", "counter", "Rows that commits wrote: loaded, inserted or rewritten ones."),
    Metric("gpudb_written_bytes_total", "counter", "Bytes of the files that commits wrote."),
    Metric("gpudb_loads_total", "counter", "Loads of data that succeeded, by COPY FROM, load_data and add_files."),
    Metric("gpudb_loaded_rows_total", "counter", "Rows of these."),
    Metric("gpudb_compactions_total", "counter", "Compactions of tables' small files."),
    Metric("gpudb_compacted_rows_total", "counter", "Rows that compactions wrote anew."),
    Metric("gpudb_workers_ready", "gauge", "Workers that answer."),
    Metric("gpudb_workers_expected", "gauge", "Workers that the cluster should have."),
    Metric("gpudb_scheduler_connected", "gauge", "1 while Dask's scheduler answers, else 0."),
    Metric("gpudb_scheduler_workers", "gauge", "Workers that Dask's scheduler had when it answered last."),
    Metric("gpudb_worker_statements", "gauge", "Statements of a worker.", ("worker",)),
    Metric("gpudb_worker_resident_bytes", "gauge", "Bytes of a worker's cached columns.", ("worker",)),
    Metric("gpudb_worker_result_bytes", "gauge", "Bytes of results that a worker holds.", ("worker",)),
    Metric("gpudb_worker_memory_bytes", "gauge", "Resident memory of a worker's process.", ("worker",)),
    Metric("gpudb_gpu_memory_used_bytes", "gauge", "Used memory of a GPU, of all programs.", ("gpu",)),
    Metric("gpudb_gpu_memory_total_bytes", "gauge", "Memory of a GPU.", ("gpu",)),
    Metric("gpudb_gpu_utilization_ratio", "gauge", "Share of the last moments in which kernels ran.", ("gpu",)),
    Metric(
        "gpudb_gpu_memory_bandwidth_utilization_ratio",
        "gauge",
        "Share of the last moments in which a GPU's memory was read or written.",
        ("gpu",),
    ),
)
BY_NAME = {each.name: each for each in METRICS}
