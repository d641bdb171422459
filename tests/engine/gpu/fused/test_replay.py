"""Replays of prepared launches: repeated results over the same columns only, which they do not keep alive."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from gpudb.engine.gpu.fused.columns.packed_column import pack
from gpudb.engine.gpu.fused.cuda import replay
from gpudb.engine.gpu.fused.cuda.replay import Launch, Replay
from gpudb.engine.gpu.fused.cuda.result_buffers import ResultBuffers, group_bytes
from gpudb.engine.gpu.fused.ir.pipeline import Accumulator, Field, GroupSink, Key, Literal, Pipeline
from gpudb.engine.gpu.fused.numpy_backend.executor import Segment, run, specialize


class _Array(np.ndarray[Any, Any]):
    """An array like CuPy's: data have to be fetched to the host, and it has an address."""

    def get(self, out: Any = None) -> Any:
        if out is None:
            return np.array(self)
        out[...] = self
        return out

    @property
    def data(self) -> Any:
        return type("Address", (), {"ptr": self.ctypes.data})


class _Own:
    """The stream of the thread that creates a replay."""

    waited = 0

    def synchronize(self) -> None:
        _Own.waited += 1


class _Device:
    """CuPy implemented by NumPy, as far as launches need it."""

    ndarray = _Array
    uint64 = np.uint64

    class cuda:
        get_current_stream = _Own

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        return lambda *given, **more: function(*given, **more).view(_Array)


SINK = GroupSink(
    (Key(Field((0, 9), False, 0), 0, 10),),
    (Accumulator("add", Literal((1, 1), False, 1)), Accumulator("min", Field((0, 999), False, 1))),
    "dense",
)


def _columns() -> tuple[Any, Any]:
    draws = np.random.default_rng(5)
    made = (pack(draws.integers(0, high, 5000), None) for high in (10, 1000))
    return tuple(made)  # type: ignore[return-value]


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> tuple[Replay, Pipeline, list[Segment], list[Any]]:
    """A replay of one launch that counts groups; its pipeline and segments; the launch's arguments."""
    monkeypatch.setattr(replay, "allocate_pinned", lambda words: np.empty(words, np.int64))
    segments = [Segment(5000, _columns())]
    pipeline = specialize(Pipeline((), (), SINK), segments[0])
    target = ResultBuffers(_Device(), SINK, 8)
    asked: list[Any] = []

    def function(grid: Any, block: Any, given: Any, shared_mem: int) -> None:
        asked.append((grid, block, given, shared_mem))
        grouped = run(pipeline, segments, (), ()).grouped
        assert grouped is not None
        held = target.words[:, grouped.groups[0]]
        held[0] += grouped.words[0]
        held[1] = np.minimum(held[1], grouped.words[1])
        target.words[:, grouped.groups[0]] = held

    data = np.asarray(segments[0].columns[0].data).view(_Array)
    launch = Launch(function, 7, 128, 64, (data, np.int64(3)))
    made = Replay(_Device(), pipeline, segments, [launch], target, lambda _: None)
    return made, pipeline, segments, asked


def test_every_time_gives_the_same(bound: Any) -> None:
    made, pipeline, segments, asked = bound
    wanted = run(pipeline, segments, (), ()).grouped
    assert wanted is not None
    for turn in range(1, 4):
        found = made.run(keep=True).grouped
        assert len(asked) == turn
        assert np.array_equal(found.groups, wanted.groups)
        assert all(map(np.array_equal, found.words, wanted.words))


def test_its_room_is_its_own_for_every_thread_that_runs_it(bound: Any) -> None:
    before = _Own.waited
    made, pipeline, segments, _ = bound
    Replay(_Device(), pipeline, segments, [], made._target, lambda _: None)
    assert _Own.waited == before + 1


def test_a_launch_holds_addresses_alone(bound: Any) -> None:
    made, _, segments, asked = bound
    made.run(keep=True)
    ((grid, block, (address, number), shared),) = asked
    assert (grid, block, shared) == ((7,), (128,), 64)
    assert address == np.uint64(segments[0].columns[0].data.ctypes.data)
    assert (address.dtype, number) == (np.uint64, 3)


def test_it_is_of_its_columns_alone_and_lets_them_go(bound: Any) -> None:
    made, pipeline, segments, _ = bound
    assert made.matches(pipeline, segments)
    assert not made.matches(specialize(Pipeline((), (), SINK), segments[0]), segments)
    assert not made.matches(pipeline, [*segments, *segments])
    assert not made.matches(pipeline, [Segment(4999, segments[0].columns)])
    assert not made.matches(pipeline, [Segment(5000, _columns())])
    segments.clear()
    gc.collect()
    assert [known() for known in made._columns] == [None, None]


@pytest.mark.parametrize(("form", "slots"), [("one", 1), ("dense", 10), ("hash", 64)])
def test_its_room_is_known_before(form: Any, slots: int) -> None:
    sink = GroupSink(SINK.keys if form != "one" else (), SINK.accumulators, form)
    target = ResultBuffers(_Device(), sink, 64)
    assert target.slots == slots
    assert 0 < target.bytes <= group_bytes(sink, 64)
