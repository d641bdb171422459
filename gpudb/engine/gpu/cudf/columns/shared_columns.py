"""Columns of numbers in memory of this GPU that other processes of the host map."""

from __future__ import annotations

from collections.abc import Sequence

import cupy
import numpy as np

from gpudb.engine import gpu_memory
from gpudb.engine.descriptors import DescriptorServer
from gpudb.engine.gpu.backend.base import ComputedFrame, DeviceColumn
from gpudb.engine.gpu.cudf.columns.frame import CudfFrame
from gpudb.engine.gpu.cudf.memory.device_memory import Device, has_room, release_unused
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
from gpudb.engine.host_name import get_host_name
from gpudb.engine.sharing import GpuPlace, SharedColumn, SharedPart
from gpudb.types import SqlType
from gpudb.values.number_columns import number_dtype


class DeviceMemoryHold:
    """Memory that is handed out until `close`; processes that have it mapped keep it."""

    def __init__(self, memory: gpu_memory.GpuMemory, server: DescriptorServer, key: str) -> None:
        self._memory, self._server, self._key = memory, server, key

    def close(self) -> None:
        """Hands it out no more; idempotent."""
        self._server.withdraw(self._key)
        self._memory.close(waits=False)  # its columns were copied before it was handed out

    def __del__(self) -> None:
        self.close()


class DeviceColumnSharer:
    """See `DeviceSharer`: of libcudf's columns."""

    def __init__(self, device: Device) -> None:
        self._identifier = device.identifier
        self._server = DescriptorServer()

    def share(self, rows: ComputedFrame, types: Sequence[SqlType]) -> tuple[SharedPart, DeviceMemoryHold] | None:
        """See `DeviceSharer`."""
        if not isinstance(rows, CudfFrame):
            return None
        current_stream()
        columns = []
        for number in range(len(types)):
            column = rows.device_column(f"c{number}")
            if column is None:
                return None
            columns.append(column)
        dtypes = [number_dtype(each.arrow) for each in types]
        starts, size = gpu_memory.lay_out(rows.rows * dtype.itemsize for dtype in dtypes)
        if not has_room(size):
            return None
        try:
            memory = _allocate(size)
        except (MemoryError, OSError):
            return None
        try:
            written = zip(columns, dtypes, starts, strict=True)
            shared = tuple(_write(memory, column, dtype, start) for column, dtype, start in written)
        finally:
            synchronize()
        try:
            path, key = self._server.offer(memory.export())
        except OSError:
            return None
        place = GpuPlace(self._identifier, key, memory.size)
        return SharedPart(rows.rows, get_host_name(), path, shared, place), DeviceMemoryHold(memory, self._server, key)


def _allocate(size: int) -> gpu_memory.GpuMemory:
    try:
        return gpu_memory.allocate(size)
    except MemoryError:
        release_unused()
        return gpu_memory.allocate(size)


def _write(memory: gpu_memory.GpuMemory, column: DeviceColumn, dtype: np.dtype[np.generic], start: int) -> SharedColumn:
    """Copies a column, on the calling thread's stream; NULL becomes NaN in floats, 0 otherwise."""
    values, valid = column
    held = cupy.cuda.UnownedMemory(memory.address, memory.size, memory)
    target = cupy.ndarray(values.shape, dtype, cupy.cuda.MemoryPointer(held, start))
    cupy.copyto(target, values.view(dtype) if dtype == np.bool_ else values, casting="unsafe")
    nulls = 0
    if valid is not None:
        nulls = int((~valid).sum())
        cupy.copyto(target, dtype.type("nan" if dtype.kind == "f" else 0), where=~valid)
    return SharedColumn(start, target.nbytes, nulls)
