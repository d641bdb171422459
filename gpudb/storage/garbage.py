"""Garbage collection of files that no committed table needs; files that a transaction may read are kept."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class _DiscardedPath:
    """A path that transactions begun before commit number `since` may still read."""

    since: int
    path: Path
    at: float


class Garbage:
    """Tracks readers by commit number and removes discarded paths; paths outside `root` are never removed."""

    def __init__(self, root: Path, keep_seconds: float, remove: Callable[[Path], None]) -> None:
        """`keep_seconds` is the time that discarded files are kept for programs other than gpudb.

        `remove` removes a file or folder, wherever it lies.
        """
        self._root = root
        self._remove = remove
        self._keep_seconds = keep_seconds
        self._guard = threading.Lock()
        self._readers: dict[int, int] = {}
        self._began: dict[int, float] = {}
        self._discarded: list[_DiscardedPath] = []

    def register_reader(self, reader: int, commit: int) -> None:
        """Registers a transaction that reads the state of a commit number, or moves it to that one."""
        with self._guard:
            self._readers[reader] = commit
            self._began.setdefault(reader, time.monotonic())

    def register_with(self, reader: int, other: int) -> None:
        """Registers a transaction that reads the state of another one, which is registered."""
        with self._guard:
            self._readers[reader] = self._readers[other]

    def unregister_reader(self, reader: int) -> None:
        """Removes a transaction that has ended."""
        with self._guard:
            self._readers.pop(reader, None)
            self._began.pop(reader, None)

    def oldest_commit_read(self) -> int | None:
        """Returns the commit number that the oldest open transaction reads."""
        with self._guard:
            return min(self._readers.values(), default=None)

    def oldest_reader_seconds(self) -> float:
        """Returns for how many seconds the transaction that began first of the open ones has been open; 0 for none."""
        with self._guard:
            began = min(self._began.values(), default=None)
            return 0.0 if began is None else time.monotonic() - began

    def discard(self, paths: Iterable[Path], commit: int) -> None:
        """Marks paths as not part of the state from a commit number on; a folder stands for all its files."""
        with self._guard:
            now = time.monotonic()
            own = (path for path in paths if path.is_relative_to(self._root))
            self._discarded += [_DiscardedPath(commit, path, now) for path in own]

    def restore(self, paths: Iterable[Path]) -> None:
        """Unmarks discarded paths that are part of the committed state again."""
        restored = set(paths)
        with self._guard:
            self._discarded = [item for item in self._discarded if item.path not in restored]

    def collect(self, *, at_once: bool = False) -> int:
        """Removes the paths that no open transaction can read; returns their number."""
        if not self._discarded:
            return 0
        with self._guard:
            oldest = min(self._readers.values(), default=None)
            before = time.monotonic() - (0.0 if at_once else self._keep_seconds)
            unread = [item for item in self._discarded if oldest is None or item.since <= oldest]
            dead = [item for item in unread if item.at <= before]
            gone = {id(item) for item in dead}
            self._discarded = [item for item in self._discarded if id(item) not in gone]
            for item in dead:
                self._remove(item.path)
        return len(dead)


def remove_from_disk(path: Path) -> None:
    """Removes a file or folder; failures are ignored, since the next opening moves orphans to lost+found."""
    with contextlib.suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
