"""A buffer server, and clients of it that know its secret or do not, each a program of its own: UCX allows no more.

    python -m tests.support.gpu.strangers PROTOCOL server             prints its address, then after a line of input
                                                                      how many strange pickles it has read
    python -m tests.support.gpu.strangers PROTOCOL CLIENT ADDRESS     prints what a client of CLIENTS got

A client `plain` is Dask's, without authentication; `silent` and `garbage` open the connection alone.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from distributed.comm.core import connect
from distributed.comm.registry import get_backend

from gpudb.engine.gpu.exchange.ucx_server import UcxServer
from gpudb.engine.gpu.rpc.messages import BufferRequest

CLIENTS = ("plain", "silent", "garbage", "wrong", "right")
SECONDS = 15.0
_read: list[int] = []


def _mark() -> None:
    _read.append(1)


class _Marker:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _mark, ()


async def _give(request: BufferRequest) -> bytes:
    return b"x" * request.number


async def _serve(protocol: str, secret: bytes) -> UcxServer:
    made = UcxServer(secret, _give, lambda: None, protocol)
    await made.start("127.0.0.1")
    return made


async def _plain(address: str) -> bytes:
    comm = await connect(address, timeout=SECONDS / 5)
    await comm.write({"op": "identity", "extra": _Marker()}, serializers=("pickle",))
    return repr(await comm.read()).encode()


async def _raw(address: str, sent: bytes) -> bytes:
    """Opens a connection, sends bytes after the server's nonce, and returns what else comes."""
    protocol, _, place = address.partition("://")
    comm: Any = await get_backend(protocol).get_connector().connect(place)  # type: ignore[no-untyped-call]
    if hasattr(comm, "stream"):
        send, receive = comm.stream.write, comm.stream.read_bytes
    else:

        async def receive(size: int) -> bytearray:
            buffer = bytearray(size)
            await comm.ep.recv(buffer)
            return buffer

        send = comm.ep.send
    await receive(32)
    if sent:
        await send(sent)
    return bytes(await receive(32))


async def _ask(protocol: str, client: str, address: str) -> bytes:
    plain = f"{protocol}://{address.partition('://')[2]}"
    match client:
        case "plain":
            return await _plain(plain)
        case "silent" | "garbage":
            return await _raw(plain, bytes(64) if client == "garbage" else b"")
    server = await _serve(protocol, client.encode())
    return await server.call(address, BufferRequest(1, 1000)) or b""  # type: ignore[return-value]


async def _main(protocol: str, role: str, address: str) -> None:
    if role == "server":
        server = await _serve(protocol, b"right")
        print(server.address, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print(len(_read), flush=True)
        os._exit(0)  # does not wait for UCX's own threads
    try:
        got = await asyncio.wait_for(_ask(protocol, role, address), 2 * SECONDS)
    except (Exception, asyncio.CancelledError) as error:  # UCX cancels what waits on a connection that is lost
        print(type(error).__name__, error, file=sys.stderr, flush=True)
        got = b""
    print(len(got), flush=True)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ""))
