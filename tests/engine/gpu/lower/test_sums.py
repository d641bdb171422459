"""Final sums of groups: checked all at once if 64 bits hold them, else group by group."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest

from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.gpu.stage.stage_executor import StageTask, execute_stage
from gpudb.errors import SqlError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.stage_nodes import Final
from gpudb.plan.tree.traversal import walk_nodes
from tests.support.gpu import local_stages
from tests.support.lab import Lab

ROWS = """
CREATE TABLE su (k int, i int, l int8, n numeric(12, 2), w numeric(38, 0), f numeric, m money);
INSERT INTO su SELECT g % 500, CASE WHEN g % 5 > 0 THEN g END, 2^62 - g, g * 0.25, 100000000000000000000 * g,
    CASE g % 3 WHEN 0 THEN 0.5 WHEN 1 THEN 1.125 END, (g * 0.5)::money FROM generate_series(1, 3000) g
"""
NARROW = (
    "SELECT k, sum(i), sum(n), sum(f), sum(m), count(*) FROM su GROUP BY k ORDER BY k",
    "SELECT k, sum(n * (1 - n)) * 0.5 FROM su WHERE n < 100 GROUP BY k HAVING sum(i) > 5 ORDER BY 2, 1",
    "SELECT sum(i), sum(n), sum(f) FROM su WHERE k > 1000",
    "SELECT sum(i), sum(i) FILTER (WHERE k < 0), sum(n) / 7 FROM su",
)
WIDE = (
    "SELECT k, sum(l), sum(w), sum(n) FROM su GROUP BY k ORDER BY k",
    "SELECT sum(l) - 1, sum(w) * 2 FROM su",
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(ROWS)
    yield made
    made.close()


@pytest.mark.parametrize("sql", [*NARROW, *WIDE])
@pytest.mark.parametrize("fused", [False, True])
def test_sums_are_the_embedded_engine_s(lab: Lab, sql: str, fused: bool) -> None:
    request = lab.request(sql)
    kinds = [column.type for column in request.query.columns]
    wanted = local_stages.as_text(lab.database.cpu.run(request), kinds)
    for workers, chunks in ((1, 1), (3, 1), (1, 3)):
        kernels = NumpyRunner(local_stages.PACKED) if fused else None
        found = local_stages.rows(request, workers, lab.database.cpu, Costs(scan=0), kernels=kernels, chunks=chunks)
        assert found == wanted, (workers, chunks)


HUGE = "w * 100000000000000"
BEYOND = (
    f"SELECT sum({HUGE}) FROM su",
    f"SELECT k, avg({HUGE}) FROM su GROUP BY k",
    f"SELECT sum(DISTINCT {HUGE}) FROM su WHERE k < 3",
    f"SELECT k, sum({HUGE}) OVER (PARTITION BY k % 2 ORDER BY k) FROM su",
    f"SELECT sum({HUGE}) OVER (ORDER BY k ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM su",
    f"SELECT sum(CASE WHEN k % 2 = 0 THEN {HUGE} ELSE -{HUGE} END) FROM su",
)


@pytest.mark.parametrize("sql", BEYOND)
@pytest.mark.parametrize("fused", [False, True])
def test_sums_that_might_wrap_are_the_embedded_engine_s_to_make(lab: Lab, sql: str, fused: bool) -> None:
    """128 bits would overflow: the result of a larger sum would be wrong."""
    request = lab.request(sql)
    for workers, chunks in ((1, 1), (3, 1), (1, 3)):
        kernels = NumpyRunner(local_stages.PACKED) if fused else None
        with pytest.raises(
            (NotSupportedOnWorkers, SqlError), match=r"a sum that may exceed 128 bits|overflows numeric format"
        ):
            local_stages.rows(request, workers, lab.database.cpu, Costs(scan=0), kernels=kernels, chunks=chunks)


class _Counted(HostBackend):
    """Counts computed frames."""

    count = 0

    def compute(self, lazy: pl.LazyFrame) -> HostFrame:
        self.count += 1
        return super().compute(lazy)


def _computed(lab: Lab, sql: str) -> int:
    """Returns the number of frames that are computed to finalize a kernel's groups on one worker."""
    request = lab.request(sql)
    stages = Planner(lab.database.cpu, Costs(workers=1, scan=0), fuse=True).plan(request).stages
    groups, last = stages
    assert any(isinstance(node, Final) and node.whole for node in walk_nodes(last.root))
    frames, kernels = _Counted(), NumpyRunner(local_stages.PACKED)
    given = execute_stage(StageTask(groups, Partition(0, 1)), local_stages.TABLES, {}, local_stages.FRAMES, kernels)
    execute_stage(StageTask(last, Partition(0, 1)), local_stages.TABLES, {groups.number: given}, frames)
    return frames.count


def test_groups_are_finished_with_what_is_done_to_them(lab: Lab) -> None:
    """Nothing is computed before the end."""
    assert _computed(lab, "SELECT k, sum(n), sum(i), count(*) FROM su GROUP BY k") == 1
    assert _computed(lab, "SELECT k, count(*), max(n) FROM su GROUP BY k") == 1
    assert _computed(lab, WIDE[0]) == 1


@pytest.mark.parametrize("fused", [False, True])
def test_sums_beyond_their_type_are_errors(lab: Lab, fused: bool) -> None:
    kernels = NumpyRunner(local_stages.PACKED) if fused else None
    request = lab.request("SELECT k, sum(k::money * 0 + '46116860184273879'::money) FROM su GROUP BY k")
    with pytest.raises(SqlError) as raised:
        local_stages.rows(request, 1, lab.database.cpu, Costs(scan=0), kernels=kernels)
    assert raised.value.sqlstate == "22003"
