"""Records of reads of files that a statement reads as tables: bytes, how they were read, and for how long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gpudb.engine.gpu.figures import FileReads

_Read = tuple[str, int, float, float]
"""How bytes were read, how many, and from when until when, in seconds."""
_recorded: ContextVar[list[_Read] | None] = ContextVar("recorded", default=None)


@contextmanager
def record_reads() -> Iterator[list[_Read]]:
    """Context whose reads are added to the list; threads need a copy of its variables."""
    reads: list[_Read] = []
    token = _recorded.set(reads)
    try:
        yield reads
    finally:
        _recorded.reset(token)


@contextmanager
def track_read(way: str, size: int) -> Iterator[None]:
    """Context of a read of so many bytes; `way` says by what."""
    started = time.perf_counter()
    yield
    reads = _recorded.get()
    if reads is not None:
        reads.append((way, size, started, time.perf_counter()))


def sum_reads(reads: list[_Read]) -> tuple[FileReads, ...]:
    """Returns the figures of reads by their way: reads at the same time take their time once."""
    found = []
    for way in dict.fromkeys(each[0] for each in reads):
        spans = sorted((start, end) for each, _, start, end in reads if each == way)
        spent, until = 0.0, 0.0
        for start, end in spans:
            spent += max(end - max(start, until), 0.0)
            until = max(until, end)
        found.append(FileReads(way, sum(size for each, size, *_ in reads if each == way), 1000 * spent))
    return tuple(found)
