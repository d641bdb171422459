"""Admission of statements to an engine: a statement runs at once, or waits in a fair queue by cost, role and age.

Long and short statements have separate queues, so that a short one never waits for a long one to end. The statement
with the least score is next. Its score is its arrival time, plus its estimated seconds, plus the recent seconds of its
session. So short work goes first, sessions alternate, and none starves, since later arrivals have larger scores: a long
statement is overtaken for at most _MOST_SECONDS, a busy session's for as long again. A statement is passed over whose
role runs as many statements as it may, or whose resource group has its share.

    waiting -least score, and room→ running -ended→ gone
    waiting -cancelled→ gone

`Admission` is for statements on an event loop, `ThreadAdmission` for statements with a thread each.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from gpudb.catalog.resource_groups import ResourceGroup
from gpudb.engine.protocol import Cancel, Settings

LONG = 4
"""The number of concurrent long statements; each worker computes one of their stages at a time."""
SHORT = 16
"""The number of concurrent short statements."""
SHORT_SECONDS = 0.1
WAIT_EVENT = "ClusterAdmission"
THREAD_WAIT_EVENT = "Admission"
"""The wait event of a statement that waits for the embedded engine."""
PAUSE_SECONDS = 1.0
"""A running statement whose client has not taken its last rows for so long leaves its place to others."""
_RECHECK_SECONDS = 0.5
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


@dataclass(slots=True, eq=False)
class Ticket:
    """A statement that waits or runs; `admit` is called once, when it may run.

    `most` limits the running statements of its role, 0 for no limit. `paused` is since when its client takes no rows;
    None while it computes. `shared` is whether another statement ran beside it. `group` limits the places and the bytes
    of its long statements.
    """

    cost: Cost
    session: int
    role: str = ""
    most: int = 0
    admit: Callable[[], None] = lambda: None
    since: float = 0.0
    started: float | None = None
    paused: float | None = None
    shared: bool = False
    group: ResourceGroup | None = None


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


@dataclass(slots=True)
class _Queue:
    """Statements of one class: at most `places` run, of `room` bytes together; one alone may exceed the bytes."""

    places: int
    room: int
    running: list[Ticket] = field(default_factory=list)
    waiting: list[Ticket] = field(default_factory=list)

    def has_room(self, cost: Cost, now: float) -> bool:
        """Whether a statement may run beside those that run and are not paused."""
        taken = [each for each in self.running if each.paused is None or now - each.paused < PAUSE_SECONDS]
        if not taken:
            return True
        return len(taken) < self.places and sum(each.cost.bytes for each in taken) + cost.bytes <= self.room


class FairQueues:
    """The queues of long and of short statements of an engine. Thread-safe. `clock` returns seconds.

    `room` limits the estimated bytes of concurrent statements of each class.
    """

    def __init__(
        self, room: int, *, long: int = LONG, short: int = SHORT, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self._spent = RecentSeconds(clock)
        self._lock = threading.Lock()
        self._roles: Counter[str] = Counter()
        self.long, self.short = _Queue(long, room), _Queue(short, room)

    def counts(self) -> tuple[int, int]:
        """Returns the numbers of running and of waiting statements."""
        both = self.long, self.short
        return sum(len(each.running) for each in both), sum(len(each.waiting) for each in both)

    def enter(self, ticket: Ticket, *, nested: bool = False) -> None:
        """Admits a statement, or queues it. With `nested` it never waits for its own session's other statements."""
        with self._lock:
            ticket.since = self.clock()
            queue = self._queue_of(ticket)
            if nested and any(each.session == ticket.session for each in self.long.running + self.short.running):
                self._start(queue, ticket)
                return
            queue.waiting.append(ticket)
            self._admit_waiting()

    def leave(self, ticket: Ticket) -> None:
        """Ends a statement, whether it runs or waits; admits others in its place."""
        with self._lock:
            queue = self._queue_of(ticket)
            if ticket.started is None:
                queue.waiting.remove(ticket)
            else:
                queue.running.remove(ticket)
                self._roles[ticket.role] -= 1
                if not self._roles[ticket.role]:
                    del self._roles[ticket.role]
                self._spent.add(ticket.session, self.clock() - ticket.started)
            self._admit_waiting()

    def recheck(self) -> None:
        """Admits statements to the places of those whose clients have paused."""
        with self._lock:
            self._admit_waiting()

    def _queue_of(self, ticket: Ticket) -> _Queue:
        return self.short if ticket.cost.short else self.long

    def _admit_waiting(self) -> None:
        """Admits waiting statements in order, as far as there is room."""
        for queue in (self.short, self.long):
            while queue.waiting:
                eligible = [each for each in queue.waiting if self._may_run(queue, each)]
                if not eligible:
                    break
                # Strictly by score: a large statement waits for room, and smaller ones do not overtake it.
                first = min(eligible, key=self._score)
                if not queue.has_room(first.cost, self.clock()):
                    break
                queue.waiting.remove(first)
                self._start(queue, first)

    def _may_run(self, queue: _Queue, ticket: Ticket) -> bool:
        """Whether a statement's role and its resource group have room for it; one of a group alone always has."""
        if ticket.most and self._roles[ticket.role] >= ticket.most:
            return False
        group = ticket.group
        if group is None or ticket.cost.short:
            return True
        beside = [each for each in queue.running if each.group is not None and each.group.name == group.name]
        if not beside:
            return True
        if group.workers is not None and len(beside) >= max(1, round(group.workers * queue.places)):
            return False
        limit = group.count_bytes(queue.room)
        return limit is None or sum(each.cost.bytes for each in beside) + ticket.cost.bytes <= limit

    def _start(self, queue: _Queue, ticket: Ticket) -> None:
        ticket.started = self.clock()
        queue.running.append(ticket)
        self._roles[ticket.role] += 1
        if len(self.long.running) + len(self.short.running) > 1:
            for each in (*self.long.running, *self.short.running):
                each.shared = True
        ticket.admit()

    def _score(self, each: Ticket) -> float:
        return each.since + min(each.cost.seconds, _MOST_SECONDS) + min(self._spent.get(each.session), _MOST_SECONDS)


class Admission:
    """Admission of a cluster's statements; `room` limits the estimated bytes of concurrent ones on each worker.

    Used from one event loop; `clock` returns seconds.
    """

    def __init__(
        self, room: int, *, long: int = LONG, short: int = SHORT, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.queues = FairQueues(room, long=long, short=short, clock=clock)

    def counts(self) -> tuple[int, int]:
        """Returns the numbers of running and of waiting statements."""
        return self.queues.counts()

    @asynccontextmanager
    async def admit(self, cost: Cost, settings: Settings, cancel: Cancel) -> AsyncGenerator[None]:
        """Holds a place for the duration of the block; `cancel` shows the wait event until it is admitted."""
        import asyncio  # an embedded database, which has no event loop, starts without it

        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def admit() -> None:
            if not turn.done():  # cancelled: it leaves at once
                turn.set_result(None)

        ticket = Ticket(cost, settings.session, settings.role, settings.max_running, admit, group=settings.group)
        cancel.waits_for = WAIT_EVENT
        try:
            self.queues.enter(ticket)
            try:
                await turn
            finally:
                cancel.waits_for = None
            yield
        finally:
            self.queues.leave(ticket)


class _Statement(Protocol):
    """The part of a request that admission uses."""

    @property
    def settings(self) -> Settings: ...

    @property
    def cancel(self) -> Cancel: ...


class ThreadAdmission:
    """Admission of statements that have a thread each; `room` limits the estimated bytes of concurrent ones."""

    def __init__(self, room: int, *, long: int = LONG, short: int = SHORT) -> None:
        self.room = room
        self.queues = FairQueues(room, long=long, short=short)

    def admit(self, cost: Cost, request: _Statement) -> Ticket:
        """Returns once the statement is admitted: `leave` ends its place. 57014 if it is cancelled while it waits.

        A session's further statements are admitted at once: their first one may be an open cursor, or call them.
        """
        settings, cancel = request.settings, request.cancel
        turn = threading.Event()
        wake = turn.set
        ticket = Ticket(cost, settings.session, settings.role, settings.max_running, wake)
        self.queues.enter(ticket, nested=settings.session != 0)
        if turn.is_set():
            return ticket
        cancel.waits_for = THREAD_WAIT_EVENT
        try:
            cancel.attach(wake)
            while not turn.wait(_RECHECK_SECONDS):
                self.queues.recheck()
            cancel.check()
        except BaseException:
            self.queues.leave(ticket)
            raise
        finally:
            cancel.detach(wake)
            cancel.waits_for = None
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Ends a statement's place."""
        self.queues.leave(ticket)
