"""A worker's GPU: opened once, with one resource of memory for tables, frames and kernels."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from gpudb.errors import SqlError

SHARE = 0.5
"""Of a GPU's memory, what resident columns may take where nothing else is said; the rest is for statements."""


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU that is open: its name and its memory, in bytes. `resource` lives as long as the process."""

    name: str
    memory: int
    resource: Any


def open_device() -> Device:
    """Opens this process's GPU; 58000 (system_error) where there is none, or its driver does not fit."""
    try:
        import rmm
        from cuda.bindings import runtime

        _, found = runtime.cudaGetDeviceProperties(0)
        _, total = rmm.mr.available_device_memory()
        resource = rmm.mr.CudaAsyncMemoryResource(release_threshold=int(total))
        rmm.mr.set_current_device_resource(resource)
    except Exception as error:
        message = f"the GPU cannot be opened: {error}"
        raise SqlError.of("system_error", message[:300], hint="gpudb doctor tells what is missing.") from error
    _share_with_cupy()
    return Device(found.name.decode().strip("\0"), int(total), resource)


def _share_with_cupy() -> None:
    import cupy
    from rmm.allocators.cupy import rmm_cupy_allocator

    cupy.cuda.set_allocator(rmm_cupy_allocator)


def device_facts() -> tuple[tuple[str, str, str], ...]:
    """What this process's GPU is, as pgstrom_device_info() tells it: attribute, value, meaning."""
    import rmm
    from cuda.bindings import runtime

    _, found = runtime.cudaGetDeviceProperties(0)
    _, driver = runtime.cudaDriverGetVersion()
    _, made_for = runtime.cudaRuntimeGetVersion()
    free, total = rmm.mr.available_device_memory()
    return (
        ("DEVICE_KIND", "gpu", "Kind of device"),
        ("DEVICE_NAME", found.name.decode().strip("\0"), "Device name"),
        ("DEVICE_UUID", found.uuid.bytes.hex(), "Device identifier"),
        ("DEVICE_TOTAL_MEM", str(int(total)), "Total memory, bytes"),
        ("DEVICE_FREE_MEM", str(int(free)), "Memory that nobody holds, bytes"),
        ("COMPUTE_CAPABILITY", f"{found.major}.{found.minor}", "Compute capability"),
        ("MULTIPROCESSOR_COUNT", str(found.multiProcessorCount), "Multiprocessors"),
        ("L2_CACHE_SIZE", str(found.l2CacheSize), "Level 2 cache, bytes"),
        ("DRIVER_VERSION", _version(driver), "The driver's newest CUDA"),
        ("RUNTIME_VERSION", _version(made_for), "CUDA of the runtime"),
        ("PROCESS_ID", str(os.getpid()), "Worker process"),
    )


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
