"""Packs frames in GPU memory into one buffer each, as libcudf packs tables, to send them to another GPU."""

from __future__ import annotations

import pickle
from typing import Any

from cuda.bindings import runtime

from gpudb.engine.gpu import limits
from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.cudf.backend import CudfBackend
from gpudb.engine.gpu.cudf.columns.frame import CudfFrame
from gpudb.engine.gpu.cudf.columns.layout import PackedLayout
from gpudb.engine.gpu.cudf.memory.ipc_memory import MappedMemory
from gpudb.engine.gpu.cudf.memory.streams import synchronize


class ContiguousPacker:
    """See `BufferPacker`."""

    def __init__(self, frames: CudfBackend) -> None:
        self._frames = frames
        mapped = MappedMemory()
        self.locate, self.copy_from, self.unmap = mapped.locate, mapped.copy_from, mapped.unmap

    def prepare_thread(self) -> None:
        """See `BufferPacker`: UCX uses the CUDA context that is current in its thread."""
        runtime.cudaSetDevice(0)

    def accepts(self, held: ComputedFrame) -> bool:
        """See `BufferPacker`."""
        return isinstance(held, CudfFrame) and held.bytes >= limits.HOST_BYTES

    def pack(self, held: ComputedFrame) -> tuple[bytes, Any]:
        """See `BufferPacker`; raises MemoryError where memory is too small for the copy."""
        assert isinstance(held, CudfFrame)
        layout, buffer = PackedLayout.pack(held.table)
        synchronize()
        return pickle.dumps(layout), buffer

    def unpack(self, metadata: bytes, buffer: Any) -> CudfFrame:
        """See `BufferPacker`."""
        layout: PackedLayout = pickle.loads(metadata)
        return CudfFrame(layout.unpack(buffer), self._frames)
