"""Streams of priorities on a GPU: none waits for another's queue, and rows passed between them are complete."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gpudb.engine.gpu.backend.base import Priority
from gpudb.engine.gpu.fused.columns.packed_column import pack
from gpudb.engine.gpu.fused.ir.pipeline import Accumulator, Field, GroupSink, Key, Literal, Pipeline
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.numpy_backend.executor import Segment, specialize

pytestmark = pytest.mark.gpu

PATIENCE_S = 60.0
"""A wait of this length counts as endless."""
SPIN = r"""
extern "C" __global__ void spin(volatile int *go) { while (*go == 0) { __nanosleep(1000); } }
"""
LATE = r"""
extern "C" __global__ void late(long long cycles) { long long end = clock64() + cycles; while (clock64() < end) { } }
"""
CYCLES = 40_000_000
"""About 20 ms."""
CROWD = r"""
extern "C" __global__ void crowd(long long cycles, volatile unsigned *done) {
    long long end = clock64() + cycles;
    while (clock64() < end) { }
    if (threadIdx.x == 0) atomicAdd_system((unsigned *)done, 1u);
}
"""
BLOCKS, QUEUED = 400_000, 25
"""Blocks of a millisecond each, of which some hundred run at once, so they take a second or more; and the number of
kernels.
"""
ROUNDS = 40
ROOM = 1 << 28
SCALARS: dict[str, Callable[[pl.LazyFrame], pl.LazyFrame]] = {
    "quotient": lambda rows: rows.select(pl.col("n") // 7),
    "remainder": lambda rows: rows.select(pl.col("n") % 7),
    "choice": lambda rows: rows.select(pl.when(pl.lit(1) < 2).then(pl.col("n")).otherwise(-1)),
    "cast": lambda rows: rows.select(pl.col("n").cast(pl.Int16), pl.col("t").cast(pl.Int64)),
    "aggregate": lambda rows: rows.select(pl.col("n") - pl.col("n").max()),
}
"""Operations that read a scalar on the host."""


def _in_lane(lane: Priority, frames: Any, work: Callable[[], object]) -> threading.Thread:
    """Runs work in a thread of a priority; its exceptions fail the test."""

    def run() -> None:
        frames.set_priority(lane)
        work()

    made = threading.Thread(target=run)
    made.start()
    return made


@contextmanager
def _long_lane(frames: Any, behind: Callable[[], object] = lambda: None) -> Iterator[Callable[[], bool]]:
    """Runs a kernel at priority LONG during the block, with `behind` queued after it; yields a function that returns
    whether the kernel was released because a waiter hung.
    """
    import cupy

    go = np.ndarray((1,), np.int32, buffer=cupy.cuda.alloc_pinned_memory(4))
    go[0] = 0
    spin = cupy.RawKernel(SPIN, "spin")
    hung = threading.Event()

    def let_go() -> None:
        hung.set()
        go[0] = 1

    started = threading.Event()

    def work() -> None:
        spin((1,), (1,), (np.uint64(go.ctypes.data),))
        behind()
        started.set()
        cupy.cuda.get_current_stream().synchronize()

    watch = threading.Timer(PATIENCE_S, let_go)
    long = _in_lane(Priority.LONG, frames, work)
    started.wait(PATIENCE_S)
    watch.start()
    try:
        yield hung.is_set
    finally:
        watch.cancel()
        go[0] = 1
        long.join()


def _fused() -> tuple[Callable[[], Any], Any]:
    """Returns a function that repeats a prepared pipeline, and the groups that it must return."""
    import cupy

    from gpudb.engine.gpu.fused.cuda.launch import Launcher

    sink = GroupSink(
        (Key(Field((0, 9), False, 0), 0, 10),),
        (Accumulator("add", Literal((1, 1), False, 1)), Accumulator("add", Field((0, 999), False, 1))),
        "dense",
    )
    draws = np.random.default_rng(5)
    columns = tuple(pack(draws.integers(0, high, 100_000), None) for high in (10, 1000))
    host = [Segment(100_000, columns)]
    pipeline = specialize(Pipeline((), (), sink), host[0])
    there = [Segment(100_000, tuple(column.copy_to(cupy) for column in columns))]
    launcher = Launcher()
    launcher.run(pipeline, there, (), ())
    replay = launcher.replay(pipeline, there, (), (), 1 << 30)
    assert replay is not None

    def again() -> Any:
        assert there
        return replay.run(keep=True).grouped

    return again, executor.run(pipeline, host, (), ()).grouped


@pytest.mark.parametrize("lane", [Priority.SHORT, Priority.FAST_PATH])
def test_what_is_short_does_not_wait_for_what_is_long(frames: Any, lane: Priority) -> None:
    rows = pl.DataFrame({"k": np.arange(10_000) % 7, "v": np.arange(10_000)})
    wanted = rows.group_by("k").agg(pl.col("v").sum()).sort("k")
    found: list[Any] = []
    again, groups = _fused()

    def work() -> None:
        held = frames.from_host(rows)
        found.append(frames.compute(held.lazy.group_by("k").agg(pl.col("v").sum()).sort("k")).to_polars())
        found.append(again())

    for _ in range(2):  # loads kernels and allocates memory
        _in_lane(lane, frames, work).join()
    found.clear()
    with _long_lane(frames) as hung:
        _in_lane(lane, frames, work).join()
        assert not hung()
    frame, grouped = found
    assert_frame_equal(frame, wanted)
    assert np.array_equal(grouped.groups, groups.groups)
    assert all(map(np.array_equal, grouped.words, groups.words))


@pytest.mark.parametrize("lane", [Priority.SHORT, Priority.FAST_PATH])
def test_what_is_short_is_computed_amid_kernels_that_take_all_of_the_device(frames: Any, lane: Priority) -> None:
    import cupy

    crowd = cupy.RawKernel(CROWD, "crowd")
    done = np.ndarray((1,), np.uint32, buffer=cupy.cuda.alloc_pinned_memory(4))
    rows = pl.DataFrame({"k": np.arange(10_000) % 7, "v": np.arange(10_000)})
    again, _ = _fused()
    seen: list[int] = []
    begun = threading.Event()

    def long(blocks: int) -> None:
        for _ in range(QUEUED):
            crowd((blocks // QUEUED,), (1024,), (np.int64(CYCLES // 20), np.uint64(done.ctypes.data)))
        begun.set()
        cupy.cuda.get_current_stream().synchronize()

    def short() -> None:
        again()
        seen.append(int(done[0]))
        if lane is Priority.SHORT:
            held = frames.from_host(rows)
            frames.compute(held.lazy.group_by("k").agg(pl.col("v").sum()).sort("k"))
            seen.append(int(done[0]))

    for blocks in (QUEUED, BLOCKS):  # kernels are loaded on first use
        done[0] = 0
        seen.clear()
        begun.clear()
        other = _in_lane(Priority.LONG, frames, partial(long, blocks))
        begun.wait(PATIENCE_S)
        _in_lane(lane, frames, short).join()
        other.join()
    assert done[0] == BLOCKS
    assert all(each < 0.9 * BLOCKS for each in seen), seen


def test_memory_that_is_let_go_of_later_is_not_waited_for(frames: Any) -> None:
    import cupy

    def behind() -> None:
        cupy.empty(ROOM, np.uint8)

    made: list[int] = []

    def work() -> None:
        held = cupy.zeros(ROOM, np.uint8)
        cupy.cuda.get_current_stream().synchronize()
        made.append(int(held[-1].get()))

    with _long_lane(frames, behind) as hung:
        _in_lane(Priority.SHORT, frames, work).join()
        assert not hung()
    assert made == [0]
    frames.free_memory()  # which waits for all streams


@pytest.mark.parametrize("name", SCALARS)
def test_who_waits_for_a_scalar_lets_the_others_run(frames: Any, name: str) -> None:
    import cupy

    late = cupy.RawKernel(LATE, "late")
    lazy = SCALARS[name](frames.from_host(pl.DataFrame({"n": np.arange(1000), "t": ["1"] * 1000})).lazy)
    made: list[int] = []

    def work(cycles: int) -> None:
        late((1,), (1,), (np.int64(cycles),))
        made.append(frames.compute(lazy).rows)

    def longest() -> float:
        """Returns the longest time that this thread did not run, as a share of the whole time."""
        began = last = time.monotonic()
        apart = 0.0
        long = _in_lane(Priority.LONG, frames, partial(work, 20 * CYCLES))
        while long.is_alive():
            time.sleep(0.001)
            now = time.monotonic()
            apart, last = max(apart, now - last), now
        return apart / (last - began)

    _in_lane(Priority.LONG, frames, partial(work, 1)).join()  # kernels are loaded on first use
    # Other processes may also keep it from running, now and then.
    assert min(longest() for _ in range(4)) < 0.5
    assert made == [1000] * 5


def test_rows_that_go_from_lane_to_lane_are_whole(frames: Any) -> None:
    draws = np.random.default_rng(7)
    rows = pl.DataFrame({"k": draws.integers(0, 1000, 1 << 20), "v": draws.integers(0, 1 << 30, 1 << 20)})
    wanted = rows.group_by("k").agg(pl.col("v").sum()).sort("k")
    failed: list[BaseException] = []

    def turns(there: list[Any], meet: threading.Barrier, own: int) -> Callable[[], None]:
        def work() -> None:
            try:
                for _ in range(ROUNDS):
                    # Memory that one stream freed is soon the other's.
                    there[own] = frames.compute(there[1 - own].lazy.sort("v", "k") if there[1 - own] else first.lazy)
                    meet.wait(PATIENCE_S)
                    made = frames.compute(there[1 - own].lazy.group_by("k").agg(pl.col("v").sum()).sort("k"))
                    assert_frame_equal(made.to_polars(), wanted)
                    meet.wait(PATIENCE_S)
            except BaseException as error:
                failed.append(error)
                meet.abort()

        return work

    first = frames.from_host(rows)
    there: list[Any] = [None, None]
    meet = threading.Barrier(2)
    lanes: tuple[Priority, Priority] = (Priority.LONG, Priority.SHORT)
    threads = [_in_lane(lane, frames, turns(there, meet, own)) for own, lane in enumerate(lanes)]
    for each in threads:
        each.join()
    assert not failed


def test_what_the_host_gives_is_read_though_the_device_comes_to_it_late(frames: Any) -> None:
    import cupy

    from gpudb.engine.gpu.worker import warmup

    late = cupy.RawKernel(LATE, "late")
    found: dict[str, pl.DataFrame] = {}

    def work() -> None:
        rows = frames.from_host(warmup._sample_rows()).lazy
        for name, lazy in warmup._sample_plans(rows):
            late((1,), (1,), (np.int64(CYCLES),))
            found[name] = frames.compute(lazy).to_polars()

    _in_lane(Priority.SHORT, frames, work).join()
    wanted = dict(warmup._sample_plans(warmup._sample_rows().lazy()))
    assert found.keys() == wanted.keys()
    for name, lazy in wanted.items():
        assert_frame_equal(found[name], lazy.collect(), check_row_order=False)
