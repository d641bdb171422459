"""A worker's door, at which other workers fetch frames of its GPU's memory over UCX; and its way to theirs.

They ask for rows by TCP, and come for those that lie ready there in one buffer, unless they read them where they lie.

Dask's UCX connections wait for the whole device before each buffer they send or receive, and the first use of another
GPU's memory maps all of it. So the door has a thread and an event loop of its own: the worker's own loop, which gives
the signs of life, never waits for a GPU. UCX waits in a thread of its own, which needs no interpreter's lock: as Dask
has it, every connection on which something is waited for asks for it again and again, and all else that runs in the
process takes two or three times as long.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from gpudb.engine.gpu.rpc.calls import Attached, Connections, handling

CONNECT_SECONDS = 10.0
"""How long a connection to a door may take: the first one opens the other GPU's memory."""
OPEN_SECONDS = 60.0
"""How long the door may take to open: UCX looks at every device of the host."""
_WAITING = {"UCXPY_PROGRESS_MODE": "thread", "UCXPY_ENABLE_PYTHON_FUTURE": "1"}
"""What UCX reads of how it waits, once, as the first door of a process opens; who has set it knows better."""
_T = TypeVar("_T")
Give = Callable[..., Awaitable[bytes | Attached]]
"""What answers at the door, on the worker's loop."""


class Door:
    """Opened by `open`; `arguments` are Dask's for making connections, `enter` readies its thread for the GPU, and
    `protocol` is another one in tests."""

    def __init__(self, arguments: dict[str, Any], give: Give, enter: Callable[[], None], protocol: str = "ucx") -> None:
        self._arguments, self._give, self._enter, self._protocol = arguments, give, enter, protocol
        self._home = asyncio.get_running_loop()
        self.loop = asyncio.new_event_loop()
        """The door's event loop."""
        self.thread = threading.Thread(target=self._run, name="door", daemon=True)
        self.address = ""
        """Where it is; empty until it is open, and once it is closed."""

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    async def open(self, host: str) -> None:
        """Opens it on a host's address; whatever UCX raises where it cannot be had."""
        self.thread.start()
        async with asyncio.timeout(OPEN_SECONDS):
            self.address = await self._there(self._listen(host))

    async def _listen(self, host: str) -> str:
        from distributed.core import Server

        for name, value in _WAITING.items():
            os.environ.setdefault(name, value)
        self._enter()
        self._connections = Connections(self._arguments, CONNECT_SECONDS)
        made: Any = Server
        self._server = made(
            {"gpudb_at_door": handling(self._at_door)}, connection_args=self._arguments, needs_workdir=False
        )
        await self._server.listen(f"{self._protocol}://{host}:0", allow_offload=False)
        return str(self._server.listeners[-1].contact_address)

    async def _at_door(self, **wanted: object) -> bytes | Attached:
        """Called by other workers."""

        async def given() -> bytes | Attached:
            return await self._give(**wanted)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(given(), self._home))

    async def call(self, address: str, handler: str, /, **arguments: object) -> Any:
        """What another worker answers at its door; OSError if it is lost."""
        return await self._there(self._connections.call(address, handler, **arguments))

    async def _there(self, work: Coroutine[Any, Any, _T]) -> _T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self.loop))

    def close(self) -> None:
        """Lets nobody in any more."""
        if self.address:
            self.address = ""
            asyncio.run_coroutine_threadsafe(self._close(), self.loop)

    async def _close(self) -> None:
        await self._connections.close()
        for listener in self._server.listeners:
            listener.stop()
        self.loop.stop()
