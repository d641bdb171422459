"""Exchange buffers: routing, release after the last reader, and results in memory or in files."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.exchange.buffers import ExchangeBuffers, ResultStore, SpillFile, SpillSpace, concat_on_host
from gpudb.engine.gpu.exchange.routing import consumers, order_by_dependents, producers, stage_partitions
from gpudb.engine.gpu.rpc.messages import Failed, FetchFailed, RunReply, RunResult
from gpudb.engine.gpu.worker.query_registry import QueryRegistry, RunningQuery
from gpudb.errors import GpudbError
from gpudb.plan.tree.nodes import Values
from gpudb.plan.tree.stages import Stage

_NOTHING = Values((), ())


def _stage(number: int, output: str, inputs: tuple[int, ...] = (), single_worker: bool = False) -> Stage:
    return Stage(number, _NOTHING, output, (), inputs, single_worker)  # type: ignore[arg-type]


STAGES = [
    _stage(0, "hash"),
    _stage(1, "broadcast", single_worker=True),
    _stage(2, "stay", (0, 1)),
    _stage(3, "gather", (2,)),
    _stage(4, "result", (2, 3), single_worker=True),
]


def test_every_share_gets_a_hashed_part_of_every_other() -> None:
    assert producers(STAGES[0], 2, 3) == (0, 1, 2)
    assert consumers(STAGES, 0, 1, 3) == (0, 1, 2)


def test_what_one_worker_has_goes_to_all() -> None:
    assert stage_partitions(STAGES[1], 3) == (0,)
    assert consumers(STAGES, 1, 0, 3) == (0, 1, 2)


def test_what_stays_is_read_where_it_is_by_each_stage_that_runs_there() -> None:
    assert producers(STAGES[2], 1, 3) == (1,)
    assert consumers(STAGES, 2, 0, 3) == (0, 0)
    assert consumers(STAGES, 2, 1, 3) == (1,)


def test_what_is_gathered_goes_to_the_first() -> None:
    assert producers(STAGES[3], 0, 2) == (0, 1)
    assert producers(STAGES[3], 1, 2) == ()
    assert consumers(STAGES, 3, 1, 2) == (0,)


def test_givers_and_takers_are_one_relation() -> None:
    for count in (1, 2, 5):
        for stage in STAGES[:-1]:
            given = [
                (giver, taker) for giver in range(count) for taker in consumers(STAGES, stage.number, giver, count)
            ]
            readers = [each for each in STAGES if stage.number in each.inputs]
            taken = [
                (giver, taker)
                for each in readers
                for taker in stage_partitions(each, count)
                for giver in producers(stage, taker, count)
            ]
            assert sorted(given) == sorted(taken)


def test_a_part_is_freed_by_its_last_reader() -> None:
    frames = [HostFrame(pl.DataFrame({"c0": [number]})) for number in range(3)]
    parts = ExchangeBuffers(frames, (0, 0, 1))
    assert not parts.is_read
    assert parts.take(0).to_polars().rows() == [(0,)]
    assert parts.take(1).to_polars().rows() == [(1,)]
    assert not parts.is_read
    assert parts.take(0).to_polars().rows() == [(0,)]
    assert parts.is_read
    with pytest.raises(AssertionError):
        parts.take(2)


def test_parts_in_memory_and_in_files_are_joined_in_their_order(tmp_path: Path) -> None:
    frames = [pl.DataFrame({"c0": values}, {"c0": pl.Int64}) for values in ([1, 2], [], [3], [])]
    file = SpillFile(tmp_path)
    parts = [file.write(frame) if number % 2 == 0 else HostFrame(frame) for number, frame in enumerate(frames)]
    assert concat_on_host(parts).rows() == [(1,), (2,), (3,)]
    assert concat_on_host(parts[1::2]).schema == frames[0].schema
    file.close()
    with pytest.raises(ValueError):
        concat_on_host(parts)


def _nameless(folder: Path) -> int:
    """Returns the number of unnamed files that this process has open in a folder."""
    assert list(folder.iterdir()) == []
    return sum(
        str(each.readlink()).startswith(str(folder))
        for each in list(Path("/proc/self/fd").iterdir())
        if each.is_symlink()
    )


def test_results_beyond_the_room_go_to_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"c0": pl.int_range(0, 1_000_000, eager=True), "c1": pl.int_range(0, 1_000_000, eager=True)})
    room = ResultStore(20_000_000, tmp_path)
    first, second = room.store(frame), room.store(frame)
    assert room.bytes == 16_000_000
    assert _nameless(tmp_path) == 1
    for kept in (first, second):
        start, rows = 0, 0
        while True:
            chunk, start = kept.chunk(start)
            assert chunk.estimated_size() < 5_000_000
            assert chunk["c0"][0] == rows
            rows += chunk.height
            if not start:
                break
        assert rows == 1_000_000
    first.close()
    second.close()
    second.close()
    assert room.bytes == 0
    assert _nameless(tmp_path) == 0


def test_temporary_files_are_bounded_together(tmp_path: Path) -> None:
    frame = pl.DataFrame({"c0": pl.int_range(0, 100_000, eager=True)})
    space = SpillSpace(1_000_000)
    first, second = SpillFile(tmp_path, space), SpillFile(tmp_path, space)
    first.write(frame)
    assert 800_000 <= space.bytes < 1_000_000
    with pytest.raises(GpudbError) as raised:
        second.write(frame)
    assert raised.value.sqlstate == "53400"
    assert raised.value.message == "temporary file size exceeds temp_file_limit (976kB)"
    first.close()
    assert space.bytes == 0
    second.write(frame)
    second.close()
    assert space.bytes == 0
    results = ResultStore(1000, tmp_path, space)
    with pytest.raises(GpudbError):
        results.store(pl.DataFrame({"c0": pl.int_range(0, 200_000, eager=True)}))
    assert (space.bytes, results.bytes) == (0, 0)


def test_what_comes_no_more_is_not_waited_for() -> None:
    """A statement that ends between two of the parts that one reader waits for."""

    async def taken() -> None:
        running = RunningQuery(1)
        first = running.output(0, 0)
        reader = asyncio.ensure_future(running.take_output(0, (0, 1), 0))
        await asyncio.sleep(0)
        first.set_result(ExchangeBuffers([HostFrame(pl.DataFrame({"a": [1]}))], (0,)))
        running.close()
        async with asyncio.timeout(30):
            await reader

    with pytest.raises(ValueError, match="has ended"):
        asyncio.run(taken())


@pytest.mark.parametrize(("reply", "left"), [(RunResult((), ()), 1), (FetchFailed(0), 0), (Failed(b""), 0)])
def test_files_of_a_statement_that_failed_go_at_once(tmp_path: Path, reply: RunReply, left: int) -> None:
    """Files of a failed statement are closed at once; output that was taken of a successful one stays readable."""

    async def ended() -> None:
        statements = QueryRegistry()
        running = statements.get_or_begin(1)

        async def run() -> RunReply:
            return reply

        written = running.open_spill_file(tmp_path).write(pl.DataFrame({"a": [1]}))
        running.task = asyncio.ensure_future(run())
        await running.task
        statements.forget_if_read(running)
        assert len(statements) == 0
        assert _nameless(tmp_path) == left
        assert written.size

    asyncio.run(ended())
    assert _nameless(tmp_path) == 0


_LOOKED_AT = """
import sys, threading, time
import polars as pl
from gpudb.engine.gpu.exchange.buffers import encode_frame

frame = pl.DataFrame({f"c{n}": range(200) for n in range(400)})
ends = time.monotonic() + 1.5

def write():
    while time.monotonic() < ends:
        encode_frame(frame)

def look():
    while time.monotonic() < ends:
        frame.height, frame.lazy(), frame.estimated_size()

sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=each) for each in (write, write, look)]
for each in threads:
    each.start()
for each in threads:
    each.join()
print("ended")
"""


def test_a_frame_is_looked_at_while_it_is_written() -> None:
    """Polars' lock of a frame and Python's lock must not wait for each other: both threads would hang."""
    done = subprocess.run([sys.executable, "-c", _LOOKED_AT], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "ended\n"


def test_what_most_stages_wait_for_is_begun_first() -> None:
    inputs: dict[int, tuple[int, ...]] = {0: (), 1: (), 2: (1,), 3: (2,), 4: (0, 3), 5: (4,)}
    stages = [_stage(number, "gather", given) for number, given in inputs.items()]
    assert [stage.number for stage in order_by_dependents(stages)] == [1, 2, 0, 3, 4, 5]
    # The stage that no other reads is last.
    left = [_stage(number, "gather", tuple(each for each in given if each != 2)) for number, given in inputs.items()]
    assert [stage.number for stage in order_by_dependents(left)] == [0, 3, 1, 4, 2, 5]
