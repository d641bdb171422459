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
from gpudb.config.database import EMBEDDED, DatabaseSettings
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.cpu.exclusion_pairs import ExclusionPairs
from gpudb.engine.opening import select_cluster, start_cluster
from gpudb.engine.protocol import Engine
from gpudb.engine.resource_groups import GroupPlaces
from gpudb.engine.routing import RoutedEngine
from gpudb.engine.starting import ClusterStart, StartingEngine
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
from gpudb.vector_indexes.file_indexes import FileIndexes

if TYPE_CHECKING:
    from gpudb.engine.gpu.cluster.membership import Membership
    from gpudb.engine.gpu.engine import ClusterEngine


class Database:
    """The open databases of a data directory. Without `data_dir` it is a temporary one, deleted when this closes.

    `gpus` are the indices of the GPUs that its workers run on. Without them it has workers only of the engine twin, or
    those of a scheduler. These have started when it is made; without `waits` statements over tables wait for them.
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        settings: DatabaseSettings = EMBEDDED,
        *,
        gpus: Sequence[str] = (),
        waits: bool = True,
    ) -> None:
        self.store = Store(data_dir, settings)
        set_sampler(sample_column)
        try:
            self.system_settings = SystemSettings(self.store.directory)
            indexes = FileIndexes(self.store.directory / "vector_indexes")
            self.cpu = CpuEngine(
                settings.memory_limit, self.store.spill, temp_limit=settings.temp_file_limit, indexes=indexes
            )
            self.store.followers.append(self.cpu.follow)
            self._exclusion_pairs = ExclusionPairs(self.store.spill, self.cpu.memory_limit // 4)
            self.store.key_checker.pairs = self._exclusion_pairs
            log_step("the storage is open")
            self.engine: Engine = self.cpu
            self.cluster_start = self._start_cluster(settings, gpus)
            if waits and self.cluster_start is not None:
                self.cluster_start.wait()
        except BaseException:
            self.store.close()
            raise
        self.plans = PlanCache()
        self.group_places = GroupPlaces()
        self._dispatcher = StatementDispatcher()
        self.started = dt.datetime.now(dt.UTC)
        self._default_settings = {**_list_parameters(settings), "data_directory": str(self.store.directory)}
        self.console_url = ""
        self.apply_system_settings()
        self.max_connections = settings.max_connections
        self._reserved_connections = settings.superuser_reserved_connections
        self.configuration: ServerConfiguration | None = None
        self.configuration_loaded = self.started
        self._sessions: dict[int, Session] = {}
        self._logins: dict[int, int] = {}
        self._ended: dict[int, SessionCounts] = {}
        self.activity_reset = ActivityReset(self.started)
        self.statements = StatementTotals()
        self.statistics = StatementStatistics()
        kept = settings.query_log_rows if settings.track_statements else 0
        self.query_log = QueryLog(self.store.private_directory, kept, settings.query_log_min_duration)
        consumers = self.statements, self.statistics, self.query_log
        # The query log has each statement that takes as long.
        self.recorder = StatementRecorder(
            *consumers, repeats_below=settings.query_log_min_duration if kept else math.inf
        )
        self._lock = threading.Lock()
        self._pids = itertools.count(1000)
        self._closed = False
        self._notifications = self.store.open_notifications(self._deliver)

    def _start_cluster(self, settings: DatabaseSettings, gpus: Sequence[str]) -> ClusterStart | None:
        name = select_cluster(settings, gpus)
        if name is None:
            return None

        def start() -> ClusterEngine:
            cluster = start_cluster(self.cpu, settings, gpus)
            self.engine = RoutedEngine(cluster, self.cpu)
            return cluster

        starting = ClusterStart(start)
        self.engine = StartingEngine(starting, self.cpu, name)
        starting.begin()
        return starting

    @property
    def cluster(self) -> ClusterEngine | None:
        """The workers as an engine; None without workers, and until they have started."""
        return None if self.cluster_start is None else self.cluster_start.cluster

    @property
    def members(self) -> Membership | None:
        """The workers, once they have started; None without workers. Raises why they could not start."""
        return None if self.cluster_start is None else self.cluster_start.wait().members

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
        values = {**self._default_settings, **self.system_settings.values}
        return {**values, "gpudb.console_url": self.console_url} if self.console_url else values

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
        if len(self._sessions) + self._reserved_connections >= self.max_connections:
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
        self._exclusion_pairs.close()


def _list_parameters(settings: DatabaseSettings) -> Mapping[str, str]:
    """Returns the values of sessions' parameters that the settings are or determine."""
    reads = {"default_transaction_read_only": "on", "in_hot_standby": "on"} if settings.read_only else {}
    return {
        **reads,
        "authentication_timeout": f"{round(settings.authentication_timeout * 1000)}ms",
        "hba_file": "" if settings.hba_file is None else str(settings.hba_file.absolute()),
        "max_connections": str(settings.max_connections),
        "superuser_reserved_connections": str(settings.superuser_reserved_connections),
        "temp_file_limit": str(-1 if settings.temp_file_limit is None else settings.temp_file_limit),
        "gpudb.max_running_statements": str(settings.max_running_statements),
        "gpudb.max_statement_timeout": settings.max_statement_timeout,
        SNAPSHOT_RETENTION: f"{round(settings.snapshot_retention * 1000)}ms",
        SNAPSHOT_LIMIT: str(settings.snapshot_limit),
    }
