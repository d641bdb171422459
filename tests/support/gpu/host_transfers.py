"""UCX servers of CPU workers, on TCP, with NumPy's buffers. Nearby workers map the buffers, which are files."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.exchange.buffers import decode_frame, encode_frame
from gpudb.engine.gpu.rpc.messages import IpcHandle

LEAST = 50
"""Frames with fewer rows are not packed into buffers."""


class Packer:
    """Replaces a GPU's packer."""

    def __init__(self) -> None:
        self.seen = 0
        self.near = 0
        self.kept: set[str] = set()
        self._folder = tempfile.TemporaryDirectory()

    def prepare_thread(self) -> None:
        """No-op on the host."""

    def accepts(self, held: ComputedFrame) -> bool:
        return held.rows >= LEAST

    def pack(self, held: ComputedFrame) -> tuple[bytes, Any]:
        return b"", np.frombuffer(encode_frame(held.to_polars()), np.uint8)

    def unpack(self, facts: bytes, buffer: Any) -> ComputedFrame:
        self.seen += 1
        return HostFrame(decode_frame(bytes(memoryview(buffer))))

    def locate(self, buffer: Any) -> IpcHandle | None:
        path = Path(self._folder.name) / uuid4().hex
        path.write_bytes(b"before" + bytes(buffer))
        return IpcHandle(str(path).encode(), 6, len(buffer))

    def copy_from(self, peer: str, place: IpcHandle) -> Any:
        self.near += 1
        self.kept.add(peer)
        return np.fromfile(place.handle.decode(), np.uint8, place.size, offset=place.start)

    def unmap(self, peers: Collection[str]) -> None:
        self.kept.difference_update(peers)


async def opened(dask_worker: Any, near: bool) -> None:
    """On a worker: starts its UCX server. Other workers are `near` or far."""
    plugin = dask_worker.plugins["gpudb"]
    plugin._exchange._packer = Packer()
    if not near:
        plugin._exchange._is_near = lambda address: False
    assert await plugin._exchange.start_server(plugin.send_buffer, "tcp") is not None


def seen(dask_worker: Any) -> tuple[int, int, set[str]]:
    """On a worker: how many buffers it received, how many of them it mapped, and the workers whose buffers it maps."""
    packer = dask_worker.plugins["gpudb"]._exchange._packer
    return packer.seen, packer.near, packer.kept


def told(cluster: Cluster, within: float = 20) -> bool:
    """Waits until every worker has announced its UCX server; returns whether that happened in time."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        ready = cluster.heartbeats()
        if len(ready) == cluster.size and all(each.heartbeat and each.heartbeat.ucx_address for each in ready):
            return True
        time.sleep(0.05)
    return False
