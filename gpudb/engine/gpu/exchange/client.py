"""Rows on their way from worker to worker: as Arrow's IPC stream through the hosts' memory, or from GPU to GPU.

A worker that has a GPU beside others listens twice. Messages come by TCP, by which a process that is gone is told at
once, and few rows, rows in files, and all rows where UCX cannot be had. Frames of its GPU's memory wait at its `door`,
each as one buffer. Workers of its host are told where that lies: they map the memory, copy it into their GPU's, and say
so. Others fetch it over UCX, whose ten messages a buffer take milliseconds. Both go by NVLink where there is one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, Protocol

from gpudb.engine.gpu import limits
from gpudb.engine.gpu.backend.base import Away, Frames, Held, HostHeld
from gpudb.engine.gpu.exchange.buffers import joined, read, written
from gpudb.engine.gpu.exchange.ucx_server import Door, Give
from gpudb.engine.gpu.rpc.calls import AtDoor, Attached, Connections, Place
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

    def place(self, buffer: Any) -> Place | None:
        """Where other processes of this host find such a buffer; None where none can."""

    def copied(self, peer: str, place: Place) -> Any:
        """A buffer with what lies there in the memory of a peer's GPU; OSError where that cannot be read."""

    def let_go(self, peers: Collection[str]) -> None:
        """Lets go of the memory of some peers."""


class Transfers:
    """A Dask worker's side of them; `packer` is a GPU's."""

    def __init__(self, worker: Any, frames: Frames, packer: Packer | None) -> None:
        self._worker, self._frames, self._packer = worker, frames, packer
        self._connections = Connections(worker.connection_args)
        self._doors: dict[str, str] = {}
        self._door: Door | None = None
        self._far: set[str] = set()
        """Workers whose memory could not be read."""
        self._read: set[str] = set()
        """Those whose memory has been."""
        self._letting_go: asyncio.Future[None] | None = None

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

    async def sent(self, parts: Sequence[Held | Away], *, by_door: bool, near: bool = False) -> bytes | Attached:
        """Rows for another worker, which may come to this one's door for what is better fetched there, and to where it
        lies if it is `near`; ValueError where their file is closed."""
        held, *more = parts
        if more:
            return await asyncio.to_thread(lambda: written(joined(parts)))
        if isinstance(held, Away):
            return await asyncio.to_thread(held.data)
        if by_door and self._packer is not None:
            packed = await asyncio.to_thread(self._packed, self._packer, held, near)
            if packed is not None:
                return packed
        if held.bytes < LARGE_BYTES and isinstance(held, HostHeld):
            return written(held.frame())
        # What a GPU computes meanwhile may hold a copy up.
        return await asyncio.to_thread(lambda: written(held.frame()))

    async def kept(self, parts: Sequence[Held | Away]) -> Held:
        """Rows that stay on this worker, where frames lie; ValueError where their file is closed."""
        held, *more = parts
        if more or isinstance(held, Away):
            return await asyncio.to_thread(lambda: self._frames.back(parts) or self._frames.given(joined(parts)))
        return held

    def _packed(self, packer: Packer, held: Held, near: bool) -> Attached | None:
        found = self._frames.with_room(lambda: packer.packed(held))
        if found is None:
            return None
        answer, buffer = found
        return Attached(answer, buffer, packer.place(buffer) if near else None)

    def keep_only(self, peers: Sequence[str]) -> None:
        """Lets go of what is known, and soon of what is mapped, of other workers: they are gone."""
        self._far.intersection_update(peers)
        gone = self._read.difference(peers)
        if gone and self._packer is not None:
            self._read -= gone
            self._letting_go = asyncio.ensure_future(asyncio.to_thread(self._packer.let_go, gone))

    def _is_near(self, address: str) -> bool:
        from distributed.comm.addressing import get_address_host

        return address not in self._far and get_address_host(address) == get_address_host(self._worker.address)

    async def _copied(self, address: str, place: Place) -> Any | None:
        """What lies in another worker's memory, in this one's; None where it cannot be read. 53200 where it has no
        room."""
        assert self._packer is not None
        self._read.add(address)
        try:
            copy = partial(self._packer.copied, address, place)
            return await asyncio.to_thread(self._frames.with_room, copy)
        except MemoryError as error:
            raise OutOfMemory("out of GPU memory", detail=str(error)[:200]) from error
        except OSError as error:
            _LOG.warning("rows of %s come over UCX, since its memory cannot be read: %s", address, error)
            self._far.add(address)
            return None

    async def _given(self, address: str, **wanted: object) -> bytes | Attached:
        """What another worker gives, by the shortest way; nothing if the statement has ended there."""
        door, there = self._door, self._doors.get(address)
        ways = {"by_door": there is not None, "near": there is not None and self._is_near(address)}
        data = await self._connections.call(address, "gpudb_part", **wanted, **ways)
        if not isinstance(data, AtDoor):
            return bytes(data or b"")
        assert door is not None
        assert there is not None
        waits = {"statement": wanted["statement"], "number": data.number}
        buffer = await self._copied(address, data.place) if data.place is not None else None
        if buffer is None:
            found: bytes | Attached = await door.call(there, "gpudb_at_door", **waits)
            return found
        # Where they are no more, others may have been copied.
        lay = await self._connections.call(address, "gpudb_copied", **waits)
        return Attached(data.answer, buffer) if lay else b""

    async def fetched(self, address: str, **wanted: object) -> Held | None:
        """Rows that another worker gives for what its handler gpudb_part wants; None if the statement has ended there.

        OSError if the worker is lost, 53200 where this one's GPU has no room for them.
        """
        try:
            data = await self._given(address, **wanted)
        except OSError as error:
            if isinstance(error.__cause__, MemoryError):
                raise OutOfMemory("out of GPU memory", detail=str(error.__cause__)[:200]) from error
            _LOG.warning("rows of %s did not come: %s", address, error)
            raise
        if not data:
            return None
        if isinstance(data, Attached):
            assert self._packer is not None
            return await asyncio.to_thread(self._packer.unpacked, data.answer, data.buffer)
        if len(data) < limits.FEW_BYTES:
            return HostHeld(read(data))
        if self._packer is not None or len(data) >= LARGE_BYTES:
            return await asyncio.to_thread(lambda: self._frames.given(read(data)))
        return self._frames.given(read(data))
