"""Random queries over random tables: 1, 2, 3 and 5 workers return the rows of the embedded engine.

Half of the runs use costs under which every table is large: sides of joins are partitioned by hash, groups are made
without partial ones, sorts are partitioned by ranges. Over few rows everything that can be fused is also computed by
the kernels' NumPy backend.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.generated import queries
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import EVERY, TWIN, embedded, sorted_rows, stopped_after
from tests.support.gpu.random_tables import CLOSE, LONG_S, ROWS, tables
from tests.support.lab import Lab

EXAMPLES = 40
MANY = 4000
GATHERED = Costs(scan=0, range=10**9, gathered=10**9)
"""Costs of GPUs, one of which merges whole groups of all workers."""
WAYS = (
    (1, None, None),
    (2, CLOSE, None),
    (3, None, None),
    (5, CLOSE, None),
    (1, EVERY, TWIN),
    (2, GATHERED, TWIN),
    (3, EVERY, TWIN),
)
"""The number of workers, the costs, and the kernels of a run."""

_carried: Counter[str] = Counter()


@pytest.fixture(scope="module")
def labs() -> Iterator[dict[str, Lab]]:
    made = {kind: Lab() for kind in ROWS}
    for kind, lab in made.items():
        for statement in tables(kind):
            lab.run(statement)
    yield made
    for lab in made.values():
        lab.close()


def _outcome(run: Any) -> Any:
    try:
        return sorted_rows(run())
    except GpudbError as error:
        return error.sqlstate


def _check(labs: dict[str, Lab], kind: str, sql: str) -> None:
    lab = labs[kind]
    try:
        request = lab.request(sql)
    except GpudbError:
        _carried["refused"] += 1
        return
    try:
        with stopped_after(request, LONG_S):
            wanted = _outcome(lambda: embedded(lab, request))
        if request.cancel.reason is not None:
            _carried["too large"] += 1
            return
        for workers, costs, kernels in WAYS:
            if kernels is not None and kind == "many":
                continue  # the NumPy backend holds every pair of rows of a join at once
            given = _outcome(
                lambda n=workers, c=costs, k=kernels: local_stages.rows(request, n, lab.database.cpu, c, kernels=k)
            )
            assert given == wanted, f"on {workers} workers{', fused' if kernels else ''}: {sql}"
        _carried["carried"] += 1
    except NotSupportedOnWorkers as lacking:
        _carried[lacking.construct] += 1
    except Exception as error:
        error.add_note(sql)
        raise
    finally:
        lab.release()


_DRAWN = given(kind=st.sampled_from(sorted(ROWS)), chance=st.randoms(use_true_random=False))
_SLOW = tuple(HealthCheck)


@pytest.mark.timeout(600)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=_SLOW)
@_DRAWN
def test_workers_answer_alike(labs: dict[str, Lab], kind: str, chance: random.Random) -> None:
    _check(labs, kind, queries.Maker(chance).statement()[0])


def test_enough_are_carried() -> None:
    """Unsupported queries show nothing: at least a third of the drawn ones must be supported."""
    if sum(_carried.values()) < EXAMPLES:
        pytest.skip("runs after the random queries")
    assert _carried["carried"] >= EXAMPLES / 3, _carried.most_common(20)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@settings(max_examples=MANY, deadline=None, suppress_health_check=_SLOW)
@_DRAWN
def test_many_answer_alike(labs: dict[str, Lab], kind: str, chance: random.Random) -> None:
    _check(labs, kind, queries.Maker(chance).statement()[0])
