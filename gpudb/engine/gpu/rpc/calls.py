"""Calls to handlers of workers, from the coordinator and from other workers. A lost worker is detected quickly.

Each direction carries one bytes object: Dask would inspect every part of a structured message. A reply may have a
buffer of GPU memory beside it, which Dask sends without a copy to the host.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from gpudb.engine.gpu.rpc.messages import BufferReply, RpcRequest, decode_reply, encode_reply

R = TypeVar("R")

CONNECT_SECONDS = 1.5
"""Time limit for opening a connection. Dask's own limit is half a minute."""
_PROBE_SECONDS = 0.2
"""Time to open a connection after which it is found out whether anybody listens."""


class Connections:
    """Connections to workers, opened on demand within `seconds` and reused.

    `arguments` are Dask's connection arguments.
    """

    def __init__(self, arguments: dict[str, Any], seconds: float = CONNECT_SECONDS) -> None:
        from distributed.core import ConnectionPool, Status

        self._pool = ConnectionPool(connection_args=arguments, timeout=seconds)
        self._starting = Status.init

    async def call(self, address: str, request: RpcRequest[R]) -> R | None:
        """Returns the reply to a request; None if the worker has no such handler yet.

        Raises OSError if the worker is lost.
        """
        if self._pool.status == self._starting:
            await self._pool.start()
        if not self._pool.available.get(address):
            await self._open(address)
        reply: Any = await getattr(self._pool(address), request.handler)(message=pickle.dumps(request.to_wire()))
        if isinstance(reply, dict):
            packed = pickle.loads(reply["packed"])
            reply = BufferReply(packed, reply["buffer"]) if "buffer" in reply else decode_reply(packed)
        return cast("R | None", reply)

    async def _open(self, address: str) -> None:
        """Opens a connection for the next call. Dask would try until its limit where nobody listens any more."""
        attempt = asyncio.ensure_future(self._pool.connect(address))
        try:
            await asyncio.wait({attempt}, timeout=_PROBE_SECONDS)
            if not attempt.done() and await is_refused(address):
                raise ConnectionRefusedError(f"nobody listens at {address}")
            self._pool.reuse(address, await attempt)
        finally:
            attempt.cancel()  # no-op once it is done

    def forget(self, address: str) -> None:
        """Closes the connections to a worker that is gone."""
        self._pool.remove(address)

    async def close(self) -> None:
        """Closes all connections."""
        await self._pool.close()


async def is_refused(address: str) -> bool:
    """Returns whether the host of a TCP address answers that nobody listens on its port."""
    from distributed.comm.addressing import get_address_host_port

    if not address.startswith(("tcp://", "tls://")):
        return False
    host, port = get_address_host_port(address)
    try:
        async with asyncio.timeout(_PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except ConnectionRefusedError:
        return True
    except OSError:  # asyncio's TimeoutError too
        return False
    writer.close()
    return False


def wrap_handler(
    request: type[RpcRequest[R]], handler: Callable[[Any], Awaitable[R]]
) -> Callable[[bytes], Awaitable[Any]]:
    """Wraps a handler of a kind of request as Dask calls it for `Connections.call`; bytes are returned unchanged."""
    from distributed.protocol.serialize import to_serialize

    async def answer(message: bytes) -> Any:
        reply = await handler(request.from_wire(pickle.loads(message)))
        if isinstance(reply, BufferReply):
            packed = pickle.dumps(reply.metadata)
            return {"packed": packed, "buffer": to_serialize(reply.buffer)}  # type: ignore[no-untyped-call]
        return reply if isinstance(reply, bytes) else {"packed": pickle.dumps(encode_reply(reply))}

    return answer
