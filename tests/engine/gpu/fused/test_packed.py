"""Packed columns: pieces joined into one, files in runs, dictionaries that only grow, parts that are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpudb.catalog.model import DataFile, Table
from gpudb.engine.gpu.fused.packed import DAY, PackedColumn, joined, pack
from gpudb.engine.gpu.fused.resident import PackedTables
from gpudb.engine.gpu.fused.run import Twin
from gpudb.engine.gpu.fused.runs import Runs
from gpudb.engine.gpu.planning import Planner
from gpudb.engine.gpu.resident import ResidentTables
from gpudb.engine.gpu.share import WHOLE
from gpudb.engine.gpu.stage import Task, compute
from gpudb.engine.gpu.work import needed
from gpudb.plan.fused import Fused
from gpudb.plan.placing import Costs
from tests.engine.conftest import Lab
from tests.engine.gpu import local

PARTS = {
    "narrow": [[3, None, 250], [], [7, 7], [None, None]],
    "apart": [[1, 2], [-70_000, 5]],
    "wide": [[2**62, -(2**62)], [None, 1]],
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
    made = joined([_column(part) for part in parts])
    values, valid = made.values()
    wanted = [value for part in parts for value in part]
    given = [value if valid is None or valid[place] else None for place, value in enumerate(values.tolist())]
    assert [repr(value) for value in given] == [repr(value) for value in wanted]
    if name == "moments":
        assert (made.form.unit, made.form.width) == (1_000_000, 3)


def _table(*files: DataFile) -> Table:
    return Table(1, "public", "t", (), "gpudb", files=files)


def test_runs_keep_what_stays_and_put_small_ones_together() -> None:
    files = [DataFile(f"{number}", 100, 1) for number in range(60)]
    runs = Runs(WHOLE)
    first, _ = runs.cover(_table(*files[:10]))
    assert [len(run.files) for run in first] == [10]
    second, gone = runs.cover(_table(*files[:11]))
    assert second[0] is first[0]
    assert not gone
    for count in range(12, 60):
        found, _ = runs.cover(_table(*files[:count]))
        assert sorted(file.path for run in found for file in run.files) == sorted(file.path for file in files[:count])
        assert len(found) <= 17
    # A file that has gone takes its run with it, and no other.
    found, _ = runs.cover(_table(*files[:59]))
    rest, _ = runs.cover(_table(*files[1:59]))
    kept = [run for run in found if run in rest]
    assert [file.path for run in found if run not in kept for file in run.files].count("0") == 1
    assert sum(run.rows for run in rest) == 5800


@pytest.mark.timeout(120)
def test_a_bound_part_runs_again_without_its_build_sides() -> None:
    lab = Lab()
    try:
        lab.run("CREATE TABLE f AS SELECT i % 50 AS k, 'x' || i % 3 AS t FROM generate_series(1, 3000) i")
        lab.run("CREATE TABLE g AS SELECT i AS k, 'n' || i % 3 AS name FROM generate_series(0, 40) i")
        tables, frames, kernels = ResidentTables(2**28), local.FRAMES, Twin(PackedTables(2**28))
        planner = Planner(lab.database.cpu, Costs(workers=1), fuse=True)
        request = lab.request("SELECT name, t, count(*) FROM f JOIN g USING (k) GROUP BY name, t")
        planned = planner.planned(request)
        assert planner.planned(
            lab.request("SELECT name, t, count(*) FROM f JOIN g USING (k) GROUP BY name, t")
        ) is not (planned)
        assert planner.planned(request) is planned
        stages = planned.stages
        (number, node), *_ = [(each.number, each.root) for each in stages if isinstance(each.root, Fused)]
        build = compute(Task(stages[0], WHOLE), tables, {}, frames)
        task = Task(stages[number], WHOLE, key=b"")
        (first,) = compute(task, tables, {0: build}, frames, kernels)
        ready = kernels.kept(node, b"")
        assert ready is not None
        assert needed(stages, {id(node): ready}) == set(range(number, len(stages)))
        task = replace(task, again={id(node): lambda: kernels.again(ready)})
        (second,) = compute(task, tables, {}, frames, kernels)
        assert second.frame().equals(first.frame())
        assert [each.reused for each in kernels.launched()] == [False, True]
        # Another file's texts get further codes: the kept part's stay.
        lab.run("INSERT INTO f VALUES (1, 'w'), (2, 'x1')")
        newer = planner.planned(request=replace(request, snapshot=lab.request("SELECT 1").snapshot))
        assert newer is not planned
        assert newer.digest != planned.digest
        (root,) = [each.root for each in newer.stages if isinstance(each.root, Fused)]
        made = kernels(root, [build[0].frame()], WHOLE, ())
        assert made is not None
        assert made.height == first.rows + 1
        assert kernels.again(ready).equals(first.frame())
    finally:
        lab.close()
