"""Samples what a server holds: memory, descriptors and threads of its processes, and the files that it keeps."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import median

import psutil


@dataclass(frozen=True, slots=True)
class Sample:
    """What the processes of a server hold at a time, in seconds after the first sample.

    `resident` is the sum of the processes' resident bytes. `spill_files` and `spill_bytes` include files that are
    deleted but open.
    """

    seconds: float
    resident: int
    descriptors: int
    threads: int
    data_bytes: int
    data_files: int
    spill_bytes: int
    spill_files: int
    backup_bytes: int


class Sampler(threading.Thread):
    """Samples a server and its children every `interval` seconds until it is stopped."""

    def __init__(self, pid: int, data: Path, backups: Path, interval: float) -> None:
        super().__init__(daemon=True)
        self._server, self._data, self._backups, self._interval = psutil.Process(pid), data, backups, interval
        self._over = threading.Event()
        self.samples: list[Sample] = []

    def run(self) -> None:
        began = time.monotonic()
        with suppress(psutil.NoSuchProcess):  # the server has ended
            while not self._over.wait(self._interval if self.samples else 0):
                self.samples.append(self._sample(time.monotonic() - began))

    def stop(self) -> None:
        """Ends the thread and waits for it."""
        self._over.set()
        self.join(60)

    def _sample(self, seconds: float) -> Sample:
        resident = descriptors = threads = 0
        unlinked: dict[tuple[int, int], int] = {}
        for process in [self._server, *self._server.children(recursive=True)]:
            try:
                with process.oneshot():
                    resident += process.memory_info().rss
                    threads += process.num_threads()
                    descriptors += process.num_fds()
                unlinked |= _find_unlinked_files(process.pid)
            except psutil.NoSuchProcess:
                continue
        spill_bytes, spill_files = _measure(self._data / "spill")
        data_bytes, data_files = _measure(self._data)
        return Sample(
            round(seconds, 1),
            resident,
            descriptors,
            threads,
            data_bytes - spill_bytes,
            data_files - spill_files,
            spill_bytes + sum(unlinked.values()),
            spill_files + len(unlinked),
            _measure(self._backups)[0],
        )


def _find_unlinked_files(pid: int) -> dict[tuple[int, int], int]:
    """Returns the bytes on the disk of the deleted regular files that a process has open, by device and inode."""
    found: dict[tuple[int, int], int] = {}
    with suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                target = str(Path(entry.path).readlink())
                if target.startswith("/") and target.endswith(" (deleted)") and not target.startswith("/memfd:"):
                    state = Path(entry.path).stat()
                    found[state.st_dev, state.st_ino] = 512 * state.st_blocks
    return found


def _measure(folder: Path) -> tuple[int, int]:
    """Returns the bytes and the number of the files in a folder, which may change meanwhile."""
    size = count = 0
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                below = _measure(Path(entry.path))
                size, count = size + below[0], count + below[1]
                continue
            with suppress(OSError):
                size += entry.stat(follow_symlinks=False).st_size
                count += 1
    return size, count


def quarter_medians(samples: Sequence[Sample]) -> dict[str, list[float]]:
    """Returns each figure's medians in the four quarters of the samples."""
    count = len(samples)
    quarters = [samples[count * i // 4 : count * (i + 1) // 4] for i in range(4)]
    names = [field.name for field in fields(Sample) if field.name != "seconds"]
    return {name: [median(getattr(each, name) for each in quarter) for quarter in quarters] for name in names}


def curve(samples: Sequence[Sample]) -> dict[str, list[float]]:
    """Returns the samples by figure."""
    rows = [asdict(each) for each in samples]
    return {field.name: [row[field.name] for row in rows] for field in fields(Sample)}
