"""The exchange client: rows over TCP as a stream, from a GPU as one buffer; lost rows, and lack of memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from distributed.core import Server

from gpudb.engine.gpu.backend.base import ComputedFrame, Offloaded
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.exchange.buffers import SpillFile, concat_on_host, decode_frame, encode_frame
from gpudb.engine.gpu.exchange.client import ExchangeClient
from gpudb.engine.gpu.rpc.calls import wrap_handler
from gpudb.engine.gpu.rpc.messages import BufferReply, BufferRequest, CopiedRequest, IpcHandle, OutputRequest
from gpudb.engine.gpu.worker.query_registry import RunningQuery
from gpudb.errors import OutOfMemory

ROWS = pl.DataFrame({"a": range(1000)})
MEMORY: dict[int, Any] = {}
"""Buffers of all GPUs, by handle."""
ENDED = 7
"""A statement that ends while its rows are read."""


class Packer:
    """Stands for a GPU's packer: its buffers are NumPy arrays, and few rows stay on the host."""

    def __init__(self, *, shares: bool = False, refuses: Exception | None = None) -> None:
        """With `shares` it returns positions of its buffers; `refuses` is raised when it copies from others."""
        self.seen = 0
        self.shares, self.refuses = shares, refuses
        self.peers: set[str] = set()

    def prepare_thread(self) -> None:
        """No-op."""

    def accepts(self, held: ComputedFrame) -> bool:
        return held.rows >= 10

    def pack(self, held: ComputedFrame) -> tuple[bytes, Any]:
        return b"a", held.to_polars()["a"].to_numpy()

    def unpack(self, facts: bytes, buffer: Any) -> ComputedFrame:
        self.seen += 1
        return HostFrame(pl.DataFrame({facts.decode(): buffer}))

    def locate(self, buffer: Any) -> IpcHandle | None:
        MEMORY[len(MEMORY)] = buffer
        return IpcHandle(str(len(MEMORY) - 1).encode(), 0, len(buffer)) if self.shares else None

    def copy_from(self, peer: str, place: IpcHandle) -> Any:
        self.peers.add(peer)
        if self.refuses is not None:
            raise self.refuses
        return MEMORY[int(place.handle)].copy()

    def unmap(self, peers: Collection[str]) -> None:
        self.peers.difference_update(peers)


async def _worker(packer: Packer | None, rows: Callable[[], ComputedFrame | None]) -> tuple[Any, ExchangeClient]:
    """Returns a worker that sends rows; its UCX server listens on TCP too, as no test needs UCX."""
    server: Any = Server({})
    await server.listen("tcp://127.0.0.1:0")
    server.connection_args = {}
    made = ExchangeClient(server, HostBackend(), packer, b"secret")
    home, running = asyncio.get_running_loop(), RunningQuery(1)

    async def part(request: OutputRequest) -> Any:
        assert asyncio.get_running_loop() is home
        found = rows()
        given = b"" if found is None else await made.encode([found], by_ucx=request.by_ucx, near=request.near)
        return running.hold_buffer(given) if isinstance(given, BufferReply) else given

    async def at_door(request: BufferRequest) -> Any:
        assert asyncio.get_running_loop() is home
        found = running.take_buffer(request.number)
        assert running.take_buffer(request.number) == b""
        return found

    async def copied(request: CopiedRequest) -> bool:
        return bool(running.take_buffer(request.number)) and request.statement != ENDED

    if packer is not None:
        assert await made.start_server(at_door, "tcp") not in (None, home)
    server.handlers[OutputRequest.handler] = wrap_handler(OutputRequest, part)
    server.handlers[CopiedRequest.handler] = wrap_handler(CopiedRequest, copied)
    return server, made


def _wanted(statement: int) -> OutputRequest:
    return OutputRequest(statement, 0, (0,), 0)


def _run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


@pytest.mark.parametrize("count", [1000, 3, 0])
@pytest.mark.parametrize("doors", [True, False])
def test_rows_arrive_as_they_are(count: int, doors: bool) -> None:
    async def moved() -> None:
        giver, from_there = await _worker(Packer(), lambda: HostFrame(ROWS.head(count)))
        packer = Packer()
        taker, here = await _worker(packer, lambda: None)
        here.set_peers((giver.address, taker.address), (from_there.ucx_address, here.ucx_address) if doors else ())
        found = await here.fetch(giver.address, _wanted(1))
        assert found is not None
        assert found.to_polars().equals(ROWS.head(count))
        assert packer.seen == (doors and count > 10)
        # A worker whose statement has ended returns none.
        here.set_peers((taker.address,), (here.ucx_address,))
        assert await here.fetch(taker.address, _wanted(1)) is None
        for each in (from_there, here):
            each.close()
            assert not each.ucx_address
        for server in (giver, taker):
            await server.close()

    _run(moved())


@pytest.mark.parametrize(
    ("refuses", "statement"),
    [(None, 1), (None, ENDED), (OSError("it cannot be mapped"), 1), (MemoryError("no room"), 1)],
    ids=["read", "let go of meanwhile", "not to be mapped", "no room"],
)
def test_workers_of_a_host_read_rows_where_they_lie(refuses: Exception | None, statement: int) -> None:
    async def moved() -> None:
        giver, from_there = await _worker(Packer(shares=True), lambda: HostFrame(ROWS))
        packer = Packer(refuses=refuses)
        taker, here = await _worker(packer, lambda: None)
        here.set_peers((giver.address,), (from_there.ucx_address,))
        assert here._ucx is not None
        real, fetched = here._ucx.call, 0

        async def counted(*given: Any, **more: Any) -> Any:
            nonlocal fetched
            fetched += 1
            return await real(*given, **more)

        here._ucx.call = counted  # type: ignore[method-assign]
        if isinstance(refuses, MemoryError):
            with pytest.raises(OutOfMemory):
                await here.fetch(giver.address, _wanted(statement))
        else:
            for turn in range(2):
                found = await here.fetch(giver.address, _wanted(statement))
                assert (found is None) == (statement == ENDED)
                assert found is None or found.to_polars().equals(ROWS)
                # Memory that cannot be mapped is not tried again.
                assert fetched == (0 if refuses is None else turn + 1)
                assert packer.peers == ({giver.address} if refuses is None or not turn else set())
                if refuses is not None:
                    packer.peers.clear()
        here.retain_peers((giver.address,))
        assert here._unmapping is None
        here.retain_peers(())
        assert here._unmapping is not None
        await here._unmapping
        assert not packer.peers
        for each in (from_there, here):
            each.close()
        for server in (giver, taker):
            await server.close()

    _run(moved())


def test_room_is_made_for_what_is_copied_and_a_worker_that_is_doubted_meanwhile_gives() -> None:
    async def moved() -> None:
        def rows() -> ComputedFrame:
            # Another statement removes the peers while this one waits.
            here.set_peers((), ())
            return HostFrame(ROWS)

        giver, from_there = await _worker(Packer(shares=True), rows)
        packer = Packer()
        taker, here = await _worker(packer, lambda: None)
        full, made = [MemoryError("no room"), MemoryError("no room")], []
        real = packer.copy_from

        def copied(peer: str, place: IpcHandle) -> Any:
            if full:
                raise full.pop()
            return real(peer, place)

        packer.copy_from = copied  # type: ignore[method-assign]
        here._backend.free_memory = lambda: made.append(len(full))  # type: ignore[method-assign]
        here.set_peers((giver.address,), (from_there.ucx_address,))
        with pytest.raises(OutOfMemory):
            await here.fetch(giver.address, _wanted(1))
        assert made == [1]
        full.append(MemoryError("no room"))
        for refuses in (None, OSError("it cannot be mapped")):
            packer.refuses = refuses
            here.set_peers((giver.address,), (from_there.ucx_address,))
            found = await here.fetch(giver.address, _wanted(1))
            assert found is not None
            assert found.to_polars().equals(ROWS)
        assert made == [1, 0]
        for each in (from_there, here):
            each.close()
        for server in (giver, taker):
            await server.close()

    _run(moved())


class _Elsewhere(HostBackend):
    """Stands for a GPU's backend: counts the frames that are copied to it."""

    def __init__(self) -> None:
        self.seen = 0

    def from_host(self, frame: pl.DataFrame) -> HostFrame:
        self.seen += 1
        return super().from_host(frame)


class _Near(Offloaded):
    """Stands for offloaded rows of a GPU."""

    def __init__(self, first: int) -> None:
        self.first, self.size = first, 80

    def data(self) -> bytes:
        return encode_frame(ROWS.slice(self.first, 10))


class _WithRoom(_Elsewhere):
    def reload(self, parts: Sequence[ComputedFrame | Offloaded]) -> ComputedFrame | None:
        if not any(isinstance(each, _Near) for each in parts):
            return None
        return HostFrame(concat_on_host(parts))


def test_rows_that_were_put_away_are_back_or_go_to_others(tmp_path: Path) -> None:
    async def moved() -> None:
        server, here = await _worker(None, lambda: None)
        frames = here._backend = _WithRoom()
        parts = [_Near(0), HostFrame(ROWS.slice(10, 10)), _Near(20)]
        wanted = list(range(30))
        assert (await here.merge_local(parts)).to_polars()["a"].to_list() == wanted
        assert (await here.merge_local(parts[:1])).rows == 10
        assert frames.seen == 0
        assert decode_frame(await here.encode(parts, by_ucx=True))["a"].to_list() == wanted  # type: ignore[arg-type]
        assert decode_frame(await here.encode(parts[2:], by_ucx=True))["a"].to_list() == wanted[20:]  # type: ignore[arg-type]
        file = SpillFile(tmp_path)
        assert (await here.merge_local([file.write(ROWS)])).rows == 1000
        assert frames.seen == 1
        await server.close()

    _run(moved())


@pytest.mark.parametrize("count", [0, 5, 20_000])
def test_few_rows_stay_on_the_host(count: int) -> None:
    async def moved() -> None:
        rows = pl.DataFrame({"a": range(count)})
        giver, _ = await _worker(Packer(), lambda: HostFrame(rows))
        taker, here = await _worker(Packer(), lambda: None)
        frames = here._backend = _Elsewhere()
        found = await here.fetch(giver.address, _wanted(1))
        assert found is not None
        assert found.to_polars()["a"].to_list() == list(range(count))
        assert frames.seen == (count > 1000)
        for server in (giver, taker):
            await server.close()

    _run(moved())


def test_a_giver_that_is_gone_and_a_taker_without_room_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudb.engine.gpu.exchange.ucx_server.CONNECT_SECONDS", 1.0)

    async def told() -> None:
        giver, from_there = await _worker(Packer(), lambda: HostFrame(ROWS))
        taker, here = await _worker(Packer(), lambda: None)
        here.set_peers((giver.address,), (from_there.ucx_address,))
        assert here._ucx is not None
        real = here._ucx.call

        async def full(*_: Any, **__: Any) -> Any:
            raise OSError("closed") from MemoryError("std::bad_alloc")

        here._ucx.call = full  # type: ignore[method-assign]
        with pytest.raises(OutOfMemory):
            await here.fetch(giver.address, _wanted(1))
        here._ucx.call = real  # type: ignore[method-assign]
        from_there.close()
        with pytest.raises(OSError, match=r".*"):
            await here.fetch(giver.address, _wanted(1))
        here.close()
        await giver.close()
        await taker.close()

    _run(told())


def test_a_door_that_waits_keeps_the_worker_s_loop_free() -> None:
    """A wait for a GPU on the UCX server must not delay pings; a statement that ends stops its fetches."""

    async def waited() -> None:
        giver, from_there = await _worker(Packer(), lambda: HostFrame(ROWS))
        taker, here = await _worker(Packer(), lambda: None)
        here.set_peers((giver.address,), (from_there.ucx_address,))
        assert here._ucx is not None
        here._ucx.loop.call_soon_threadsafe(time.sleep, 1.0)
        fetching = asyncio.ensure_future(here.fetch(giver.address, _wanted(1)))
        late = 0.0
        while not fetching.done():
            begun = time.monotonic()
            await asyncio.sleep(0.02)
            late = max(late, time.monotonic() - begun)
        assert late < 0.5
        found = await fetching
        assert found is not None
        assert found.rows == 1000

        here._ucx.loop.call_soon_threadsafe(time.sleep, 0.3)
        fetching = asyncio.ensure_future(here.fetch(giver.address, _wanted(1)))
        await asyncio.sleep(0.05)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        here.close()
        from_there.close()
        for server in (giver, taker):
            await server.close()

    _run(waited())
