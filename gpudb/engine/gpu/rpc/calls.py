"""Calls to handlers of workers, from the coordinator and from other workers. A lost worker is detected quickly.

Each direction carries one bytes object: Dask would inspect every part of a structured message. A reply may have a
buffer of GPU memory beside it, which Dask sends without a copy to the host.
"""

from __future__ import annotations

import pickle
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

CONNECT_SECONDS = 1.5
"""Time limit for opening a connection. Dask's own limit is half a minute."""


@dataclass(frozen=True, slots=True)
class IpcHandle:
    """Position of a buffer in a process's GPU memory, readable by other processes of the host.

    `handle` is the driver's handle of the allocation, `start` the offset in it, and `size` the buffer's size, in bytes.
    """

    handle: bytes
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class BufferReply:
    """A reply with a buffer beside it; `place` locates the buffer for a process that can map it."""

    answer: Any
    buffer: Any
    place: IpcHandle | None = None


@dataclass(frozen=True, slots=True)
class PendingBuffer:
    """A reply whose rows wait at the UCX server of the replying worker, under a number of the statement.

    `place` locates the buffer for a process that can map it, and `answer` is what decodes it.
    """

    number: int
    answer: Any = None
    place: IpcHandle | None = None


class Connections:
    """Connections to workers, opened on demand within `seconds` and reused.

    `arguments` are Dask's connection arguments.
    """

    def __init__(self, arguments: dict[str, Any], seconds: float = CONNECT_SECONDS) -> None:
        from distributed.core import ConnectionPool, Status

        self._pool = ConnectionPool(connection_args=arguments, timeout=seconds)
        self._starting = Status.init

    async def call(self, address: str, handler: str, /, **arguments: object) -> Any:
        """Returns a handler's reply; None if the worker has no such handler yet.

        Raises OSError if the worker is lost.
        """
        if self._pool.status == self._starting:
            await self._pool.start()
        answer = await getattr(self._pool(address), handler)(message=pickle.dumps(arguments))
        if not isinstance(answer, dict):
            return answer
        found = pickle.loads(answer["packed"])
        return BufferReply(found, answer["buffer"]) if "buffer" in answer else found

    def forget(self, address: str) -> None:
        """Closes the connections to a worker that is gone."""
        self._pool.remove(address)

    async def close(self) -> None:
        """Closes all connections."""
        await self._pool.close()


def wrap_handler(handler: Callable[..., Awaitable[Any]]) -> Callable[[bytes], Awaitable[Any]]:
    """Wraps a handler for `Connections.call` as Dask calls it; bytes are returned unchanged."""
    from distributed.protocol.serialize import to_serialize

    async def answer(message: bytes) -> Any:
        given = await handler(**pickle.loads(message))
        if isinstance(given, BufferReply):
            return {"packed": pickle.dumps(given.answer), "buffer": to_serialize(given.buffer)}  # type: ignore[no-untyped-call]
        return given if isinstance(given, bytes) else {"packed": pickle.dumps(given)}

    return answer
