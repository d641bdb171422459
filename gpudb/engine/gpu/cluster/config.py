"""Worker processes: how many, what each may use, and how they come to be; the cluster knows nothing more of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gpudb.engine.gpu.cluster import forkserver
from gpudb.engine.gpu.cluster.launcher import Fleet, Joined, Started
from gpudb.engine.gpu.fused.cuda.nvrtc import cache_folder
from gpudb.engine.gpu.worker.warmup import caches

SILENT_SECONDS = 2.0
"""How long a worker may take to give a sign of life before its process is looked at: one that is stopped is ended."""
LATE_SECONDS = 15.0
"""How long a sign of life of one that is not stopped is waited for: a call into a library may hold up all of Python.
One that has died is known by its connections as soon as ever."""
_LEAST_BYTES = 2**29
_HOST_THREADS = 4
"""Of Polars on a worker that has a GPU."""


@dataclass(frozen=True, slots=True)
class Processes:
    """`count` worker processes, which `start` gives.

    Each may use `memory` bytes, of them `resident` for tables and `results` for rows that wait for their clients. One
    that computes on for `patience` seconds after its statement has ended is killed: what it had loaded is lost then.
    With `fuse` they run fused parts of plans: on a GPU by kernels, on CPU workers by the kernels' twin.
    """

    count: int
    memory: int
    resident: int
    results: int
    patience: float
    start: Callable[[int], Fleet]
    fuse: bool = False
    gpu: bool = False
    """Whether each has a GPU; `resident` is of its memory then, 0 for the half of it."""
    device: int = 0
    """The bytes of its GPU's memory that each may use; 0 for all that is free."""


def cpu_processes(count: int, memory: int | None = None, *, fuse: bool = False) -> Processes:
    """CPU workers on this host, which share `memory` bytes, or 80% of what the machine has."""
    from distributed.system import MEMORY_LIMIT

    each = max((memory or int(0.8 * MEMORY_LIMIT)) // count, _LEAST_BYTES)
    return Processes(count, each, each // 2, min(each // 8, 2**28), 0.3, _start_cpu, fuse)


def gpu_processes(devices: Sequence[str], memory: int | None = None) -> Processes:
    """A worker on each of these GPUs (their indices or identifiers), which share `memory` bytes of the host's."""
    from gpudb.engine.gpu.cluster.local import GpuWorkers

    base = cpu_processes(len(devices), memory)

    def start(count: int) -> Fleet:
        _configure()
        # What is left to the host there are few rows, which wait for more threads longer than they gain by them.
        environment = {**caches(cache_folder()), "POLARS_MAX_THREADS": str(_HOST_THREADS)}
        return Started(GpuWorkers(count, devices, environment))

    return _on_gpus(replace(base, start=start))


def joined_processes(scheduler: str, count: int | None, memory: int | None = None, *, gpu: bool) -> Processes:
    """The workers that others have started under a scheduler: `count` of them, or those that are there.

    They share `memory` bytes of their hosts', or have what each was started with. Errors: 08001 where no scheduler
    answers, 55006 where another server has its workers, 58000 for workers that are too few or another version's.
    """
    joined = Joined(scheduler, count)
    told = memory // joined.count if memory else int(0.8 * joined.memory)
    base = replace(cpu_processes(joined.count, told * joined.count or None), start=lambda count: joined)
    return _on_gpus(base) if gpu else base


def _on_gpus(base: Processes) -> Processes:
    return replace(base, resident=0, patience=2.0, fuse=True, gpu=True)


def _configure() -> None:
    """What Dask reads whenever a worker starts: one that is slow to come back is not given up, and no loop wakes a
    hundred times a second for what Dask's pages would show of it. Processes are forked off one that has read the
    libraries."""
    import dask

    dask.config.set(
        {
            "distributed.deploy.lost-worker-timeout": "1 day",
            "distributed.worker.memory.terminate": False,
            "distributed.admin.tick.limit": "60s",
            "distributed.admin.tick.interval": "500ms",
            "distributed.worker.profile.enabled": False,
        }
    )
    forkserver.configure()


def _start_cpu(count: int) -> Fleet:
    """One thread a worker."""
    from distributed import LocalCluster

    _configure()
    cluster = LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=count,
        processes=True,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        host="127.0.0.1",
        memory_limit=0,
        silence_logs=logging.ERROR,
        env={"POLARS_MAX_THREADS": "1"},
    )
    return Started(cluster)
