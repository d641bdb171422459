"""Lanes on a GPU: none waits for what another one has queued, and rows that go from lane to lane are whole."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gpudb.engine.gpu.fused import twin
from gpudb.engine.gpu.fused.packed import pack
from gpudb.engine.gpu.fused.pipeline import Accumulator, Field, Groups, Key, Literal, Pipeline
from gpudb.engine.gpu.fused.twin import Segment, in_forms
from gpudb.engine.gpu.lanes import Lane

pytestmark = pytest.mark.gpu

PATIENCE_S = 60.0
"""What waits for so long would wait for ever."""
SPIN = r"""
extern "C" __global__ void spin(volatile int *go) { while (*go == 0) { __nanosleep(1000); } }
"""
LATE = r"""
extern "C" __global__ void late(long long cycles) { long long end = clock64() + cycles; while (clock64() < end) { } }
"""
CYCLES = 40_000_000
"""Some 20 ms."""
ROUNDS = 40


def _in_lane(lane: Lane, frames: Any, work: Callable[[], object]) -> threading.Thread:
    """Starts some work in a lane; what it raises is the test's."""

    def run() -> None:
        frames.enter(lane)
        work()

    made = threading.Thread(target=run)
    made.start()
    return made


@contextmanager
def _long_lane(frames: Any) -> Iterator[Callable[[], bool]]:
    """Has a kernel run in the long lane meanwhile; gives whether it has been let go because what waits for it hung."""
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
        started.set()
        cupy.cuda.get_current_stream().synchronize()

    watch = threading.Timer(PATIENCE_S, let_go)
    long = _in_lane("long", frames, work)
    started.wait(PATIENCE_S)
    watch.start()
    try:
        yield hung.is_set
    finally:
        watch.cancel()
        go[0] = 1
        long.join()


def _fused() -> tuple[Callable[[], Any], Any]:
    """What answers a bound part again, and the groups that it has to give."""
    import cupy

    from gpudb.engine.gpu.fused.launch import Launcher

    sink = Groups(
        (Key(Field((0, 9), False, 0), 0, 10),),
        (Accumulator("add", Literal((1, 1), False, 1)), Accumulator("add", Field((0, 999), False, 1))),
        "dense",
    )
    draws = np.random.default_rng(5)
    columns = tuple(pack(draws.integers(0, high, 100_000), None) for high in (10, 1000))
    host = [Segment(100_000, columns)]
    pipeline = in_forms(Pipeline((), (), sink), host[0])
    there = [Segment(100_000, tuple(column.on(cupy) for column in columns))]
    launcher = Launcher()
    launcher.run(pipeline, there, (), ())
    replay = launcher.replay(pipeline, there, (), (), 1 << 30)
    assert replay is not None
    assert replay.is_graph

    def again() -> Any:
        assert there
        return replay.outcome(keep=True).grouped

    return again, twin.run(pipeline, host, (), ()).grouped


@pytest.mark.parametrize("lane", ["short", "at once"])
def test_what_is_short_does_not_wait_for_what_is_long(frames: Any, lane: Lane) -> None:
    rows = pl.DataFrame({"k": np.arange(10_000) % 7, "v": np.arange(10_000)})
    wanted = rows.group_by("k").agg(pl.col("v").sum()).sort("k")
    found: list[Any] = []
    again, groups = _fused()

    def work() -> None:
        held = frames.given(rows)
        found.append(frames.held(held.lazy.group_by("k").agg(pl.col("v").sum()).sort("k")).frame())
        found.append(again())

    for _ in range(2):  # kernels are loaded as they are first met, and memory is taken
        _in_lane(lane, frames, work).join()
    found.clear()
    with _long_lane(frames) as hung:
        _in_lane(lane, frames, work).join()
        assert not hung()
    frame, grouped = found
    assert_frame_equal(frame, wanted)
    assert np.array_equal(grouped.groups, groups.groups)
    assert all(map(np.array_equal, grouped.words, groups.words))


def test_rows_that_go_from_lane_to_lane_are_whole(frames: Any) -> None:
    draws = np.random.default_rng(7)
    rows = pl.DataFrame({"k": draws.integers(0, 1000, 1 << 20), "v": draws.integers(0, 1 << 30, 1 << 20)})
    wanted = rows.group_by("k").agg(pl.col("v").sum()).sort("k")
    failed: list[BaseException] = []

    def turns(there: list[Any], meet: threading.Barrier, own: int) -> Callable[[], None]:
        def work() -> None:
            try:
                for _ in range(ROUNDS):
                    # Memory that one lane let go of is the other's soon.
                    there[own] = frames.held(there[1 - own].lazy.sort("v", "k") if there[1 - own] else first.lazy)
                    meet.wait(PATIENCE_S)
                    made = frames.held(there[1 - own].lazy.group_by("k").agg(pl.col("v").sum()).sort("k"))
                    assert_frame_equal(made.frame(), wanted)
                    meet.wait(PATIENCE_S)
            except BaseException as error:
                failed.append(error)
                meet.abort()

        return work

    first = frames.given(rows)
    there: list[Any] = [None, None]
    meet = threading.Barrier(2)
    lanes: tuple[Lane, Lane] = ("long", "short")
    threads = [_in_lane(lane, frames, turns(there, meet, own)) for own, lane in enumerate(lanes)]
    for each in threads:
        each.join()
    assert not failed


def test_what_the_host_gives_is_read_though_the_device_comes_to_it_late(frames: Any) -> None:
    import cupy

    from gpudb.engine.gpu import warm

    late = cupy.RawKernel(LATE, "late")
    found: dict[str, pl.DataFrame] = {}

    def work() -> None:
        rows = frames.given(warm._rows()).lazy
        for name, lazy in warm._plans(rows):
            late((1,), (1,), (np.int64(CYCLES),))
            found[name] = frames.held(lazy).frame()

    _in_lane("short", frames, work).join()
    wanted = dict(warm._plans(warm._rows().lazy()))
    assert found.keys() == wanted.keys()
    for name, lazy in wanted.items():
        assert_frame_equal(found[name], lazy.collect(), check_row_order=False)
