"""Calls to workers' handlers, from the coordinator and from other workers: a worker that is gone is found out soon.

What goes either way is one piece of bytes to Dask, which would look into every part of it otherwise.
"""

from __future__ import annotations

import pickle
from collections.abc import Awaitable, Callable
from typing import Any

CONNECT_SECONDS = 1.5
"""How long a connection may take to be made; Dask's own are tried for half a minute."""


class Connections:
    """Connections to workers, made as they are needed and used again; `arguments` are Dask's for making them."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        from distributed.core import ConnectionPool, Status

        self._pool = ConnectionPool(connection_args=arguments, timeout=CONNECT_SECONDS)
        self._starting = Status.init

    async def call(self, address: str, handler: str, /, **arguments: object) -> Any:
        """A handler's answer, None where there is no such handler yet; OSError if the worker is lost."""
        if self._pool.status == self._starting:
            await self._pool.start()
        answer = await getattr(self._pool(address), handler)(message=pickle.dumps(arguments))
        return pickle.loads(answer["packed"]) if isinstance(answer, dict) else answer

    def forget(self, address: str) -> None:
        """A worker is gone: closes what leads to it."""
        self._pool.remove(address)

    async def close(self) -> None:
        """Closes all."""
        await self._pool.close()


def handling(handler: Callable[..., Awaitable[Any]]) -> Callable[[bytes], Awaitable[Any]]:
    """A handler as Dask calls it for `Connections.call`; bytes go back as they are."""

    async def answer(message: bytes) -> Any:
        given = await handler(**pickle.loads(message))
        return given if isinstance(given, bytes) else {"packed": pickle.dumps(given)}

    return answer
