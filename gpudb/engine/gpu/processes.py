"""Worker processes: how many, what each may use, and how they are started; the cluster knows nothing more of them."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

START_SECONDS = 90
"""How long a worker may take to start."""
_LEAST_BYTES = 2**29
_PRELOAD = ["distributed", "distributed.nanny", "distributed.http", "numpy", "polars", "pyarrow.parquet", "tzdata"]


@dataclass(frozen=True, slots=True)
class Processes:
    """`count` worker processes, which `start` gives as a Dask cluster whose scheduler lies in this process.

    Each may use `memory` bytes, of them `resident` for tables and `results` for rows that wait for their clients. One
    that computes on for `patience` seconds after its statement has ended is killed: what it had loaded is lost then.
    With `fuse` they run fused parts of plans: on a GPU by kernels, on CPU workers by the kernels' twin.
    """

    count: int
    memory: int
    resident: int
    results: int
    patience: float
    start: Callable[[int], Any]
    fuse: bool = False


def cpu_processes(count: int, memory: int | None = None, *, fuse: bool = False) -> Processes:
    """CPU workers on this host, which share `memory` bytes, or 80% of what the machine has."""
    from distributed.system import MEMORY_LIMIT

    each = max((memory or int(0.8 * MEMORY_LIMIT)) // count, _LEAST_BYTES)
    return Processes(count, each, each // 2, min(each // 8, 2**28), 0.3, _start_cpu, fuse)


def _start_cpu(count: int) -> Any:
    """One thread a worker, in processes that are forked off one that has read the libraries: that takes no second."""
    import dask
    from distributed import LocalCluster
    from distributed.utils import get_mp_context

    # Read whenever a worker starts, and as long as there are any; a worker that is slow to come back is not given up.
    dask.config.set(
        {
            "distributed.worker.multiprocessing-method": "forkserver",
            "distributed.deploy.lost-worker-timeout": "1 day",
            "distributed.worker.memory.terminate": False,
            "distributed.admin.tick.limit": "60s",
        }
    )
    get_mp_context()  # type: ignore[no-untyped-call]  # sets what Dask would have read before a fork
    multiprocessing.get_context("forkserver").set_forkserver_preload(_PRELOAD)
    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=count,
        processes=True,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
        memory_limit=0,
        silence_logs=logging.ERROR,
        env={"POLARS_MAX_THREADS": "1"},
    )
