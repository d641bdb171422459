"""Exchange planning: exchanges where rows must meet, and none where they are on one worker already."""

from __future__ import annotations

import pytest

from gpudb.plan.physical.exchange_planning import Costs
from tests.support.lab import Lab
from tests.support.plan_text import shapes, stages
from tests.support.snapshots import Check

SETUP = """
CREATE TABLE pl_big (k int, g int, v int);
INSERT INTO pl_big SELECT i, i % 50, i % 7 FROM generate_series(1, 2000) i;
CREATE TABLE pl_other (k int, w int);
INSERT INTO pl_other SELECT i, i % 3 FROM generate_series(1, 2000) i;
CREATE TABLE pl_small (g int, name text);
INSERT INTO pl_small SELECT i, 'n' || i FROM generate_series(1, 5) i
"""

FIXTURES = {
    "a small side goes to all": (
        "SELECT b.v, s.name FROM pl_big b JOIN pl_small s ON b.g = s.g",
        Costs(exchange=0),
        """
        0 broadcast
          pl_small(g, name)
        1 result
          project v, name
            inner join g = g
              pl_big(g, v)
              receive 0
        """,
    ),
    "groups by the key of the join that made them": (
        "SELECT b.k, count(*), sum(o.w) FROM pl_big b JOIN pl_other o ON b.k = o.k GROUP BY b.k",
        Costs(exchange=0, broadcast=64, groups=10**9),
        """
        0 hash
          pl_big(k)
        1 hash
          pl_other(k, w)
        2 result
          aggregate by k
            project k, w
              inner join k = k
                receive 0
                receive 1
        """,
    ),
    "two joins on one key": (
        "SELECT a.v, o.w, b.v FROM pl_big a JOIN pl_other o ON a.k = o.k LEFT JOIN pl_big b ON a.k = b.k",
        Costs(exchange=0, broadcast=64),
        """
        0 hash
          pl_big(k, v)
        1 hash
          pl_other(k, w)
        2 hash
          pl_big(k, v)
        3 result
          project v, w, v
            left join k = k
              project k, v, w
                inner join k = k
                  receive 0
                  receive 1
              receive 2
        """,
    ),
    "an ASOF join by a key": (
        "SELECT b.v, o.w FROM pl_big b ASOF JOIN pl_other o MATCH_CONDITION (b.v >= o.w) ON b.k = o.k WHERE b.g < 9",
        Costs(exchange=0, broadcast=64),
        """
        0 hash
          project k, v
            pl_big(k, g, v) where int4lt(g, '9')
        1 hash
          pl_other(k, w)
        2 result
          project v, w
            asof left join k = k by v >= w
              receive 0
              receive 1
        """,
    ),
    "an ASOF join without keys": (
        "SELECT b.v, o.w FROM pl_big b INNER ASOF JOIN pl_other o MATCH_CONDITION (b.v < o.w) WHERE o.k > 5",
        Costs(exchange=0, broadcast=64),
        """
        0 broadcast
          pl_other(k, w)
        1 result
          project v, w
            filter int4gt(k, '5')
              asof inner join all by v < w
                pl_big(v)
                receive 0
        """,
    ),
    "groups in parts": (
        "SELECT g, sum(v) FROM pl_big GROUP BY g",
        Costs(),
        """
        0 hash
          partial by g
            pl_big(g, v)
        1 result
          final by g
            receive 0
        """,
    ),
    "as many groups as rows": (
        "SELECT k, sum(v) FROM pl_big GROUP BY k",
        Costs(groups=1000),
        """
        0 hash
          pl_big(k, v)
        1 result
          aggregate by k
            receive 0
        """,
    ),
    "groups of a worker that has all rows": (
        "SELECT g, sum(v), count(*) FROM pl_big GROUP BY g ORDER BY 2 LIMIT 3",
        Costs(workers=1, gathered=10**9),
        """
        0 result alone
          sort sum first '3'
            aggregate by g
              pl_big(g, v)
        """,
    ),
    "groups of its chunks": (
        "SELECT g, sum(v) FROM pl_big GROUP BY g",
        Costs(workers=2, chunks=2, gathered=10**9),
        """
        0 hash
          partial by g
            pl_big(g, v)
        1 result
          final by g
            receive 0
        """,
    ),
    "what meets on the only worker": (
        "SELECT g, rank() OVER (PARTITION BY g ORDER BY n) FROM (SELECT g, count(DISTINCT v) n FROM pl_big GROUP BY g) q",
        Costs(workers=1),
        """
        0 result
          project g, rank
            window
              aggregate by g
                pl_big(g, v)
        """,
    ),
    "the first rows of each": (
        "SELECT v, k FROM pl_big ORDER BY v, k LIMIT 5 OFFSET 3",
        Costs(),
        """
        0 gather
          sort v, k first '8'
            project v, k
              pl_big(k, v)
        1 result alone
          sort v, k first '5'
            receive 0
        """,
    ),
    "an order by ranges": (
        "SELECT k, v FROM pl_big ORDER BY k DESC, v",
        Costs(range=1000),
        """
        0 stay
          pl_big(k, v)
        1 broadcast
          sample
            project k, v
              receive 0
        2 range
          receive 0
        3 result
          sort k, v
            receive 2
        """,
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_stages(lab: Lab, name: str, snapshot: Check) -> None:
    sql, costs, _ = FIXTURES[name]
    snapshot(shapes(stages(lab, sql, costs)))
