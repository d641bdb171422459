"""A worker's GPU: opened once, with one resource of memory for tables, frames and kernels."""

from __future__ import annotations

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
