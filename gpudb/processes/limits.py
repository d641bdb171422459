"""What this process may use of the machine: processors and memory, less where its control groups have limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_GROUPS = "sys/fs/cgroup"
_UNLIMITED = 1 << 60
"""Version 1 writes no limit as a number beyond this."""


def count_processors(root: Path = Path("/")) -> int:
    """Returns the number of processors that this process may run on, or fewer by the quotas of its control groups."""
    affinity = getattr(os, "sched_getaffinity", None)
    found = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min([found, *_list_quotas(root)]))


def get_total_memory(root: Path = Path("/")) -> int:
    """Returns the bytes of this machine's memory, or a control group's limit if lower."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = read_memory_limit(root)
    return physical if limit is None else min(physical, limit)


def read_memory_limit(root: Path = Path("/")) -> int | None:
    """Returns the least limit in bytes of this process's control groups, of versions 2 and 1; None without one."""
    files = [folder / "memory.max" for folder in _list_groups(root)]
    texts = map(_read, [*files, root / _GROUPS / "memory/memory.limit_in_bytes"])
    return min((int(text) for text in texts if text.isdecimal() and int(text) < _UNLIMITED), default=None)


def _list_quotas(root: Path) -> Iterator[int]:
    """Yields the processors, rounded up, that each control group with a quota has."""
    pairs = [_read(folder / "cpu.max").split() for folder in _list_groups(root)]
    old = root / _GROUPS / "cpu"
    pairs.append([_read(old / "cpu.cfs_quota_us"), _read(old / "cpu.cfs_period_us")])
    for pair in pairs:
        if len(pair) == 2 and all(each.isdecimal() and int(each) for each in pair):
            yield -(-int(pair[0]) // int(pair[1]))


def _list_groups(root: Path) -> Iterator[Path]:
    """Yields the folder of this process's control group of version 2, and those around it."""
    top = root / _GROUPS
    lines = _read(root / "proc/self/cgroup").splitlines()
    name = next((line.removeprefix("0::").strip("/") for line in lines if line.startswith("0::")), "")
    folder = top / name if ".." not in name.split("/") else top  # it lies beyond what a container sees
    while folder != top:
        yield folder
        folder = folder.parent
    yield top


def _read(path: Path) -> str:
    """Returns the text of a file; none if it cannot be read."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""
