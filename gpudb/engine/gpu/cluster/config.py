"""Configuration of worker processes: their number, their limits, and how they are launched."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpudb.certificates import CertificateFiles
from gpudb.engine.gpu.cluster import forkserver
from gpudb.engine.gpu.cluster.joined import JoinedLauncher
from gpudb.engine.gpu.cluster.launcher import Launcher, LocalLauncher
from gpudb.engine.gpu.cluster.private_directory import PrivateDirectory
from gpudb.engine.gpu.cluster.security import create_security, load_security
from gpudb.engine.gpu.fused.cuda.nvrtc import cache_folder
from gpudb.engine.gpu.lower.expressions.host_fallback import THREADS_VARIABLE
from gpudb.engine.gpu.worker.warmup import kernel_cache_variables

SILENT_SECONDS = 2.0
"""Silence after which a worker's process is inspected: a stopped one is killed."""
LATE_SECONDS = 15.0
"""Silence after which any worker is killed: a call into a library may block all of Python.

A dead worker is detected at once by its connections.
"""
_LEAST_BYTES = 2**29
_HOST_THREADS = 4
"""Polars threads of a worker that has a GPU."""


@dataclass(frozen=True, slots=True)
class WorkerProcesses:
    """`count` worker processes, launched by `start`.

    Each may use `memory` bytes, of them `resident` for tables and `results` for rows that wait for their clients. A
    worker that still computes `patience` seconds after its statement has ended is killed, and loses its cached columns.
    With `fuse` workers run fused parts of plans: on a GPU by kernels, on CPU workers by the kernels' NumPy backend.
    """

    count: int
    memory: int
    resident: int
    results: int
    patience: float
    start: Callable[[int], Launcher]
    fuse: bool = False
    gpu: bool = False
    """Whether each worker has a GPU; `resident` then limits its memory, 0 for half of it."""
    device: int = 0
    """The bytes of GPU memory that each worker may use; 0 for all that is free."""
    temp_limit: int = 0
    """The bytes of temporary files that each worker may have; 0 for no limit."""


def cpu_processes(count: int, memory: int | None = None, *, fuse: bool = False) -> WorkerProcesses:
    """Returns CPU workers on this host, which share `memory` bytes, or 80% of the machine's."""
    from distributed.system import MEMORY_LIMIT

    each = max((memory or int(0.8 * MEMORY_LIMIT)) // count, _LEAST_BYTES)
    return WorkerProcesses(count, each, each // 2, min(each // 8, 2**28), 1.0, _launch_cpu, fuse)


def gpu_processes(
    devices: Sequence[str], memory: int | None = None, variables: Mapping[str, str] | None = None
) -> WorkerProcesses:
    """Returns one worker per GPU (index or identifier); they share `memory` bytes of the host's.

    `variables` are added to their environment.
    """
    from gpudb.engine.gpu.cluster.local import GpuWorkers

    base = cpu_processes(len(devices), memory)

    def start(count: int) -> Launcher:
        _configure()
        environment = {
            **kernel_cache_variables(cache_folder()),
            # CuPy's reductions do without CUB, whose headers take five seconds to compile for each.
            "CUPY_ACCELERATORS": "",
            # The host computes few rows, which wait for more threads longer than they gain by them.
            "POLARS_MAX_THREADS": str(_HOST_THREADS),
            THREADS_VARIABLE: str(max(_HOST_THREADS, len(os.sched_getaffinity(0)) // count)),
            **(variables or {}),
        }
        directory = PrivateDirectory()
        return LocalLauncher(GpuWorkers(count, devices, environment, directory.path), directory)

    return _with_gpus(replace(base, start=start))


def joined_processes(
    scheduler: str,
    count: int | None,
    memory: int | None = None,
    certificates: CertificateFiles | None = None,
    *,
    gpu: bool,
    insecure: bool = False,
    seconds: float | None = None,
) -> WorkerProcesses:
    """Returns the workers of an existing scheduler: `count` of them, or all.

    They share `memory` bytes of their hosts', or keep the limits that they were started with. Raises F0000 without
    `certificates`, unless the scheduler is `insecure` on purpose; 08001 if no scheduler answers, 55006 if another
    server uses its workers, 58000 for too few workers or other versions.
    """
    joined = JoinedLauncher(scheduler, count, load_security(scheduler, certificates, insecure=insecure), seconds)
    limit = memory // joined.count if memory else int(0.8 * joined.memory)
    base = replace(cpu_processes(joined.count, limit * joined.count or None), start=lambda count: joined)
    return _with_gpus(base) if gpu else base


def _with_gpus(base: WorkerProcesses) -> WorkerProcesses:
    return replace(base, resident=0, patience=2.0, fuse=True, gpu=True)


def _configure() -> None:
    """Configures Dask for new workers.

    A worker that restarts slowly is not given up, no loop wakes a hundred times a second for Dask's pages, which are
    shown to nobody, and processes are forked from one that has imported the libraries.
    """
    import dask

    dask.config.set(
        {
            "distributed.deploy.lost-worker-timeout": "1 day",
            "distributed.worker.memory.terminate": False,
            "distributed.admin.tick.limit": "60s",
            "distributed.admin.tick.interval": "500ms",
            "distributed.worker.profile.enabled": False,
            # They would be served without TLS.
            "distributed.scheduler.http.routes": [],
            "distributed.worker.http.routes": [],
        }
    )
    # Connections that the end of a cluster closes would be told with their stacks.
    logging.getLogger("distributed").setLevel(logging.ERROR)
    forkserver.configure()


def _launch_cpu(count: int) -> Launcher:
    """Launches workers of one thread each."""
    from distributed import LocalCluster

    _configure()
    directory = PrivateDirectory()
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
        protocol="tls",
        security=create_security(directory.path),
        local_directory=str(directory.path),
    )
    return LocalLauncher(cluster, directory)
