"""Health of a Dask worker as a file, whose time is recent while the scheduler has the worker and its loop runs.

A module for `dask worker --preload gpudb.cli.worker_health`. The variable GPUDB_WORKER_HEALTH_FILE names the file. A
probe that compares its time starts no Python.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

FILE_VARIABLE = "GPUDB_WORKER_HEALTH_FILE"
TOUCH_S = 5.0


def dask_setup(worker: Any) -> None:
    """Called by Dask before a worker registers: keeps the file's time recent from then on."""
    from distributed.core import Status
    from tornado.ioloop import PeriodicCallback

    file = Path(os.environ[FILE_VARIABLE])

    def touch() -> None:
        if worker.status == Status.running:  # it is closing when the scheduler is gone
            file.touch()

    worker.periodic_callbacks["health"] = PeriodicCallback(touch, TOUCH_S * 1000)


def dask_teardown(worker: Any) -> None:
    """Called by Dask when a worker closes."""
    Path(os.environ[FILE_VARIABLE]).unlink(missing_ok=True)
