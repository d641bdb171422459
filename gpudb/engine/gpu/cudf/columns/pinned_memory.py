"""Rows offloaded from the GPU to page-locked host memory, the fastest to copy to, packed as libcudf packs tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rmm
from cuda.bindings import runtime

from gpudb.engine.gpu.backend.base import Offloaded
from gpudb.engine.gpu.cache.buffer_pool import BLOCK_BYTES, BufferPool
from gpudb.engine.gpu.cudf.columns.convert import to_host
from gpudb.engine.gpu.cudf.columns.layout import PackedLayout
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
from gpudb.engine.gpu.exchange.buffers import encode_frame


def pinned_pool(limit: int) -> BufferPool:
    """Returns a pool of page-locked blocks of up to `limit` bytes."""

    def allocate(size: int) -> tuple[int, Any]:
        import cupy

        try:
            memory = cupy.cuda.PinnedMemory(size)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise MemoryError(str(error)) from error
        return memory.ptr, memory

    return BufferPool(limit, allocate)


class PinnedFrame(Offloaded):
    """A packed frame in consecutive blocks, which return to the pool once it is no longer referenced."""

    def __init__(self, blocks: BufferPool, found: Sequence[int], size: int, layout: PackedLayout) -> None:
        self._pool, self._addresses, self._layout = blocks, found, layout
        self.size = size

    def __del__(self) -> None:
        self._pool.release(self._addresses)

    def copy(self, buffer: int, *, back: bool = False) -> None:
        """Starts to copy between the blocks and a GPU buffer of the same size, on the calling thread's stream.

        The caller keeps both alive until the stream is complete.
        """
        kind, stream = runtime.cudaMemcpyKind.cudaMemcpyDefault, current_stream().__cuda_stream__()[1]
        for position, block in enumerate(self._addresses):
            start = position * BLOCK_BYTES
            target, source = (buffer + start, block) if back else (block, buffer + start)
            (failed,) = runtime.cudaMemcpyAsync(target, source, min(BLOCK_BYTES, self.size - start), kind, stream)
            if failed:
                raise RuntimeError(failed.name)

    def frame(self) -> Any:
        """Starts to copy the frame to GPU memory; the caller keeps this alive until its thread's stream is complete."""
        buffer = rmm.DeviceBuffer(size=self.size, stream=current_stream())
        self.copy(buffer.ptr, back=True)
        return self._layout.unpack(buffer)

    def data(self) -> bytes:
        """See `Offloaded`: through the GPU, which alone can unpack the frame."""
        frame = self.frame()
        synchronize()
        return encode_frame(to_host(frame))


def offload(frame: Any, blocks: BufferPool) -> PinnedFrame | None:
    """Offloads a frame to blocks; None where there are too few. Raises MemoryError where the GPU cannot pack it."""
    # Not in chunks: libcudf gives chunks of lists the null counts of the whole column.
    layout, buffer = PackedLayout.pack(frame)
    found = blocks.acquire(-(-buffer.size // BLOCK_BYTES))
    if found is None:
        return None
    offloaded = PinnedFrame(blocks, found, buffer.size, layout)
    try:
        offloaded.copy(buffer.ptr)
    finally:
        synchronize()
    return offloaded
