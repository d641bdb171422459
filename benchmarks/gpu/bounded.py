"""Parts of a long run: programs with a time limit, of which none is left when their part has ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ENDING_S = 15.0
"""How long a program that was interrupted may take to end."""
GONE_S = 15.0
"""How long processes that were killed may take to be gone, and their memory with them."""
TICK_S = 5.0
"""How often what there is so far is looked at."""
_MARK = "GPUDB_BENCHMARK_PART"


Command = Sequence[str]
"""A program's line."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a part ended: exit statuses, seconds, whether its time was over, and how many processes it had left."""

    statuses: tuple[int, ...]
    seconds: float
    late: bool
    left: int

    @property
    def well(self) -> bool:
        """Whether every program ended by itself, with status 0."""
        return not self.late and not any(self.statuses)

    def __str__(self) -> str:
        how = "over its time" if self.late else "well" if self.well else f"status {list(self.statuses)}"
        return f"{how}, {self.seconds:.0f} s{f', {self.left} processes were left' if self.left else ''}"


def run(name: str, commands: Mapping[Path, Command], limit: float, tick: Callable[[], None]) -> Ended:
    """Runs programs side by side for so many seconds at most, then interrupts them, then kills them and all that they
    have started. Each has a log of what it prints; `tick` is called now and then."""
    began = time.monotonic()
    mark = f"{os.getpid()}-{name}"
    running: list[subprocess.Popen[bytes]] = []
    late = False
    try:
        # A part's programs may run parts of their own, which are this one's too.
        environment = {**os.environ, _MARK: f"{os.environ.get(_MARK, '')} {mark}", "PYTHONUNBUFFERED": "1"}
        for log, command in commands.items():
            with log.open("wb") as written:
                output = {"stdin": subprocess.DEVNULL, "stdout": written, "stderr": subprocess.STDOUT}
                running.append(subprocess.Popen(command, env=environment, **output))  # type: ignore[call-overload]
        late = not _ended(running, began + limit, tick)
        for each in running:
            if each.poll() is None:
                each.send_signal(signal.SIGINT)  # what it has measured it keeps
        _ended(running, time.monotonic() + ENDING_S, tick)
    finally:
        left = end_marked(mark)
        statuses = tuple(map(_status, running))
    # One that had to be killed is told by its status, and was not left by another.
    left -= statuses.count(-signal.SIGKILL)
    return Ended(statuses, time.monotonic() - began, late, max(left, 0))


def _status(program: subprocess.Popen[bytes]) -> int:
    """How a program ended that ended by itself or was killed; a driver may hold up one that was killed for ever."""
    try:
        return program.wait(TICK_S)
    except subprocess.TimeoutExpired:
        return -signal.SIGKILL


def _ended(running: Sequence[subprocess.Popen[bytes]], by: float, tick: Callable[[], None]) -> bool:
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


def end_marked(mark: str) -> int:
    """Ends the processes of a part, known by a variable of their environment, until there are none; how many."""
    ended: set[int] = set()
    until = time.monotonic() + GONE_S
    while found := _marked(mark.encode()):
        for process in found - ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        ended |= found
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return len(ended)


def _marked(mark: bytes) -> set[int]:
    """The processes of a part; of one that has ended and is not waited for the environment is empty."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            variables = dict(each.partition(b"=")[::2] for each in path.read_bytes().split(b"\0"))
            if mark in variables.get(_MARK.encode(), b"").split():
                found.add(int(path.parent.name))
    return found
