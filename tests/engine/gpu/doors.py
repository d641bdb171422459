"""Doors of CPU workers: they listen by TCP, and what is fetched there are NumPy's buffers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from gpudb.engine.gpu.cluster import Cluster
from gpudb.engine.gpu.frames import Held, HostHeld
from gpudb.engine.gpu.given import read, written

LEAST = 50
"""Rows that come to the door."""


class Packer:
    """Stands for a GPU's."""

    def __init__(self) -> None:
        self.seen = 0

    def enter(self) -> None:
        """Nothing to ready."""

    def packed(self, held: Held) -> tuple[bytes, Any] | None:
        return None if held.rows < LEAST else (b"", np.frombuffer(written(held.frame()), np.uint8))

    def unpacked(self, facts: bytes, buffer: Any) -> Held:
        self.seen += 1
        return HostHeld(read(bytes(memoryview(buffer))))


async def opened(dask_worker: Any) -> None:
    """On a worker: opens its door."""
    plugin = dask_worker.plugins["gpudb"]
    plugin._transfers._packer = Packer()
    assert await plugin._transfers.open(plugin.at_door, "tcp") is not None


def seen(dask_worker: Any) -> int:
    """On a worker: how many buffers it has fetched."""
    found: int = dask_worker.plugins["gpudb"]._transfers._packer.seen
    return found


def told(cluster: Cluster, within: float = 20) -> bool:
    """Whether every worker has told where its door is, within some seconds."""
    ends = time.monotonic() + within
    while time.monotonic() < ends:
        ready = cluster.told()
        if len(ready) == cluster.size and all(each["door"] for _, _, each in ready):
            return True
        time.sleep(0.05)
    return False
