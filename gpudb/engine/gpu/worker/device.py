"""A worker's device: its host's processors, or its GPU."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gpudb.engine.gpu import limits
from gpudb.engine.gpu.backend.base import Backend
from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.cache.host_columns import ResidentTables
from gpudb.engine.gpu.exchange.client import BufferPacker
from gpudb.engine.gpu.exchange.shared_rows import DeviceSharer
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.planning.matching import MANY_ROWS
from gpudb.engine.gpu.fused.runner import KernelRunner, NumpyRunner
from gpudb.engine.gpu.stage.stage_executor import TableSource
from gpudb.engine.gpu.worker import memory_watchdog
from gpudb.storage.lockfile import LockFile


@dataclass(frozen=True, slots=True)
class Device:
    """A backend, its table source, and what runs fused parts, if anything.

    `space` has the bytes for tables' columns and for statements. `failure` returns what has broken the device. `packer`
    packs frames for other workers' devices that are reachable. `shrink` frees bytes of this process's memory, as far as
    caches have them. `sharer` leaves rows in the device's memory for other processes.
    """

    backend: Backend
    tables: TableSource
    kernels: NumpyRunner | None
    memory: tuple[int, int]
    failure: Callable[[], str | None] = lambda: None
    packer: BufferPacker | None = None
    free_host_memory: Callable[[int], None] = lambda excess: None
    sharer: DeviceSharer | None = None


def open_host(limit: int, budget: int, fuse: bool) -> Device:
    """Returns the host as a device; this process may use `limit` bytes of its memory, `budget` of them for tables."""
    # Columns that both readers use exist in two forms, each with half of the budget.
    room = budget // 2 if fuse else budget
    # The rest is for statements, less what the process itself takes.
    space = budget, max(limit - budget - memory_watchdog.used_bytes(), limit // 8)
    tables = ResidentTables(room)
    return Device(
        HostBackend(), tables, NumpyRunner(PackedTables(room)) if fuse else None, space, free_host_memory=tables.shrink
    )


def open_gpu(budget: int, fuse: bool, *, peers: bool = False, bound: int = 0, host: int = 0) -> Device:
    """Returns this process's GPU as a device.

    It may use `bound` bytes of the GPU's memory, or all that is free; tables get `budget` of them, or a default
    fraction for 0. With `peers` there are GPUs of other workers. Up to `host` bytes of host memory are page-locked for
    rows that the GPU has no room for.
    """
    from gpudb.engine.gpu.cudf.algorithms import reduction_warmup
    from gpudb.engine.gpu.cudf.backend import CudfBackend
    from gpudb.engine.gpu.cudf.columns.pinned_memory import pinned_pool
    from gpudb.engine.gpu.cudf.columns.shared_columns import DeviceColumnSharer
    from gpudb.engine.gpu.cudf.contiguous import ContiguousPacker
    from gpudb.engine.gpu.cudf.files.column_chunks import CudfChunkReader
    from gpudb.engine.gpu.cudf.kernel_results import ResultFrameBuilder
    from gpudb.engine.gpu.cudf.memory.device_memory import RESIDENT_SHARE, context_error, open_device
    from gpudb.engine.gpu.cudf.resident_columns import CudfTableCache

    device = open_device(peers=peers, bound=bound)
    global _claim
    _claim = _claim or LockFile(Path(tempfile.gettempdir()) / f"gpudb-gpu-{device.identifier}.lock", device.name)
    blocks = pinned_pool(host)
    reduction_warmup.start()
    frames = CudfBackend(blocks, limits.FEW_ROWS)
    packer = ContiguousPacker(frames) if peers else None
    sharer = DeviceColumnSharer(device)
    room = budget or int(RESIDENT_SHARE * device.memory)
    space = room, device.memory - room
    if not fuse:
        tables = CudfTableCache(room, frames)
        frames.shrink = partial(tables.columns.shrink, 0)
        return Device(frames, tables, None, space, context_error, packer, blocks.shrink, sharer)
    packed = PackedTables(room * 3 // 4, CudfChunkReader(), raw_text_rows=MANY_ROWS)
    tables, kernels = CudfTableCache(room, frames, packed), KernelRunner(packed, ResultFrameBuilder(frames))

    def shrink() -> None:
        kernels.make_room()
        tables.columns.shrink(0)
        packed.columns.shrink(0)

    frames.shrink = shrink
    return Device(frames, tables, kernels, space, context_error, packer, blocks.shrink, sharer)


_claim: LockFile | None = None
"""The lock on this process's GPU: two servers on one would each count on its whole memory."""
