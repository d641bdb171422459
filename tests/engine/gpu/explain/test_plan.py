"""EXPLAIN ANALYZE of GPU plans: the operators of a stage's host steps are named Cpu."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.gpu.coordinator.coordinator import StageMeasurements
from gpudb.engine.gpu.explain.plan import render_plan
from gpudb.engine.protocol import PlanNode
from tests.support.lab import Lab
from tests.support.plan_text import stages

SQL = "SELECT k, row_number() OVER (PARTITION BY v ORDER BY k) FROM dy WHERE v > 1 ORDER BY k LIMIT 3"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(
        "CREATE TABLE dy (k int, v int) DISTRIBUTE BY HASH (v); INSERT INTO dy SELECT i, i % 3 FROM generate_series(1, 9) i"
    )
    yield made
    made.close()


def _names(node: PlanNode) -> list[str]:
    return [node.operator, *(name for each in node.inputs for name in _names(each))]


def _operators(lab: Lab, *host: str) -> list[str]:
    made = stages(lab, SQL)
    measured = {
        each.number: StageMeasurements(
            (0, 1), [3, 3], [24, 24], [0, 0], [1.0, 1.0], [tuple(host) if not each.inputs else (), ()]
        )
        for each in made
    }
    return _names(render_plan(made, "Gpu", {}, measured))


def test_all_runs_on_the_gpu(lab: Lab) -> None:
    names = _operators(lab)
    assert {"GpuWindow", "GpuScan", "GpuTopN"} < set(names)
    assert all(name.startswith("Gpu") for name in names)


def test_a_step_on_the_host_is_its_operators(lab: Lab) -> None:
    names = _operators(lab, "window functions", "")
    assert "CpuWindow" in names
    assert all(name.startswith("Gpu") for name in names if name != "CpuWindow")


def test_a_refusal_may_be_of_any_operator_of_its_stage(lab: Lab) -> None:
    names = _operators(lab, "No support for that")
    assert {"CpuWindow", "GpuScan"} < set(names)
    assert names[0] == "GpuResult"


def test_bytes_that_leave_their_worker(lab: Lab) -> None:
    made = stages(lab, SQL)
    measured = {each.number: StageMeasurements((0, 1), [3, 3], [24, 40], [0, 0], [1.0, 1.0], [(), ()]) for each in made}
    plan = render_plan(made, "", {}, measured)
    gather = next(each for each in _walk(plan) if each.operator == "Exchange (Gather)")
    assert dict(gather.details)["Bytes Moved"] == "40"


def test_operators_tell_what_they_go_by(lab: Lab) -> None:
    def told(sql: str, operator: str) -> dict[str, str]:
        return next(
            dict(each.details) for each in _walk(render_plan(stages(lab, sql), "", {})) if each.operator == operator
        )

    assert told(SQL, "Window") == {"Calls": "row_number", "Partition By": "v", "Order By": "k"}
    assert told("SELECT k FROM dy ORDER BY v DESC, k OFFSET 1 LIMIT 2", "TopN")["Sort Key"] == "v DESC, k"
    assert told("SELECT k FROM dy ORDER BY k OFFSET 1", "Sort")["Offset"] == "'1'"
    assert told("SELECT DISTINCT ON (v) v, k FROM dy ORDER BY v, k", "DistinctOn") == {"Keys": "v", "Sort Key": "v, k"}
    assert told("SELECT generate_series(k, v) FROM dy", "ProjectSet") == {"Calls": "generate_series(k, v)"}
    assert told("SELECT k + 1 FROM dy", "Project") == {"Expressions": "int4pl(k, '1')"}


def test_what_is_received_is_estimated_as_what_was_given(lab: Lab) -> None:
    plan = render_plan(stages(lab, "SELECT d.k FROM dy d JOIN dy e ON d.k = e.v WHERE e.k = 2"), "", {})
    (join,) = (each for each in _walk(plan) if each.operator == "HashJoin")
    assert join.estimated_rows == 1


def _walk(node: PlanNode) -> Iterator[PlanNode]:
    yield node
    for each in node.inputs:
        yield from _walk(each)
