"""The databases of a data directory: storage, engines, the plan cache, and the open sessions."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudb.catalog.initial_settings import list_initial_settings
from gpudb.catalog.model import FIRST_DATABASE
from gpudb.catalog.model import Database as DatabaseDefinition
from gpudb.catalog.roles import Role
from gpudb.catalog.secured_objects import get_database
from gpudb.certificates import CertificateFiles
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.protocol import Engine
from gpudb.engine.startup_log import log_step
from gpudb.errors import SqlError
from gpudb.observe.activity_reset import ActivityReset
from gpudb.observe.query_log import QueryLog
from gpudb.observe.recorder import StatementRecorder
from gpudb.observe.statement_statistics import StatementStatistics
from gpudb.observe.totals import StatementTotals
from gpudb.plan.cost.sampling import set_sampler
from gpudb.session.authorization.membership import has_grant_of
from gpudb.session.authorization.privileges import check_connect
from gpudb.session.context import SessionCounts
from gpudb.session.dispatch import StatementDispatcher
from gpudb.session.interfaces import ServerConfiguration
from gpudb.session.mailbox import MAX_WAITING, Mailbox, Notification
from gpudb.session.plan_cache import PlanCache
from gpudb.session.session import Session
from gpudb.session.settings.catalog import (
    AUDIT,
    SNAPSHOT_LIMIT,
    SNAPSHOT_RETENTION,
    check_initial_settings,
    parse_milliseconds,
)
from gpudb.session.settings.system_file import SystemSettings
from gpudb.storage.iceberg.history import Retention
from gpudb.storage.iceberg.samples import sample_column
from gpudb.storage.store import Store

if TYPE_CHECKING:
    from gpudb.engine.gpu.cluster.config import WorkerProcesses
    from gpudb.engine.gpu.cluster.membership import Membership
    from gpudb.engine.gpu.engine import ClusterEngine


class Database:
    """The open databases of a data directory. Without `data_dir` it is a temporary one, deleted when this closes.

    `memory_limit` bounds the CPU engine, in bytes (default: DuckDB's, 80% of the machine's memory). `workers` starts a
    cluster of that many worker processes, which together have the same limit again, and which run the GPU engine's
    plans on CPUs (the twin engine). `gpus`, the indices of GPUs, starts one worker on each (the GPU engine).
    `scheduler` is the address of a Dask scheduler, of whose workers `workers` are used, 0 for all, on GPUs or as
    `twin`; it needs `cluster_certificates`, or is `cluster_insecure` on purpose. A worker uses up to
    `gpu_memory_limit` bytes of its GPU's memory (default: all free memory).
    `reserved_connections` of `max_connections` are for superusers alone.
    Earlier snapshots of tables are kept for `snapshot_retention` seconds, at most `snapshot_limit` of a table.
    `temp_file_limit` bounds temporary files, in bytes: those of the CPU engine, and those of each worker. The CPU
    engine's are in `spill_dir`, by default in `data_dir`. `settings` are the defaults of sessions' settings.
    `scheduler_timeout` limits the waiting for a scheduler and its workers, in seconds. The last
    `query_log_rows` statements that took `query_log_min_duration` seconds are kept in the query log. `catalog` is the
    URL of a PostgreSQL that has the catalog, for several servers over one data directory. `tables_url` is a prefix of
    an object storage for the tables' files.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        memory_limit: int | None = None,
        max_connections: int = 1000,
        reserved_connections: int = 0,
        settings: Mapping[str, str] | None = None,
        workers: int = 0,
        gpus: Sequence[str] = (),
        scheduler: str | None = None,
        twin: bool = False,
        gpu_memory_limit: int | None = None,
        cluster_certificates: CertificateFiles | None = None,
        cluster_insecure: bool = False,
        scheduler_timeout: float | None = None,
        spill_dir: Path | None = None,
        temp_file_limit: int | None = None,
        snapshot_retention: float = 3600.0,
        snapshot_limit: int = 100,
        query_log_rows: int = 0,
        query_log_min_duration: float = 0.01,
        catalog: str | None = None,
        tables_url: str | None = None,
    ) -> None:
        self.store = Store(data_dir, spill_dir=spill_dir, catalog=catalog, tables_url=tables_url)
        set_sampler(sample_column)
        try:
            self.system_settings = SystemSettings(self.store.directory)
            self.cpu = CpuEngine(memory_limit, self.store.spill, temp_limit=temp_file_limit)
            self.engine: Engine = self.cpu
            self.store.followers.append(self.cpu.follow)
            self.cluster: ClusterEngine | None = None
            self.members: Membership | None = None
            log_step("the storage is open")
            if workers or gpus or scheduler:
                if scheduler is None:
                    processes = _own_processes(workers, gpus, memory_limit)
                else:
                    joined = (scheduler, workers or None, memory_limit, cluster_certificates)
                    processes = _join_processes(
                        *joined, gpu=not twin, insecure=cluster_insecure, seconds=scheduler_timeout
                    )
                self.engine, self.cluster = _start_cluster(
                    self.cpu, replace(processes, device=gpu_memory_limit or 0, temp_limit=temp_file_limit or 0)
                )
                self.members = self.cluster.members
        except BaseException:
            self.store.close()
            raise
        self.plans = PlanCache()
        self._dispatcher = StatementDispatcher()
        self.started = dt.datetime.now(dt.UTC)
        self._default_settings: Mapping[str, str] = {
            "max_connections": str(max_connections),
            "temp_file_limit": str(-1 if temp_file_limit is None else temp_file_limit),
            SNAPSHOT_RETENTION: f"{round(snapshot_retention * 1000)}ms",
            SNAPSHOT_LIMIT: str(snapshot_limit),
            **(settings or {}),
        }
        self.apply_system_settings()
        self.max_connections = max_connections
        self.reserved_connections = reserved_connections
        self.configuration: ServerConfiguration | None = None
        self.configuration_loaded = self.started
        self._sessions: dict[int, Session] = {}
        self._logins: dict[int, int] = {}
        self._ended: dict[int, SessionCounts] = {}
        self.activity_reset = ActivityReset(self.started)
        self.statements = StatementTotals()
        self.statistics = StatementStatistics()
        self.query_log = QueryLog(self.store.private_directory, query_log_rows, query_log_min_duration)
        consumers = self.statements, self.statistics, self.query_log
        # The query log has each statement that takes as long.
        self.recorder = StatementRecorder(
            *consumers, repeats_below=query_log_min_duration if query_log_rows else math.inf
        )
        self._lock = threading.Lock()
        self._pids = itertools.count(1000)
        self._closed = False
        self._notifications = self.store.open_notifications(self._deliver)

    def session(
        self,
        user: str,
        settings: Mapping[str, str] | None = None,
        client: str = "",
        database: str = FIRST_DATABASE,
    ) -> Session:
        """Opens a session (see `interfaces.DatabaseInterface`)."""
        role = self.role(user, database)
        if role is None:
            raise SqlError.of("invalid_authorization_specification", f'role "{user}" does not exist')
        catalog = self.store.catalog(database)
        known = get_database(catalog)
        if not known.allows_connections:
            message = f'database "{database}" is not currently accepting connections'
            raise SqlError.of("object_not_in_prerequisite_state", message)
        check_connect(catalog, user)
        with self._lock:
            if self._closed:
                raise SqlError.of("cannot_connect_now", "the database system is shutting down")
            if len(self._sessions) >= self.max_connections:
                raise SqlError.of("too_many_connections", "sorry, too many clients already")
            self._check_limits(role, known)
            check_initial_settings(settings or {}, superuser=role.superuser)
            audit = role.settings.get(AUDIT)
            role = replace(role, settings={name: value for name, value in role.settings.items() if name != AUDIT})
            session = Session(self, self._dispatcher, next(self._pids), role, settings or {}, client, database)
            if audit is not None:
                session.settings.force(AUDIT, audit)
            self._sessions[session.process_id] = session
            self._logins[session.process_id] = role.oid
        return session

    @property
    def default_settings(self) -> Mapping[str, str]:
        """The values of settings with which sessions begin, unless their role has others."""
        return {**self._default_settings, **self.system_settings.values}

    def apply_system_settings(self) -> None:
        """Applies the settings of the server itself (see `context.DatabaseServices`)."""
        values = self.default_settings
        seconds = parse_milliseconds(values[SNAPSHOT_RETENTION]) / 1000
        self.store.retention = Retention(seconds, int(values[SNAPSHOT_LIMIT]))

    def _check_limits(self, role: Role, database: DatabaseDefinition) -> None:
        """53300 for a role or database beyond its CONNECTION LIMIT, or if what remains is for superusers."""
        if role.superuser:
            return
        used = sum(each.database_name == database.name for each in self._sessions.values())
        if 0 <= database.connection_limit <= used:
            raise SqlError.of("too_many_connections", f'too many connections for database "{database.name}"')
        if 0 <= role.connection_limit <= sum(oid == role.oid for oid in self._logins.values()):
            raise SqlError.of("too_many_connections", f'too many connections for role "{role.name}"')
        if len(self._sessions) + self.reserved_connections >= self.max_connections:
            message = "remaining connection slots are reserved for roles with the SUPERUSER attribute"
            raise SqlError.of("too_many_connections", message)

    def is_member(self, role: str, group: str) -> bool:
        """Whether a role is a member of another, by grants and not as a superuser, or is it."""
        return role == group or has_grant_of(self.store.catalog(), role, group)

    def reload_configuration(self) -> None:
        """Loads the settings of ALTER SYSTEM again, and the server's rules of connections, if it has any."""
        self.system_settings.reload()
        self.apply_system_settings()
        if self.configuration is not None:
            self.configuration.reload()
        self.configuration_loaded = dt.datetime.now(dt.UTC)

    def read_hba_rows(self) -> Sequence[Mapping[str, object]]:
        """Returns the rows of pg_hba_file_rules; none without a server, or without a rules file."""
        return [] if self.configuration is None else self.configuration.read_hba_rows()

    def role(self, name: str, database: str = FIRST_DATABASE) -> Role | None:
        """A role by name, with all settings with which its sessions in a database begin."""
        catalogs = self.store.catalogs()
        catalog = catalogs.get(database) or catalogs[FIRST_DATABASE]
        role = catalog.roles.get(name)
        return None if role is None else replace(role, settings=list_initial_settings(catalog, role))

    def roles(self) -> Mapping[str, Role]:
        """All roles by name."""
        return self.store.catalog().roles

    def sessions(self) -> list[Session]:
        """The open sessions."""
        with self._lock:
            return list(self._sessions.values())

    def find(self, process_id: int) -> Session | None:
        """A session by its process id."""
        return self._sessions.get(process_id)

    def cancel(self, process_id: int) -> bool:
        """Cancels the running statement of a session; False if there is no such session."""
        session = self.find(process_id)
        if session is None:
            return False
        session.cancel()
        return True

    def terminate(self, process_id: int) -> bool:
        """Ends a session: cancels its statement and sends its client 57P01; False if there is no such session."""
        session = self.find(process_id)
        if session is None:
            return False
        session.terminate()
        return True

    def mailboxes(self, database: str) -> list[Mailbox]:
        """Returns the mailboxes of the sessions in a database."""
        return [session.mailbox for session in self.sessions() if session.database_name == database]

    def notify_others(self, database: int, sent: Sequence[Notification]) -> None:
        """Sends notifications of a session to those of other servers over the catalog, by the OID of its database."""
        if self._notifications is not None:
            self._notifications.send(database, sent)

    def _deliver(self, database: int, sent: Iterable[tuple[int, str, str]]) -> None:
        """Gives the sessions of a database what another server's have notified."""
        notifications = [Notification(*each) for each in sent]
        for session in self.sessions():
            if session.database_oid == database and len(session.mailbox.inbox) < MAX_WAITING:
                session.mailbox.receive(notifications)

    def forget(self, process_id: int) -> None:
        """Removes a session that has closed."""
        with self._lock:
            session = self._sessions.pop(process_id, None)
            self._logins.pop(process_id, None)
            if session is not None:
                ended = self._ended.setdefault(session.database_oid, SessionCounts())
                ended.opened += 1
                ended.commits += session.transactions.commits
                ended.rollbacks += session.transactions.rollbacks

    def count_sessions(self, oid: int | None = None) -> SessionCounts:
        """Returns what the sessions in the database of an OID, or in all, were and did since the start."""
        with self._lock:
            ended = [each for database, each in self._ended.items() if oid in (None, database)]
            sessions = [each for each in self._sessions.values() if oid in (None, each.database_oid)]
        return SessionCounts(
            open=len(sessions),
            opened=len(sessions) + sum(each.opened for each in ended),
            commits=sum(each.commits for each in ended) + sum(each.transactions.commits for each in sessions),
            rollbacks=sum(each.rollbacks for each in ended) + sum(each.transactions.rollbacks for each in sessions),
        )

    def close(self) -> None:
        """Closes all sessions and the storage; idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for session in self.sessions():
            session.cancel()
            session.close()
        if self._notifications is not None:
            self._notifications.close()
        self.recorder.close()
        self.query_log.close()
        self.engine.close()
        self.store.close()


def _own_processes(workers: int, gpus: Sequence[str], memory_limit: int | None) -> WorkerProcesses:
    from gpudb.engine.gpu.cluster.config import cpu_processes, gpu_processes

    return gpu_processes(gpus, memory_limit) if gpus else cpu_processes(workers, memory_limit)


def _join_processes(
    scheduler: str,
    workers: int | None,
    memory_limit: int | None,
    certificates: CertificateFiles | None,
    *,
    gpu: bool,
    insecure: bool,
    seconds: float | None,
) -> WorkerProcesses:
    from gpudb.engine.gpu.cluster.config import joined_processes

    limits = (workers, memory_limit, certificates)
    return joined_processes(scheduler, *limits, gpu=gpu, insecure=insecure, seconds=seconds)


def _start_cluster(embedded: CpuEngine, processes: WorkerProcesses) -> tuple[Engine, ClusterEngine]:
    """Starts a cluster before the embedded engine; imports here since Dask and dask-sql take seconds."""
    from gpudb.engine.gpu.cluster.cluster import Cluster
    from gpudb.engine.gpu.engine import ClusterEngine
    from gpudb.engine.routing import RoutedEngine
    from gpudb.plan.dask.dask_sql_planner import warm_up

    def planner() -> None:
        warm_up()
        log_step("the planner is ready")

    log_step("the engine's libraries are read")
    cluster = Cluster(processes, meanwhile=planner)
    engine = ClusterEngine(cluster, embedded, "gpu" if processes.gpu else "twin")
    return RoutedEngine(engine, embedded), engine
