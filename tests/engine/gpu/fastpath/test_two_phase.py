"""Two-phase plans: each worker's first phase, and the second phase over all rows in one place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.exchange.result_codec import to_batch
from gpudb.engine.gpu.exchange.routing import stage_partitions
from gpudb.engine.gpu.fastpath.two_phase import finish_phases, split_phases
from gpudb.engine.gpu.finalize.merge import FrameStates
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask, execute_stage
from gpudb.engine.protocol import Request
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.stages import Stage
from tests.support.fused import corpus
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, outcome, sorted_rows
from tests.support.gpu.suites import SUITES, loaded
from tests.support.lab import Lab

WORKERS = (1, 2, 4, 8)
CUT = 55
"""Minimum number of two-phase queries in the corpus."""

Given = dict[int, dict[int, list[ComputedFrame]]]


def _stages(lab: Lab, request: Request, workers: int) -> list[Stage]:
    costs = Costs(workers=workers, scan=0)
    return Planner(lab.database.cpu, costs, fuse=True).plan(request).stages


def _scattered_rows(
    lab: Lab, request: Request, workers: int, kernels: NumpyRunner, ways: Counter[str]
) -> list[tuple[str | None, ...]] | None:
    """Runs a statement in two phases; None if its plan cannot be split. Counts the ways in which rows were made."""
    stages = _stages(lab, request, workers)
    halves = split_phases(stages)
    if halves is None:
        ways["not cut"] += 1
        return None
    given: Given = {}
    # Staged execution first, which binds the build sides.
    wanted = {number for part in halves.first for number in _below(stages, part.number)}
    for stage in (stage for stage in stages if stage.number in wanted):
        given[stage.number] = {
            index: execute_stage(
                StageTask(stage, Partition(index, workers), request.parameters),
                local_stages.TABLES,
                local_stages.received_by(stage, stages, given, index, workers),
                local_stages.FRAMES,
                kernels,
            )
            for index in stage_partitions(stage, workers)
        }
    received: dict[int, list[ComputedFrame]] = {part.number: [] for part in halves.first}
    for part in halves.first:
        for index in range(workers):
            builds = local_stages.received_by(stages[part.number], stages, given, index, workers)
            task = StageTask(part, Partition(index, workers), request.parameters)
            received[part.number] += execute_stage(task, local_stages.TABLES, builds, local_stages.FRAMES, kernels)
    kinds = stages[-1].root.types
    frames = {number: [FrameStates(each.to_polars()) for each in parts] for number, parts in received.items()}
    done = finish_phases(halves, frames, request.parameters)
    if done is not None:
        ways["finished"] += 1
        return local_stages.as_text([done.batch], kinds)
    ways["lowered"] += 1
    (made,) = execute_stage(
        StageTask(halves.second, Partition(0, 1), request.parameters),
        local_stages.TABLES,
        received,
        local_stages.FRAMES,
    )
    return local_stages.as_text([to_batch(made.to_polars(), kinds)], kinds)


def _below(stages: Sequence[Stage], number: int) -> set[int]:
    return {number}.union(*(_below(stages, each) for each in stages[number].inputs))


def _checked(lab: Lab, query: str, workers: int, ways: Counter[str]) -> bool:
    """Returns whether a query is split; checks that its phases return the embedded engine's answer, or its error."""
    request, kernels = lab.request(query), NumpyRunner(PackedTables(2**30))
    if split_phases(_stages(lab, request, workers)) is None:
        return False
    wanted = outcome(lambda: embedded(lab, request))
    found = outcome(lambda: _scattered_rows(lab, request, workers, kernels, ways))
    assert found == wanted, f"{query} on {workers}"
    return True


@pytest.mark.timeout(600)
@pytest.mark.parametrize("counts", [(2, 8), pytest.param(WORKERS, marks=pytest.mark.soak)], ids=str)
def test_the_corpus_in_two_halves_answers_as_the_embedded_engine(counts: Sequence[int]) -> None:
    ways: Counter[str] = Counter()
    cut: set[str] = set()
    for seed, workers in enumerate(counts, 5):
        lab = Lab()
        try:
            corpus.fill(lab, seed)
            for query in corpus.QUERIES:
                if _checked(lab, query, workers, ways):
                    cut.add(query)
        finally:
            lab.close()
    assert len(cut) >= CUT
    assert ways["finished"] >= 40 * len(counts)
    assert ways["lowered"] >= 2 * len(counts)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("name", "cut"), [("ssb", 13), ("taxi", 4), ("tpch", 20)])
def test_benchmarks_in_two_halves(name: str, cut: int, tmp_path: Path) -> None:
    ways: Counter[str] = Counter()
    suite = SUITES[name](tmp_path)
    with loaded(suite) as lab:
        for number, (query, text) in enumerate(suite.queries.items()):
            request = lab.request(text)
            workers = (2, 8)[number % 2]
            found = _scattered_rows(lab, request, workers, NumpyRunner(PackedTables(2**30)), ways)
            if found is not None:
                assert sorted_rows(found) == sorted_rows(embedded(lab, request)), f"{query} on {workers}"
    assert ways["finished"] + ways["lowered"] >= cut
    assert name == "tpch" or not ways["lowered"]
