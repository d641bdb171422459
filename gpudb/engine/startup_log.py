"""The steps of a server's start, told as they are reached: each a line of the log `gpudb.start`, of level INFO."""

from __future__ import annotations

import logging
import time

LOG = logging.getLogger("gpudb.start")
_BEGUN = time.perf_counter()


def reached(step: str) -> None:
    """Tells that a step of the start is behind, and how many milliseconds after this module was read."""
    LOG.info("%6.0f ms: %s", 1000 * (time.perf_counter() - _BEGUN), step)
