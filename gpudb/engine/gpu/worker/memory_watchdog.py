"""Memory limit of a worker process. Its usage is polled often, since Polars ends the process at a limit of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

EVERY_SECONDS = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATM = Path("/proc/self/statm")


def used_bytes() -> int:
    """Returns the resident memory of this process, in bytes; 0 where the system does not report it."""
    try:
        return int(_STATM.read_text().split()[1]) * _PAGE
    except OSError:
        return 0


async def watch(limit: int, shrink: Callable[[int], None], over: Callable[[int], None]) -> None:
    """Polls memory forever: above `limit`, `shrink(excess)` frees caches.

    If that is not enough, `over(used)` is called.
    """
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        excess = used_bytes() - limit
        if excess > 0:
            shrink(excess)
            if used_bytes() > limit:
                over(used_bytes())
