"""Fused parts on a real cluster's CPU workers: answers, errors, and EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import cpu_processes
from gpudb.engine.gpu.coordinator.fast_path import FastPath
from gpudb.engine.gpu.engine import ClusterEngine
from gpudb.engine.protocol import PlanNode, Settings
from gpudb.engine.routing import RoutedEngine
from gpudb.errors import GpudbError
from tests.support.fused.fast_path import JOIN
from tests.support.gpu import local_stages
from tests.support.lab import Lab


@pytest.fixture(scope="module")
def engine(lab: Lab) -> Iterator[ClusterEngine]:
    made = ClusterEngine(Cluster(cpu_processes(2, fuse=True)), lab.database.cpu)
    yield made
    made.close()


def _rows(lab: Lab, engine: ClusterEngine, sql: str) -> list[tuple[str | None, ...]]:
    request = lab.request(sql)
    return local_stages.as_text(engine.run(request), [column.type for column in request.query.columns])


def _operators(node: PlanNode) -> list[PlanNode]:
    return [node, *(each for below in node.inputs for each in _operators(below))]


@pytest.mark.timeout(300)
def test_workers_run_fused_parts(lab: Lab, engine: ClusterEngine) -> None:
    assert _rows(lab, engine, JOIN) == _embedded(lab, JOIN)
    with pytest.raises(GpudbError) as caught:
        _rows(lab, engine, "SELECT sum(a * 2147483647) FROM f")
    assert caught.value.sqlstate == "22003"


@pytest.mark.timeout(300)
def test_explain_analyze_counts_the_rows_that_a_fused_part_leaves_out(lab: Lab, engine: ClusterEngine) -> None:
    def count(rest: str) -> int:
        ((found,),) = _embedded(lab, f"SELECT count(*) FROM f {rest}")
        return int(str(found))

    filtered, joined = "WHERE a > 10", "JOIN g ON f.k = g.k WHERE f.a > 2"
    for again in (False, True):
        told = _fused(lab, engine, f"SELECT sum(a) FROM f {filtered}")
        assert told["Rows Removed by Filter"] == str(20000 - count(filtered)), again
        assert "Hash Bytes" not in told
        told = _fused(lab, engine, JOIN)
        assert told["Rows Removed by Filter or Join"] == str(20000 - count(joined)), again
        assert int(told["Hash Bytes"]) >= 41


def _embedded(lab: Lab, sql: str) -> list[tuple[str | None, ...]]:
    request = lab.request(sql)
    return local_stages.as_text(lab.database.cpu.run(request), [column.type for column in request.query.columns])


def _fused(lab: Lab, engine: ClusterEngine, sql: str) -> dict[str, str]:
    plan = engine.explain(lab.request(sql), analyze=True)
    (found,) = [dict(node.details) for node in _operators(plan) if node.operator == "Fused"]
    return found


@pytest.mark.timeout(300)
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
        assert told.get("Answered By") == ("the kernel's twin" if analyze else None)
        (build,) = fused.inputs
        assert "Broadcast" in build.operator


@pytest.mark.timeout(300)
def test_kernels_are_left_out_where_a_session_says_so(lab: Lab, engine: ClusterEngine) -> None:
    request = lab.request(JOIN)
    wanted = _embedded(lab, JOIN)
    usual, lab.database.engine = lab.database.engine, RoutedEngine(engine, lab.database.cpu)
    try:
        for fused in (True, False, True):
            asked = replace(request, settings=Settings(fused=fused))
            told = {node.operator for node in _operators(engine.explain(asked, analyze=True))}
            assert ("Fused" in told, "HashJoin" in told) == (fused, not fused)
            assert local_stages.as_text(engine.run(asked), [column.type for column in request.query.columns]) == wanted
        for state in ("off", "on"):
            lab.run(f"SET gpudb.fused = {state}")
            lines = [line for (line,) in lab.run(f"EXPLAIN {JOIN}")]
            assert any("Fused" in line for line in lines) == (state == "on")
    finally:
        lab.database.engine = usual
        lab.run("RESET gpudb.fused")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "sql", [JOIN, f"SELECT * FROM ({JOIN}) a JOIN (SELECT k, count(*) FROM g GROUP BY k) b ON true"]
)
def test_build_sides_of_bound_parts_are_left_out(
    lab: Lab, engine: ClusterEngine, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    """In staged execution, without the fast path; also after a worker has evicted its build tables."""
    cluster = engine._cluster
    monkeypatch.setattr(FastPath, "try_run", lambda *_: None)
    wanted = sorted(_embedded(lab, sql))
    ran = []
    for turn in range(5):
        if turn == 3:
            cluster._client.run(_let_go, workers=[cluster.heartbeats()[0][1]])
        assert sorted(_rows(lab, engine, sql)) == wanted
        request = lab.request(sql)
        stream = engine._start(engine._plan(request), request)
        stream.wait()
        ran.append(sum(1 for each in stream.measured.values() if each.workers))
        stream.close()
    # The first run of a turn computes all build sides on the first worker and on those that evicted them.
    assert len(set(ran)) == 1
    assert ran[0] < len(engine._plan(lab.request(sql)).stages)


def _let_go(dask_worker: Any) -> None:
    """On a worker: discards its prepared pipelines."""
    dask_worker.plugins["gpudb"].executor.kernels._parts.clear()
