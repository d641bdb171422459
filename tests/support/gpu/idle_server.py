"""A UCX server that serves one request from its own process and then idles: prints the seconds of processor time that
it used in one second. The argument is the protocol.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time

from gpudb.engine.gpu.exchange.ucx_server import UcxServer
from gpudb.engine.gpu.rpc.messages import BufferRequest


async def main(protocol: str) -> None:
    async def give(request: BufferRequest) -> bytes:
        return bytes(request.number)

    door = UcxServer(b"secret", give, lambda: None, protocol)
    await door.start("127.0.0.1")
    for count in (10, 1_000_000):
        assert await door.call(door.address, BufferRequest(1, count)) == bytes(count)
    await asyncio.sleep(0.5)
    clock = time.pthread_getcpuclockid(door.thread.ident or 0)
    before = time.clock_gettime(clock)
    await asyncio.sleep(1)
    print(time.clock_gettime(clock) - before, flush=True)
    os._exit(0)  # does not wait for UCX's own threads


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
