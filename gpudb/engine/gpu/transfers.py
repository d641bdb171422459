"""Rows on their way from worker to worker: as Arrow's IPC stream through the hosts' memory, or from GPU to GPU.

A worker that has a GPU beside others listens twice. Messages come by TCP, by which a process that is gone is told at
once. At its door, over UCX, other workers fetch frames of its GPU's memory into theirs, each as one buffer: by NVLink
where there is one. Few rows, rows in files, and all rows where UCX cannot be had go by TCP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Protocol

from gpudb.engine.gpu.connections import Attached, Connections
from gpudb.engine.gpu.frames import Frames, Held
from gpudb.engine.gpu.given import Spilled, joined, read, written
from gpudb.errors import OutOfMemory

_LOG = logging.getLogger(__name__)

DOOR_SECONDS = 10.0
"""How long a connection to a door may take: the first one opens the other GPU's memory."""
LARGE_BYTES = 2**20
"""From this size on rows are packed and unpacked away from the event loop."""


class Packer(Protocol):
    """Frames of a GPU's memory as one buffer there."""

    def packed(self, held: Held) -> tuple[bytes, Any] | None:
        """What it takes to read the buffer, and the buffer; None for rows that are better sent by the host."""

    def unpacked(self, facts: bytes, buffer: Any) -> Held:
        """The frame of such a buffer, in which it lies."""


class Transfers:
    """A Dask worker's side of them; `packer` is a GPU's."""

    def __init__(self, worker: Any, frames: Frames, packer: Packer | None) -> None:
        self._worker, self._frames, self._packer = worker, frames, packer
        self._connections = Connections(worker.connection_args)
        self._by_door = Connections(worker.connection_args, DOOR_SECONDS)
        self._doors: dict[str, str] = {}
        self.door = ""
        """Where other workers' GPUs fetch from this one's; empty for one that has no door."""

    async def open(self) -> None:
        """Opens the door."""
        from distributed.comm.addressing import get_address_host

        host = get_address_host(self._worker.address)
        try:
            await self._worker.listen(f"ucx://{host}:0", allow_offload=False)
        except Exception as error:
            _LOG.warning("rows go through the host's memory, since UCX cannot be had: %s", error)
        else:
            self.door = self._worker.listeners[-1].contact_address

    def close(self) -> None:
        """Closes the door."""
        if self.door:
            self.door = ""
            self._worker.listeners.pop().stop()

    def learn(self, peers: Sequence[str], doors: Sequence[str]) -> None:
        """The doors of other workers, by their addresses."""
        self._doors = dict(zip(peers, doors, strict=True)) if self.door and doors else {}

    async def sent(self, parts: Sequence[Held | Spilled], *, by_door: bool) -> bytes | Attached:
        """Rows for another worker, which asks at this one's door, or by TCP; ValueError where their file is closed."""
        held, *more = parts
        if more:
            return await asyncio.to_thread(lambda: written(joined(parts)))
        if isinstance(held, Spilled):
            return await asyncio.to_thread(held.data)
        if by_door and self._packer is not None:
            packed = await asyncio.to_thread(self._packer.packed, held)
            if packed is not None:
                return Attached(*packed)
        if held.bytes < LARGE_BYTES and self._packer is None:
            return written(held.frame())
        # What a GPU computes meanwhile may hold a copy up.
        return await asyncio.to_thread(lambda: written(held.frame()))

    async def kept(self, parts: Sequence[Held | Spilled]) -> Held:
        """Rows that stay on this worker, where frames lie; ValueError where their file is closed."""
        held, *more = parts
        if more or isinstance(held, Spilled):
            return await asyncio.to_thread(lambda: self._frames.given(joined(parts)))
        return held

    async def fetched(self, address: str, **wanted: object) -> Held | None:
        """Rows that another worker gives for what its handler gpudb_part wants; None if the statement has ended there.

        OSError if the worker is lost, 53200 where this one's GPU has no room for them.
        """
        door = self._doors.get(address, "")
        connections = self._by_door if door else self._connections
        try:
            data = await connections.call(door or address, "gpudb_part", **wanted, by_door=bool(door))
        except OSError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError from error  # which a connection over UCX takes for its end
            if isinstance(error.__cause__, MemoryError):
                raise OutOfMemory("out of GPU memory", detail=str(error.__cause__)[:200]) from error
            _LOG.warning("rows of %s did not come: %s", door or address, error)
            raise
        if isinstance(data, Attached):
            assert self._packer is not None
            return await asyncio.to_thread(self._packer.unpacked, data.answer, data.buffer)
        if not data:
            return None
        if self._packer is not None or len(data) >= LARGE_BYTES:
            return await asyncio.to_thread(lambda: self._frames.given(read(data)))
        return self._frames.given(read(data))
