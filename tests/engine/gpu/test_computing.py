"""Where a GPU's worker computes a stage: on the host where all that it reads are few rows, which lie there."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from gpudb.engine.gpu.computing import _few
from gpudb.engine.gpu.frames import HostHeld
from gpudb.engine.gpu.planning import Planner
from gpudb.engine.gpu.share import Share
from gpudb.engine.gpu.stage import Task
from gpudb.plan.placing import Costs
from tests.engine.conftest import Lab

ROWS = HostHeld(pl.DataFrame({"a": [1]}))


@pytest.mark.timeout(120)
def test_few_rows_are_computed_on_the_host_but_not_spread_from_there() -> None:
    """Equal keys go to one worker: by the GPU's hash where another worker may use it."""
    lab = Lab()
    try:
        lab.run("CREATE TABLE t AS SELECT i AS a, i % 3 AS b FROM generate_series(1, 100) i")
        lab.run("CREATE TABLE u AS SELECT i AS a, i % 3 AS b FROM generate_series(1, 100) i")
        costs = Costs(workers=2, exchange=0, broadcast=1, groups=1, scan=1)
        sql = "SELECT x.c, count(*) FROM (SELECT t.b, count(*) AS c FROM t JOIN u USING (a) GROUP BY 1) x GROUP BY 1"
        stages = Planner(lab.database.cpu, costs).planned(lab.request(sql)).stages
        inner = [stage for stage in stages if stage.inputs]
        assert {stage.output for stage in inner} >= {"hash", "result"}
        for stage in inner:
            received: dict[int, Any] = {number: [ROWS, ROWS] for number in stage.inputs}
            assert _few(Task(stage, Share(0, 2)), received) == (stage.output not in {"hash", "range"})
            assert _few(Task(stage, Share(0, 1)), received)
            assert not _few(Task(stage, Share(0, 2)), received | {stage.inputs[0]: [ROWS, object()]})
        for stage in stages:
            if not stage.inputs:
                assert not _few(Task(stage, Share(0, 1)), {})
    finally:
        lab.close()
