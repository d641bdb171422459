"""Temporary files in memory: without it, thousands of small databases wait for fsync.

The root process of a run points TMPDIR at a folder of /dev/shm, for itself, its xdist workers and the servers that they
start, and deletes the folder when it exits. A TMPDIR set by the user is kept.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_DISK = Path("/dev/shm")
_LEAST_FREE = 8 << 30
_NAME = "gpudb-tests-"


def enter() -> Path | None:
    """Creates the folder and sets TMPDIR; returns None if TMPDIR is already set, or memory is scarce."""
    if "TMPDIR" in os.environ or not os.access(_DISK, os.W_OK) or shutil.disk_usage(_DISK).free < _LEAST_FREE:
        return None
    for leftover in _DISK.glob(f"{_NAME}*"):
        if not Path("/proc", leftover.name.removeprefix(_NAME)).exists():  # its run was killed
            shutil.rmtree(leftover, ignore_errors=True)
    folder = _folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return folder


def leave() -> None:
    """Deletes this process's folder, if it created one, and unsets TMPDIR."""
    if os.environ.get("TMPDIR") == str(_folder()):
        del os.environ["TMPDIR"]
        tempfile.tempdir = None
        shutil.rmtree(_folder(), ignore_errors=True)


def _folder() -> Path:
    return _DISK / f"{_NAME}{os.getpid()}"


# Handlers run in reverse order: registered before distributed is imported, which cleans up there at exit.
atexit.register(leave)
