"""The bound on a worker process's memory: what it uses is looked at often, since Polars ends the process at its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

EVERY_SECONDS = 0.05
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATM = Path("/proc/self/statm")


def used() -> int:
    """What this process holds in memory now, in bytes; 0 where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * _PAGE
    except OSError:
        return 0


async def watch(limit: int, shrink: Callable[[int], None], over: Callable[[int], None]) -> None:
    """Looks for ever: beyond `limit` bytes `shrink(excess)` frees what can be read again, else `over(used)` is told."""
    while True:
        await asyncio.sleep(EVERY_SECONDS)
        excess = used() - limit
        if excess > 0:
            shrink(excess)
            if used() > limit:
                over(used())
