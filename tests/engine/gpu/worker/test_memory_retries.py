"""Lack of memory: caches are evicted first, failed work is retried once, and is reported once.

Host frames and kernels stand for a GPU's: only a limited number of bytes fits beside the cached columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gpudb.engine.figures import StageFigures
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.cache.host_columns import COLUMN_BYTES, ResidentTables
from gpudb.engine.gpu.cache.partition import WHOLE
from gpudb.engine.gpu.exchange.result_codec import to_batch
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.gpu.planning.request_planner import PhysicalPlan, Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask
from gpudb.engine.gpu.worker import executor
from gpudb.engine.gpu.worker.device import Device
from gpudb.engine.gpu.worker.executor import Executor
from gpudb.errors import OutOfMemory
from gpudb.plan.tree.nodes import Scan
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, embedded, sorted_rows
from tests.support.lab import Lab

ROWS = 20_000
GROUPS = "SELECT b, count(*), sum(a) FROM big JOIN small USING (b) WHERE a > 3 GROUP BY b"

BOTH = "SELECT a, b FROM big WHERE a < 500 UNION ALL SELECT c, b FROM small ORDER BY 1, 2"
"""A kernel's rows, and more operators over them in the same stage."""


class _Frames(HostBackend):
    """A frame that does not fit beside the cached columns raises MemoryError."""

    def __init__(self, room: int) -> None:
        self.room, self.failed, self.made_room = room, 0, 0
        self.asked, self.fails = 0, 0
        self.columns: list[Any] = []
        self.reasons: list[str] = []

    def take_host_steps(self) -> tuple[str, ...]:
        told, self.reasons = tuple(self.reasons), []
        return told

    def check(self, size: int) -> None:
        self.asked += 1
        if self.asked == self.fails or size + sum(each.bytes for each in self.columns) > self.room:
            self.failed += 1
            self.reasons.append("no room")
            raise MemoryError("no room")

    def compute(self, lazy: pl.LazyFrame) -> HostFrame:
        made = super().compute(lazy)
        try:
            self.check(made.bytes)
        except MemoryError as error:
            raise OutOfMemory("out of GPU memory") from error
        return made

    def free_memory(self) -> None:
        self.made_room += 1
        for each in self.columns:
            each.shrink(0)


class _Kernels(NumpyRunner):
    """Kernels whose results need memory before they are complete."""

    def __init__(self, tables: PackedTables, frames: _Frames, size: int) -> None:
        super().__init__(tables)
        self._frames, self._size = frames, size

    def _to_columns(self, prepared: Any, outcome: Any) -> Any:
        self._frames.check(self._size)
        return super()._to_columns(prepared, outcome)


@pytest.fixture(autouse=True)
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """No executor warms up: what allocates are the statements alone."""
    monkeypatch.setattr(executor.WarmUp, "start", lambda self: None)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(f"CREATE TABLE big AS SELECT i AS a, i % 50 AS b FROM generate_series(1::bigint, {ROWS}) i")
    made.run("CREATE TABLE small AS SELECT i AS b, i * 2 AS c FROM generate_series(0::bigint, 39) i")
    made.run(f"CREATE TABLE other AS SELECT i AS x FROM generate_series(1::bigint, {ROWS}) i")
    yield made
    made.close()


def _filled(lab: Lab, tables: ResidentTables) -> None:
    """Caches the columns of a table that the statement does not read."""
    table = lab.request("SELECT x FROM other")
    (scan,) = (node for stage in _planned(lab, table).stages for node in [stage.root] if isinstance(node, Scan))
    tables.frame(scan, WHOLE, ())
    assert tables.bytes == 8 * ROWS


def _planned(lab: Lab, request: Any, *, fuse: bool = False) -> PhysicalPlan:
    return Planner(lab.database.cpu, EVERY, fuse=fuse).plan(request)


def _run(
    lab: Lab, computing: Executor, planned: PhysicalPlan
) -> tuple[list[tuple[str | None, ...]], list[StageFigures]]:
    given: dict[int, Any] = {}
    told = []
    for stage in planned.stages:
        task = StageTask(stage, WHOLE)
        given[stage.number], figures = computing.execute(task, {number: given[number] for number in stage.inputs})
        told.append(figures)
    kinds = tuple(column.type for column in planned.plan.columns)
    return local_stages.as_text(
        [to_batch(part.to_polars(), kinds) for part in given[planned.stages[-1].number]], kinds
    ), told


@pytest.mark.parametrize("fuse", [False, True])
def test_columns_that_can_be_read_again_go_first(lab: Lab, tmp_path: Path, fuse: bool) -> None:
    """After one failed allocation a general stage or a kernel runs anew, and is reported once."""
    frames, tables, packed = _Frames(2**30), ResidentTables(2**30), PackedTables(2**30)
    kernels = _Kernels(packed, frames, 4 * ROWS)
    computing = Executor(Device(frames, tables, kernels if fuse else None, (0, 0)), tmp_path, 2**20, gpu=True)
    try:
        request = lab.request(GROUPS if fuse else "SELECT a, b FROM big WHERE a > 3")
        wanted = sorted_rows(embedded(lab, request))
        _filled(lab, tables)
        frames.columns = [tables.columns, packed.columns]
        # Without the unused columns there is room.
        frames.room = (8 if fuse else 32) * ROWS + 2**12 + 4 * COLUMN_BYTES
        given, told = _run(lab, computing, _planned(lab, request, fuse=fuse))
        assert sorted_rows(given) == wanted
        assert (frames.failed, frames.made_room) == (1, 1)
        launched = [each for figures in told for each in figures.kernels]
        if fuse:
            assert kernels.declined is None
            assert kernels.ran == 2
        # The kernel's first run failed, and does not count.
        assert len(launched) == (1 if fuse else 0)
    finally:
        computing.close()


@pytest.mark.parametrize("sql", [GROUPS + " ORDER BY 1", BOTH])
def test_whatever_fails_once_is_done_again_and_told_of_once(lab: Lab, tmp_path: Path, sql: str) -> None:
    request = lab.request(sql)
    planned, wanted = _planned(lab, request, fuse=True), embedded(lab, request)
    frames, told_of, allocations = _Frames(2**30), [], 1
    while frames.fails <= allocations:
        packed = PackedTables(2**30)
        device = Device(frames, ResidentTables(2**30), _Kernels(packed, frames, 8), (0, 0))
        computing = Executor(device, tmp_path, 2**20, gpu=True)
        frames.asked = frames.failed = frames.made_room = 0
        given, told = _run(lab, computing, planned)
        assert given == wanted
        assert frames.failed == frames.made_room == (1 if frames.fails else 0)
        told_of.append([(figures.stage, figures.rows, len(figures.kernels)) for figures in told])
        allocations = allocations if frames.fails else frames.asked
        frames.fails += 1
    assert allocations > 1
    assert told_of == told_of[:1] * (allocations + 1)


def test_a_kernel_that_never_has_room_is_the_general_engine_s(lab: Lab, tmp_path: Path) -> None:
    frames, tables, packed = _Frames(2**30), ResidentTables(2**30), PackedTables(2**30)
    kernels = _Kernels(packed, frames, 2**40)
    computing = Executor(Device(frames, tables, kernels, (0, 0)), tmp_path, 2**20, gpu=True)
    try:
        request = lab.request(GROUPS)
        given, told = _run(lab, computing, _planned(lab, request, fuse=True))
        assert sorted_rows(given) == sorted_rows(embedded(lab, request))
        assert (frames.failed, frames.made_room) == (2, 1)
        assert sum(figures.rows for figures in told) > 0
    finally:
        computing.close()


def test_what_has_no_room_at_all_is_a_clear_error(lab: Lab, tmp_path: Path) -> None:
    frames, tables = _Frames(0), ResidentTables(2**30)
    computing = Executor(Device(frames, tables, None, (0, 0)), tmp_path, 2**20, gpu=True)
    try:
        with pytest.raises(OutOfMemory) as failed:
            _run(lab, computing, _planned(lab, lab.request("SELECT a, b FROM big")))
        assert failed.value.sqlstate == "53200"
        # Nothing remains that the next statement would report.
        assert tables.bytes > 0
        assert frames.take_host_steps() == ()
    finally:
        computing.close()
