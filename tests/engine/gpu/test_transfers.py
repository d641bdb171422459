"""Rows between workers: by TCP as a stream, by a GPU's door as one buffer; what is lost, and what has no room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import polars as pl
import pytest
from distributed.core import Server

from gpudb.engine.gpu.connections import handling
from gpudb.engine.gpu.frames import Held, HostFrames, HostHeld
from gpudb.engine.gpu.transfers import Transfers
from gpudb.errors import OutOfMemory

ROWS = pl.DataFrame({"a": range(1000)})


class Packer:
    """Stands for a GPU's: its buffers are NumPy's, and few rows are the host's."""

    def __init__(self) -> None:
        self.seen = 0

    def packed(self, held: Held) -> tuple[bytes, Any] | None:
        return None if held.rows < 10 else (b"a", held.frame()["a"].to_numpy())

    def unpacked(self, facts: bytes, buffer: Any) -> Held:
        self.seen += 1
        return HostHeld(pl.DataFrame({facts.decode(): buffer}))


async def _worker(packer: Packer | None, rows: Callable[[], Held | None]) -> tuple[Any, Transfers]:
    """A worker that gives rows; its door is a second TCP port, as UCX wants none of the tests."""
    server: Any = Server({})
    await server.listen("tcp://127.0.0.1:0")
    server.connection_args = {}
    made = Transfers(server, HostFrames(), packer)
    if packer is not None:
        await server.listen("tcp://127.0.0.1:0")
        made.door = server.listeners[-1].contact_address

    async def part(statement: int, by_door: bool) -> Any:
        found = rows()
        return b"" if found is None else await made.sent([found], by_door=by_door)

    server.handlers["gpudb_part"] = handling(part)
    return server, made


def _run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


@pytest.mark.parametrize("count", [1000, 3, 0])
@pytest.mark.parametrize("doors", [True, False])
def test_rows_arrive_as_they_are(count: int, doors: bool) -> None:
    async def moved() -> None:
        giver, from_there = await _worker(Packer(), lambda: HostHeld(ROWS.head(count)))
        packer = Packer()
        taker, here = await _worker(packer, lambda: None)
        here.learn((giver.address, taker.address), (from_there.door, here.door) if doors else ())
        found = await here.fetched(giver.address, statement=1)
        assert found is not None
        assert found.frame().equals(ROWS.head(count))
        assert packer.seen == (doors and count > 10)
        # One whose statement has ended gives none.
        here.learn((taker.address,), (here.door,))
        assert await here.fetched(taker.address, statement=1) is None
        for each in (giver, taker):
            await each.close()

    _run(moved())


def test_a_giver_that_is_gone_and_a_taker_without_room_are_told() -> None:
    async def told() -> None:
        giver, from_there = await _worker(Packer(), lambda: HostHeld(ROWS))
        taker, here = await _worker(Packer(), lambda: None)
        here.learn((giver.address,), (from_there.door,))
        real = here._by_door.call

        async def full(*_: Any, **__: Any) -> Any:
            raise OSError("closed") from MemoryError("std::bad_alloc")

        here._by_door.call = full  # type: ignore[method-assign]
        with pytest.raises(OutOfMemory):
            await here.fetched(giver.address, statement=1)
        here._by_door.call = real  # type: ignore[method-assign]
        await giver.close()
        with pytest.raises(OSError, match=r".*"):
            await here.fetched(giver.address, statement=1)
        await taker.close()

    _run(told())
