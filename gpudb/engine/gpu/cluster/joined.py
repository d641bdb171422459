"""Workers that others have started under a Dask scheduler, also after that scheduler has been replaced.

    joined -the scheduler is silent→ cut off -it answers→ joined
    joined, cut off -another one answers at its address→ its workers are claimed and get the plugins → joined
    joined -the claim has expired meanwhile, and another server has it→ without workers -it ends→ claimed as above

While the scheduler is silent its workers are assumed unchanged. Those of the next one are new: their nannies' packages
are compared with this server's before they are used.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Mapping
from typing import Any

from gpudb.engine.gpu.cluster.launcher import START_SECONDS, SchedulerState, WorkerInfo
from gpudb.engine.gpu.cluster.scheduler_client import CONNECT_SECONDS, EventLoopThread, SchedulerClient
from gpudb.errors import GpudbError, SqlError

_LOG = logging.getLogger(__name__)

CLAIM_SECONDS = 45.0
"""Time limit for another server's claim on workers: it expires 30 s after that server ended."""
_CHECK_SECONDS = 2.0
"""Time limit for workers to tell their versions; then they are asked again."""


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
        self._address, self._security = address, security
        self._server = uuid.uuid4().hex
        self._plugins: tuple[Any, ...] = ()
        self._installed = True
        self._workers: dict[str, WorkerInfo] = {}
        self._is_connected, self._known = True, 0
        self._numbers: dict[str, int] = {}
        self._checked: set[str] = set()
        """The nannies whose packages are this server's."""
        self._refused: dict[str, str] = {}
        """The nannies with others, and which."""
        self._reported = ""
        self.count = count or 0
        self._thread = EventLoopThread()
        try:
            self._scheduler = self._thread.run(self._connect(seconds or CONNECT_SECONDS))
            try:
                self.memory = self._thread.run(self._wait_for_workers(count, seconds or START_SECONDS))
                self._thread.run(self._check_and_claim())
            except BaseException:
                self._thread.run(self._scheduler.close())
                raise
        except BaseException:
            self._thread.close()
            raise

    async def _connect(self, seconds: float) -> SchedulerClient:
        try:
            return await SchedulerClient.open(self._address, seconds, self._security, self._server)
        except (OSError, ValueError, TimeoutError) as error:
            message = f'no scheduler answers at "{self._address}": {str(error)[:200]}'
            hint = "dask scheduler tells its address when it starts."
            if self._security is not None:
                hint += " Its certificate and cluster_tls_cert must be signed by the authority cluster_tls_ca."
            raise GpudbError(message, hint=hint, condition="sqlclient_unable_to_establish_sqlconnection") from error

    async def _wait_for_workers(self, count: int | None, seconds: float) -> int:
        """Waits for the workers; returns the bytes of memory that each may use, 0 for no limit."""
        ends = time.monotonic() + seconds
        while len(workers := (await self._scheduler.query())[1]) < (count or 1):
            if time.monotonic() > ends:
                message = f'{len(workers)} of {count or 1} workers have come to the scheduler at "{self._address}"'
                raise SqlError.of("system_error", message, hint=f"Start them: dask worker {self._address}")
            await asyncio.sleep(0.1)
        alone = [str(info["name"]) for info in workers.values() if not info["nanny"]]
        if alone:
            message = f"worker {alone[0]} runs without a nanny, which would start it again"
            raise SqlError.of("system_error", message, hint="Start it without --no-nanny.")
        self.count = count or len(workers)
        self._checked = {info["nanny"] for info in workers.values()}
        self._update(workers)
        return min(int(info["memory_limit"] or 0) for info in workers.values())

    async def _check_and_claim(self) -> None:
        """Raises 58000 if a worker has other versions of packages, 55006 if another server has the workers."""
        for address, difference in (await self._scheduler.find_other_versions(self._workers)).items():
            if difference is not None:
                message = f"the worker at {address} {difference}"
                raise SqlError.of("system_error", message, hint="Install the same packages on all hosts.")
        if not await self._scheduler.claim(CLAIM_SECONDS):
            message = f'another server has the workers of the scheduler at "{self._address}"'
            raise SqlError.of("object_in_use", message, hint="End it, or start workers under another scheduler.")

    @property
    def client(self) -> Any:
        """See `Launcher`."""
        return self._scheduler.client

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """See `Launcher`."""
        return self._thread.loop

    def install(self, *plugins: Any) -> None:
        """See `Launcher`."""
        self._plugins = plugins
        for plugin in plugins:
            self._thread.run(self._scheduler.install(plugin))

    @property
    def workers(self) -> Mapping[str, WorkerInfo]:
        """See `Launcher`."""
        return self._workers

    @property
    def scheduler_state(self) -> SchedulerState:
        """See `Launcher`."""
        return SchedulerState(self._is_connected, self._known)

    async def refresh(self) -> None:
        """See `Launcher`: joins the scheduler again if it has been replaced, or the connection given up."""
        try:
            if not self._scheduler.is_open:
                await self._join_again()
            identifier, workers = await self._scheduler.query()
            if identifier != self._scheduler.identifier:
                await self._join_again()
                identifier, workers = await self._scheduler.query()
            self._is_connected, self._known = True, len(workers)
            if self._scheduler.has_lost_claim:
                self._installed = False
            if identifier == self._scheduler.identifier and await self._reclaim():
                await self._check_new(workers)
                self._update(workers)
                self._report(self._describe_refused(workers))
        except Exception as error:  # of many types, as Dask's client closes; the next refresh begins anew
            self._is_connected = False
            self._report(f"the scheduler does not respond: {str(error) or type(error).__name__}")

    def _report(self, problem: str) -> None:
        """Logs a problem once, until it is another."""
        if problem and problem != self._reported:
            _LOG.warning("%s", problem)
        self._reported = problem

    async def _join_again(self) -> None:
        """Connects to the scheduler that is at the address now; its workers are others if it is another."""
        client = await SchedulerClient.open(self._address, CONNECT_SECONDS, self._security, self._server)
        left, self._scheduler = self._scheduler, client
        self._installed = not self._plugins
        await left.close()
        if client.identifier != left.identifier:
            _LOG.warning("the scheduler at %s has been replaced: this server joins it", self._address)
            self._workers = {}
            self._checked.clear()
            self._refused.clear()

    async def _reclaim(self) -> bool:
        """Claims the scheduler's workers and installs the plugins, unless that is done; returns whether it is."""
        if self._installed:
            return True
        if not await self._scheduler.claim():
            self._workers = {}
            self._report(f'another server has claimed the workers of the scheduler at "{self._address}"')
            return False
        for plugin in self._plugins:
            try:
                async with asyncio.timeout(START_SECONDS):
                    await self._scheduler.install(plugin)
            except (OSError, TimeoutError):
                raise
            except Exception:
                # A worker in which the plugin fails answers no ping, and is started again.
                _LOG.exception("a plugin failed on workers of the scheduler at %s", self._address)
        self._installed = True
        return True

    async def _check_new(self, workers: Mapping[str, Any]) -> None:
        """Compares the packages of workers whose nannies are new with this server's."""
        known = self._checked | self._refused.keys() | {None}
        new = {address: info["nanny"] for address, info in workers.items() if info["nanny"] not in known}
        if not new:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CHECK_SECONDS):
                for address, difference in (await self._scheduler.find_other_versions(new)).items():
                    if difference is None:
                        self._checked.add(new[address])
                    else:
                        self._refused[new[address]] = difference

    def _describe_refused(self, workers: Mapping[str, Any]) -> str:
        """Returns why a worker is not used; empty if all may be."""
        for address, info in workers.items():
            if not info["nanny"]:
                return f"the worker at {address} is not used: it runs without a nanny"
            if info["nanny"] in self._refused:
                return f"the worker at {address} is not used: it {self._refused[info['nanny']]}"
        return ""

    def _update(self, workers: Mapping[str, Any]) -> None:
        """Numbers workers; a new one takes the number of one that is gone, or none while all are there."""
        names = {str(info["name"]): address for address, info in workers.items() if info["nanny"] in self._checked}
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
        self._thread.run(self._scheduler.leave())
        self._thread.close()
