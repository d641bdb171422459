"""Memory of a GPU that several processes of a host map: it lives as long as one of them does so.

Unlike memory that is shared by CUDA IPC handles, what one process has mapped stays when the one that allocated it frees
it or ends: no process has to wait for another.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from functools import cache
from typing import Any

from gpudb.processes.shared_memory import align

_ALIGNMENT = 256
"""Bytes to which the starts of columns are aligned, as CUDA aligns allocations."""


class GpuMemory:
    """Memory that is mapped in this process until the object's end: `size` bytes at `address`, of GPU number `gpu`.

    `size` is a multiple of what the driver allocates. Its end waits for the GPUs' work, which may read it.
    """

    def __init__(self, handle: Any, size: int, gpu: int, reader: int | None = None) -> None:
        """`reader` is another GPU that reads it, if any."""
        self.size, self.gpu, self._handle = size, gpu, handle
        self._readers = {gpu} if reader is None else {gpu, reader}
        self.address = 0
        self._is_mapped = False
        try:
            self._map()
        except BaseException:
            self.close()
            raise

    def _map(self) -> None:
        driver = _load_driver()
        self.address = int(_check(driver.cuMemAddressReserve(self.size, 0, 0, 0)))
        _check(driver.cuMemMap(self.address, self.size, 0, self._handle, 0))
        self._is_mapped = True
        rights = []
        for reader in self._readers:
            access = driver.CUmemAccessDesc()
            access.location = _locate(reader)
            access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
            rights.append(access)
        _check(driver.cuMemSetAccess(self.address, self.size, rights, len(rights)))

    def export(self) -> int:
        """Returns a new file descriptor by which another process maps the memory."""
        driver = _load_driver()
        return int(_check(driver.cuMemExportToShareableHandle(self._handle, _kind(), 0)))

    def close(self, *, waits: bool = True) -> None:
        """Unmaps it; idempotent. It waits for the GPUs' work, unless none of it can concern this memory."""
        driver = _load_driver()
        if self._is_mapped and waits:
            for reader in self._readers:
                _wait(reader)  # unmapping does not
        if self._is_mapped:
            driver.cuMemUnmap(self.address, self.size)
        if self.address:
            driver.cuMemAddressFree(self.address, self.size)
        if self._handle is not None:
            driver.cuMemRelease(self._handle)
        self.address, self._is_mapped, self._handle = 0, False, None

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the driver may be gone when the interpreter ends
            self.close()


def allocate(size: int, gpu: int = 0) -> GpuMemory:
    """Allocates at least `size` bytes of a GPU. MemoryError where it has too little, OSError where it cannot share."""
    driver = _load_driver()
    wanted = driver.CUmemAllocationProp()
    wanted.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.location = _locate(gpu)
    wanted.requestedHandleTypes = _kind()
    least = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
    step = int(_check(driver.cuMemGetAllocationGranularity(wanted, least)))
    size = max(-(-size // step), 1) * step
    return GpuMemory(_check(driver.cuMemCreate(size, wanted, 0)), size, gpu)


def import_memory(descriptor: int, size: int, gpu: int, reader: int | None = None) -> GpuMemory:
    """Maps the memory of another process's descriptor, which it closes; a GPU `reader` may read it, too.

    OSError where this cannot be.
    """
    driver = _load_driver()
    try:
        return GpuMemory(_check(driver.cuMemImportFromShareableHandle(descriptor, _kind())), size, gpu, reader)
    finally:
        os.close(descriptor)


def copy(target: int, source: int, size: int) -> None:
    """Copies bytes between addresses of any GPU or of the host, and waits for it. OSError if it fails."""
    if size:
        from cuda.bindings import runtime

        _check(runtime.cudaMemcpy(target, source, size, runtime.cudaMemcpyKind.cudaMemcpyDefault))
        _check(runtime.cudaStreamSynchronize(runtime.cudaStream_t(runtime.cudaStreamLegacy)))  # not waited for in a GPU


def _wait(gpu: int) -> None:
    """Waits for all work on a GPU."""
    from cuda.bindings import runtime

    current = _check(runtime.cudaGetDevice())
    _check(runtime.cudaSetDevice(gpu))
    try:
        _check(runtime.cudaDeviceSynchronize())
    finally:
        _check(runtime.cudaSetDevice(current))


def lay_out(sizes: Iterable[int]) -> tuple[list[int], int]:
    """Returns where columns of some bytes start that lie one after another, and the bytes of all."""
    starts, end = [], 0
    for size in sizes:
        starts.append(end)
        end = align(end + size, _ALIGNMENT)
    return starts, end


def find_gpu(identifier: str) -> int | None:
    """Returns the number of the GPU of an identifier (its UUID, in hexadecimal digits) in this process, or None."""
    driver = _load_driver()
    for number in range(int(_check(driver.cuDeviceGetCount()))):
        if _check(driver.cuDeviceGetUuid(driver.CUdevice(number))).bytes.hex() == identifier:
            return number
    return None


@cache
def _load_driver() -> Any:
    """Returns the driver's bindings. ImportError without them, OSError without a driver."""
    from cuda.bindings import driver

    try:
        _check(driver.cuInit(0))
    except RuntimeError as error:  # the bindings' own, without a library of the driver
        raise OSError(str(error)) from None
    return driver


def _kind() -> Any:
    return _load_driver().CUmemAllocationHandleType.CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR


def _locate(gpu: int) -> Any:
    driver = _load_driver()
    place = driver.CUmemLocation()
    place.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    place.id = gpu
    return place


def _check(returned: tuple[Any, ...]) -> Any:
    """Returns what a call of the driver gave; OSError, or MemoryError, for its error."""
    failed, *given = returned
    if failed.name == "CUDA_ERROR_OUT_OF_MEMORY":
        raise MemoryError(failed.name)
    if int(failed):
        raise OSError(failed.name)
    return given[0] if given else None
