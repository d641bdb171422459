"""Launchers of worker processes, and the one for workers under a scheduler of this process.

Each worker runs under one of Dask's nannies, which restarts it under another address when it has died. A worker's
number determines its partition of tables; it belongs to the worker's name, which stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from distributed.diagnostics.plugin import NannyPlugin

from gpudb.engine.gpu.cluster.private_directory import PrivateDirectory
from gpudb.engine.gpu.rpc.calls import wrap_handler
from gpudb.engine.gpu.rpc.messages import AliveRequest, KillRequest

START_SECONDS = 90
"""Time limit for a worker to start."""
_ENDED = frozenset("TtZXx")
"""States of processes that are stopped or have ended."""


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker: its number, and its nanny's address."""

    number: int
    nanny: str


@dataclass(frozen=True, slots=True)
class SchedulerState:
    """Whether the scheduler answers, and how many workers it had when it did last."""

    connected: bool
    workers: int


class Launcher(Protocol):
    """The workers of a cluster."""

    @property
    def client(self) -> Any:
        """Dask's client of their scheduler; another one once the scheduler has been replaced."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the client and of all calls; it runs until `close`."""

    def install(self, *plugins: Any) -> None:
        """Installs Dask's plugins on the workers and nannies that are there, and on those that come."""

    @property
    def workers(self) -> Mapping[str, WorkerInfo]:
        """The workers by address, as of the last `refresh`."""

    @property
    def scheduler_state(self) -> SchedulerState:
        """What the scheduler answered last."""

    async def refresh(self) -> None:
        """Updates the workers, and repairs what has failed."""

    def close(self) -> None:
        """Ends the workers, or leaves them to others."""


class LocalLauncher:
    """Workers of a Dask `cluster` that this process has started, with scheduler and nannies in this process.

    `directory` has their files and certificates.
    """

    def __init__(self, cluster: Any, directory: PrivateDirectory) -> None:
        from distributed import Client

        self.cluster, self._directory = cluster, directory
        # Workers on GPUs are named by them: by any indices, or by identifiers.
        self._numbers = {str(name): number for number, name in enumerate(cluster.worker_spec)}
        self._repair: asyncio.Future[Any] | None = None
        self.client: Any = Client(cluster, set_as_default=False, timeout=START_SECONDS)  # type: ignore[no-untyped-call]

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """See `Launcher`."""
        loop: asyncio.AbstractEventLoop = self.client.loop.asyncio_loop
        return loop

    def install(self, *plugins: Any) -> None:
        """See `Launcher`."""
        for plugin in plugins:
            self.client.register_plugin(plugin)

    @property
    def workers(self) -> Mapping[str, WorkerInfo]:
        """See `Launcher`."""
        # By name: a restarted worker has another address and the same name.
        every = list(self.cluster.scheduler.workers.values())
        return {state.address: WorkerInfo(self._numbers[str(state.name)], state.nanny) for state in every}

    @property
    def scheduler_state(self) -> SchedulerState:
        """See `Launcher`: it is in this process."""
        return SchedulerState(self.cluster.scheduler.status.name == "running", len(self.cluster.scheduler.workers))

    async def refresh(self) -> None:
        """Replaces nannies that have given up: a worker that dies while it starts takes its nanny with it."""
        nannies = self.cluster.workers
        given_up = [name for name, nanny in nannies.items() if nanny.status.name in {"closed", "failed"}]
        for name in given_up:
            del nannies[name]
        if given_up:
            self._repair = asyncio.ensure_future(self.cluster._correct_state())

    def close(self) -> None:
        """See `Launcher`."""
        for nanny in self.cluster.workers.values():
            # They hold nothing of value: no need to wait for their interpreters to shut down.
            nanny.close_gracefully()
            kill(nanny)
        self.client.close(timeout=5)
        self.cluster.close(timeout=10)
        self._directory.close()


class NannyHandlers(NannyPlugin):
    """Adds handlers to Dask's nannies: one kills their worker, one returns whether its process is able to run."""

    name = "gpudb"

    def setup(self, nanny: Any) -> None:
        """Called by Dask in the nanny's process."""

        async def kill_worker(request: KillRequest) -> None:
            if has_address(nanny, request.address):
                kill(nanny)

        async def is_alive(request: AliveRequest) -> bool:
            return has_address(nanny, request.address) and is_runnable(nanny)

        nanny.handlers[KillRequest.handler] = wrap_handler(KillRequest, kill_worker)
        nanny.handlers[AliveRequest.handler] = wrap_handler(AliveRequest, is_alive)

    def teardown(self, nanny: Any) -> None:
        """Called by Dask when the server leaves the workers to others: their processes restart without what it had
        loaded.
        """
        nanny.handlers.pop(KillRequest.handler, None)
        nanny.handlers.pop(AliveRequest.handler, None)
        kill(nanny)


def has_address(nanny: Any, address: str) -> bool:
    """Returns whether a nanny's current worker has an address.

    While a worker starts, its nanny has the address of the previous one, or none.
    """
    running = nanny.process is not None and nanny.process.status.name == "running"
    return bool(running == (nanny.worker_address == address))


def is_runnable(nanny: Any) -> bool:
    """Returns whether a nanny's worker exists and is neither stopped nor ending.

    True if the system does not report it.
    """
    if nanny.process is None or nanny.process.pid is None:
        return False
    try:
        info = Path(f"/proc/{nanny.process.pid}/stat").read_text(errors="replace")
    except OSError:
        return not Path("/proc/self/stat").exists()
    # The state follows the program's name, which is in brackets and may contain any character.
    return info.rpartition(")")[2].split()[0] not in _ENDED


def kill(nanny: Any) -> None:
    """Kills a nanny's worker."""
    if nanny.process is not None and nanny.process.pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(nanny.process.pid, signal.SIGKILL)
