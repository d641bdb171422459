"""Memory that a process shares with its children: large buffers of calls lie in it, and are neither sent nor copied.

The parent gives out regions, and takes one back once nothing refers to it any more; a child only writes into a region
that was given to it for the result of its call. It is a file without a name, so that nothing stays of it however its
processes end.
"""

from __future__ import annotations

import mmap
import os
import threading
import weakref
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

ALIGNMENT = 64
"""Buffers begin at multiples of so many bytes, as Arrow wants them."""
PAGE = mmap.ALLOCATIONGRANULARITY

Bytes = npt.NDArray[np.uint8]
Place = tuple[int, int]
"""Where a buffer lies in the memory: its start, and its bytes."""


def align(size: int, unit: int = ALIGNMENT) -> int:
    """Returns a number of bytes rounded up to whole units."""
    return -(-size // unit) * unit


class MappedMemory:
    """The memory as each process maps it, by the descriptor of its file."""

    def __init__(self, descriptor: int, size: int) -> None:
        """Maps `size` bytes; pages that nobody has written take no memory."""
        self.descriptor, self.size = descriptor, size
        self._map = mmap.mmap(descriptor, size)
        self._whole: Bytes = np.frombuffer(self._map, np.uint8)
        self._start = self._whole.ctypes.data

    def view(self, place: Place) -> Bytes:
        """Returns the bytes of a place."""
        return np.frombuffer(self._map, np.uint8, place[1], place[0])

    def find(self, part: memoryview) -> Place | None:
        """Returns the place of bytes; None if they are not in this memory."""
        if not part.nbytes:
            return None
        offset = np.frombuffer(part, np.uint8).ctypes.data - self._start
        return (offset, part.nbytes) if 0 <= offset < self.size else None

    def discard(self, start: int, size: int) -> None:
        """Gives the pages of a place back to the system."""
        self._map.madvise(mmap.MADV_REMOVE, start, size)


def fill(target: Bytes, start: int, parts: list[memoryview]) -> list[Place]:
    """Copies buffers one after another into bytes that lie at `start` of the memory; returns their places."""
    places, at = [], 0
    for part in parts:
        np.copyto(target[at : at + part.nbytes], np.frombuffer(part, np.uint8))
        places.append((start + at, part.nbytes))
        at += align(part.nbytes)
    return places


class SharedMemory(MappedMemory):
    """The memory in the process that owns it; thread-safe. A forked process only reads what it holds.

    free --allocate→ in use --the last reference goes→ freed --the next call→ free
    """

    def __init__(self, size: int) -> None:
        """At most `size` bytes are in use at a time."""
        size = align(size, PAGE)
        descriptor = os.memfd_create("gpudb", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            super().__init__(descriptor, size)
        except BaseException:
            os.close(descriptor)
            raise
        self._free: list[Place] = [(0, size)]
        """Free places in the order of their starts, none of which touch."""
        self._freed: deque[Place] = deque()
        self._used = 0
        self._reached = 0
        """Where the pages end that were written since the last discard."""
        self._lock = threading.Lock()
        self._owner = os.getpid()

    @property
    def _is_owner(self) -> bool:
        """Whether this is the process that made it, not one forked from that."""
        return os.getpid() == self._owner

    @property
    def used(self) -> int:
        """Bytes that are in use."""
        with self._lock:
            self._collect()
            return self._used

    def allocate(self, size: int) -> tuple[int, Bytes] | None:
        """Returns a region's start and its bytes, which are its as long as something refers to them; None without
        room.
        """
        if not self._is_owner:
            return None
        size = align(max(size, 1), PAGE)
        with self._lock:
            self._collect()
            number = next((number for number, (_, room) in enumerate(self._free) if room >= size), None)
            if number is None:
                return None
            start, room = self._free[number]
            self._free[number : number + 1] = [(start + size, room - size)] if room > size else []
            self._used += size
            self._reached = max(self._reached, start + size)
        region = self.view((start, size))
        weakref.finalize(region, self._release, (start, size)).atexit = False
        return start, region

    def _release(self, place: Place) -> None:
        """Takes a region back, by whichever thread drops it, amid `allocate` too: then the next call does the rest.

        In a forked process nothing happens: the pages are its parent's.
        """
        if not self._is_owner:
            return
        self._freed.append(place)
        if self._lock.acquire(blocking=False):
            try:
                self._collect()
            finally:
                self._lock.release()

    def _collect(self) -> None:
        """Makes freed regions free, and gives all pages back once none is in use."""
        if not self._is_owner:
            return
        while self._freed:
            start, size = self._freed.popleft()
            self._used -= size
            number = next((n for n, (other, _) in enumerate(self._free) if other > start), len(self._free))
            self._free.insert(number, (start, size))
            self._join(number)
            self._join(number - 1)
        if not self._used and self._reached:
            self.discard(0, self._reached)
            self._reached = 0

    def _join(self, number: int) -> None:
        """Joins a free place with the next if they touch."""
        if not 0 <= number < len(self._free) - 1:
            return
        (start, size), (following, more) = self._free[number : number + 2]
        if start + size == following:
            self._free[number : number + 2] = [(start, size + more)]


def open_shared_memory(size: int) -> SharedMemory | None:
    """Returns memory of `size` bytes; None where the system has no files without a name, or refuses this one."""
    if not size or not hasattr(os, "memfd_create"):
        return None
    try:
        return SharedMemory(size)
    except (OSError, ValueError, OverflowError):
        return None


def get_buffer(region: Bytes, start: int, place: Place) -> Any:
    """Returns the bytes at a place of a region that begins at `start`, which stays in use as long as they do."""
    offset = place[0] - start
    return region.data[offset : offset + place[1]].toreadonly()
