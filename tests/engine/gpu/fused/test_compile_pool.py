"""Kernels that take long to compile: the general engine answers meanwhile, and no later run waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import wait

import pytest

from gpudb.engine.figures import record_steps
from gpudb.engine.gpu.cache.host_columns import ResidentTables
from gpudb.engine.gpu.cache.partition import WHOLE
from gpudb.engine.gpu.coordinator.coordinator import StageMeasurements
from gpudb.engine.gpu.explain.plan import render_plan
from gpudb.engine.gpu.fused import runner
from gpudb.engine.gpu.fused.codegen.kernel import generate_kernel
from gpudb.engine.gpu.fused.cuda.compile_pool import CompilePool, KernelsCompiling
from gpudb.engine.gpu.fused.cuda.nvrtc import CompiledKernel
from gpudb.engine.gpu.fused.numpy_backend.executor import Outcome
from gpudb.engine.gpu.fused.planning.prepared_pipeline import PreparedPipeline
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.gpu.fused.translate.typed_values import NotFused
from gpudb.engine.gpu.planning.request_planner import PhysicalPlan, Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask, execute_stage
from gpudb.engine.protocol import PlanNode
from gpudb.errors import InternalError
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.fused_nodes import Fused
from tests.support.fused.fast_path import JOIN
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded
from tests.support.lab import Lab

FIRST = "SELECT a, k FROM f WHERE a > 3 ORDER BY k DESC, a LIMIT 7"
MADE = CompiledKernel(b"", 1, 0, 1.0)


class _Compiler:
    """A compiler that blocks until it is released."""

    def __init__(self) -> None:
        self.go, self.asked, self.error = threading.Event(), [], None  # type: ignore[var-annotated]

    def __call__(self, source: str) -> CompiledKernel:
        self.asked.append(source)
        assert self.go.wait(60)
        if self.error is not None:
            raise self.error
        return MADE

    def workshop(self) -> CompilePool:
        return CompilePool(lambda source: None, self)


class _Ran(NumpyRunner):
    """A NumPy backend that records the sources of the kernels that it ran."""

    sources: list[str]

    def _run(self, prepared: PreparedPipeline) -> Outcome:
        self.sources.append(generate_kernel(prepared.pipeline).source)
        return super()._run(prepared)


@pytest.fixture
def compiler() -> Iterator[_Compiler]:
    made = _Compiler()
    yield made
    made.go.set()


def _twin(workshop: CompilePool) -> _Ran:
    made = _Ran(local_stages.PACKED, workshop)
    made.sources = []
    return made


def _done(workshop: CompilePool) -> None:
    assert not wait(list(workshop._jobs.values()), 60).not_done


@pytest.mark.parametrize("sql", [JOIN, FIRST])
def test_the_general_engine_answers_until_kernels_are_made(lab: Lab, compiler: _Compiler, sql: str) -> None:
    workshop = compiler.workshop()
    kernels, request = _twin(workshop), lab.request(sql)
    wanted = embedded(lab, request)
    for _ in range(2):
        assert local_stages.rows(request, 1, lab.database.cpu, Costs(scan=0), kernels=kernels) == wanted
        assert kernels.ran == 0
        (told,) = kernels.take_reports()
        assert told.declined == "its kernel is being compiled"
    compiler.go.set()
    _done(workshop)
    # Each was compiled once, and together they are all that ran.
    assert len(compiler.asked) == len(set(compiler.asked)) == (1 if sql == JOIN else 2)
    assert local_stages.rows(request, 1, lab.database.cpu, Costs(scan=0), kernels=kernels) == wanted
    assert kernels.ran == 1
    assert set(kernels.sources) == set(compiler.asked)
    (told,) = kernels.take_reports()
    assert not told.declined


def test_many_rows_wait_for_their_kernel(lab: Lab, compiler: _Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "GENERAL_ROWS", 1)
    kernels, request = _twin(compiler.workshop()), lab.request(JOIN)
    threading.Timer(0.05, compiler.go.set).start()
    assert local_stages.rows(request, 1, lab.database.cpu, kernels=kernels) == embedded(lab, request)
    assert kernels.ran == 1
    # A kernel that another process compiled is available at once.
    CompilePool(lambda source: MADE, compiler).wait(["some"])
    assert "some" not in compiler.asked


def test_the_wait_for_a_kernel_is_told(lab: Lab, compiler: _Compiler) -> None:
    kernels, request = _twin(compiler.workshop()), lab.request(JOIN)
    with record_steps() as steps:
        assert local_stages.rows(request, 1, lab.database.cpu, kernels=kernels) == embedded(lab, request)
    assert kernels.ran == 0
    assert "compiling" in {step for step, *_ in steps}
    compiler.go.set()


def test_others_do_not_wait(compiler: _Compiler) -> None:
    workshop = compiler.workshop()
    first = threading.Thread(target=lambda: workshop.wait(["a", "b"], 60.0))
    first.start()
    while len(compiler.asked) < 2:
        assert first.is_alive()
    with pytest.raises(KernelsCompiling) as caught:
        workshop.wait(["b", "a"])
    assert len(caught.value.jobs) == 2
    with pytest.raises(KernelsCompiling):
        workshop.wait(["b", "a"], 0.2)
    compiler.go.set()
    first.join(60)
    workshop.wait(["a", "b"])
    assert workshop.get("a") is MADE


def test_what_does_not_compile_is_the_general_engines(
    lab: Lab, compiler: _Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler.error = InternalError("no")
    compiler.go.set()
    workshop = compiler.workshop()
    monkeypatch.setattr(runner, "GENERAL_ROWS", 1)
    kernels, request = _twin(workshop), lab.request(JOIN)
    for _ in range(2):
        assert local_stages.rows(request, 1, lab.database.cpu, kernels=kernels) == embedded(lab, request)
        assert kernels.declined == "a kernel that failed to compile"
    assert kernels.ran == 0
    assert len(compiler.asked) == 1
    with pytest.raises(InternalError):
        workshop.get(compiler.asked[0])


def test_what_the_data_keep_from_a_kernel_is_not_tried_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, tables = NumpyRunner(local_stages.PACKED), ResidentTables(2**28)
    planned = Planner(lab.database.cpu, Costs(workers=1), fuse=True).plan(lab.request(JOIN))
    ((number, node),) = [(each.number, each.root) for each in planned.stages if isinstance(each.root, Fused)]
    build = execute_stage(StageTask(planned.stages[0], WHOLE), tables, {}, local_stages.FRAMES)
    tried: list[object] = []

    def refuse(*given: object) -> PreparedPipeline:
        tried.append(given)
        raise NotFused("numbers that are too large")

    monkeypatch.setattr(runner, "prepare", refuse)
    for key in (b"1", b"1", b"2", None, None):
        (made,) = execute_stage(
            StageTask(planned.stages[number], WHOLE, key=key), tables, {0: build}, local_stages.FRAMES, kernels
        )
        assert made.rows > 0
        (told,) = kernels.take_reports()
        assert told.declined == kernels.declined == "numbers that are too large"
    assert len(tried) == 4
    assert kernels.get(node, b"1") is None


def _operators(node: PlanNode) -> list[PlanNode]:
    return [node, *(each for below in node.inputs for each in _operators(below))]


def _told(planned: PhysicalPlan, number: int, kernels: NumpyRunner) -> dict[str, str]:
    measured = {number: StageMeasurements((0,), [1], [1], [0], [1.0], [()], list(kernels.take_reports()))}
    shown = _operators(render_plan(planned.stages, "Gpu", {}, measured))
    return dict(next(node for node in shown if node.operator == "GpuFused").details)


def test_a_part_is_bound_while_its_kernel_is_compiled(lab: Lab, compiler: _Compiler) -> None:
    workshop = compiler.workshop()
    kernels, tables = _twin(workshop), ResidentTables(2**28)
    planned = Planner(lab.database.cpu, Costs(workers=1), fuse=True).plan(lab.request(JOIN))
    stages = planned.stages
    ((number, node),) = [(each.number, each.root) for each in stages if isinstance(each.root, Fused)]
    build = execute_stage(StageTask(stages[0], WHOLE), tables, {}, local_stages.FRAMES)
    (first,) = execute_stage(
        StageTask(stages[number], WHOLE, key=b""), tables, {0: build}, local_stages.FRAMES, kernels
    )
    assert kernels.get(node, b"") is None
    told = _told(planned, number, kernels)
    assert told["Answered By"] == "the general engine: its kernel is being compiled"
    assert "Kernel Time" not in told
    compiler.go.set()
    _done(workshop)
    ready = kernels.get(node, b"")
    assert ready is not None
    again = kernels.rerun(ready)
    assert kernels.ran == 1
    columns = [name for name in again.columns if name.startswith("k")]
    wanted = first.to_polars().select(again.columns).cast(dict(again.schema))
    assert again.sort(columns).equals(wanted.sort(columns))
    told = _told(planned, number, kernels)
    assert (told["Answered By"], told["Bound Before"]) == ("the kernel's twin", "yes")
