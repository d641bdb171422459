"""Transfers rows between workers: as Arrow IPC streams through host memory, or from GPU to GPU.

A worker with a GPU beside others listens twice. Dask's TCP server reports a dead process at once; it carries messages,
few rows, spilled rows, and all rows where UCX is unavailable. Frames in GPU memory wait at the `UcxServer`, each as one
buffer. Workers on the same host get its position: they map the memory, copy it into their GPU's, and confirm the copy.
Other workers fetch it over UCX, whose ten messages per buffer take milliseconds. Both use NVLink where it exists.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from gpudb.engine.gpu import limits
from gpudb.engine.gpu.backend.base import Backend, ComputedFrame, Offloaded
from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.exchange.buffers import concat_on_host, decode_frame, encode_frame
from gpudb.engine.gpu.exchange.ucx_server import BufferHandler, UcxServer
from gpudb.engine.gpu.rpc.calls import Connections
from gpudb.engine.gpu.rpc.messages import (
    BufferReply,
    BufferRequest,
    CopiedRequest,
    IpcHandle,
    MeasuredOutput,
    OutputRequest,
    PendingBuffer,
)
from gpudb.errors import OutOfMemory

_LOG = logging.getLogger(__name__)

LARGE_BYTES = 2**20
"""Bytes from which rows are packed and unpacked outside the event loop."""


class BufferPacker(Protocol):
    """Packs frames of GPU memory into one buffer each."""

    def prepare_thread(self) -> None:
        """Prepares the calling thread for sending and receiving buffers."""

    def accepts(self, rows: ComputedFrame) -> bool:
        """Whether rows are worth a buffer; the others are sent from the host."""

    def pack(self, rows: ComputedFrame) -> tuple[bytes, Any]:
        """Returns a buffer and the metadata that decodes it."""

    def unpack(self, metadata: bytes, buffer: Any) -> ComputedFrame:
        """Returns the frame that a buffer holds, without a copy."""

    def locate(self, buffer: Any) -> IpcHandle | None:
        """Returns the position of a buffer for other processes of this host; None if they cannot map it."""

    def copy_from(self, peer: str, place: IpcHandle) -> Any:
        """Returns a copy of a buffer in a peer's GPU memory. Raises OSError if the memory cannot be mapped."""

    def unmap(self, peers: Collection[str]) -> None:
        """Unmaps the memory of some peers."""


@dataclass
class FetchTiming:
    """How rows came from another worker (see `ExchangeFigures`); `transport` is empty while none have."""

    waited: float = 0.0
    encoded: float = 0.0
    bytes: int = 0
    transport: str = ""


class ExchangeClient:
    """A worker's transfers to and from other workers; `packer` is that of a GPU, `secret` the cluster's."""

    def __init__(self, worker: Any, backend: Backend, packer: BufferPacker | None, secret: bytes) -> None:
        self._worker, self._backend, self._packer, self._secret = worker, backend, packer, secret
        self._connections = Connections(worker.connection_args)
        self._ucx_addresses: dict[str, str] = {}
        self._ucx: UcxServer | None = None
        self._unmappable: set[str] = set()
        """Workers on this host whose memory could not be mapped."""
        self._mapped: set[str] = set()
        """Workers whose memory has been mapped."""
        self._unmapping: asyncio.Future[None] | None = None

    @property
    def ucx_address(self) -> str:
        """The address of this worker's UCX server; empty if it has none."""
        return self._ucx.address if self._ucx is not None else ""

    async def start_server(self, handler: BufferHandler, protocol: str = "ucx") -> asyncio.AbstractEventLoop | None:
        """Starts the UCX server, at which `handler` answers; returns its event loop, None if it cannot start."""
        from distributed.comm.addressing import get_address_host

        assert self._packer is not None
        server = UcxServer(self._secret, handler, self._packer.prepare_thread, protocol)
        try:
            await server.start(get_address_host(self._worker.address))
        except Exception as error:
            _LOG.warning("UCX is unavailable; exchanging rows through host memory: %s", error)
            return None
        self._ucx = server
        return server.loop

    def close(self) -> None:
        """Closes the UCX server."""
        if self._ucx is not None:
            self._ucx.close()

    def set_peers(self, peers: Sequence[str], ucx_addresses: Sequence[str]) -> None:
        """Sets the UCX addresses of other workers, by their addresses."""
        every = zip(peers, ucx_addresses, strict=True) if self.ucx_address and ucx_addresses else ()
        self._ucx_addresses = {peer: server for peer, server in every if server}

    async def encode(
        self, parts: Sequence[ComputedFrame | Offloaded], *, by_ucx: bool, near: bool = False
    ) -> bytes | BufferReply:
        """Encodes rows for another worker, as a buffer if the worker can fetch it by UCX.

        A worker that is `near` also gets the buffer's position. Raises ValueError if a spill file is closed.
        """
        rows, *more = parts
        if more:
            return await asyncio.to_thread(lambda: encode_frame(concat_on_host(parts)))
        if isinstance(rows, Offloaded):
            return await asyncio.to_thread(rows.data)
        if by_ucx and self._packer is not None and self._packer.accepts(rows):
            return await asyncio.to_thread(self._pack, self._packer, rows, near)
        if rows.bytes < LARGE_BYTES and isinstance(rows, HostFrame):
            return encode_frame(rows.to_polars())
        # Work on the GPU may delay the copy.
        return await asyncio.to_thread(lambda: encode_frame(rows.to_polars()))

    async def merge_local(self, parts: Sequence[ComputedFrame | Offloaded]) -> ComputedFrame:
        """Returns rows that stay on this worker, in the backend's memory. Raises ValueError if a spill file is closed.

        MemoryError where the GPU has no room for them.
        """
        rows, *more = parts
        if more or isinstance(rows, Offloaded):
            return await asyncio.to_thread(
                lambda: self._backend.reload(parts) or self._backend.from_host(concat_on_host(parts))
            )
        return rows

    def _pack(self, packer: BufferPacker, rows: ComputedFrame, near: bool) -> BufferReply:
        metadata, buffer = self._backend.retry_with_memory(lambda: packer.pack(rows))
        return BufferReply(metadata, buffer, packer.locate(buffer) if near else None)

    def retain_peers(self, peers: Sequence[str]) -> None:
        """Drops what is known of workers other than `peers`, and starts to unmap their memory."""
        self._unmappable.intersection_update(peers)
        gone = self._mapped.difference(peers)
        if gone and self._packer is not None:
            self._mapped -= gone
            self._unmapping = asyncio.ensure_future(asyncio.to_thread(self._packer.unmap, gone))

    def _is_near(self, address: str) -> bool:
        from distributed.comm.addressing import get_address_host

        return address not in self._unmappable and get_address_host(address) == get_address_host(self._worker.address)

    async def _copy_from(self, address: str, place: IpcHandle) -> Any | None:
        """Copies a buffer from another worker's memory; None if it cannot be mapped.

        Raises 53200 if this GPU has no room.
        """
        assert self._packer is not None
        self._mapped.add(address)
        try:
            copy = partial(self._packer.copy_from, address, place)
            return await asyncio.to_thread(self._backend.retry_with_memory, copy)
        except MemoryError as error:
            raise OutOfMemory("out of GPU memory", detail=str(error)[:200]) from error
        except OSError as error:
            _LOG.warning("the memory of %s cannot be mapped; exchanging rows over UCX: %s", address, error)
            self._unmappable.add(address)
            return None

    async def _request(self, address: str, request: OutputRequest, timing: FetchTiming | None) -> bytes | BufferReply:
        """Returns another worker's reply over the fastest transport; empty if the statement has ended there."""
        server, ucx_address = self._ucx, self._ucx_addresses.get(address)
        by_ucx = ucx_address is not None
        reply = await self._connections.call(
            address, replace(request, by_ucx=by_ucx, near=by_ucx and self._is_near(address))
        )
        if isinstance(reply, MeasuredOutput):
            assert timing is not None
            timing.waited, timing.encoded, reply = reply.waited, reply.encoded, reply.output
        if not isinstance(reply, PendingBuffer):
            return reply or b""
        assert server is not None
        assert ucx_address is not None
        buffer = await self._copy_from(address, reply.place) if reply.place is not None else None
        if timing is not None:
            timing.transport = "ucx" if buffer is None else "ipc"
        if buffer is None:
            return await server.call(ucx_address, BufferRequest(request.statement, reply.number)) or b""
        # If the rows are gone, the copy may hold other bytes.
        valid = await self._connections.call(address, CopiedRequest(request.statement, reply.number))
        return BufferReply(reply.metadata, buffer) if valid else b""

    async def fetch(
        self, address: str, request: OutputRequest, timing: FetchTiming | None = None
    ) -> ComputedFrame | None:
        """Fetches rows from another worker; None if the statement has ended there. Fills in `timing`.

        Raises OSError if the worker is lost, 53200 if this worker's GPU has no room.
        """
        try:
            data = await self._request(address, replace(request, measured=True) if timing else request, timing)
        except OSError as error:
            if isinstance(error.__cause__, MemoryError):
                raise OutOfMemory("out of GPU memory", detail=str(error.__cause__)[:200]) from error
            _LOG.warning("fetching rows from %s failed: %s", address, error)
            raise
        if not data:
            return None
        if isinstance(data, BufferReply):
            assert self._packer is not None
            rows = await asyncio.to_thread(self._packer.unpack, data.metadata, data.buffer)
            if timing is not None:
                timing.bytes = rows.bytes
            return rows
        if timing is not None:
            timing.bytes, timing.transport = len(data), "tcp"
        if len(data) < limits.HOST_BYTES:
            return HostFrame(decode_frame(data))
        if self._packer is not None or len(data) >= LARGE_BYTES:
            return await asyncio.to_thread(lambda: self._backend.from_host(decode_frame(data)))
        return self._backend.from_host(decode_frame(data))
