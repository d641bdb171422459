"""Log of a server's startup: the logger `gpudb.start` gets a line of level INFO for each step."""

from __future__ import annotations

import logging
import time

LOG = logging.getLogger("gpudb.start")
_STARTED = time.perf_counter()


def log_step(step: str) -> None:
    """Logs a completed step, and the milliseconds since this module was loaded."""
    LOG.info("%6.0f ms: %s", 1000 * (time.perf_counter() - _STARTED), step)
