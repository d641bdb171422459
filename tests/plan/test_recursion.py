"""WITH RECURSIVE on workers: answers compared with the embedded engine's, and the iterated part of the plan."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.gpu.lower.groups.aggregates import is_mergeable
from gpudb.engine.gpu.lower.relations import recursion
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.logical.query_planner import plan_query
from gpudb.plan.optimize import optimize
from gpudb.plan.physical.stage_cutting import cut_stages
from gpudb.plan.tree.nodes import Recursive, Scan
from gpudb.plan.tree.traversal import walk_nodes
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, outcome
from tests.support.lab import Lab


@pytest.fixture(scope="module")
def edges() -> Iterator[Lab]:
    lab = Lab()
    lab.run("CREATE TABLE edge (f int, t int, w numeric(6, 2))")
    lab.run("INSERT INTO edge VALUES (1, 2, 0.5), (2, 3, 1.25), (3, 1, 2), (3, 4, 0.1), (4, NULL, 9), (5, 5, 1)")
    yield lab
    lab.close()


STATEMENTS = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT t FROM edge, r WHERE f = n) SELECT n FROM r",
    "WITH RECURSIVE r(n, d) AS (SELECT 1, 0 UNION ALL SELECT t, d + 1 FROM edge JOIN r ON f = n WHERE d < 7)"
    " SELECT d, count(*), max(n) FROM r GROUP BY d",
    "WITH RECURSIVE r(n, w) AS (SELECT f, w + 0 FROM edge WHERE f < 3 UNION ALL SELECT t, r.w + e.w FROM edge e, r"
    " WHERE f = n AND r.w < 9) SELECT n, w FROM r ORDER BY w, n",
    # A subquery within the recursive term, planned by a domain of the previous iteration's rows.
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n <= (SELECT count(*) FROM edge WHERE f <= n))"
    " SELECT n FROM r",
    "WITH RECURSIVE r(n) AS (SELECT f FROM edge UNION SELECT x.m FROM r, LATERAL (SELECT max(t) AS m FROM edge"
    " WHERE f >= n) x) SELECT n FROM r",
    # Reads the working table twice, and joins it with itself.
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT t FROM edge, r WHERE f = n) SELECT a.n, b.n FROM r a JOIN r b"
    " ON a.n < b.n",
    "WITH RECURSIVE r(n) AS (SELECT f FROM edge WHERE f > 9 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
    "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT 1 / n FROM r WHERE n < 5) SELECT n FROM r, edge",
)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_answers_are_the_embedded_engines(edges: Lab, sql: str) -> None:
    request = edges.request(sql)
    wanted = outcome(lambda: embedded(edges, request))
    for workers in (1, 3):
        assert outcome(lambda w=workers: local_stages.rows(request, w, edges.database.cpu)) == wanted


def test_tables_come_to_the_worker_that_goes_round(edges: Lab) -> None:
    plan = plan_query(edges.request(STATEMENTS[1]).query, estimate)
    stages = cut_stages(optimize(plan.root), is_mergeable)
    (round_,) = [stage for stage in stages if any(isinstance(node, Recursive) for node in walk_nodes(stage.root))]
    assert round_.single_worker
    assert not any(isinstance(node, Scan) for node in walk_nodes(round_.root))


def test_one_that_does_not_end_is_left_to_the_embedded_engine(edges: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded engine can be interrupted."""
    monkeypatch.setattr(recursion, "MAX_ROUNDS", 50)
    request = edges.request(
        "WITH RECURSIVE r(n) AS (SELECT f FROM edge UNION ALL SELECT n FROM r) SELECT n FROM r LIMIT 3"
    )
    with pytest.raises(NotSupportedOnWorkers, match="recursion"):
        local_stages.rows(request, 2, edges.database.cpu)
