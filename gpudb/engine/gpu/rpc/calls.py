"""Calls to workers' handlers, from the coordinator and from other workers: a worker that is gone is found out soon.

What goes either way is one piece of bytes to Dask, which would look into every part of it otherwise; beside an answer
there may be a buffer of a GPU's memory, which Dask sends from where it lies.
"""

from __future__ import annotations

import pickle
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

CONNECT_SECONDS = 1.5
"""How long a connection may take to be made; Dask's own are tried for half a minute."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a buffer lies in the memory of a process's GPU, for others of its host: the driver's handle of the memory
    that it is in, the bytes before it there, and its own."""

    handle: bytes
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Attached:
    """An answer, and a buffer beside it; for one that can read it where it lies, the place."""

    answer: Any
    buffer: Any
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class AtDoor:
    """Rows that lie ready at the door of the worker that was asked, under a number of their statement's; for one that
    can read them where they lie, the place, and what goes with them."""

    number: int
    answer: Any = None
    place: Place | None = None


class Connections:
    """Connections to workers, made as they are needed within `seconds`, and used again; `arguments` are Dask's for
    making them."""

    def __init__(self, arguments: dict[str, Any], seconds: float = CONNECT_SECONDS) -> None:
        from distributed.core import ConnectionPool, Status

        self._pool = ConnectionPool(connection_args=arguments, timeout=seconds)
        self._starting = Status.init

    async def call(self, address: str, handler: str, /, **arguments: object) -> Any:
        """A handler's answer, None where there is no such handler yet; OSError if the worker is lost."""
        if self._pool.status == self._starting:
            await self._pool.start()
        answer = await getattr(self._pool(address), handler)(message=pickle.dumps(arguments))
        if not isinstance(answer, dict):
            return answer
        found = pickle.loads(answer["packed"])
        return Attached(found, answer["buffer"]) if "buffer" in answer else found

    def forget(self, address: str) -> None:
        """A worker is gone: closes what leads to it."""
        self._pool.remove(address)

    async def close(self) -> None:
        """Closes all."""
        await self._pool.close()


def handling(handler: Callable[..., Awaitable[Any]]) -> Callable[[bytes], Awaitable[Any]]:
    """A handler as Dask calls it for `Connections.call`; bytes go back as they are."""
    from distributed.protocol.serialize import to_serialize

    async def answer(message: bytes) -> Any:
        given = await handler(**pickle.loads(message))
        if isinstance(given, Attached):
            return {"packed": pickle.dumps(given.answer), "buffer": to_serialize(given.buffer)}  # type: ignore[no-untyped-call]
        return given if isinstance(given, bytes) else {"packed": pickle.dumps(given)}

    return answer
