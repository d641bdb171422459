"""Plan shapes that become kernels: every kind of join, with unique or repeated keys, under every kind of sink."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

import pytest

from gpudb.engine.gpu.coordinator.coordinator import StageMeasurements
from gpudb.engine.gpu.explain.plan import render_plan
from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.codegen.kernel import generate_kernel
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.protocol import PlanNode
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.fused.recording import Recording
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab

JOINS = {
    "none": ("t", "t.v"),
    "inner": ("t JOIN {side} AS s ON t.k = s.k", "s.w"),
    "inner with a condition": ("t JOIN {side} AS s ON t.k = s.k AND s.w > t.v - 40", "s.w"),
    "left": ("t LEFT JOIN {side} AS s ON t.k = s.k", "s.w"),
    "left with a condition": ("t LEFT JOIN {side} AS s ON t.k = s.k AND s.w > t.v", "s.w"),
    "left by what is computed": ("t LEFT JOIN {side} AS s ON t.k + 1 = s.k * 2 AND s.w > t.v", "s.w"),
    "semi": ("(SELECT * FROM t WHERE EXISTS (SELECT 1 FROM {side} AS s WHERE s.k = t.k)) AS t", "t.v"),
    "semi with a condition": (
        "(SELECT * FROM t WHERE EXISTS (SELECT 1 FROM {side} AS s WHERE s.k = t.k AND s.w > t.v)) AS t", "t.v"),
    "anti": ("(SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM {side} AS s WHERE s.k = t.k)) AS t", "t.v"),
    "anti with a condition": (
        "(SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM {side} AS s WHERE s.k = t.k AND s.w > t.v)) AS t", "t.v"),
    "not in": ("(SELECT * FROM t WHERE k NOT IN (SELECT k FROM {side} WHERE k IS NOT NULL)) AS t", "t.v"),
    "two": ("t JOIN {side} AS s ON t.k = s.k LEFT JOIN {side} AS r ON s.w = r.k", "r.w"),
}  # fmt: skip
SIDES = ("once", "several", "sparse", "far")
"""Keys unique or repeated, in a direct table or a hash table."""
SINKS = {
    "no groups": "SELECT count(*), sum({value}), min(t.v) FROM {source} WHERE t.v < 95",
    "dense groups": "SELECT t.g, count(*), max({value}), avg(t.v) FROM {source} GROUP BY t.g",
    "many groups": "SELECT t.b, count(*), sum({value}) FROM {source} GROUP BY t.b",
    "groups of two keys": "SELECT t.b, t.g, bool_or({value} > 3), count({value}) FROM {source} GROUP BY t.b, t.g",
    "first rows": "SELECT t.v, t.b, {value} AS x FROM {source} ORDER BY t.v DESC, t.b, x LIMIT 6",
    "few rows": "SELECT t.b, {value} AS x FROM {source} WHERE t.g = 3",
}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(
        "CREATE TABLE t AS SELECT CASE WHEN i % 11 > 0 THEN i % 40 END AS k, i * 7 % 101 AS v, i % 5 AS g,"
        " i * 1000003::bigint % 5000011 * 1000000 AS b FROM generate_series(1, 4000) i"
    )
    made.run(
        "CREATE TABLE once AS SELECT i AS k, CASE WHEN i % 4 > 0 THEN i * 3 END AS w FROM generate_series(1, 30) i"
    )
    made.run("CREATE TABLE several AS SELECT i % 9 + 20 AS k, i AS w FROM generate_series(1, 40) i")
    made.run("INSERT INTO several VALUES (NULL, 3)")
    made.run("CREATE TABLE sparse AS SELECT i * i * 1000000000000 AS k, i AS w FROM generate_series(-5, -1) i")
    made.run("INSERT INTO sparse SELECT i, i * 5 FROM generate_series(3, 25) i")
    made.run("CREATE TABLE far AS SELECT i % 9 + 20::bigint AS k, i AS w FROM generate_series(1, 40) i")
    made.run("INSERT INTO far VALUES (1000000000000000, 3), (NULL, 4)")
    yield made
    made.close()


def _operators(node: PlanNode) -> list[str]:
    return [node.operator, *(each for below in node.inputs for each in _operators(below))]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("one_of", [4, pytest.param(1, marks=pytest.mark.soak, id="all")])
@pytest.mark.parametrize("sink", SINKS)
def test_every_shape_is_a_kernel(lab: Lab, sink: str, tmp_path: Path, one_of: int) -> None:
    """One of so many pairs of a join and a side, others with each sink."""
    planner = Planner(lab.database.cpu, Costs(workers=1, scan=0), fuse=True)
    for join, side in islice(product(JOINS, SIDES), list(SINKS).index(sink) % one_of, None, one_of):
        if join == "none" and side != SIDES[0]:
            continue
        source, value = JOINS[join]
        sql = SINKS[sink].format(source=source.format(side=side), value=value)
        request = lab.request(sql)
        stages = planner.plan(request).stages
        shown = _operators(render_plan(stages, "Gpu", {}, {each.number: StageMeasurements() for each in stages}))
        assert "GpuFused" in shown, f"{join}, {side}: {sql}"
        kernels = Recording()
        wanted = sorted_rows(embedded(lab, request))
        for workers in (1, 2) if side == "several" else (1,):
            found = local_stages.rows(request, workers, lab.database.cpu, Costs(scan=0), kernels=kernels)
            assert sorted_rows(found) == wanted, f"{join}, {side} on {workers}: {sql}"
        assert kernels.prepared, f"{join}, {side}: {kernels.declined}"
        for prepared in kernels.prepared[:1] if side in {"once", "far"} else ():
            made = nvrtc.compile_source(
                generate_kernel(prepared.pipeline).source, load_headers(), "sm_90", folder=tmp_path
            )
            assert made.spilled < 64
