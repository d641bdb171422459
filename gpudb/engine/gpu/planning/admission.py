"""Admits statements to the workers, or queues them.

Long and short statements have separate queues, so that a short one never waits for a long one to end. The statement
with the least score is next. Its score is its arrival time, plus its estimated seconds, plus the recent seconds of its
session. So short work goes first, sessions alternate, and none starves, since later arrivals have larger scores: a long
statement is overtaken for at most _MOST_SECONDS, a busy session's for as long again.

    waiting -least score, and room→ running -ended→ gone
    waiting -cancelled→ gone
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gpudb.engine.gpu.fused.planning.matching import find_scan
from gpudb.engine.protocol import Cancel
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node

LONG = 4
"""The number of concurrent long statements; each worker computes one of their stages at a time."""
SHORT = 16
"""The number of concurrent short statements."""
SHORT_SECONDS = 0.1
WAIT_EVENT = "ClusterAdmission"
_BYTES_A_SECOND = 10**8
"""Estimated bytes per second of a CPU worker; below, of a GPU and of its kernels."""
_GPU_BYTES_A_SECOND = 10**10
_KERNELS_BYTES_A_SECOND = 10**12
_MOST_SECONDS = 10.0
_HALF_LIFE = 10.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated cost of a statement on each worker: concurrent bytes, and seconds."""

    bytes: int = 0
    seconds: float = 0.0

    @property
    def short(self) -> bool:
        """Whether the statement runs beside long ones."""
        return self.seconds < SHORT_SECONDS


def estimate_cost(root: Node, workers: int, *, gpu: bool = False) -> Cost:
    """Estimates a plan's cost from the rows of its nodes, at 8 bytes per column.

    Kernels keep none of what they read.
    """
    seconds = most = 0.0
    each, read = (_GPU_BYTES_A_SECOND, _KERNELS_BYTES_A_SECOND) if gpu else (_BYTES_A_SECOND, _BYTES_A_SECOND)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        size = 8 * estimate(node) * max(len(node.types), 1)
        seconds, most = seconds + size / each, max(most, size)
        if isinstance(node, Fused):
            scan = find_scan(node.root)
            seconds += 8 * scan.table.rows * len(scan.types) / read
        waiting += node.inputs
    return Cost(int(most) // workers, seconds / workers)


@dataclass(slots=True)
class _WaitingQuery:
    cost: Cost
    session: int
    since: float
    turn: asyncio.Future[None]


class _Queue:
    """Statements of one class: limits of their number and of their bytes; one statement alone may exceed the bytes."""

    def __init__(self, statements: int, most: int, spent: RecentSeconds, clock: Callable[[], float]) -> None:
        self._statements, self._most = statements, most
        self._spent, self._clock = spent, clock
        self.running: list[Cost] = []
        self.waiting: list[_WaitingQuery] = []

    async def admit(self, cost: Cost, session: int) -> None:
        """Returns once a statement is admitted; it then counts as running."""
        mine = _WaitingQuery(cost, session, self._clock(), asyncio.get_running_loop().create_future())
        self.waiting.append(mine)
        self.admit_waiting()
        try:
            await mine.turn
        except asyncio.CancelledError:
            if mine in self.waiting:
                self.waiting.remove(mine)
            elif not mine.turn.cancelled():  # it had been admitted
                self.running.remove(cost)
            self.admit_waiting()
            raise

    def admit_waiting(self) -> None:
        """Admits waiting statements in order, as far as there is room."""
        while self.waiting:
            # Strictly by score: a large statement waits for room, and smaller ones do not overtake it.
            first = min(self.waiting, key=self._score)
            if self.running and not self._has_room(first.cost):
                return
            self.waiting.remove(first)
            if not first.turn.done():
                self.running.append(first.cost)
                first.turn.set_result(None)

    def _has_room(self, cost: Cost) -> bool:
        taken = sum(each.bytes for each in self.running)
        return len(self.running) < self._statements and taken + cost.bytes <= self._most

    def _score(self, each: _WaitingQuery) -> float:
        return each.since + min(each.cost.seconds, _MOST_SECONDS) + min(self._spent.get(each.session), _MOST_SECONDS)


class RecentSeconds:
    """Recent seconds of sessions; they decay by half in _HALF_LIFE."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._seconds: dict[int, tuple[float, float]] = {}

    def get(self, session: int) -> float:
        """Returns a session's recent seconds."""
        seconds, then = self._seconds.get(session, (0.0, 0.0))
        return seconds * math.exp2((then - self._clock()) / _HALF_LIFE)

    def add(self, session: int, seconds: float) -> None:
        """Adds seconds to a session."""
        now = self._clock()
        self._seconds[session] = self.get(session) + seconds, now
        if len(self._seconds) > 1000:
            self._seconds = {key: value for key, value in self._seconds.items() if now - value[1] < 10 * _HALF_LIFE}


class Admission:
    """Admission of a cluster's statements; `room` limits the estimated bytes of concurrent ones on each worker.

    Used from one event loop; `clock` returns seconds.
    """

    def __init__(
        self, room: int, *, long: int = LONG, short: int = SHORT, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._spent = RecentSeconds(clock)
        self._classes = {
            is_short: _Queue(n, room, self._spent, clock) for is_short, n in ((False, long), (True, short))
        }

    def counts(self) -> tuple[int, int]:
        """Returns the numbers of running and of waiting statements."""
        each = self._classes.values()
        return sum(len(one.running) for one in each), sum(len(one.waiting) for one in each)

    @asynccontextmanager
    async def admit(self, cost: Cost, session: int, cancel: Cancel) -> AsyncGenerator[None]:
        """Holds a place for the duration of the block; `cancel` shows the wait event until it is admitted."""
        kind = self._classes[cost.short]
        cancel.waits_for = WAIT_EVENT
        try:
            await kind.admit(cost, session)
        finally:
            cancel.waits_for = None
        started = self._clock()
        try:
            yield
        finally:
            kind.running.remove(cost)
            self._spent.add(session, self._clock() - started)
            kind.admit_waiting()
