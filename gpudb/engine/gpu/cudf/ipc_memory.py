"""Memory of other processes' GPUs on this host, mapped here by CUDA's interprocess handles: rows are copied out of it.

A process that has ended leaves its memory to those that have it mapped, as it was. It is free once they let go of it.
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

from gpudb.engine.gpu.cudf.streams import complete, current
from gpudb.engine.gpu.rpc.calls import IpcHandle

_HANDLE_BYTES = 64


@dataclass(slots=True)
class _Peer:
    """What is mapped of one process: where, by the handles of its allocations; and how many copy from there now."""

    bases: dict[bytes, int] = field(default_factory=dict)
    readers: int = 0


class Mapped:
    """Any thread's."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._peers: dict[str, _Peer] = {}

    def place(self, buffer: Any) -> IpcHandle | None:
        """Where other processes find a buffer of this one's; None for memory that the driver shares with none."""
        failed, base, _ = driver.cuMemGetAddressRange(driver.CUdeviceptr(buffer.ptr))
        if failed:
            return None
        failed, handle = runtime.cudaIpcGetMemHandle(int(base))
        if failed:
            runtime.cudaGetLastError()  # libraries would take it for theirs
            return None
        return IpcHandle(ctypes.string_at(handle.getPtr(), _HANDLE_BYTES), buffer.ptr - int(base), buffer.size)

    def copied(self, peer: str, place: IpcHandle) -> Any:
        """A copy of what lies there in this process's memory, complete. OSError where it cannot be mapped, MemoryError
        where there is no room."""
        made = rmm.DeviceBuffer(size=place.size, stream=current())
        kind, stream = runtime.cudaMemcpyKind.cudaMemcpyDefault, current().__cuda_stream__()[1]
        with self._read(peer, place.handle) as base:
            try:
                (failed,) = runtime.cudaMemcpyAsync(made.ptr, base + place.start, place.size, kind, stream)
            finally:
                complete()
        if failed:
            raise OSError(failed.name)
        return made

    @contextmanager
    def _read(self, peer: str, handle: bytes) -> Iterator[int]:
        """Where memory of a peer begins here, which is not let go of meanwhile."""
        with self._changed:
            found = self._peers.setdefault(peer, _Peer())
            if handle not in found.bases:
                found.bases[handle] = _mapped(handle)
            found.readers += 1
        try:
            yield found.bases[handle]
        finally:
            with self._changed:
                found.readers -= 1
                self._changed.notify_all()

    def let_go(self, peers: Collection[str]) -> None:
        """Lets go of some processes' memory; copies from there end before."""
        with self._changed:
            gone = [self._peers.pop(each) for each in peers if each in self._peers]
            self._changed.wait_for(lambda: not any(each.readers for each in gone))
        for each in gone:
            for base in each.bases.values():
                runtime.cudaIpcCloseMemHandle(base)


def _mapped(handle: bytes) -> int:
    """Where memory of another process begins here."""
    given = runtime.cudaIpcMemHandle_t()
    ctypes.memmove(given.getPtr(), handle, len(handle))
    failed, base = runtime.cudaIpcOpenMemHandle(given, runtime.cudaIpcMemLazyEnablePeerAccess)
    if failed:
        runtime.cudaGetLastError()  # libraries would take it for theirs
        raise OSError(failed.name)
    return int(base)
