"""Dask's connections over UCX or TCP, with peers that authenticate first, by the cluster's secret.

Dask's own handshake reads pickled messages. A peer that does not know the secret is cut off before it: it neither sends
nor gets any. What follows is not encrypted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from distributed.comm.core import Comm, CommClosedError, Connector
from distributed.comm.registry import Backend, backends, get_backend
from distributed.protocol.utils import host_array

from gpudb.engine.gpu.rpc.authentication import HANDSHAKE_SECONDS, Handshake, accept_handshake, open_handshake

_CHANNEL = b"buffers"


def register_authenticated(protocol: str) -> str:
    """Registers connections of `protocol` that authenticate; returns the scheme of their addresses.

    Listening and connecting take the argument `secret`. Raises ValueError if the protocol is not installed.
    """
    scheme = f"authenticated+{protocol}"
    if scheme not in backends:
        backends[scheme] = _AuthenticatedBackend(get_backend(protocol))
    return scheme


class _AuthenticatedBackend(Backend):
    """A Dask backend over another one."""

    def __init__(self, inner: Backend) -> None:
        self._inner = inner

    def get_connector(self) -> Connector:
        return _AuthenticatedConnector(self._inner.get_connector())  # type: ignore[no-untyped-call]

    def get_listener(self, loc: str, handle_comm: Any, deserialize: bool, **more: Any) -> Any:
        secret: bytes = more.pop("secret")
        listener = self._inner.get_listener(loc, handle_comm, deserialize, **more)  # type: ignore[no-untyped-call]
        shake_hands = listener.on_connection

        async def on_connection(comm: Comm, handshake_overrides: dict[str, Any] | None = None) -> None:
            await _authenticate(comm, accept_handshake(secret, _CHANNEL))
            await shake_hands(comm, handshake_overrides)

        listener.on_connection = on_connection
        return listener

    def get_address_host(self, loc: str) -> Any:
        return self._inner.get_address_host(loc)  # type: ignore[no-untyped-call]

    def get_address_host_port(self, loc: str) -> Any:
        return self._inner.get_address_host_port(loc)  # type: ignore[no-untyped-call]

    def resolve_address(self, loc: str) -> Any:
        return self._inner.resolve_address(loc)  # type: ignore[no-untyped-call]

    def get_local_address_for(self, loc: str) -> Any:
        return self._inner.get_local_address_for(loc)  # type: ignore[no-untyped-call]


class _AuthenticatedConnector(Connector):
    def __init__(self, inner: Connector) -> None:
        self._inner = inner

    async def connect(self, address: str, deserialize: bool = True, **more: Any) -> Comm:
        secret: bytes = more.pop("secret")
        comm: Comm = await self._inner.connect(address, deserialize, **more)  # type: ignore[no-untyped-call]
        await _authenticate(comm, open_handshake(secret, _CHANNEL))
        return comm


async def _authenticate(comm: Comm, handshake: Handshake) -> None:
    """Runs a handshake on a new connection. Raises CommClosedError, with the connection closed, if it fails."""
    send, receive = _raw_channel(comm)
    try:
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            out, wanted = next(handshake)
            while True:
                if out:
                    await send(out)
                if not wanted:
                    return
                out, wanted = handshake.send(await receive(wanted))
    except Exception as error:
        comm.abort()  # type: ignore[no-untyped-call]
        raise CommClosedError(f"authentication failed: {error}") from error
    except asyncio.CancelledError:
        comm.abort()  # type: ignore[no-untyped-call]
        raise


def _raw_channel(comm: Any) -> tuple[Callable[[bytes], Awaitable[Any]], Callable[[int], Awaitable[bytes]]]:
    """Returns the functions that send and receive bytes below Dask's messages: on a TCP stream or a UCX endpoint."""
    if hasattr(comm, "stream"):
        return comm.stream.write, comm.stream.read_bytes

    async def receive(wanted: int) -> bytes:
        buffer = host_array(wanted)
        await comm.ep.recv(buffer)
        return bytes(buffer)

    return comm.ep.send, receive
