"""Fused parts on a real cluster's CPU workers: answers, errors, and what EXPLAIN tells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.gpu.cluster import Cluster
from gpudb.engine.gpu.engine import ClusterEngine
from gpudb.engine.gpu.processes import cpu_processes
from gpudb.engine.protocol import PlanNode
from gpudb.errors import GpudbError
from tests.engine.conftest import Lab
from tests.engine.gpu import local
from tests.engine.gpu.fused.conftest import JOIN


@pytest.fixture(scope="module")
def engine(lab: Lab) -> Iterator[ClusterEngine]:
    made = ClusterEngine(Cluster(cpu_processes(2, fuse=True)), lab.database.cpu)
    yield made
    made.close()


def _rows(lab: Lab, engine: ClusterEngine, sql: str) -> list[tuple[str | None, ...]]:
    request = lab.request(sql)
    return local.as_text(engine.run(request), [column.type for column in request.query.columns])


def _operators(node: PlanNode) -> list[PlanNode]:
    return [node, *(each for below in node.inputs for each in _operators(below))]


@pytest.mark.timeout(240)
def test_workers_run_fused_parts(lab: Lab, engine: ClusterEngine) -> None:
    wanted = local.as_text(lab.database.cpu.run(lab.request(JOIN)), [c.type for c in lab.request(JOIN).query.columns])
    assert _rows(lab, engine, JOIN) == wanted
    with pytest.raises(GpudbError) as caught:
        _rows(lab, engine, "SELECT sum(a * 2147483647) FROM f")
    assert caught.value.sqlstate == "22003"


@pytest.mark.timeout(240)
def test_explain_tells_what_is_fused(lab: Lab, engine: ClusterEngine) -> None:
    for analyze in (False, True):
        (fused,) = [
            node for node in _operators(engine.explain(lab.request(JOIN), analyze=analyze)) if node.operator == "Fused"
        ]
        told = dict(fused.details)
        assert told["Table"] == "f"
        assert "a" in told["Filter"]
        assert "k = k" in told["HashJoin Hash Cond"]
        assert told["Aggregate (Partial) Group Key"] == "name"
        (build,) = fused.inputs
        assert "Broadcast" in build.operator
