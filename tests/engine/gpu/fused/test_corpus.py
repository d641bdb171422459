"""The corpus by the kernels' twin on CPU workers: the embedded engine's answers and errors, whatever the data are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudb.engine.gpu.fused import nvrtc
from gpudb.engine.gpu.fused.generate import generated, headers
from tests.engine.conftest import Lab
from tests.engine.gpu import local
from tests.engine.gpu.fused import corpus
from tests.engine.gpu.fused.recording import Recording
from tests.engine.gpu.test_cases import embedded, outcome

FUSED = 35
"""Queries of the corpus of which a part is one kernel, at least, on some data."""


@pytest.mark.timeout(600)
def test_corpus_answers_as_the_embedded_engine(tmp_path_factory: pytest.TempPathFactory) -> None:
    fused: set[str] = set()

    @given(st.integers(0, 2**32), st.sampled_from((1, 3)))
    @settings(max_examples=3, deadline=None, derandomize=True)
    def run(seed: int, workers: int) -> None:
        lab = Lab()
        try:
            corpus.fill(lab, seed)
            for query in corpus.QUERIES:
                kernels = Recording()
                request = lab.request(query)
                wanted = outcome(lambda r=request: embedded(lab, r))
                found = outcome(lambda r=request, k=kernels: local.rows(r, workers, lab.database.cpu, kernels=k))
                assert found == wanted, f"{query} with seed {seed} on {workers}"
                if kernels.prepared:
                    fused.add(query)
        finally:
            lab.close()

    run()
    assert len(fused) >= FUSED, sorted(set(corpus.QUERIES) - fused)


@pytest.mark.timeout(600)
def test_corpus_compiles(tmp_path_factory: pytest.TempPathFactory) -> None:
    lab = Lab()
    try:
        corpus.fill(lab, 20)
        for query in corpus.QUERIES[::4]:
            kernels = Recording()
            outcome(lambda q=query, k=kernels: local.rows(lab.request(q), 1, lab.database.cpu, kernels=k))
            for prepared in kernels.prepared:
                kernel = generated(prepared.pipeline)
                folder = tmp_path_factory.getbasetemp()
                made = nvrtc.compiled(kernel.source, headers(), "sm_90", folder=folder)
                again = nvrtc.compiled(kernel.source, headers(), "sm_90", folder=folder)
                assert made.cubin == again.cubin
                assert again.milliseconds == 0
    finally:
        lab.close()
