"""The benchmarks' queries by fused pipelines: the embedded engine's answers, and kernels that compile."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.codegen.kernel import generate_kernel
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.planning.request_planner import Planner, exchange_costs
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.stage_nodes import Receive
from gpudb.plan.tree.traversal import walk_nodes
from tests.support.fused.recording import Recording
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.gpu.suites import SUITES, loaded

FUSED = {"ssb": 13, "tpch": 22}
"""Minimum number of queries with a fused part."""
MORE = ((2, True), (3, False))
"""Workers of a run beside that on one, and whether they are GPUs; the queries have them by turns."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FUSED)
def test_fused_parts_answer_as_the_embedded_engine(name: str, tmp_path: Path) -> None:
    suite = SUITES[name](tmp_path)
    wrong: list[str] = []
    fused: set[str] = set()
    with loaded(suite) as lab:
        for (query, text), more in zip(suite.queries.items(), cycle(MORE), strict=False):
            request = lab.request(text)
            wanted = sorted_rows(embedded(lab, request))
            for workers, gpu in ((1, False), more):
                kernels, costs = Recording(), exchange_costs(workers, gpu=gpu)
                given = sorted_rows(local_stages.rows(request, workers, lab.database.cpu, costs, kernels=kernels))
                if given != wanted:
                    wrong.append(f"{query} on {workers}: {given[:2]} where {wanted[:2]}")
                for prepared in kernels.prepared if workers == 1 else ():
                    fused.add(query)
                    kernel = generate_kernel(prepared.pipeline)
                    assert generate_kernel(prepared.pipeline) == kernel
                    made = nvrtc.compile_source(kernel.source, load_headers(), "sm_90", folder=tmp_path)
                    assert made.cubin[:4] == b"\x7fELF"
                    assert made.spilled < 64, f"{query} spills {made.spilled} bytes"
    assert not wrong, "\n".join(wrong)
    assert len(fused) >= FUSED[name], sorted(set(suite.queries) - fused)


@pytest.mark.timeout(300)
def test_tables_that_lie_by_one_hash_are_joined_where_they_lie(tmp_path: Path) -> None:
    suite = SUITES["tpch"](tmp_path)
    by = {"lineitem": "l_orderkey", "orders": "o_orderkey"}
    schema = [
        f"{each} DISTRIBUTE BY HASH ({by[each.split()[2]]})" if each.split()[2] in by else each for each in suite.schema
    ]
    with loaded(replace(suite, schema=schema)) as lab:
        for query in ("q03", "q04", "q12", "q18", "q21"):
            request = lab.request(suite.queries[query])
            wanted = sorted_rows(embedded(lab, request))
            for workers, gpu in ((2, True), (3, False)):
                costs = exchange_costs(workers, gpu=gpu)
                planner = Planner(lab.database.cpu, costs, fuse=True)
                nodes = (node for stage in planner.plan(request).stages for node in walk_nodes(stage.root))
                near = [build for node in nodes if isinstance(node, Fused) for build in node.builds]
                assert any(not isinstance(build, Receive) for build in near), query
                given = local_stages.rows(request, workers, lab.database.cpu, costs, kernels=Recording())
                assert sorted_rows(given) == wanted, (query, workers)
