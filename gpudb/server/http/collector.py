"""Measures at each scrape what `observe.metrics` names, from counts that the server keeps anyway."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from gpudb.catalog.resource_groups import list_groups
from gpudb.distribution import __version__
from gpudb.engine.nvml import read_devices
from gpudb.observe import metrics
from gpudb.observe.totals import BUCKETS, NO_ENGINE
from gpudb.server.http.login import Sources
from gpudb.server.http.readiness import Readiness
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database

_STATES = {"I": "idle", "T": "idle in transaction", "E": "idle in transaction (aborted)"}


class _Families:
    """The samples of one scrape, by metric."""

    def __init__(self) -> None:
        self._made: dict[str, Metric] = {}

    def add(self, name: str, value: float, *labels: str) -> None:
        """Adds a sample of a counter or a gauge."""
        described = metrics.BY_NAME[name]
        family = self._made.get(name)
        if family is None:
            of = CounterMetricFamily if described.kind == "counter" else GaugeMetricFamily
            family = self._made[name] = of(name, described.meaning, labels=described.labels)
        family.add_metric(labels, value)  # type: ignore[attr-defined]

    def add_histogram(self, name: str, counts: list[int], total: float, *labels: str) -> None:
        """Adds a histogram's cumulated counts by BUCKETS and its sum."""
        described = metrics.BY_NAME[name]
        family = self._made.get(name)
        if family is None:
            family = self._made[name] = HistogramMetricFamily(name, described.meaning, labels=described.labels)
        bounds = (*map(str, BUCKETS), "+Inf")
        family.add_metric(labels, list(zip(bounds, counts, strict=True)), total)  # type: ignore[attr-defined]

    def list_all(self) -> Iterator[Metric]:
        """Yields the families."""
        yield from self._made.values()


class ServerCollector(Collector):
    """Collector of prometheus-client. Before `attach` it has only what needs no database."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness
        self._version = __version__
        self._sources: tuple[Database, PgServer] | None = None

    def attach(self, database: Database, server: PgServer) -> None:
        """Adds the figures of an open database and its listener."""
        self._sources = database, server

    def detach(self) -> None:
        """The database is about to be closed."""
        self._sources = None

    def find_sources(self) -> Sources | None:
        """Returns the open database and its listener; None while there is none."""
        return None if self._sources is None else Sources(*self._sources)

    def describe(self) -> list[Metric]:
        """Returns nothing: names are not compared with those of other collectors."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Measures."""
        families = _Families()
        families.add("gpudb_build_info", 1, self._version)
        families.add("gpudb_ready", float(self._readiness.find_obstacle() is None))
        sources = self._sources
        if sources is not None:
            database, server = sources
            families.add("gpudb_start_time_seconds", database.started.timestamp())
            _add_connections(families, database, server)
            _add_statements(families, database)
            _add_engines(families, database)
            _add_storage(families, database)
            _add_workers(families, database)
        for device in read_devices():
            families.add("gpudb_gpu_memory_used_bytes", device.used_bytes, device.index)
            families.add("gpudb_gpu_memory_total_bytes", device.total_bytes, device.index)
            families.add("gpudb_gpu_utilization_ratio", device.utilization, device.index)
            families.add("gpudb_gpu_memory_bandwidth_utilization_ratio", device.memory_utilization, device.index)
        return families.list_all()


def _add_connections(families: _Families, database: Database, server: PgServer) -> None:
    states = Counter(
        "active" if session.running.active else _STATES.get(session.status, "idle") for session in database.sessions()
    )
    for state in ("active", *_STATES.values()):
        families.add("gpudb_connections", states[state], state)
    families.add("gpudb_connections_limit", database.max_connections)
    families.add("gpudb_connections_unauthenticated", len(server.pending))
    traffic = server.measure_traffic()
    families.add("gpudb_accepted_connections_total", traffic.connections)
    families.add("gpudb_received_bytes_total", traffic.received_bytes)
    families.add("gpudb_sent_bytes_total", traffic.sent_bytes)
    counts = database.count_sessions()
    families.add("gpudb_transactions_total", counts.commits, "commit")
    families.add("gpudb_transactions_total", counts.rollbacks, "rollback")


def _add_statements(families: _Families, database: Database) -> None:
    database.recorder.drain()
    totals = database.statements
    with totals.lock:
        if not totals.statements:
            families.add("gpudb_statements_total", 0, NO_ENGINE, "00")
        for (engine, state), count in totals.statements.items():
            families.add("gpudb_statements_total", count, engine, state)
        for engine, histogram in totals.durations.items():
            families.add_histogram("gpudb_statement_duration_seconds", histogram.cumulate(), histogram.sum, engine)
        for phase, seconds in totals.phases.items():
            families.add("gpudb_statement_phase_seconds_total", max(seconds, 0.0), phase)
        for construct, count in totals.fallbacks.items():
            families.add("gpudb_fallbacks_total", count, construct)
        families.add("gpudb_statement_rows_total", totals.rows)
        families.add("gpudb_statement_result_bytes_total", totals.bytes)
        if database.cluster is not None:
            families.add("gpudb_worker_spilled_bytes_total", totals.spilled)


def _add_engines(families: _Families, database: Database) -> None:
    admissions: dict[str, Callable[[], tuple[int, int]]] = {"cpu": database.cpu.admission.queues.counts}
    if database.cluster is not None:
        admissions[database.cluster.name] = database.cluster.admission.queues.counts
    for engine, counts in admissions.items():
        running, waiting = counts()
        families.add("gpudb_admitted_statements", running, engine)
        families.add("gpudb_queued_statements", waiting, engine)
    places = database.group_places
    for name in list_groups(database.store.catalog().resource_groups):
        running, waiting = places.count(name)
        families.add("gpudb_resource_group_running", running, name)
        families.add("gpudb_resource_group_waiting", waiting, name)
        families.add("gpudb_resource_group_admitted_total", places.admitted[name], name)
        families.add("gpudb_resource_group_queued_total", places.queued[name], name)
    families.add("gpudb_cached_plans", len(database.plans))
    families.add("gpudb_plan_cache_hits_total", database.plans.hits)
    families.add("gpudb_plan_cache_misses_total", database.plans.misses)
    loaded = database.cpu.instance.loaded
    families.add("gpudb_loaded_tables_read_bytes_total", loaded.read_bytes)
    used, limit = loaded.measure()
    families.add("gpudb_loaded_tables_bytes", used)
    families.add("gpudb_loaded_tables_limit_bytes", limit)


def _add_storage(families: _Families, database: Database) -> None:
    families.add("gpudb_spill_bytes", _measure_files(database.store.spill))
    activity = database.store.activity
    families.add("gpudb_commits_total", activity.commits)
    families.add("gpudb_written_rows_total", activity.written_rows)
    families.add("gpudb_written_bytes_total", activity.written_bytes)
    families.add("gpudb_loads_total", activity.loads)
    families.add("gpudb_loaded_rows_total", activity.loaded_rows)
    families.add("gpudb_compactions_total", activity.compactions)
    families.add("gpudb_compacted_rows_total", activity.compacted_rows)


def _add_workers(families: _Families, database: Database) -> None:
    if database.cluster is None:
        return
    members = database.cluster.members
    states = members.list_heartbeats()
    families.add("gpudb_workers_ready", len(states))
    families.add("gpudb_workers_expected", members.count)
    scheduler = members.describe_scheduler()
    families.add("gpudb_scheduler_connected", float(scheduler.connected))
    families.add("gpudb_scheduler_workers", scheduler.workers)
    for number, _, heartbeat in states:
        if heartbeat is not None:
            families.add("gpudb_worker_statements", heartbeat.statements, str(number))
            families.add("gpudb_worker_resident_bytes", heartbeat.resident, str(number))
            families.add("gpudb_worker_result_bytes", heartbeat.results, str(number))
            families.add("gpudb_worker_memory_bytes", heartbeat.memory, str(number))


def _measure_files(folder: Path) -> int:
    """Returns the bytes of a folder's files, those of its folders included; files may vanish meanwhile."""
    total = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    total += _measure_files(Path(entry.path)) if entry.is_dir() else entry.stat().st_size
                except OSError:
                    continue
    except OSError:
        return total
    return total
