"""Cold reads of files on a disk: without the page cache, and with a measure of how far that succeeded.

The page cache's contents of files are sampled by reads that do not wait (RWF_NOWAIT); the kernel counts what really
came from a disk (/proc/self/io). Files that cannot be evicted are rewritten past the cache.
"""

from __future__ import annotations

import gc
import mmap
import os
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

SAMPLED_PAGES = 256
"""Sampled pages of some files."""
MAX_CACHED_SHARE = 0.02
"""Accepted share of cached pages."""
TRIES = 3
_PIECE = 1 << 24
_BLOCK = 4096
"""Length and alignment of writes past the page cache."""


def cached_share(paths: Sequence[Path]) -> float | None:
    """Estimates the share of some files in the page cache by pages that differ each time: a sampled page may be read
    into it. None if the system does not report it.
    """
    places = max(SAMPLED_PAGES // len(paths), 1)
    found = 0
    for path in paths:
        size = max(path.stat().st_size, 1)
        file = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)  # sampling must not trigger read-ahead
            for _ in range(places):
                try:
                    found += os.preadv(file, [bytearray(1)], random.randrange(size), os.RWF_NOWAIT)
                except BlockingIOError:
                    continue
        except OSError:
            return None
        finally:
            os.close(file)
    return found / (places * len(paths))


def bytes_read() -> int | None:
    """Returns the bytes that this process has read from disks so far; None if the system does not report it."""
    try:
        counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
        return int(counts["read_bytes"])
    except (OSError, KeyError):
        return None


def evict(paths: Sequence[Path]) -> float | None:
    """Evicts files from the page cache as far as possible; `cached` reports what is left."""
    left = None
    for again in range(TRIES):
        time.sleep(0.1 * again)
        gc.collect()  # a mapping keeps its pages
        for path in paths:
            with path.open("rb") as file:
                os.fsync(file.fileno())  # and so do pages that are not written yet
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        left = cached_share(paths)
        if not left:
            break
    return left


def rewrite(path: Path) -> None:
    """Replaces a file by a copy of which the page cache has nothing, if the disk supports writes past it."""
    made = path.with_suffix(".new")
    try:
        try:
            _copy(path, made, os.O_DIRECT)
        except OSError:
            _copy(path, made, 0)
        made.replace(path)
    finally:
        made.unlink(missing_ok=True)


def _copy(source: Path, path: Path, flags: int) -> None:
    buffer = memoryview(mmap.mmap(-1, _PIECE))  # aligned to a page
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | flags, 0o600)
    try:
        with source.open("rb") as reader:
            start = 0
            while count := reader.readinto(buffer):
                length, done = -(-count // _BLOCK) * _BLOCK, 0
                while done < length:
                    done += os.pwritev(file, [buffer[done:length]], start + done)
                start += length
        os.ftruncate(file, source.stat().st_size)
        os.fsync(file)
    finally:
        os.close(file)


class Disk:
    """Files on a disk for timing cold reads."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        self._rewriting_helps = True
        """Whether rewriting the files removes them from the page cache."""

    def time_cold(self, run: Callable[[], object], runs: int = 2) -> tuple[list[float], str]:
        """Seconds of some runs without the files in the page cache, and how far that succeeded."""
        times, notes = [], []
        for _ in range(runs):
            before = self._evict()
            began, begun = bytes_read(), time.perf_counter()
            run()
            times.append(time.perf_counter() - begun)
            ended = bytes_read()
            source = "bytes from the disk are unknown"
            if began is not None and ended is not None:
                source = f"{(ended - began) / 1e9:.2f} GB came from the disk"
            after = _format_share(cached_share(self.paths))
            notes.append(f"of the pages {_format_share(before)} were cached before, {after} after; {source}")
        return times, " | ".join(notes)

    def _evict(self) -> float | None:
        left = evict(self.paths)
        if left is not None and left > MAX_CACHED_SHARE and self._rewriting_helps:
            for path in self.paths:
                rewrite(path)
            left = evict(self.paths)
            self._rewriting_helps = left is not None and left <= MAX_CACHED_SHARE
        return left


def _format_share(found: float | None) -> str:
    return "an unknown share" if found is None else f"{found:.0%}"
