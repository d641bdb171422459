"""Admission: limits, roles, short statements beside long ones, ageing, alternating sessions, a cancel while waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine

import pytest

from gpudb.catalog.resource_groups import ResourceGroup
from gpudb.engine import admission
from gpudb.engine.admission import THREAD_WAIT_EVENT, WAIT_EVENT, Admission, Cost, FairQueues, ThreadAdmission, Ticket
from gpudb.engine.protocol import Cancel, Settings
from gpudb.errors import QueryCanceled
from tests.support.sessions import wait_until

LONG, SHORT = Cost(10, 5.0), Cost(1, 0.01)


class Statements:
    """Statements that run until they are ended, and the order in which they began."""

    def __init__(self, places: Admission) -> None:
        self.places = places
        self.began: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.cancels: dict[str, Cancel] = {}

    async def start(
        self,
        name: str,
        cost: Cost,
        session: int = 1,
        role: str = "",
        most: int = 0,
        group: ResourceGroup | None = None,
    ) -> None:
        self._ends[name], self.cancels[name] = asyncio.Event(), Cancel()
        self.tasks[name] = asyncio.create_task(
            self._run(name, cost, Settings(session=session, role=role, max_running=most, group=group))
        )
        await _settled()

    async def _run(self, name: str, cost: Cost, settings: Settings) -> None:
        async with self.places.admit(cost, settings, self.cancels[name]):
            self.began.append(name)
            await self._ends[name].wait()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self.tasks[name]
        await _settled()


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def _play(play: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(asyncio.wait_for(play(), 10))


def test_so_many_run_and_a_short_one_goes_beside() -> None:
    async def play() -> None:
        them = Statements(Admission(1000, long=2))
        for name in "abc":
            await them.start(name, LONG)
        assert them.began == ["a", "b"]
        assert them.cancels["c"].waits_for == WAIT_EVENT
        assert them.places.counts() == (2, 1)
        await them.start("short", SHORT)
        assert them.began == ["a", "b", "short"]
        await them.end("a")
        assert them.began[-1] == "c"
        assert them.cancels["c"].waits_for is None

    _play(play)


def test_bytes_are_bounded_but_a_statement_alone_may_run() -> None:
    async def play() -> None:
        them = Statements(Admission(25, long=9))
        await them.start("huge", Cost(1000, 5.0))
        await them.start("a", Cost(10, 5.0))
        assert them.began == ["huge"]
        await them.end("huge")
        await them.start("b", Cost(10, 5.0))
        await them.start("c", Cost(10, 5.0))
        assert them.began == ["huge", "a", "b"]
        await them.end("b")
        assert them.began[-1] == "c"

    _play(play)


def test_the_shorter_goes_first_until_the_longer_has_waited() -> None:
    now = [100.0]

    async def play() -> None:
        them = Statements(Admission(1000, long=1, clock=lambda: now[0]))
        await them.start("first", LONG)
        await them.start("long", Cost(10, 8.0), session=2)
        now[0] += 1
        await them.start("shorter", Cost(10, 1.0), session=3)
        now[0] += 9
        await them.start("shorter, late", Cost(10, 1.0), session=4)
        for name in ("first", "shorter", "long"):
            await them.end(name)
        assert them.began == ["first", "shorter", "long", "shorter, late"]

    _play(play)


def test_sessions_take_turns() -> None:
    now = [100.0]

    async def play() -> None:
        them = Statements(Admission(1000, long=1, clock=lambda: now[0]))
        await them.start("mine 1", LONG, session=1)
        now[0] += 4  # the seconds that the first session has by then
        await them.start("mine 2", LONG, session=1)
        now[0] += 1
        await them.start("yours", LONG, session=2)
        await them.end("mine 1")
        assert them.began == ["mine 1", "yours"]
        await them.end("yours")
        assert them.began[-1] == "mine 2"

    _play(play)


def test_a_cancel_while_waiting_leaves_the_queue() -> None:
    async def play() -> None:
        them = Statements(Admission(1000, long=1))
        for name in "abc":
            await them.start(name, LONG)
        them.tasks["b"].cancel()
        await _settled()
        assert them.places.counts() == (1, 1)
        await them.end("a")
        assert them.began == ["a", "c"]
        await them.end("c")
        assert them.places.counts() == (0, 0)

    _play(play)


def test_a_role_at_its_limit_is_passed_over() -> None:
    async def play() -> None:
        them = Statements(Admission(1000, long=9))
        await them.start("a", LONG, session=1, role="busy", most=1)
        await them.start("b", LONG, session=2, role="busy", most=1)
        await them.start("short", SHORT, session=3, role="busy", most=1)
        await them.start("c", LONG, session=4, role="other", most=1)
        assert them.began == ["a", "c"]
        await them.end("a")
        assert them.began == ["a", "c", "short"]
        await them.end("short")
        assert them.began[-1] == "b"

    _play(play)


def test_a_resource_group_at_its_share_is_passed_over() -> None:
    half = ResourceGroup(1, "half", memory_share=0.5, workers=0.5)
    few_bytes = ResourceGroup(2, "few bytes", memory=15)

    async def play() -> None:
        them = Statements(Admission(1000, long=4))
        for number, name in enumerate("abc"):
            await them.start(name, LONG, session=number, group=half)
        await them.start("d", LONG, session=4, group=few_bytes)
        await them.start("e", LONG, session=5, group=few_bytes)
        await them.start("short", SHORT, session=6, group=half)
        await them.start("other", LONG, session=7)
        assert them.began == ["a", "b", "d", "short", "other"]
        await them.end("d")
        assert them.began[-1] == "e"
        await them.end("a")
        assert them.began[-1] == "c"

    _play(play)


# ---- statements with a thread each


class _Request:
    """The part of a request that admission reads."""

    def __init__(self, session: int, **settings: object) -> None:
        self.settings = Settings(session=session, **settings)  # type: ignore[arg-type]
        self.cancel = Cancel()


class Waiter(threading.Thread):
    """A statement that asks for a place in a thread of its own."""

    def __init__(self, places: ThreadAdmission, request: _Request, cost: Cost = LONG) -> None:
        super().__init__(daemon=True)
        self._places, self.request, self._cost = places, request, cost
        self.ticket: Ticket | None = None
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.ticket = self._places.admit(self._cost, self.request)
        except QueryCanceled as error:
            self.error = error

    def admitted(self) -> Ticket:
        self.join(10)
        assert self.ticket is not None
        return self.ticket


def test_a_thread_waits_for_a_place() -> None:
    places = ThreadAdmission(1000, long=1)
    first = places.admit(LONG, _Request(1))
    second = Waiter(places, _Request(2))
    wait_until(lambda: second.request.cancel.waits_for == THREAD_WAIT_EVENT, "it waits")
    assert places.queues.counts() == (1, 1)
    places.leave(first)
    places.leave(second.admitted())
    assert second.request.cancel.waits_for is None
    assert places.queues.counts() == (0, 0)
    assert not first.shared


@pytest.mark.parametrize("before", [False, True])
def test_a_thread_stops_waiting_once_it_is_cancelled(before: bool) -> None:
    places = ThreadAdmission(1000, long=1)
    first = places.admit(LONG, _Request(1))
    request = _Request(2)
    if before:
        request.cancel.stop("canceling statement due to statement timeout")
    second = Waiter(places, request)
    if not before:
        wait_until(lambda: request.cancel.waits_for, "it waits")
        request.cancel.stop("canceling statement due to statement timeout")
    second.join(10)
    assert isinstance(second.error, QueryCanceled)
    assert second.error.message == "canceling statement due to statement timeout"
    assert places.queues.counts() == (1, 0)
    places.leave(first)


def test_a_session_does_not_wait_for_itself() -> None:
    places = ThreadAdmission(1000, long=1)
    cursor = places.admit(LONG, _Request(1))
    another = places.admit(LONG, _Request(1))
    assert places.queues.counts() == (2, 0)
    assert cursor.shared
    assert another.shared


def test_a_paused_statement_leaves_its_place() -> None:
    now = [100.0]
    queues = FairQueues(1000, long=1, clock=lambda: now[0])
    admitted: list[str] = []
    first = Ticket(LONG, 1, admit=lambda: admitted.append("first"))
    second = Ticket(LONG, 2, admit=lambda: admitted.append("second"))
    queues.enter(first)
    queues.enter(second)
    first.paused = now[0]
    now[0] += admission.PAUSE_SECONDS / 2
    queues.recheck()
    assert admitted == ["first"]
    now[0] += admission.PAUSE_SECONDS
    queues.recheck()
    assert admitted == ["first", "second"]
    queues.leave(first)
    queues.leave(second)
    assert queues.counts() == (0, 0)
