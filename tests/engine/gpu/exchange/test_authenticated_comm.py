"""Authenticated connections of Dask: who does not know the secret is cut off before any message is read."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Coroutine
from importlib.util import find_spec
from typing import Any

import pytest
from distributed.comm.tcp import _add_frames_header
from distributed.comm.utils import to_frames
from distributed.core import Server, rpc
from distributed.protocol.pickle import dumps

from gpudb.engine.gpu.exchange.ucx_server import UcxServer
from gpudb.engine.gpu.rpc.messages import BufferReply, BufferRequest
from tests.support.gpu.strangers import CLIENTS

SECRET = b"s" * 32
_read: list[int] = []


def _mark() -> None:
    _read.append(1)


class _Marker:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _mark, ()


async def _message() -> bytes:
    """What Dask writes to a TCP connection for a message with a pickle."""
    frames = await to_frames({"op": "identity", "extra": _Marker()}, serializers=("pickle",))
    return b"".join(map(bytes, _add_frames_header(frames)[0]))


@contextlib.asynccontextmanager
async def _server(secret: bytes = SECRET) -> AsyncIterator[UcxServer]:
    async def give(request: BufferRequest) -> bytes | BufferReply:
        return b"x" * request.number

    made = UcxServer(secret, give, lambda: None, "tcp")
    await made.start("127.0.0.1")
    try:
        yield made
    finally:
        made.close()


def _run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


def test_those_who_know_the_secret_fetch() -> None:
    async def fetch() -> None:
        async with _server() as first, _server() as second:
            assert first.address.startswith("authenticated+tcp://127.0.0.1:")
            for size in (1, 1_000_000):
                assert await first.call(second.address, BufferRequest(1, size)) == b"x" * size

    _run(fetch())


def test_another_secret_fetches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudb.engine.gpu.exchange.ucx_server.CONNECT_SECONDS", 1.0)

    async def fetch() -> None:
        async with _server() as right, _server(b"other") as wrong:
            for asking, asked in ((wrong, right), (right, wrong)):
                with pytest.raises(OSError, match="Timed out trying to connect"):
                    await asking.call(asked.address, BufferRequest(1, 1))
            assert await right.call(right.address, BufferRequest(1, 3)) == b"xxx"

    _run(fetch())


def test_nothing_of_a_stranger_is_unpickled() -> None:
    async def intrude() -> None:
        async with _server() as server:
            place = server.address.partition("://")[2]
            with pytest.raises((OSError, ValueError, MemoryError)):
                async with rpc(f"tcp://{place}", timeout=2) as stranger:
                    await stranger.fetch(message=dumps(_Marker()))
            host, _, port = place.rpartition(":")
            for sent in (await _message(), b"", b"x", bytes(64), bytes(100_000)):
                reader, writer = await asyncio.open_connection(host, int(port))
                assert len(await reader.readexactly(32)) == 32
                writer.write(sent)
                if len(sent) < 64:
                    writer.write_eof()
                with contextlib.suppress(ConnectionResetError):
                    assert await asyncio.wait_for(reader.read(), 20) == b""
                writer.close()
            assert not _read
            assert await server.call(server.address, BufferRequest(1, 3)) == b"xxx"

    _run(intrude())


def test_a_plain_server_of_dask_would_unpickle_it() -> None:
    """The control: without authentication the same message is read."""

    async def intrude() -> None:
        server: Any = Server({})
        await server.listen("tcp://127.0.0.1:0")
        host, _, port = server.address.partition("://")[2].rpartition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(await _message())
        await asyncio.sleep(0.3)
        writer.close()
        await server.close()
        assert _read

    try:
        _run(intrude())
    finally:
        _read.clear()


def test_a_stranger_who_says_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudb.engine.gpu.exchange.authenticated_comm.HANDSHAKE_SECONDS", 0.3)

    async def wait() -> None:
        async with _server() as server:
            host, _, port = server.address.partition("://")[2].rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            assert len(await asyncio.wait_for(reader.read(), 20)) == 32
            writer.close()

    _run(wait())


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protocol", ["tcp", "ucx"])
def test_strangers_in_other_processes_get_nothing(protocol: str) -> None:
    if protocol == "ucx" and find_spec("distributed_ucxx") is None:
        pytest.skip("UCX comes with RAPIDS")
    program = [sys.executable, "-m", "tests.support.gpu.strangers", protocol]
    with subprocess.Popen([*program, "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            # UCX may print warnings.
            address = next(line.strip() for line in server.stdout if line.startswith("authenticated+"))
            for client in (*CLIENTS, "right"):
                done = subprocess.run([*program, client, address], capture_output=True, text=True, timeout=100)
                assert int(done.stdout.split()[-1]) == (1000 if client == "right" else 0), (client, done.stderr)
            server.stdin.write("\n")
            server.stdin.flush()
            assert next(line.strip() for line in server.stdout if line.strip().isdigit()) == "0"
        finally:
            server.kill()
