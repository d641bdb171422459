"""The processes of loads: a database that uses them from the first byte on, and those that run for a process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gpudb.config.database import EMBEDDED
from gpudb.session.database import Database

SERVED = b"gpudb.storage.load.served"
PROCESSES = 2


def open_database(directory: Path | None = None, processes: int = PROCESSES) -> Database:
    """Opens a database whose loads are read by processes from the first byte on."""
    return Database(directory, replace(EMBEDDED, load_processes=processes, load_processes_after=0))


def list_processes(parent: int | None = None) -> list[int]:
    """Returns the processes of loads that run for a process, by default this one."""
    return [pid for pid in _list_children(os.getpid() if parent is None else parent) if _serves_loads(pid)]


def _list_children(parent: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            yield int(entry.name)


def _serves_loads(pid: int) -> bool:
    try:
        return SERVED in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_running(pid: int) -> bool:
    """Whether a process exists that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
