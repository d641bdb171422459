"""Random queries over random stars: workers and the NumPy backend return the embedded engine's rows, in order.

Half of the runs use costs under which every table is large, one cuts partitions into chunks, and one stores every text
column without a dictionary; declared keys are used wherever possible.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.protocol import Request
from gpudb.errors import GpudbError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.optimize import defer_columns, group_before_joins
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages, random_stars
from tests.support.gpu.comparison import EVERY, embedded, shaped, sorted_rows
from tests.support.gpu.random_tables import CLOSE
from tests.support.lab import Lab

QUERIES = 10
HASHED = Costs(exchange=0, broadcast=0, range=3, groups=3, share=0.3)
ROWS = (0, 1, 5, 40, 40, 40)
Rows = list[tuple[str | None, ...]]
Way = tuple[int, Costs | None, NumpyRunner | None, int]
"""The number of workers, the costs, the kernels, and the number of chunks of a run."""
_ran: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[group_before_joins.__module__], "_MIN_RATIO", 0)
    monkeypatch.setattr(sys.modules[defer_columns.__module__], "_MIN_GROUPS", 0)


def _rows(found: Rows, *, ordered: bool) -> list[object]:
    """Returns comparable rows: which of two zeros a group or an extreme shows is undefined."""
    zeros = [tuple("0" if value == "-0" else value for value in row) for row in found]
    return [tuple(map(shaped, row)) for row in zeros] if ordered else sorted_rows(zeros)


def _checked(lab: Lab, sql: str, twin: NumpyRunner, plain: NumpyRunner) -> None:
    request = lab.request(sql)
    ordered = " ORDER BY " in sql
    wanted = _outcome(partial(embedded, lab, request), ordered=ordered)
    ways: tuple[Way, ...] = (
        (1, None, None, 1), (2, CLOSE, None, 1), (3, HASHED, None, 1), (2, None, None, 2), (1, EVERY, twin, 1),
        (3, EVERY, twin, 1), (2, EVERY, plain, 1),
    )  # fmt: skip
    try:
        for way in ways:
            assert _outcome(partial(_given, lab, request, way), ordered=ordered) == wanted, (way, sql)
        _ran["carried"] += 1
    except NotSupportedOnWorkers as lacking:
        _ran[lacking.construct] += 1


def _given(lab: Lab, request: Request, way: Way) -> Rows:
    workers, costs, kernels, chunks = way
    return local_stages.rows(request, workers, lab.database.cpu, costs, kernels=kernels, chunks=chunks)


def _outcome(run: Callable[[], Rows], *, ordered: bool) -> object:
    try:
        return _rows(run(), ordered=ordered)
    except GpudbError as error:
        return error.sqlstate


def _check(seed: int, queries: int) -> None:
    chance = random.Random(f"star {seed}")
    calm = chance.random() < 0.4
    lab, twin, plain = Lab(), NumpyRunner(PackedTables(2**30)), NumpyRunner(PackedTables(2**30, raw_text_rows=0))
    try:
        for statement in random_stars.Star(chance, chance.choice(ROWS), calm).setup():
            lab.run(statement)
        for _ in range(queries):
            _checked(lab, random_stars.Maker(chance, calm).statement(), twin, plain)
            lab.release()
    finally:
        lab.close()
    _ran["fused"] += twin.ran


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(5))
def test_workers_answer_alike(seed: int) -> None:
    _check(seed, QUERIES)


def test_enough_are_carried() -> None:
    """Unsupported queries show nothing."""
    if _ran["carried"] < QUERIES:
        pytest.skip("runs after the random queries")
    assert _ran["carried"] >= 0.9 * (_ran.total() - _ran["fused"]), _ran.most_common(20)
    assert _ran["fused"] >= _ran["carried"]


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_many_answer_alike(seed: int) -> None:
    _check(seed, 40)
