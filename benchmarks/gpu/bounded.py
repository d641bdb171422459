"""Parts of a long run: programs with a time limit, none of which outlives its part."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 15.0
"""Grace period of an interrupted program."""
KILL_S = 15.0
"""Grace period until killed processes, and their memory, are gone."""
TICK_S = 5.0
"""Interval of the `tick` callback."""
_MARK = "GPUDB_BENCHMARK_PART"


Command = Sequence[str]
"""A program's arguments."""


@dataclass(frozen=True, slots=True)
class PartResult:
    """A part's end: exit statuses, seconds, whether it timed out, and the number of processes that it left running."""

    statuses: tuple[int, ...]
    seconds: float
    timed_out: bool
    leftover: int

    @property
    def succeeded(self) -> bool:
        """Whether every program ended by itself with status 0."""
        return not self.timed_out and not any(self.statuses)

    def __str__(self) -> str:
        outcome = "timed out" if self.timed_out else "succeeded" if self.succeeded else f"status {list(self.statuses)}"
        leftover = f", {self.leftover} processes were left running" if self.leftover else ""
        return f"{outcome}, {self.seconds:.0f} s{leftover}"


def run(name: str, commands: Mapping[Path, Command], limit: float, tick: Callable[[], None]) -> PartResult:
    """Runs programs side by side within a time limit, then interrupts them, then kills them and all processes that they
    started. Each program's output goes to its log; `tick` is called at intervals.
    """
    began = time.monotonic()
    mark = f"{os.getpid()}-{name}"
    running: list[subprocess.Popen[bytes]] = []
    timed_out = False
    try:
        # A part's programs may run parts themselves, whose processes belong to this one too.
        environment = {**os.environ, _MARK: f"{os.environ.get(_MARK, '')} {mark}", "PYTHONUNBUFFERED": "1"}
        for log, command in commands.items():
            with log.open("wb") as written:
                output = {"stdin": subprocess.DEVNULL, "stdout": written, "stderr": subprocess.STDOUT}
                running.append(subprocess.Popen(command, env=environment, **output))  # type: ignore[call-overload]
        timed_out = not _wait_for_end(running, began + limit, tick)
        for each in running:
            if each.poll() is None:
                each.send_signal(signal.SIGINT)  # it keeps its measurements
        _wait_for_end(running, time.monotonic() + GRACE_S, tick)
    finally:
        leftover = kill_marked(mark)
        statuses = tuple(map(_exit_status, running))
    # A killed program is visible by its status, and does not count as left running.
    leftover -= statuses.count(-signal.SIGKILL)
    return PartResult(statuses, time.monotonic() - began, timed_out, max(leftover, 0))


def _exit_status(program: subprocess.Popen[bytes]) -> int:
    """Returns the status of a program that ended or was killed; a driver may block the end of a killed one for ever."""
    try:
        return program.wait(TICK_S)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL


def _wait_for_end(running: Sequence[subprocess.Popen[bytes]], by: float, tick: Callable[[], None]) -> bool:
    ticked = time.monotonic()
    while any(each.poll() is None for each in running):
        now = time.monotonic()
        if now > by:
            return False
        if now > ticked + TICK_S:
            tick()
            ticked = now
        time.sleep(0.1)
    return True


def kill_marked(mark: str) -> int:
    """Kills all processes of a part, found by a variable of their environment; returns their number."""
    ended: set[int] = set()
    until = time.monotonic() + KILL_S
    while found := _marked_processes(mark.encode()):
        for process in found - ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        ended |= found
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return len(ended)


def _marked_processes(mark: bytes) -> set[int]:
    """Lists the processes of a part; a zombie's environment is empty."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            variables = dict(each.partition(b"=")[::2] for each in path.read_bytes().split(b"\0"))
            if mark in variables.get(_MARK.encode(), b"").split():
                found.add(int(path.parent.name))
    return found
