"""A worker's GPU: opened once, with one memory resource for tables, frames and kernels."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from gpudb.engine.nvml import read_utilization
from gpudb.errors import OutOfMemory, SqlError

RESIDENT_SHARE = 0.5
"""Default share of a GPU's memory for resident columns; the rest is for statements."""
POOL_SHARE = 0.9
"""Share of free memory that is allocated at once where other processes' GPUs read from it."""
FREE_SHARE = 0.1
"""Share of memory that must be free when a worker opens the GPU."""
FREE_SECONDS = 15.0
"""How long a worker waits for that: the memory of a killed process is freed a little later."""

READER_THREADS = 16
"""Maximum threads that copy file bytes to the GPU: one copies some GB/s out of the page cache."""


@dataclass(frozen=True, slots=True)
class Device:
    """An open GPU: its name, its identifier, and the bytes of memory available to this process.

    `resource` lives as long as the process.
    """

    name: str
    identifier: str
    memory: int
    resource: Any


def open_device(*, peers: bool = False, bound: int = 0) -> Device:
    """Opens this process's GPU and limits its memory to `bound` bytes (0: all that is free).

    Raises 58000 where there is no GPU, or its driver is incompatible, and 53200 where it is full. With `peers`, other
    processes' GPUs can read its memory, which the driver's own pools do not allow. A GPU that is open stays unchanged.
    """
    global _opened
    _opened = _opened or _open(peers, bound)
    return _opened


_opened: Device | None = None


def _open(peers: bool, bound: int) -> Device:
    global _pool
    # libcudf reads files with four threads by default, and reads the setting at its first read.
    os.environ.setdefault("KVIKIO_NTHREADS", str(min(READER_THREADS, len(os.sched_getaffinity(0)))))
    try:
        import rmm
        from cuda.bindings import runtime

        _, found = runtime.cudaGetDeviceProperties(0)
        free, total = rmm.mr.available_device_memory()
        ends = time.monotonic() + FREE_SECONDS
        while (full := free < FREE_SHARE * total) and time.monotonic() < ends:
            time.sleep(0.2)
            free, total = rmm.mr.available_device_memory()
        room = int(min(free, bound or total))
        if peers and not full:
            resource = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), int(POOL_SHARE * room) // 256 * 256)
        else:
            _pool = _driver_pool(int(total))
            resource = rmm.mr.CudaAsyncViewMemoryResource(_pool)
        if bound:
            resource = rmm.mr.LimitingResourceAdaptor(resource, bound)
        rmm.mr.set_current_device_resource(resource)
    except Exception as error:
        message = f"the GPU cannot be opened: {error}"
        raise SqlError.of("system_error", message[:300], hint="gpudb doctor tells what is missing.") from error
    name = found.name.decode().strip("\0")
    if full:
        message = f"{name} has {free >> 20} of its {total >> 20} MiB free: other processes hold the rest"
        raise OutOfMemory(message, hint="nvidia-smi lists them; CUDA_VISIBLE_DEVICES names another GPU.")
    _use_rmm_in_cupy()
    return Device(name, found.uuid.bytes.hex(), room, resource)


def _driver_pool(total: int) -> Any:
    """Creates a driver memory pool that keeps freed memory.

    It never makes a stream wait for memory that another stream frees later, but allocates other memory. Raises
    RuntimeError where the driver cannot create one.
    """
    from cuda.bindings import driver, runtime

    properties = runtime.cudaMemPoolProps()
    properties.allocType = runtime.cudaMemAllocationType.cudaMemAllocationTypePinned
    properties.location.type = runtime.cudaMemLocationType.cudaMemLocationTypeDevice
    properties.location.id = 0
    failed, pool = runtime.cudaMemPoolCreate(properties)
    kinds = runtime.cudaMemPoolAttr
    for kind, value in (
        (kinds.cudaMemPoolAttrReleaseThreshold, driver.cuuint64_t(total)),
        (kinds.cudaMemPoolReuseAllowInternalDependencies, 0),
    ):
        failed = failed or runtime.cudaMemPoolSetAttribute(pool, kind, value)[0]
    if failed:
        raise RuntimeError(failed.name)
    return pool


def release_unused() -> None:
    """Returns memory that nothing uses to the driver, for allocations beside the pool."""
    from cuda.bindings import runtime

    if _pool is not None:
        runtime.cudaMemPoolTrimTo(_pool, 0)


_pool: Any = None
"""The driver's pool that this process allocates from, if any."""


def context_error() -> str | None:
    """Returns the error that has broken this process's CUDA context, such as an illegal access; None while it works."""
    from cuda.bindings import runtime

    # No work is queued on the per-thread stream, so nothing is waited for.
    mine = runtime.cudaStream_t(runtime.cudaStreamPerThread)
    (first,), (second,) = runtime.cudaStreamSynchronize(mine), runtime.cudaStreamSynchronize(mine)
    # An error of a single call is reported once; a broken context reports its error for ever.
    return None if int(second) == 0 else str(first.name)


def _use_rmm_in_cupy() -> None:
    import cupy
    from rmm.allocators.cupy import rmm_cupy_allocator

    cupy.cuda.set_allocator(rmm_cupy_allocator)


def device_facts() -> tuple[tuple[str, str, str], ...]:
    """Returns facts about this process's GPU for pgstrom_device_info(): attribute, value, meaning."""
    import rmm
    from cuda.bindings import runtime

    _, found = runtime.cudaGetDeviceProperties(0)
    _, driver = runtime.cudaDriverGetVersion()
    _, made_for = runtime.cudaRuntimeGetVersion()
    free, total = rmm.mr.available_device_memory()
    identifier = found.uuid.bytes.hex()
    used = read_utilization(identifier)
    return (
        ("DEVICE_KIND", "gpu", "Kind of device"),
        ("DEVICE_NAME", found.name.decode().strip("\0"), "Device name"),
        ("DEVICE_UUID", identifier, "Device identifier"),
        ("DEVICE_TOTAL_MEM", str(int(total)), "Total memory, bytes"),
        ("DEVICE_FREE_MEM", str(int(free)), "Memory that nobody holds, bytes"),
        ("COMPUTE_CAPABILITY", f"{found.major}.{found.minor}", "Compute capability"),
        ("MULTIPROCESSOR_COUNT", str(found.multiProcessorCount), "Multiprocessors"),
        ("L2_CACHE_SIZE", str(found.l2CacheSize), "Level 2 cache, bytes"),
        ("DRIVER_VERSION", _format_version(driver), "The driver's newest CUDA"),
        ("RUNTIME_VERSION", _format_version(made_for), "CUDA of the runtime"),
        ("PROCESS_ID", str(os.getpid()), "Worker process"),
        *(
            ()
            if used is None
            else (
                ("GPU_UTILIZATION", str(used[0]), "Share of the last moment in which it computed"),
                (
                    "MEMORY_UTILIZATION",
                    str(used[1]),
                    "Share of the last moment in which its memory was in use",
                ),
            )
        ),
    )


def _format_version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
