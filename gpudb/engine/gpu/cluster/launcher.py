"""Launchers of worker processes: under a scheduler of this process, or joined to an existing one.

Either way each worker runs under one of Dask's nannies, which restarts it under another address when it has died. A
worker's number determines its partition of tables; it belongs to the worker's name, which stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from distributed.diagnostics.plugin import NannyPlugin

from gpudb.engine.gpu.cluster.private_directory import PrivateDirectory
from gpudb.engine.gpu.rpc.calls import wrap_handler
from gpudb.engine.gpu.rpc.messages import AliveRequest, KillRequest
from gpudb.errors import GpudbError, SqlError

_LOG = logging.getLogger(__name__)

START_SECONDS = 90
"""Time limit for a worker to start."""
CONNECT_SECONDS = 10
"""Time limit for a scheduler to answer."""
CLAIM_SECONDS = 45.0
"""Time limit for another server's claim on workers: it expires 30 s after that server ended."""
_CLAIM = "gpudb"
_ENDED = frozenset("TtZXx")
"""States of processes that are stopped or have ended."""
_SAME = ("gpudb", "polars", "pyarrow", "distributed")
"""Packages whose versions must be equal everywhere, for plans, rows and messages."""


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

    client: Any
    """Dask's client of their scheduler."""

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


def _connect(scheduler: Any, seconds: float, security: Any | None = None) -> Any:
    """Returns Dask's client of a cluster, or of the scheduler at an address; closed if it fails to connect.

    The constructor leaves a failed client to the garbage collector, whose call of `Client.__del__` waits for ever for
    a lock that its thread has when another client is about to start.
    """
    from distributed import Client

    client: Any = Client.__new__(Client)
    try:
        client.__init__(scheduler, set_as_default=False, timeout=seconds, security=security)
    except BaseException:
        client.close(timeout=5)
        raise
    return client


class LocalLauncher:
    """Workers of a Dask `cluster` that this process has started, with scheduler and nannies in this process.

    `directory` has their files and certificates.
    """

    def __init__(self, cluster: Any, directory: PrivateDirectory) -> None:
        self.cluster, self._directory = cluster, directory
        # Workers on GPUs are named by them: by any indices, or by identifiers.
        self._numbers = {str(name): number for number, name in enumerate(cluster.worker_spec)}
        self._repair: asyncio.Future[Any] | None = None
        self.client: Any = _connect(cluster, START_SECONDS)

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


class JoinedLauncher:
    """Workers that others have started under the scheduler at `address`; this server uses `count` of them, or all.

    They have this server's version of gpudb, and the data directory at the same path. One server at a time uses them;
    when it ends, their processes restart without what it had loaded. `security` has this server's certificate; without
    one nothing is encrypted. `seconds` is how long to wait for the scheduler, and then for the workers.

    Raises 08001 if no scheduler answers; 55006 if another server uses its workers; 58000 for too few workers, for a
    worker without a nanny, and for other versions.
    """

    def __init__(
        self, address: str, count: int | None = None, security: Any | None = None, seconds: float | None = None
    ) -> None:
        from distributed import Lock

        try:
            self.client: Any = _connect(address, seconds or CONNECT_SECONDS, security)
        except (OSError, ValueError, TimeoutError) as error:
            message = f'no scheduler answers at "{address}": {str(error)[:200]}'
            hint = "dask scheduler tells its address when it starts."
            if security is not None:
                hint += " Its certificate and cluster_tls_cert must be signed by the authority cluster_tls_ca."
            raise GpudbError(message, hint=hint, condition="sqlclient_unable_to_establish_sqlconnection") from error
        try:
            self._workers: dict[str, WorkerInfo] = {}
            self._is_connected, self._known = True, 0
            self._numbers: dict[str, int] = {}
            self.count = count or 0
            self.memory = self._wait_for_workers(address, count, seconds or START_SECONDS)
            self._check_versions()
            self._claim = Lock(_CLAIM, scheduler_rpc=self.client.scheduler, loop=self.client.loop)  # type: ignore[no-untyped-call]
            if not self._claim.acquire(timeout=CLAIM_SECONDS):  # type: ignore[no-untyped-call]
                message = f'another server has the workers of the scheduler at "{address}"'
                raise SqlError.of("object_in_use", message, hint="End it, or start workers under another scheduler.")
        except BaseException:
            self.client.close(timeout=5)
            raise

    def _wait_for_workers(self, address: str, count: int | None, seconds: float) -> int:
        """Waits for the workers; returns the bytes of memory that each may use, 0 for no limit."""
        ends = time.monotonic() + seconds
        while len(workers := self.client.sync(self._query_scheduler)) < (count or 1):
            if time.monotonic() > ends:
                message = f'{len(workers)} of {count or 1} workers have come to the scheduler at "{address}"'
                raise SqlError.of("system_error", message, hint=f"Start them: dask worker {address}")
            time.sleep(0.1)
        alone = [str(info["name"]) for info in workers.values() if not info["nanny"]]
        if alone:
            message = f"worker {alone[0]} runs without a nanny, which would start it again"
            raise SqlError.of("system_error", message, hint="Start it without --no-nanny.")
        self.count = count or len(workers)
        self._update(workers)
        return min(int(info["memory_limit"] or 0) for info in workers.values())

    def _check_versions(self) -> None:
        """Raises 58000 if a worker lacks a package, or has another version of it."""
        versions = self.client.get_versions(packages=_SAME)
        ours = versions["client"]["packages"]
        for address, info in versions["workers"].items():
            theirs = info["packages"]
            for name in _SAME:
                if theirs.get(name) != ours[name]:
                    there = f"has {name} {theirs[name]}" if theirs.get(name) else f"lacks {name}"
                    message = f"the worker at {address} {there}, this server has {ours[name]}"
                    raise SqlError.of("system_error", message, hint="Install the same packages on all hosts.")

    @property
    def workers(self) -> Mapping[str, WorkerInfo]:
        """See `Launcher`."""
        return self._workers

    @property
    def scheduler_state(self) -> SchedulerState:
        """See `Launcher`."""
        return SchedulerState(self._is_connected, self._known)

    async def _query_scheduler(self) -> Mapping[str, Any]:
        async with asyncio.timeout(CONNECT_SECONDS):
            info: Mapping[str, Any] = (await self.client.scheduler.identity(n_workers=-1))["workers"]
            return info

    async def refresh(self) -> None:
        """See `Launcher`: while the scheduler does not answer, the workers are assumed unchanged."""
        try:
            self._update(await self._query_scheduler())
            self._is_connected = True
        except (OSError, TimeoutError, RuntimeError) as error:  # RuntimeError: Dask's client has given up
            self._is_connected = False
            _LOG.warning("the scheduler does not respond: %s", error)

    def _update(self, workers: Mapping[str, Any]) -> None:
        """Numbers workers; a new one takes the number of one that is gone, or none while all are there."""
        self._known = len(workers)
        names = {str(info["name"]): address for address, info in workers.items()}
        for name in sorted(names.keys() - self._numbers.keys()):
            there = {number for each, number in self._numbers.items() if each in names}
            free = [number for number in range(self.count) if number not in there]
            if free:
                self._numbers = {each: number for each, number in self._numbers.items() if number != free[0]}
                self._numbers[name] = free[0]
        self._workers = {
            address: WorkerInfo(self._numbers[name], workers[address]["nanny"])
            for name, address in names.items()
            if name in self._numbers
        }

    def close(self) -> None:
        """See `Launcher`."""
        for nanny in (False, True):
            with contextlib.suppress(Exception):  # the scheduler may be gone
                self.client.unregister_worker_plugin("gpudb", nanny=nanny)
        with contextlib.suppress(Exception):
            self._claim.release()  # type: ignore[no-untyped-call]
        self.client.close(timeout=5)


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
