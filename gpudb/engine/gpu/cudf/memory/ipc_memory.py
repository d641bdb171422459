"""Maps memory of other processes' GPUs on this host with CUDA IPC handles, and copies rows out of it.

After a process ends, its memory stays unchanged for processes that have it mapped, until they unmap it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition
from typing import Any

import rmm
from cuda.bindings import driver, runtime

from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
from gpudb.engine.gpu.rpc.messages import IpcHandle

_HANDLE_BYTES = 64


@dataclass(slots=True)
class _Peer:
    """A peer process: its mapped allocations by handle, and the number of running copies from them."""

    bases: dict[bytes, int] = field(default_factory=dict)
    readers: int = 0


class MappedMemory:
    """The mapped memory of peer processes; thread-safe."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._peers: dict[str, _Peer] = {}

    def locate(self, buffer: Any) -> IpcHandle | None:
        """Returns a handle to a buffer of this process; None for memory that the driver cannot share."""
        failed, base, _ = driver.cuMemGetAddressRange(driver.CUdeviceptr(buffer.ptr))
        if failed:
            return None
        failed, handle = runtime.cudaIpcGetMemHandle(int(base))
        if failed:
            runtime.cudaGetLastError()  # otherwise libraries would report it as theirs
            return None
        return IpcHandle(ctypes.string_at(handle.getPtr(), _HANDLE_BYTES), buffer.ptr - int(base), buffer.size)

    def copy_from(self, peer: str, place: IpcHandle) -> Any:
        """Copies a peer's buffer into this process's memory, and waits for the copy.

        Raises OSError where it cannot be mapped, MemoryError where memory is too small.
        """
        made = rmm.DeviceBuffer(size=place.size, stream=current_stream())
        kind, stream = runtime.cudaMemcpyKind.cudaMemcpyDefault, current_stream().__cuda_stream__()[1]
        with self._read(peer, place.handle) as base:
            try:
                (failed,) = runtime.cudaMemcpyAsync(made.ptr, base + place.start, place.size, kind, stream)
            finally:
                synchronize()
        if failed:
            raise OSError(failed.name)
        return made

    @contextmanager
    def _read(self, peer: str, handle: bytes) -> Iterator[int]:
        """Yields the address of a peer's mapped allocation, which is not unmapped meanwhile."""
        with self._changed:
            found = self._peers.setdefault(peer, _Peer())
            if handle not in found.bases:
                found.bases[handle] = _map_handle(handle)
            found.readers += 1
        try:
            yield found.bases[handle]
        finally:
            with self._changed:
                found.readers -= 1
                self._changed.notify_all()

    def unmap(self, peers: Collection[str]) -> None:
        """Unmaps the memory of some peers, after copies from it have ended."""
        with self._changed:
            gone = [self._peers.pop(each) for each in peers if each in self._peers]
            self._changed.wait_for(lambda: not any(each.readers for each in gone))
        for each in gone:
            for base in each.bases.values():
                runtime.cudaIpcCloseMemHandle(base)


def _map_handle(handle: bytes) -> int:
    """Maps memory of another process and returns its address."""
    ipc_handle = runtime.cudaIpcMemHandle_t()
    ctypes.memmove(ipc_handle.getPtr(), handle, len(handle))
    failed, base = runtime.cudaIpcOpenMemHandle(ipc_handle, runtime.cudaIpcMemLazyEnablePeerAccess)
    if failed:
        runtime.cudaGetLastError()  # otherwise libraries would report it as theirs
        raise OSError(failed.name)
    return int(base)
