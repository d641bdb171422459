"""On a GPU: every kernel of the corpus gives what its twin gives."""

from __future__ import annotations

import pytest

from tests.engine.conftest import Lab
from tests.engine.gpu import local
from tests.engine.gpu.fused import corpus
from tests.engine.gpu.fused.on_device import compared
from tests.engine.gpu.fused.recording import Recording
from tests.engine.gpu.test_cases import outcome


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_kernels_equal_their_twin(seed: int) -> None:
    from gpudb.engine.gpu.fused.launch import Launcher

    launcher = Launcher()
    wrong: list[str] = []
    lab = Lab()
    try:
        corpus.fill(lab, seed)
        for query in corpus.QUERIES:
            kernels = Recording()
            outcome(lambda q=query, k=kernels: local.rows(lab.request(q), 1, lab.database.cpu, kernels=k))
            for made in kernels.prepared:
                if not compared(launcher, made.pipeline, made.segments, made.lookups, made.tables):
                    wrong.append(query)
    finally:
        lab.close()
    assert not wrong, "\n".join(wrong)
