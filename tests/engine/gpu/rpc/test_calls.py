"""Calls to workers over real sockets: a worker that is gone is noticed before Dask's limit."""

from __future__ import annotations

import asyncio
import socket
import time

import pytest

from gpudb.engine.gpu.rpc.calls import CONNECT_SECONDS, Connections
from gpudb.engine.gpu.rpc.messages import EndRequest


def test_a_port_on_which_nobody_listens_is_given_up_at_once() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]

    async def ask() -> float:
        connections = Connections({})
        began = time.monotonic()
        try:
            with pytest.raises(ConnectionRefusedError):
                await connections.call(f"tcp://127.0.0.1:{port}", EndRequest(1, 0.3))
            return time.monotonic() - began
        finally:
            await connections.close()

    assert asyncio.run(ask()) < CONNECT_SECONDS
