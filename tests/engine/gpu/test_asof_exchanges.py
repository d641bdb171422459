"""ASOF joins by exchanges: by keys and by broadcasts, on several workers, and in chunks."""

from __future__ import annotations

import random

import pytest

from gpudb.plan.physical.exchange_planning import Costs
from gpudb.plan.tree.nodes import AsofJoin
from gpudb.plan.tree.traversal import walk_nodes
from tests.support import asof_queries
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab
from tests.support.plan_text import stages

SETUP = asof_queries.SETUP
HASHED = Costs(exchange=0, broadcast=0, range=3, groups=3)
WAYS = ((1, None, 1), (3, HASHED, 1), (2, None, 1), (2, HASHED, 3))
"""Numbers of workers, costs, and chunks of each worker's partition."""


@pytest.mark.parametrize("seed", range(100, 112))
def test_same_rows_by_every_way(lab: Lab, seed: int) -> None:
    sql = asof_queries.draw_query(random.Random(seed))
    request = lab.request(sql)
    wanted = sorted_rows(embedded(lab, request))
    for workers, costs, chunks in WAYS:
        given = local_stages.rows(request, workers, lab.database.cpu, costs, chunks=chunks)
        assert sorted_rows(given) == wanted, (workers, costs, chunks, sql)


def test_rows_meet_by_their_keys(lab: Lab) -> None:
    """And without keys all right rows come to every worker, whatever their size."""
    sql = "SELECT a.id, q.id FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t)"
    for condition, outputs in ((" ON a.k = q.k", ["hash", "hash", "result"]), ("", ["broadcast", "result"])):
        made = stages(lab, sql + condition, HASHED)
        assert [stage.output for stage in made] == outputs
        assert any(isinstance(node, AsofJoin) for node in walk_nodes(made[-1].root))
