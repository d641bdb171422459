"""Rows of the GPU's in page-locked memory of the host, packed as libcudf packs tables: no other memory is as near."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rmm
from cuda.bindings import runtime

from gpudb.engine.gpu.backend.base import Offloaded
from gpudb.engine.gpu.cache.buffer_pool import BLOCK_BYTES, BufferPool
from gpudb.engine.gpu.cudf.convert import to_host
from gpudb.engine.gpu.cudf.layout import Layout
from gpudb.engine.gpu.cudf.streams import complete, current
from gpudb.engine.gpu.exchange.buffers import encode_frame


def locked(limit: int) -> BufferPool:
    """Blocks of such memory, of up to `limit` bytes."""

    def made(size: int) -> tuple[int, Any]:
        import cupy

        try:
            memory = cupy.cuda.PinnedMemory(size)
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise MemoryError(str(error)) from error
        return memory.ptr, memory

    return BufferPool(limit, made)


class Locked(Offloaded):
    """A packed frame in blocks, one after the other, which are others' once nobody holds it."""

    def __init__(self, blocks: BufferPool, found: Sequence[int], size: int, layout: Layout) -> None:
        self._blocks, self._found, self._layout = blocks, found, layout
        self.size = size

    def __del__(self) -> None:
        self._blocks.give(self._found)

    def copy(self, buffer: int, *, back: bool = False) -> None:
        """Starts to copy between it and a buffer of its size on the GPU, in the calling thread's stream: until that is
        through both are to be held."""
        kind, stream = runtime.cudaMemcpyKind.cudaMemcpyDefault, current().__cuda_stream__()[1]
        for place, block in enumerate(self._found):
            start = place * BLOCK_BYTES
            target, source = (buffer + start, block) if back else (block, buffer + start)
            (failed,) = runtime.cudaMemcpyAsync(target, source, min(BLOCK_BYTES, self.size - start), kind, stream)
            if failed:
                raise RuntimeError(failed.name)

    def frame(self) -> Any:
        """The frame in the GPU's memory, once the calling thread's stream is through: until then this is to be held."""
        buffer = rmm.DeviceBuffer(size=self.size, stream=current())
        self.copy(buffer.ptr, back=True)
        return self._layout.frame(buffer)

    def data(self) -> bytes:
        """See `frames.Away`: by way of the GPU, which alone can read them."""
        frame = self.frame()
        complete()
        return encode_frame(to_host(frame))


def put(frame: Any, blocks: BufferPool) -> Locked | None:
    """A frame in blocks; None where there are not enough of them. MemoryError where the GPU has no room to pack it."""
    # Not piece by piece, for which libcudf gives the parts of lists the counts of NULLs that the whole column has.
    layout, buffer = Layout.packed(frame)
    found = blocks.take(-(-buffer.size // BLOCK_BYTES))
    if found is None:
        return None
    made = Locked(blocks, found, buffer.size, layout)
    try:
        made.copy(buffer.ptr)
    finally:
        complete()
    return made
