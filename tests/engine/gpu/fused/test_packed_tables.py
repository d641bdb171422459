"""Packed columns: batches joined into one, runs of files, dictionaries that only grow, cached parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Event, Thread

import numpy as np
import pytest

from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.engine.gpu.cache.build_cache import required_stages
from gpudb.engine.gpu.cache.host_columns import ResidentTables
from gpudb.engine.gpu.cache.partition import WHOLE
from gpudb.engine.gpu.fused.columns.packed_column import DAY, PackedColumn, concatenate, pack
from gpudb.engine.gpu.fused.packed_cache import read_batches as reading
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ColumnChunk, HostChunkReader
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.packed_cache.segments import FileRuns
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.gpu.fused.translate.typed_values import NotFused
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask, execute_stage
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.fused_nodes import Fused
from tests.support.gpu import local_stages
from tests.support.lab import Lab

PARTS = {
    "narrow": [[3, None, 250], [], [7, 7], [None, None]],
    "apart": [[1, 2], [-70_000, 5]],
    "wide": [[2**62, -(2**62)], [None, 1]],
    "least": [[-(2**63), -(2**63) + 4000, None]],
    "both ends": [[-(2**63), 2**63 - 1, 0], [-(2**63) + 8]],
    "both ends alone": [[-(2**63)], [2**63 - 8]],
    "moments": [[DAY, 3 * DAY], [5 * DAY + 1_000_000, None, 9 * DAY], [DAY + 7_000_000]],
    "floats": [[1.5, float("nan")], [None, -0.0]],
}


def _column(values: list[float | None]) -> PackedColumn:
    valid = np.array([value is not None for value in values])
    kind = np.float64 if any(isinstance(value, float) for value in values) else np.int64
    held = np.array([0 if value is None else value for value in values], kind)
    return pack(held, None if valid.all() else valid)


@pytest.mark.parametrize("name", PARTS)
def test_joined_parts_have_every_value(name: str) -> None:
    parts = [part for part in PARTS[name] if part]
    made = concatenate([_column(part) for part in parts])
    values, valid = made.decode()
    wanted = [value for part in parts for value in part]
    given = [value if valid is None or valid[place] else None for place, value in enumerate(values.tolist())]
    assert [repr(value) for value in given] == [repr(value) for value in wanted]
    if name == "moments":
        assert (made.encoding.unit, made.encoding.width) == (1_000_000, 3)


def _table(*files: DataFile) -> Table:
    return Table(1, "public", "t", (), "gpudb", files=files)


def test_runs_keep_what_stays_and_put_small_ones_together() -> None:
    files = [DataFile(f"{number}", 100, 1) for number in range(60)]
    runs = FileRuns(WHOLE, 0)
    first, _ = runs.cover(_table(*files[:10]))
    assert [len(run.files) for run in first] == [10]
    second, gone = runs.cover(_table(*files[:11]))
    assert second[0] is first[0]
    assert not gone
    for count in range(12, 60):
        found, _ = runs.cover(_table(*files[:count]))
        assert sorted(file.path for run in found for file in run.files) == sorted(file.path for file in files[:count])
        assert len(found) <= 17
    # A deleted file removes its run, and no other.
    found, _ = runs.cover(_table(*files[:59]))
    rest, _ = runs.cover(_table(*files[1:59]))
    kept = [run for run in found if run in rest]
    assert [file.path for run in found if run not in kept for file in run.files].count("0") == 1
    assert sum(run.rows for run in rest) == 5800


@pytest.mark.parametrize(("gibibytes", "count"), [(0, 6), (1, 6), (40, 2), (80, 2), (1000, 2)])
def test_runs_are_as_long_as_memory_lets_them_be(gibibytes: int, count: int) -> None:
    files = [DataFile(f"{number}", 200_000_000, 1) for number in range(6)]
    found, _ = FileRuns(WHOLE, gibibytes << 30).cover(_table(*files))
    assert len(found) == count
    assert sum(run.rows for run in found) == 1_200_000_000


@pytest.mark.timeout(300)
def test_a_bound_part_runs_again_without_its_build_sides() -> None:
    lab = Lab()
    try:
        lab.run("CREATE TABLE f AS SELECT i % 50 AS k, 'x' || i % 3 AS t FROM generate_series(1, 3000) i")
        lab.run("CREATE TABLE g AS SELECT i AS k, 'n' || i % 3 AS name FROM generate_series(0, 40) i")
        tables, frames, kernels = ResidentTables(2**28), local_stages.FRAMES, NumpyRunner(PackedTables(2**28))
        planner = Planner(lab.database.cpu, Costs(workers=1), fuse=True)
        request = lab.request("SELECT name, t, count(*) FROM f JOIN g USING (k) GROUP BY name, t")
        planned = planner.plan(request)
        assert planner.plan(lab.request("SELECT name, t, count(*) FROM f JOIN g USING (k) GROUP BY name, t")) is not (
            planned
        )
        assert planner.plan(request) is planned
        stages = planned.stages
        (number, node), *_ = [(each.number, each.root) for each in stages if isinstance(each.root, Fused)]
        build = execute_stage(StageTask(stages[0], WHOLE), tables, {}, frames)
        task = StageTask(stages[number], WHOLE, key=b"")
        (first,) = execute_stage(task, tables, {0: build}, frames, kernels)
        ready = kernels.get(node, b"")
        assert ready is not None
        assert required_stages(stages, {id(node): ready}) == set(range(number, len(stages)))
        task = replace(task, bound_parts={id(node): lambda: kernels.rerun(ready)})
        (second,) = execute_stage(task, tables, {}, frames, kernels)
        assert second.to_polars().equals(first.to_polars())
        assert [each.reused for each in kernels.take_reports()] == [False, True]
        # Another file's texts get new codes: the cached part's codes stay.
        lab.run("INSERT INTO f VALUES (1, 'w'), (2, 'x1')")
        newer = planner.plan(request=replace(request, snapshot=lab.request("SELECT 1").snapshot))
        assert newer is not planned
        assert newer.digest != planned.digest
        (root,) = [each.root for each in newer.stages if isinstance(each.root, Fused)]
        made = kernels(root, [build[0]], WHOLE, ())
        assert made is not None
        assert made.height == first.rows + 1
        assert kernels.rerun(ready).equals(first.to_polars())
    finally:
        lab.close()


@pytest.mark.timeout(300)
def test_columns_read_at_once_are_what_they_are_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches smaller than the files, NULLs, texts, and a column that needs more than 64 bits, which is reported."""
    monkeypatch.setattr(reading, "MAX_BYTES", 1 << 13)
    lab = Lab()
    try:
        lab.run("CREATE TABLE f (a integer, b numeric(30,2), c text, d double precision, e bigint)")
        for start in (0, 2000):
            lab.run(
                f"INSERT INTO f SELECT i, i * 10000000000000000000000.0, 't' || i % 7, i / 8.0,"
                f" CASE WHEN i % 5 > 0 THEN i * 1000 END FROM generate_series({start}, {start} + 1700) i"
            )
        table = lab.database.store.catalog().relation("public", "f")
        assert isinstance(table, Table)
        whole, single = PackedTables(2**28), PackedTables(2**28)
        for run in whole.runs(table, WHOLE, table.files):
            assert [column.name for column in whole.load(table, table.columns, run, WHOLE)] == ["b"]
            assert whole.load(table, table.columns, run, WHOLE)  # is read again, the others are cached
            with pytest.raises(NotFused):
                whole.column(table, table.columns[1], run, WHOLE, False)
        for column in (each for each in table.columns if each.name != "b"):
            (one,), (other,) = (
                [
                    each.column(table, column, run, WHOLE, each.variant(table, column))
                    for run in each.runs(table, WHOLE, table.files)
                ]
                for each in (whole, single)
            )
            assert one.rows == other.rows == 3402
            assert (one.encoding, one.base, one.low, one.high) == (other.encoding, other.base, other.low, other.high)
            for ours, theirs in zip(one.decode(), other.decode(), strict=True):
                assert (ours is None) == (theirs is None)
                assert ours is None or (ours == theirs).all()
    finally:
        lab.close()


class _Held(HostChunkReader):
    """A reader that blocks on column `b` until it is released."""

    def __init__(self) -> None:
        self.asked, self.may = Event(), Event()

    def read(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[ColumnChunk | NotFused]:
        if any(column.name == "b" for column in columns):
            self.asked.set()
            assert self.may.wait(120)
        return super().read(file, columns, first, last)


@pytest.mark.timeout(300)
def test_who_wants_what_is_there_does_not_wait_for_what_is_read() -> None:
    lab, held = Lab(), _Held()
    try:
        lab.run("CREATE TABLE f AS SELECT i AS a, i AS b FROM generate_series(1, 100) i")
        table = lab.database.store.catalog().relation("public", "f")
        assert isinstance(table, Table)
        one, other = table.columns
        tables = PackedTables(2**28, held)
        (run,) = tables.runs(table, WHOLE, table.files)
        first = tables.column(table, one, run, WHOLE, False)
        reading = [Thread(target=tables.load, args=(table, [other], run, WHOLE)) for _ in range(2)]
        for each in reading:
            each.start()
        assert held.asked.wait(120)
        found: list[object] = []

        def want() -> None:
            (again,) = tables.runs(table, WHOLE, table.files)
            found.append(tables.column(table, one, again, WHOLE, tables.variant(table, one)))

        wanting = Thread(target=want)
        wanting.start()
        wanting.join(60)
        assert found == [first]
        held.may.set()
        for each in reading:
            each.join(120)
        assert tables.columns.contains((run, other.field_id, other.type, False))
    finally:
        held.may.set()
        lab.close()
