"""The workers: started and counted, called, and started anew when one is lost or will not stop.

One process a worker, under Dask's nanny, which brings a worker back that has died. All calls run on Dask's event loop,
away from the threads that hold the sockets.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from gpudb.engine.gpu.worker import StageWorker
from gpudb.errors import SqlError

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")

START_SECONDS = 60
"""How long workers may take to start, or to come back."""


class Cluster:
    """`workers` CPU workers on this host. `budget` bounds the tables that each keeps, in bytes."""

    def __init__(self, workers: int, *, budget: int = 2**32) -> None:
        import dask
        from distributed import Client, LocalCluster

        self.size = workers
        with dask.config.set({"distributed.worker.memory.terminate": False, "distributed.admin.tick.limit": "60s"}):
            self._cluster: Any = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=workers,
                processes=True,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                host="127.0.0.1",
                memory_limit=0,
                silence_logs=logging.ERROR,
                env={"POLARS_MAX_THREADS": "1"},
            )
            client = Client(self._cluster, set_as_default=False, timeout=START_SECONDS)  # type: ignore[no-untyped-call]
            self._client: Any = client
        self._client.wait_for_workers(workers, timeout=START_SECONDS)
        self._client.register_plugin(StageWorker(budget))
        self._closing = threading.Lock()
        self._closed = False

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that calls run on."""
        loop: asyncio.AbstractEventLoop = self._client.loop.asyncio_loop
        return loop

    def addresses(self) -> tuple[str, ...]:
        """The workers' addresses in their order; 57P01 while one is missing."""
        # By name: a worker that comes back has another address, and the same name.
        known = self._cluster.scheduler.workers
        found = tuple(state.address for state in sorted(known.values(), key=lambda state: int(state.name)))
        if len(found) < self.size:
            raise SqlError.of("admin_shutdown", "a worker of the cluster is starting again", hint="Try again shortly.")
        return found

    async def call(self, address: str, handler: str, **arguments: object) -> Any:
        """A worker's answer."""
        return await getattr(self._client.rpc(address), handler)(**arguments)

    def run(self, work: Coroutine[Any, Any, _T]) -> asyncio.Future[_T]:
        """Starts work on the event loop; a future of another thread's."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)  # type: ignore[return-value]

    async def restart(self, address: str) -> None:
        """Ends a worker's process, whatever it does; its nanny starts another."""
        state = self._cluster.scheduler.workers.get(address)
        if state is not None and state.nanny:
            async with asyncio.timeout(START_SECONDS):
                await self._client.rpc(state.nanny).kill(timeout=1, reason="gpudb")
                await self._client.rpc(state.nanny).instantiate()

    def close(self) -> None:
        """Ends the workers."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            for nanny in self._cluster.workers.values():
                # They hold nothing that is not elsewhere: no need to wait for their interpreters to wind down.
                nanny.auto_restart = False
                if nanny.process is not None and nanny.process.pid is not None:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(nanny.process.pid, signal.SIGKILL)
            self._client.close(timeout=5)
            self._cluster.close(timeout=10)
