"""Packs frames in GPU memory into one buffer each, as libcudf packs tables, to send them to another GPU."""

from __future__ import annotations

import pickle
from typing import Any

from cuda.bindings import runtime

from gpudb.engine.gpu import limits
from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.cudf.backend import CudfFrames, CudfHeld
from gpudb.engine.gpu.cudf.ipc_memory import Mapped
from gpudb.engine.gpu.cudf.layout import Layout
from gpudb.engine.gpu.cudf.streams import complete


class Contiguous:
    """See `BufferPacker`."""

    def __init__(self, frames: CudfFrames) -> None:
        self._frames = frames
        mapped = Mapped()
        self.locate, self.copy_from, self.unmap = mapped.locate, mapped.copy_from, mapped.unmap

    def prepare_thread(self) -> None:
        """See `BufferPacker`: UCX uses the CUDA context that is current in its thread."""
        runtime.cudaSetDevice(0)

    def pack(self, held: ComputedFrame) -> tuple[bytes, Any] | None:
        """See `BufferPacker`; raises MemoryError where memory is too small for the copy."""
        if not isinstance(held, CudfHeld) or held.bytes < limits.FEW_BYTES:
            return None
        layout, buffer = Layout.packed(held.table)
        complete()
        return pickle.dumps(layout), buffer

    def unpack(self, facts: bytes, buffer: Any) -> CudfHeld:
        """See `BufferPacker`."""
        layout: Layout = pickle.loads(facts)
        return CudfHeld(layout.frame(buffer), self._frames)
