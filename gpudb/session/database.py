"""The database: storage, engines, the plan cache, and the sessions that use them."""

from __future__ import annotations

import datetime as dt
import itertools
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudb.catalog.model import Role
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.protocol import Engine
from gpudb.engine.startup_log import reached
from gpudb.errors import SqlError
from gpudb.plan.cost.sampling import sample_by
from gpudb.session.dispatch import StatementDispatcher
from gpudb.session.plan_cache import PlanCache
from gpudb.session.session import Session
from gpudb.storage.iceberg.samples import sample
from gpudb.storage.store import Store

if TYPE_CHECKING:
    from gpudb.engine.gpu.cluster.config import WorkerProcesses
    from gpudb.engine.gpu.cluster.membership import Membership


class Database:
    """One open database. `data_dir` None keeps everything in a temporary directory that goes with it.

    `memory_limit` bounds the CPU engine, in bytes (default: DuckDB's, 80% of the machine's). With `workers` a cluster
    of so many worker processes, which share as much again, runs what it carries, as GPUs would (the twin engine); with
    `gpus`, the indices of GPUs, one with a worker on each (the GPU engine). With a `scheduler`, the address of Dask's,
    that is so many of its workers, or all for 0: each on a GPU, or as `twin`. Of its GPU's memory a worker may use
    `gpu_memory_limit` bytes (default: all that is free).
    """

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        memory_limit: int | None = None,
        max_connections: int = 1000,
        settings: Mapping[str, str] | None = None,
        workers: int = 0,
        gpus: Sequence[str] = (),
        scheduler: str | None = None,
        twin: bool = False,
        gpu_memory_limit: int | None = None,
    ) -> None:
        self.store = Store(data_dir)
        sample_by(sample)
        try:
            self.cpu = CpuEngine(memory_limit, self.store.spill)
            self.engine: Engine = self.cpu
            self.members: Membership | None = None
            reached("the storage is open")
            if workers or gpus or scheduler:
                processes = _processes(workers, gpus, scheduler, twin=twin, memory_limit=memory_limit)
                self.engine, self.members = _routed(self.cpu, replace(processes, device=gpu_memory_limit or 0))
        except BaseException:
            self.store.close()
            raise
        self.plans = PlanCache()
        self._dispatcher = StatementDispatcher()
        self.started = dt.datetime.now(dt.UTC)
        self.default_settings: Mapping[str, str] = {"max_connections": str(max_connections), **(settings or {})}
        self.max_connections = max_connections
        self._sessions: dict[int, Session] = {}
        self._lock = threading.Lock()
        self._pids = itertools.count(1000)
        self._closed = False

    def session(self, user: str, settings: Mapping[str, str] | None = None, client: str = "") -> Session:
        """A new session (see `face.DatabaseFace`)."""
        role = self.role(user)
        if role is None:
            raise SqlError.of("invalid_authorization_specification", f'role "{user}" does not exist')
        with self._lock:
            if self._closed:
                raise SqlError.of("cannot_connect_now", "the database system is shutting down")
            if len(self._sessions) >= self.max_connections:
                raise SqlError.of("too_many_connections", "sorry, too many clients already")
            merged = {**role.settings, **(settings or {})}
            session = Session(self, self._dispatcher, next(self._pids), role, merged, client)
            self._sessions[session.process_id] = session
        return session

    def role(self, name: str) -> Role | None:
        """A role by name."""
        return self.store.catalog().roles.get(name)

    def roles(self) -> Mapping[str, Role]:
        """All roles by name."""
        return self.store.catalog().roles

    def sessions(self) -> list[Session]:
        """The sessions that are open."""
        with self._lock:
            return list(self._sessions.values())

    def find(self, process_id: int) -> Session | None:
        """A session by its process id."""
        return self._sessions.get(process_id)

    def cancel(self, process_id: int) -> bool:
        """Cancels what a session runs; False if there is no such session."""
        session = self.find(process_id)
        if session is None:
            return False
        session.cancel()
        return True

    def terminate(self, process_id: int) -> bool:
        """Ends a session: its statement is cancelled and its client told 57P01."""
        session = self.find(process_id)
        if session is None:
            return False
        session.terminate()
        return True

    def forget(self, process_id: int) -> None:
        """Removes a session that has closed."""
        with self._lock:
            self._sessions.pop(process_id, None)

    def close(self) -> None:
        """Ends all sessions and closes the storage; idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for session in self.sessions():
            session.cancel()
            session.close()
        self.engine.close()
        self.store.close()


def _processes(
    workers: int, gpus: Sequence[str], scheduler: str | None, *, twin: bool, memory_limit: int | None
) -> WorkerProcesses:
    from gpudb.engine.gpu.cluster.config import cpu_processes, gpu_processes, joined_processes

    if scheduler is not None:
        return joined_processes(scheduler, workers or None, memory_limit, gpu=not twin)
    return gpu_processes(gpus, memory_limit) if gpus else cpu_processes(workers, memory_limit)


def _routed(embedded: CpuEngine, processes: WorkerProcesses) -> tuple[Engine, Membership]:
    """Workers before the embedded engine; imported late, since Dask and dask-sql take seconds."""
    from gpudb.engine.gpu.cluster.cluster import Cluster
    from gpudb.engine.gpu.engine import ClusterEngine
    from gpudb.engine.routing import RoutedEngine
    from gpudb.plan.dask.planner import warm

    def planner() -> None:
        warm()
        reached("the planner is ready")

    reached("the engine's libraries are read")
    cluster = Cluster(processes, meanwhile=planner)
    engine = ClusterEngine(cluster, embedded, "gpu" if processes.gpu else "twin")
    return RoutedEngine(engine, embedded), engine.members
