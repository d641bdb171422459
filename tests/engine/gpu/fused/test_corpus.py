"""The corpus by the NumPy backend on CPU workers: the embedded engine's answers and errors for all data."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers
from gpudb.engine.gpu.fused.codegen.kernel import Kernel, generate_kernel
from gpudb.engine.gpu.fused.columns import zones
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.engine.gpu.fused.ir.pipeline import Lookup
from gpudb.engine.gpu.fused.ir.traversal import lookups_read
from tests.support.fused import corpus
from tests.support.fused.recording import Recording
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, embedded, outcome
from tests.support.lab import Lab

FUSED = 64
"""Minimum number of the corpus's queries with a fused part on some data."""
LARGEST = 40 * 1024
"""Limit of a kernel's machine code in bytes; compile time depends on it, and not on the headers."""
CONSTANTS = (
    ("SELECT sum(a * {}), count(*) FROM f WHERE b > {} AND n < {} AND d >= '{}'", (2, 5, 1.5, "1999-01-01"),
     (3, 6, 22.75, "2000-05-17")),
    ("SELECT count(*) FROM f WHERE t LIKE '{}' AND k IN ({})", ("a%", "1, 2"), ("%b", "3, 7")),
    ("SELECT name, sum(v) FROM f JOIN g ON f.k = g.k WHERE g.v BETWEEN {} AND {} GROUP BY name", (300, 345), (330, 390)),
)  # fmt: skip


@pytest.mark.timeout(600)
def test_corpus_answers_as_the_embedded_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    fused: set[str] = set()
    monkeypatch.setattr(zones, "ZONE_ROWS", 128)

    @given(st.integers(0, 2**32), st.sampled_from((1, 3)))
    @settings(max_examples=3, deadline=None, derandomize=True, phases=[Phase.generate])
    def run(seed: int, workers: int) -> None:
        lab = Lab()
        try:
            corpus.fill(lab, seed)
            for query in corpus.QUERIES:
                kernels = Recording()
                request = lab.request(query)
                wanted = outcome(lambda r=request: embedded(lab, r))
                found = outcome(
                    lambda r=request, k=kernels: local_stages.rows(r, workers, lab.database.cpu, EVERY, kernels=k)
                )
                assert found == wanted, f"{query} with seed {seed} on {workers}"
                if kernels.prepared:
                    fused.add(query)
        finally:
            lab.close()

    run()
    assert len(fused) >= FUSED, sorted(set(corpus.QUERIES) - fused)


@pytest.mark.timeout(600)
def test_corpus_compiles(tmp_path: Path) -> None:
    lab = Lab()
    try:
        corpus.fill(lab, 20)
        made = [kernel for query in corpus.QUERIES for kernel in _kernels(lab, query)]
    finally:
        lab.close()
    for kernel in made:
        compiled = nvrtc.compile_source(kernel.source, load_headers(), "sm_90", folder=tmp_path)
        assert compiled.cubin[:4] == b"\x7fELF"
        assert compiled.spilled < 64
        assert len(compiled.cubin) < LARGEST, kernel.source


def test_corpus_looks_few_rows_up_by_what_lookups_found() -> None:
    """A late lookup repeats earlier lookups, including those that its key depends on."""
    lab, chains = Lab(), set()
    try:
        corpus.fill(lab, 3)
        for query in corpus.SNOWFLAKES:
            kernels = Recording()
            local_stages.rows(lab.request(query), 1, lab.database.cpu, EVERY, kernels=kernels)
            for pipeline in (each.pipeline for each in kernels.prepared):
                steps = [step for step in pipeline.steps[: pipeline.few_rows_after or 0] if isinstance(step, Lookup)]
                chains |= {(query, step.kind) for step in steps if any(map(lookups_read, step.keys))}
    finally:
        lab.close()
    assert {kind for _, kind in chains} == {"inner", "left"}
    assert len({query for query, _ in chains}) > 2


def test_other_constants_and_build_sides_are_the_same_kernel() -> None:
    lab = Lab()
    try:
        corpus.fill(lab, 3)
        lab.run("INSERT INTO g SELECT i, 'g' || i % 7, i * 3, i, i FROM generate_series(100, 140) i")
        for query, first, other in CONSTANTS:
            one, two = (_kernels(lab, query.format(*given))[0] for given in (first, other))
            assert one.source == two.source
            assert one.constants != two.constants
    finally:
        lab.close()


def _kernels(lab: Lab, query: str) -> list[Kernel]:
    kernels = Recording()
    outcome(lambda: local_stages.rows(lab.request(query), 1, lab.database.cpu, EVERY, kernels=kernels))
    return [generate_kernel(prepared.pipeline) for prepared in kernels.prepared]
