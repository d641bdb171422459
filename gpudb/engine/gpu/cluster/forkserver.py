"""The forkserver: workers are forked from a process that imports their libraries while the server imports its own.

It must not open a GPU or load the driver's library: no fork could use it. Where RAPIDS is installed `distributed`
imports rmm and cuda.bindings, which do neither; each worker itself imports everything else that is for GPUs.
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
"""Environment variables that Dask sets for its workers, unless they are set: libraries read them once, at import."""


def begin() -> None:
    """Starts the forkserver, unless it runs. It keeps the environment that this process has at the first start."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(_PRELOAD)
    added = {name: value for name, value in _ENVIRONMENT.items() if name not in os.environ}
    os.environ.update(added)
    try:
        forkserver.ensure_running()
    finally:
        for name in added:
            del os.environ[name]


def configure() -> None:
    """Configures Dask to fork its workers from it."""
    import dask
    from distributed.utils import get_mp_context

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    get_mp_context()  # type: ignore[no-untyped-call]  # sets what Dask would have read before a fork
    begin()
