"""Parts of a plan that become kernels: few result rows, no large dictionaries, build sides and groups within the
GPUs' memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gpudb.catalog.tables import Table
from gpudb.engine.gpu.explain.operators import describe_operator
from gpudb.engine.gpu.fused.planning import matching
from gpudb.engine.gpu.fused.planning.matching import find_scan
from gpudb.engine.gpu.planning.request_planner import Planner, exchange_costs
from gpudb.engine.gpu.stage.batching import MemorySpace, max_cached_build_rows
from gpudb.engine.protocol import Request
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.stage_nodes import Final
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import walk_nodes
from tests.support.lab import Lab

TIMES = 100_000
JOIN = "SELECT g.v, count(*), sum(f.a) FROM f JOIN g ON f.k = g.k GROUP BY g.v"
GROUPS = "SELECT k, count(*), sum(a) FROM f GROUP BY k"
H200 = MemorySpace(70 * 10**9, 70 * 10**9)


def _fused(stages: list[Stage]) -> list[Fused]:
    return [node for stage in stages for node in walk_nodes(stage.root) if isinstance(node, Fused)]


def test_rows_come_out_of_a_kernel_unless_their_texts_may_be_many(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    try:
        lab.run("CREATE TABLE f (a int, t text, c char(4))")
        lab.run("INSERT INTO f SELECT i, 'x' || i, 'ab' FROM generate_series(1, 1000) i")

        def is_fused(sql: str, scan: int = 0) -> bool:
            planner = Planner(lab.database.cpu, Costs(workers=1, scan=scan), fuse=True)
            return bool(_fused(planner.plan(lab.request(sql)).stages))

        assert is_fused("SELECT a, t FROM f WHERE a < 5")
        assert not is_fused("SELECT a, t FROM f WHERE a < 5", scan=1001)
        assert not is_fused("SELECT a, t FROM f WHERE a > 5")
        monkeypatch.setattr(matching, "MANY_ROWS", 999)
        assert is_fused("SELECT a, c FROM f WHERE a < 5")
        assert is_fused("SELECT a FROM f ORDER BY a LIMIT 3")
        assert is_fused("SELECT t, count(*) FROM f GROUP BY t")
        for sql in ("SELECT a, t FROM f WHERE a < 5", "SELECT a, t FROM f ORDER BY a LIMIT 3"):
            assert not is_fused(sql)
    finally:
        lab.close()


@pytest.fixture(scope="module")
def large() -> Iterator[Lab]:
    """`f` of 5,000 rows and `g` of 500, whose row counts are multiplied by TIMES."""
    made = Lab()
    made.run("CREATE TABLE f (k bigint, a int)")
    made.run("CREATE TABLE g (k bigint, v int)")
    made.run(f"INSERT INTO f SELECT i * {TIMES} / 10, i % 9 FROM generate_series(1, 5000) i")
    made.run(f"INSERT INTO g SELECT i * {TIMES}, i % 50 FROM generate_series(1, 500) i")
    yield made
    made.close()


def _enlarged(request: Request) -> Request:
    """The same request with multiplied row counts."""
    tables = {
        name: replace(table, files=tuple(replace(file, rows=file.rows * TIMES) for file in table.files))
        for name, table in request.snapshot.relations.items()
        if isinstance(table, Table)
    }
    return replace(request, snapshot=replace(request.snapshot, relations={**request.snapshot.relations, **tables}))


def _stages(large: Lab, sql: str, workers: int, space: MemorySpace | None = H200, *, gpu: bool = True) -> list[Stage]:
    planner = Planner(large.database.cpu, exchange_costs(workers, gpu=gpu), fuse=True, gpu=gpu)
    return planner.plan(_enlarged(large.request(sql)), space, 1).stages


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_gpus_keep_large_build_sides_and_many_groups(large: Lab, workers: int) -> None:
    stages = _stages(large, JOIN, workers)
    (joined,) = _fused(stages)
    assert find_scan(joined.root).table.name == "f"
    assert stages[0].output == "broadcast"
    # 50 million groups are exchanged, not the 500 million rows that they aggregate.
    stages = _stages(large, GROUPS, workers)
    (grouped,) = _fused(stages)
    assert workers == 1 or (stages[0].root is grouped and stages[0].output == "hash")
    for sql in (JOIN, GROUPS):
        assert not _fused(_stages(large, sql, workers, gpu=False))


def test_what_several_gpus_would_not_keep_goes_to_all_of_them_where_it_moves_least(large: Lab) -> None:
    tight = MemorySpace(10**9, 70 * 10**9)
    assert max_cached_build_rows(tight) < 500 * TIMES
    # 500 million rows joined with 50 million: two workers receive 50 million, or half of all; 16 receive 750 million.
    assert [bool(_fused(_stages(large, JOIN, workers, tight))) for workers in (1, 2, 16)] == [True, True, False]
    assert _fused(_stages(large, JOIN, 16))
    # Nor is there room for the rows of its table.
    assert not _fused(_stages(large, JOIN, 2, MemorySpace(70 * 10**9, 10**9)))


def _finals(stages: list[Stage]) -> list[Final]:
    return [node for stage in stages for node in walk_nodes(stage.root) if isinstance(node, Final)]


def test_a_kernel_s_groups_are_whole_where_nobody_else_has_a_part_of_them(large: Lab) -> None:
    by_bucket = "SELECT k, count(*), sum(a) FROM by_k GROUP BY k"
    large.run("CREATE TABLE by_k (k bigint, a int) DISTRIBUTE BY HASH (k)")
    large.run("INSERT INTO by_k SELECT * FROM f")
    for sql, workers, chunks, whole in (
        (GROUPS, 1, 1, True),
        ("SELECT sum(a) FROM f", 1, 1, True),
        (GROUPS, 1, 2, False),
        (GROUPS, 2, 1, False),
        (by_bucket, 2, 1, True),
        (by_bucket, 2, 4, True),
        ("SELECT a, count(*) FROM by_k GROUP BY a", 2, 1, False),
    ):
        planner = Planner(large.database.cpu, Costs(workers=workers, scan=0), fuse=True)
        stages = planner.plan(large.request(sql), H200, chunks).stages
        assert _fused(stages), sql
        (final,) = _finals(stages)
        assert final.whole == whole, (sql, workers, chunks)
        assert (
            ("Groups", "whole: none is put together here") in describe_operator(final)[1]
            or not whole
            or "GROUP" not in sql
        )


def test_groups_are_made_whole_on_one_gpu_where_they_are_few_enough(large: Lab) -> None:
    sql = "SELECT v, n FROM (SELECT v, sum(k) AS n FROM g GROUP BY v) q ORDER BY n LIMIT 3"
    partial, last = _stages(large, sql, 2)
    assert (partial.output, last.output, last.single_worker) == ("gather", "result", True)
    # Each GPU has a part of 50 million groups, also if rows are processed in chunks.
    assert [each.output for each in _stages(large, GROUPS, 2)] == ["hash", "result"]
    planner = Planner(large.database.cpu, exchange_costs(2, gpu=True), fuse=True, gpu=True)
    chunked = planner.plan(_enlarged(large.request(sql)), H200, 4).stages
    assert chunked[0].output == "hash"
    assert _stages(large, sql, 2, gpu=False)[0].output == "hash"


def test_groups_by_a_build_sides_column_are_as_many_as_its_values(large: Lab) -> None:
    for key, thought, output in (("g.k", 499 * TIMES + 1, "hash"), ("g.v", 50, "gather")):
        stages = _stages(large, f"SELECT {key}, sum(f.a) FROM f JOIN g ON f.k = g.k GROUP BY 1", 2)
        (grouped,) = _fused(stages)
        assert (estimate(grouped), stages[1].output) == (thought, output)
    # A computed key is an additional column of the build side, and not of the join's output.
    (grouped,) = _fused(_stages(large, "SELECT g.v, sum(f.a) FROM f JOIN g ON f.k = g.k + 1 GROUP BY g.v", 2))
    assert estimate(grouped) == 50
