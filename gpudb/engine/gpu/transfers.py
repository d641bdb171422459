"""Rows on their way from worker to worker: as Arrow's IPC stream through the hosts' memory, or from GPU to GPU.

A worker that has a GPU beside others listens twice. Messages come by TCP, by which a process that is gone is told at
once, and few rows, rows in files, and all rows where UCX cannot be had. At its `door`, over UCX, other workers fetch
frames of its GPU's memory into theirs, each as one buffer: by NVLink where there is one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Protocol

from gpudb.engine.gpu import limits
from gpudb.engine.gpu.connections import AtDoor, Attached, Connections
from gpudb.engine.gpu.door import Door, Give
from gpudb.engine.gpu.frames import Frames, Held, HostHeld
from gpudb.engine.gpu.given import Spilled, joined, read, written
from gpudb.errors import OutOfMemory

_LOG = logging.getLogger(__name__)

LARGE_BYTES = 2**20
"""From this size on rows are packed and unpacked away from the event loop."""


class Packer(Protocol):
    """Frames of a GPU's memory as one buffer there."""

    def enter(self) -> None:
        """Readies the calling thread for sending and receiving buffers."""

    def packed(self, held: Held) -> tuple[bytes, Any] | None:
        """What it takes to read the buffer, and the buffer; None for rows that are better sent by the host."""

    def unpacked(self, facts: bytes, buffer: Any) -> Held:
        """The frame of such a buffer, in which it lies."""


class Transfers:
    """A Dask worker's side of them; `packer` is a GPU's."""

    def __init__(self, worker: Any, frames: Frames, packer: Packer | None) -> None:
        self._worker, self._frames, self._packer = worker, frames, packer
        self._connections = Connections(worker.connection_args)
        self._doors: dict[str, str] = {}
        self._door: Door | None = None

    @property
    def door(self) -> str:
        """Where other workers' GPUs fetch from this one's; empty for one that has no door."""
        return self._door.address if self._door is not None else ""

    async def open(self, give: Give, protocol: str = "ucx") -> asyncio.AbstractEventLoop | None:
        """Opens the door, at which `give` answers; its event loop, None where it cannot be opened."""
        from distributed.comm.addressing import get_address_host

        assert self._packer is not None
        door = Door(self._worker.connection_args, give, self._packer.enter, protocol)
        try:
            await door.open(get_address_host(self._worker.address))
        except Exception as error:
            _LOG.warning("rows go through the host's memory, since UCX cannot be had: %s", error)
            return None
        self._door = door
        return door.loop

    def close(self) -> None:
        """Closes the door."""
        if self._door is not None:
            self._door.close()

    def learn(self, peers: Sequence[str], doors: Sequence[str]) -> None:
        """The doors of other workers, by their addresses."""
        every = zip(peers, doors, strict=True) if self.door and doors else ()
        self._doors = {peer: door for peer, door in every if door}

    async def sent(self, parts: Sequence[Held | Spilled], *, by_door: bool) -> bytes | Attached:
        """Rows for another worker, which may come to this one's door for what is better fetched there; ValueError where
        their file is closed."""
        held, *more = parts
        if more:
            return await asyncio.to_thread(lambda: written(joined(parts)))
        if isinstance(held, Spilled):
            return await asyncio.to_thread(held.data)
        if by_door and self._packer is not None:
            packed = await asyncio.to_thread(self._packer.packed, held)
            if packed is not None:
                return Attached(*packed)
        if held.bytes < LARGE_BYTES and isinstance(held, HostHeld):
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
        door = self._door if address in self._doors else None
        try:
            data = await self._connections.call(address, "gpudb_part", **wanted, by_door=door is not None)
            if isinstance(data, AtDoor):
                assert door is not None
                place = {"statement": wanted["statement"], "number": data.number}
                data = await door.call(self._doors[address], "gpudb_at_door", **place)
        except OSError as error:
            if isinstance(error.__cause__, MemoryError):
                raise OutOfMemory("out of GPU memory", detail=str(error.__cause__)[:200]) from error
            _LOG.warning("rows of %s did not come: %s", address, error)
            raise
        if isinstance(data, Attached):
            assert self._packer is not None
            return await asyncio.to_thread(self._packer.unpacked, data.answer, data.buffer)
        if not data:
            return None
        if len(data) < limits.FEW_BYTES:
            return HostHeld(read(data))
        if self._packer is not None or len(data) >= LARGE_BYTES:
            return await asyncio.to_thread(lambda: self._frames.given(read(data)))
        return self._frames.given(read(data))
