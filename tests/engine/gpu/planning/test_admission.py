"""Admission: limits, short statements beside long ones, ageing, alternating sessions, and a cancel while waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from gpudb.engine.gpu.planning.admission import WAIT_EVENT, Admission, Cost
from gpudb.engine.protocol import Cancel

LONG, SHORT = Cost(10, 5.0), Cost(1, 0.01)


class Statements:
    """Statements that run until they are ended, and the order in which they began."""

    def __init__(self, places: Admission) -> None:
        self.places = places
        self.began: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.cancels: dict[str, Cancel] = {}

    async def start(self, name: str, cost: Cost, session: int = 1) -> None:
        self._ends[name], self.cancels[name] = asyncio.Event(), Cancel()
        self.tasks[name] = asyncio.create_task(self._run(name, cost, session))
        await _settled()

    async def _run(self, name: str, cost: Cost, session: int) -> None:
        async with self.places.admit(cost, session, self.cancels[name]):
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
