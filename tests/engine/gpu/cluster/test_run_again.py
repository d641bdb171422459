"""The rule by which statements that have lost a worker run again."""

from __future__ import annotations

import pytest

from gpudb.engine.gpu.cluster.run_again import MOST_LOSSES, MOST_RUNS, RunAgain, WorkerGone
from gpudb.errors import WorkerLost


def test_a_blameless_statement_runs_as_often_as_allowed() -> None:
    again = RunAgain()
    for _ in range(MOST_RUNS - 1):
        again.record(WorkerGone(blameless=True))
    assert not again.has_lost
    with pytest.raises(WorkerLost) as refused:
        again.record(WorkerGone(blameless=True))
    assert refused.value.sqlstate == "58000"


def test_a_statement_that_may_have_ended_its_worker_runs_once_more() -> None:
    again = RunAgain()
    for _ in range(MOST_LOSSES):
        again.record(WorkerGone())
    assert again.has_lost
    again.record(WorkerGone(blameless=True))
    with pytest.raises(WorkerLost) as refused:
        again.record(WorkerGone())
    assert refused.value.sqlstate == "57P01"


@pytest.mark.parametrize("blameless, state", [(True, "58000"), (False, "57P01")])
def test_taken_rows_stay_taken(blameless: bool, state: str) -> None:
    with pytest.raises(WorkerLost) as refused:
        RunAgain().record(WorkerGone(blameless=blameless), taken=True)
    assert refused.value.sqlstate == state


def test_losses_of_a_replaced_plan_do_not_count() -> None:
    again = RunAgain()
    again.record(WorkerGone())
    again.reset()
    again.record(WorkerGone())
    assert again.has_lost
