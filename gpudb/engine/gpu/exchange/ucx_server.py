"""A worker's UCX server, from which other workers fetch frames of its GPU memory, and its client of theirs.

Workers ask for rows by TCP. Rows that wait here are fetched as one buffer, unless the worker maps the memory. UCX
listens on all interfaces and does not encrypt: a peer first proves that it knows the cluster's secret.

Dask's UCX connections wait for the whole device before each buffer that they send or receive, and the first use of
another GPU's memory maps all of it. Therefore the server has its own thread and event loop: the worker's loop, which
answers pings, never waits for a GPU. UCX polls in a native thread, which does not need the interpreter's lock: with
Dask's defaults each waiting connection polls from Python, and everything else in the process takes two to three times
as long.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from gpudb.engine.gpu.rpc.calls import Connections, wrap_handler
from gpudb.engine.gpu.rpc.messages import BufferReply, BufferRequest, RpcRequest

CONNECT_SECONDS = 10.0
"""Time limit for a connection to a UCX server: the first one maps the other GPU's memory."""
OPEN_SECONDS = 60.0
"""Time limit for the server to start: UCX inspects every device of the host."""
_WAITING = {"UCXPY_PROGRESS_MODE": "thread", "UCXPY_ENABLE_PYTHON_FUTURE": "1"}
"""UCX reads these once, when the first server of a process starts; variables that are already set take precedence."""
_T = TypeVar("_T")
BufferHandler = Callable[[BufferRequest], Awaitable[bytes | BufferReply]]
"""Answers requests for buffers, on the worker's event loop."""


class UcxServer:
    """Started by `start`.

    `secret` is the cluster's, `prepare_thread` readies the thread for the GPU, and `protocol` differs in tests.
    """

    def __init__(
        self,
        secret: bytes,
        handler: BufferHandler,
        prepare_thread: Callable[[], None],
        protocol: str = "ucx",
    ) -> None:
        self._secret, self._handler, self._prepare_thread, self._protocol = secret, handler, prepare_thread, protocol
        self._home = asyncio.get_running_loop()
        self.loop = asyncio.new_event_loop()
        """The server's event loop."""
        self.thread = threading.Thread(target=self._run, name="ucx server", daemon=True)
        self.address = ""
        """The server's address; empty until it has started, and once it is closed."""

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def start(self, host: str) -> None:
        """Starts the server on a host's address. Raises UCX's error where it is unavailable."""
        self.thread.start()
        async with asyncio.timeout(OPEN_SECONDS):
            self.address = await self._run_there(self._listen(host))

    async def _listen(self, host: str) -> str:
        from distributed.core import Server

        from gpudb.engine.gpu.exchange.authenticated_comm import register_authenticated

        for name, value in _WAITING.items():
            os.environ.setdefault(name, value)
        self._prepare_thread()
        scheme = register_authenticated(self._protocol)
        arguments = {"secret": self._secret}
        self._connections = Connections(arguments, CONNECT_SECONDS)
        made: Any = Server
        self._server = made(
            {BufferRequest.handler: wrap_handler(BufferRequest, self._answer_fetch)},
            connection_args=arguments,
            needs_workdir=False,
        )
        await self._server.listen(f"{scheme}://{host}:0", allow_offload=False, **arguments)
        return f"{scheme}://{str(self._server.listeners[-1].contact_address).partition('://')[2]}"

    async def _answer_fetch(self, request: BufferRequest) -> bytes | BufferReply:
        """Handles a fetch by another worker."""

        async def reply() -> bytes | BufferReply:
            return await self._handler(request)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(reply(), self._home))

    async def call(self, address: str, request: RpcRequest[_T]) -> _T | None:
        """Returns the reply of another worker's UCX server. Raises OSError if the worker is lost."""
        return await self._run_there(self._connections.call(address, request))

    async def _run_there(self, work: Coroutine[Any, Any, _T]) -> _T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def close(self) -> None:
        """Stops accepting connections."""
        if self.address:
            self.address = ""
            asyncio.run_coroutine_threadsafe(self._close(), self.loop)

    async def _close(self) -> None:
        await self._connections.close()
        for listener in self._server.listeners:
            listener.stop()
        self.loop.stop()
