"""The executor of a GPU worker: stages over few host rows run on the host; and stored results."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gpudb.engine.gpu.backend.base import ComputedFrame, Offloaded
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.exchange.buffers import SpilledFrame, concat_on_host, encode_frame
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask
from gpudb.engine.gpu.worker.device import open_host
from gpudb.engine.gpu.worker.executor import Executor, reads_few_rows
from gpudb.engine.gpu.worker.query_registry import RunningQuery
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.lab import Lab

ROWS = HostFrame(pl.DataFrame({"a": [1]}))


@pytest.mark.timeout(300)
def test_few_rows_are_computed_on_the_host_but_not_spread_from_there() -> None:
    """Equal keys go to one worker: by the GPU's hash where another worker may use it."""
    lab = Lab()
    try:
        lab.run("CREATE TABLE t AS SELECT i AS a, i % 3 AS b FROM generate_series(1, 100) i")
        lab.run("CREATE TABLE u AS SELECT i AS a, i % 3 AS b FROM generate_series(1, 100) i")
        costs = Costs(workers=2, exchange=0, broadcast=1, groups=1, scan=1)
        sql = "SELECT x.c, count(*) FROM (SELECT t.b, count(*) AS c FROM t JOIN u USING (a) GROUP BY 1) x GROUP BY 1"
        stages = Planner(lab.database.cpu, costs).plan(lab.request(sql)).stages
        inner = [stage for stage in stages if stage.inputs]
        assert {stage.output for stage in inner} >= {"hash", "result"}
        for stage in inner:
            received: dict[int, Any] = {number: [ROWS, ROWS] for number in stage.inputs}
            assert reads_few_rows(StageTask(stage, Partition(0, 2)), received) == (
                stage.output not in {"hash", "range"}
            )
            assert reads_few_rows(StageTask(stage, Partition(0, 1)), received)
            assert not reads_few_rows(StageTask(stage, Partition(0, 2)), received | {stage.inputs[0]: [ROWS, object()]})
        for stage in stages:
            if not stage.inputs:
                assert not reads_few_rows(StageTask(stage, Partition(0, 1)), {})
    finally:
        lab.close()


class _There(HostBackend):
    """Stands for a GPU's backend."""

    def partition_by_hash(self, *given: Any, **named: Any) -> list[ComputedFrame]:
        return [_HeldThere(part.to_polars()) for part in super().partition_by_hash(*given, **named)]


class _HeldThere(HostFrame):
    """Rows in its memory."""


@pytest.mark.parametrize(("rows", "workers", "brought"), [(100, 2, True), (100, 1, False), (50_000, 2, False)])
def test_few_rows_that_go_to_other_stages_are_brought_to_the_host_once(
    tmp_path: Path, rows: int, workers: int, brought: bool
) -> None:
    lab = Lab()
    device = replace(open_host(2**30, 2**28, False), backend=_There())
    computing = Executor(device, tmp_path, 2**28, gpu=True)
    try:
        lab.run(f"CREATE TABLE t AS SELECT i AS a, i AS b FROM generate_series(1, {rows}) i")
        lab.run("CREATE TABLE u AS SELECT * FROM t")
        costs = Costs(workers=2, exchange=0, broadcast=1)
        stages = Planner(lab.database.cpu, costs).plan(lab.request("SELECT * FROM t JOIN u USING (a)")).stages
        scanned = next(stage for stage in stages if stage.output == "hash")
        made, _ = computing.execute(StageTask(scanned, Partition(0, workers)), {})
        assert {type(each) for each in made} == {HostFrame if brought else _HeldThere}
    finally:
        computing.close()
        lab.close()


def test_a_result_that_is_given_up_while_it_is_kept_takes_no_room(tmp_path: Path) -> None:
    go_on, begun = threading.Event(), threading.Event()

    class Slow(HostFrame):
        def to_polars(self) -> pl.DataFrame:
            begun.set()
            assert go_on.wait(60)
            return super().to_polars()

    async def given_up() -> None:
        rows = Slow(pl.DataFrame({"a": range(1_000_000)}))
        keeping = asyncio.ensure_future(computing.store_result(RunningQuery(1), 0, rows))
        await asyncio.to_thread(begun.wait, 60)
        keeping.cancel()
        await asyncio.wait({keeping})
        assert keeping.cancelled()
        go_on.set()

    computing = Executor(open_host(2**30, 2**28, False), tmp_path, 2**28, gpu=False)
    try:
        asyncio.run(given_up())  # it waits for its threads
        gc.collect()
        assert computing.results.bytes == 0
    finally:
        computing.close()


def test_a_statement_is_short_until_it_has_computed_for_long_however_it_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpudb.engine.gpu.worker.executor._SHORT_SECONDS", 0.2)
    made = Executor(open_host(2**31, 2**20, fuse=False), tmp_path, 2**20, gpu=False)
    try:
        running = RunningQuery(1)
        assert not made.is_short(running)
        running.short = True
        time.sleep(0.3)
        assert made.is_short(running)

        def work() -> tuple[int, bool]:
            time.sleep(0.3)
            return running.thread_count, made.is_short(running)

        assert made.run_tracked(running, work) == (1, False)
        assert (running.thread_count, made.is_short(running)) == (0, False)
    finally:
        made.close()


class _Near(Offloaded):
    """Stands for offloaded rows of a GPU."""

    def __init__(self, rows: ComputedFrame) -> None:
        self.rows, self.size = rows, rows.bytes

    def data(self) -> bytes:
        return encode_frame(self.rows.to_polars())


class _WithRoom(HostBackend):
    """A backend that can offload `room` parts."""

    can_offload = True

    def __init__(self, room: int) -> None:
        self.room = room

    def offload(self, rows: ComputedFrame) -> Offloaded | None:
        self.room -= 1
        return _Near(rows) if self.room >= 0 else None


@pytest.mark.parametrize(
    ("share", "room", "near"),
    [
        (Partition(1, 4, 4), 9, [0, 1, 2, 3]),
        (Partition(1, 4, 4), 2, [0, 1]),
        (Partition(1, 4, 4), 0, []),
        (Partition(1, 4, 2), 9, [0, 1]),
        (Partition(2, 4, 2), 9, [2, 3]),
    ],
)
def test_what_this_worker_reads_is_put_away_near_its_device(
    tmp_path: Path, share: Partition, room: int, near: list[int]
) -> None:
    """Parts without room, and parts that others read, go to a file."""
    computing = Executor(replace(open_host(2**30, 2**28, False), backend=_WithRoom(room)), tmp_path, 2**28, gpu=True)
    running = RunningQuery(1)
    parts = [HostFrame(pl.DataFrame({"a": [place] * 10})) for place in range(4)]
    try:
        made = computing._offload(parts, share, running)
        assert [place for place, each in enumerate(made) if isinstance(each, _Near)] == near
        assert all(isinstance(each, _Near | SpilledFrame) for each in made)
        assert concat_on_host(made)["a"].to_list() == [place for place in range(4) for _ in range(10)]
        assert all(each.size > 0 for each in made)
        (one,) = computing._offload(parts[:1], share, running)
        assert isinstance(one, _Near) == (share.worker.count == 1 and room > 4)
    finally:
        running.close()
        computing.close()
