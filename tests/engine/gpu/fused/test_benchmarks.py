"""The benchmarks' queries by fused pipelines: the embedded engine's answers, and kernels that compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudb.engine.gpu.fused import nvrtc
from gpudb.engine.gpu.fused.generate import generated, headers
from gpudb.engine.gpu.planning import costs_of
from tests.engine.gpu import local
from tests.engine.gpu.fused.recording import Recording
from tests.engine.gpu.test_benchmarks import SUITES, loaded
from tests.engine.gpu.test_cases import embedded, sorted_rows

FUSED = {"ssb": 13, "tpch": 22}
"""Queries of which a part is one kernel, at least."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", FUSED)
def test_fused_parts_answer_as_the_embedded_engine(name: str, tmp_path: Path) -> None:
    suite = SUITES[name](tmp_path)
    wrong: list[str] = []
    fused: set[str] = set()
    with loaded(suite) as lab:
        for query, text in suite.queries.items():
            request = lab.request(text)
            wanted = sorted_rows(embedded(lab, request))
            for workers, gpu in ((1, False), (2, True), (3, False)):
                kernels, costs = Recording(), costs_of(workers, gpu=gpu)
                given = sorted_rows(local.rows(request, workers, lab.database.cpu, costs, kernels=kernels))
                if given != wanted:
                    wrong.append(f"{query} on {workers}: {given[:2]} where {wanted[:2]}")
                for prepared in kernels.prepared if workers == 1 else ():
                    fused.add(query)
                    kernel = generated(prepared.pipeline)
                    assert generated(prepared.pipeline) == kernel
                    made = nvrtc.compiled(kernel.source, headers(), "sm_90", folder=tmp_path)
                    assert made.cubin[:4] == b"\x7fELF"
                    assert made.spilled < 64, f"{query} spills {made.spilled} bytes"
    assert not wrong, "\n".join(wrong)
    assert len(fused) >= FUSED[name], sorted(set(suite.queries) - fused)
