"""This server at one process of a Dask scheduler: Dask's client of it, and the claim on its workers.

A scheduler that ends takes plugins and claims with it; the one that is started in its place has another identifier. All
coroutines run on one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from gpudb.engine.gpu.rpc.calls import is_refused

_T = TypeVar("_T")

CONNECT_SECONDS = 10
"""Time limit for a scheduler to answer."""
PACKAGES = ("gpudb", "polars", "pyarrow", "distributed")
"""Packages whose versions must be equal everywhere, for plans, rows and messages."""
_CLAIM = "gpudb"
_CLAIM_SECONDS = 30.0
_RENEWAL_SECONDS = 6.0
_CLOSE_SECONDS = 5.0


class EventLoopThread:
    """An event loop in a thread of its own, until `close`: it outlives the clients that run on it."""

    def __init__(self) -> None:
        started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main(started)), name="gpudb-dask", daemon=True)
        self._thread.start()
        started.wait()

    async def _main(self, started: threading.Event) -> None:
        self.loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        started.set()
        await self._ended.wait()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Runs a coroutine on the loop, from another thread, and returns its result; an interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """Ends the loop."""
        self.loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(timeout=10)


class SchedulerClient:
    """Dask's `client` of the scheduler whose identifier is `identifier`; made by `open`.

    `server` identifies this server: its claims are one, whatever clients it has had.
    """

    def __init__(self, client: Any, identifier: str, server: str) -> None:
        self.client, self.identifier = client, identifier
        self._address, self._server = client.scheduler.address, server
        self._renewal: asyncio.Task[None] | None = None
        self._renewing = asyncio.Lock()
        self._renewed = 0.0
        self.has_lost_claim = False
        """Whether another server has the claim, or may have had it: this one was not heard before it expired."""

    @classmethod
    async def open(cls, address: str, seconds: float, security: Any | None, server: str) -> SchedulerClient:
        """Connects to the scheduler at an address.

        Raises OSError, ValueError or TimeoutError if none answers.
        """
        from distributed import Client
        from tornado.ioloop import IOLoop

        client: Any = Client.__new__(Client)
        options = {"set_as_default": False, "timeout": seconds, "security": security}
        try:
            client.__init__(address, asynchronous=True, loop=IOLoop.current(), **options)
            await client
            return cls(client, str((await client.scheduler.identity(n_workers=0))["id"]), server)
        except BaseException:
            # The constructor leaves a failed client to the garbage collector, which would wait for its thread's lock.
            with contextlib.suppress(Exception):
                await client._close(fast=True)
            raise

    @property
    def is_open(self) -> bool:
        """Whether the client is connected, or still tries to connect again."""
        return self.client.status in {"running", "connecting"}

    async def query(self) -> tuple[str, Mapping[str, Any]]:
        """Returns the identifier of the scheduler at the address, and its workers by address.

        Raises OSError, TimeoutError or RuntimeError if none answers.
        """
        if not self.is_open:
            raise ConnectionError("the connection to the scheduler was given up")
        if self.client.status == "connecting" and await is_refused(self._address):
            raise ConnectionRefusedError(f"nobody listens at {self._address}")
        async with asyncio.timeout(CONNECT_SECONDS):
            info = await self.client.scheduler.identity(n_workers=-1)
        return str(info["id"]), info["workers"]

    async def claim(self, seconds: float = 0) -> bool:
        """Claims the workers, waiting for `seconds` for another server's claim; returns whether this server has it.

        The claim is a lock of Dask's, and ends _CLAIM_SECONDS after it was renewed last.
        """
        scheduler = self.client.scheduler
        await scheduler.semaphore_register(name=_CLAIM, max_leases=1, lease_timeout=_CLAIM_SECONDS)
        # Dask's own lock would name each claim anew, and an old one could stand in the way.
        claimed = await scheduler.semaphore_acquire(name=_CLAIM, timeout=seconds, lease_id=self._server)
        self.has_lost_claim, self._renewed = not claimed, time.monotonic()
        if claimed and self._renewal is None:
            self._renewal = asyncio.ensure_future(self._renew())
        return bool(claimed)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(_RENEWAL_SECONDS)
            with contextlib.suppress(OSError, RuntimeError, AttributeError):  # there may be no scheduler
                asked = time.monotonic()
                # Dask's own renewal would take the claim from the server that has it now.
                async with self._renewing, asyncio.timeout(CONNECT_SECONDS):
                    scheduler = self.client.scheduler
                    held = await scheduler.semaphore_acquire(name=_CLAIM, timeout=0, lease_id=self._server)
                if not held or asked > self._renewed + _CLAIM_SECONDS:
                    self.has_lost_claim = True
                if held:
                    self._renewed = asked

    async def install(self, plugin: Any) -> None:
        """Installs a plugin on the workers or nannies that are there, and on those that come."""
        await self.client.register_plugin(plugin)

    async def find_other_versions(self, workers: Iterable[str]) -> dict[str, str | None]:
        """Returns for each worker at some addresses that answers what differs in its packages, None if nothing does."""
        from distributed.versions import get_versions

        message = {"op": "versions", "packages": list(PACKAGES)}
        replies = await self.client.scheduler.broadcast(msg=message, workers=list(workers), on_error="ignore")
        ours = get_versions(packages=list(PACKAGES))["packages"]
        return {address: _compare(ours, reply["packages"]) for address, reply in replies.items()}

    async def leave(self) -> None:
        """Leaves the workers to other servers: uninstalls the plugins, if they are its own, and gives the claim up."""
        for nanny in () if self.has_lost_claim else (False, True):
            with contextlib.suppress(Exception):  # the scheduler may be gone
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self.client.unregister_worker_plugin("gpudb", nanny=nanny)
        if self._renewal is not None:
            async with self._renewing:  # a renewal on its way would claim anew
                self._renewal.cancel()
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CONNECT_SECONDS):
                    await self.client.scheduler.semaphore_release(name=_CLAIM, lease_id=self._server)
        await self.close()

    async def close(self) -> None:
        """Closes the connection. A claim ends some time later, as nothing renews it."""
        if self._renewal is not None:
            self._renewal.cancel()
        log = logging.getLogger("distributed.client")
        log.addFilter(_is_no_cancellation)
        try:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self.client._close(fast=True)
        finally:
            log.removeFilter(_is_no_cancellation)


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    """Filters Dask's log: a client that is closed while it connects again logs the end of that with its stack."""
    return record.exc_info is None or record.exc_info[0] is not asyncio.CancelledError


def _compare(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str | None:
    """Returns the first package whose version differs, as the end of a sentence about a worker."""
    for name in PACKAGES:
        if theirs.get(name) != ours[name]:
            there = f"has {name} {theirs[name]}" if theirs.get(name) else f"lacks {name}"
            return f"{there}, this server has {ours[name]}"
    return None
