"""The process that workers are forked off: it reads their libraries while the server reads its own.

It must not open a GPU, nor load the driver's library: no fork would have the use of it. What is for GPUs alone each
worker imports itself.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import forkserver

_PRELOAD = ["distributed", "distributed.nanny", "distributed.http", "tzdata", "gpudb.engine.gpu.worker"]


def begin() -> None:
    """Starts it, unless it runs. It keeps the environment that this process has when it first starts."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(_PRELOAD)
    forkserver.ensure_running()


def configure() -> None:
    """Has Dask fork its workers off it."""
    import dask
    from distributed.utils import get_mp_context

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    get_mp_context()  # type: ignore[no-untyped-call]  # sets what Dask would have read before a fork
    begin()
