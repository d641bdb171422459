"""The process that workers are forked off: it reads their libraries while the server reads its own.

It must not open a GPU, nor load the driver's library: no fork would have the use of it. Where RAPIDS is installed
`distributed` loads rmm and cuda.bindings, which do neither; what else is for GPUs alone each worker imports itself.
"""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing import forkserver

_PRELOAD = ["distributed", "distributed.nanny", "distributed.http", "tzdata", "gpudb.engine.gpu.worker.worker"]
_ENVIRONMENT = {
    "MALLOC_TRIM_THRESHOLD_": "65536",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "6640",
}
"""What Dask has its workers' processes start with, unless it is set: later would be too late, since it is read once."""


def begin() -> None:
    """Starts it, unless it runs. It keeps the environment that this process has when it first starts."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(_PRELOAD)
    added = {name: value for name, value in _ENVIRONMENT.items() if name not in os.environ}
    os.environ.update(added)
    try:
        forkserver.ensure_running()
    finally:
        for name in added:
            del os.environ[name]


def configure() -> None:
    """Has Dask fork its workers off it."""
    import dask
    from distributed.utils import get_mp_context

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    get_mp_context()  # type: ignore[no-untyped-call]  # sets what Dask would have read before a fork
    begin()
