"""order_joins: inner joins ordered by their estimated rows, from tables' statistics."""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.plan_text import plan, shape
from tests.support.snapshots import Check

FIXTURES = {
    "the small side is built": (
        "SELECT f.v, a.name FROM dim_a a, facts f WHERE a.a = f.a",
        """
        project v, name
          inner join a = a
            facts(a, v)
            dim_a(a, name)
        """,
    ),
    "what keeps least comes first": (
        "SELECT f.v FROM facts f, dim_a a, dim_b b WHERE f.a = a.a AND f.b = b.b AND a.a = 7",
        """
        project v
          inner join a = a
            inner join b = b
              facts(a, b, v) where int4eq(a, '7')
              dim_b(b)
            dim_a(a) where int4eq(a, '7')
        """,
    ),
    "equalities that follow from others": (
        "SELECT f.v FROM facts f, dim_a a, dim_b b WHERE f.b = a.b AND a.b = b.b AND b.c = 1 AND a.a < 3",
        """
        project v
          inner join b = b
            facts(b, v)
            inner join b = b
              project b
                dim_b(b, c) where int4eq(c, '1')
              project b
                dim_a(b, a) where int4lt(a, '3')
        """,
    ),
    "an outer join keeps its place": (
        "SELECT f.v, b.name FROM dim_c c JOIN (facts f LEFT JOIN dim_b b ON f.b = b.b) ON c.c = f.c",
        """
        project v, name
          inner join c = c
            left join b = b
              facts(b, c, v)
              dim_b(b, name)
            dim_c(c)
        """,
    ),
    "a condition that may fail stays above its join": (
        "SELECT f.v FROM facts f, dim_a a, dim_b b WHERE f.a = a.a AND a.b = b.b AND f.id / (a.b - 1) > 3",
        """
        project v
          inner join a = a if int4gt(int4div(id, int4mi(b, '1')), '3')
            facts(id, a, v)
            inner join b = b
              dim_a(a, b)
              dim_b(b)
        """,
    ),
    "relations that nothing joins come last": (
        "SELECT f.v FROM facts f, dim_c x, dim_a a WHERE f.a = a.a",
        """
        project v
          inner join all
            inner join a = a
              facts(a, v)
              dim_a(a)
            dim_c()
        """,
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_order(star: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shape(plan(star, sql)))


def test_many_relations_are_ordered_two_by_two(star: Lab) -> None:
    """Twelve relations, too many for dynamic programming; every one but the first is joined by a key."""
    tables = ", ".join(f"dim_a t{n}" for n in range(12))
    keys = " AND ".join(f"t{n}.a = t{n + 1}.b" for n in range(11))
    text = shape(plan(star, f"SELECT t0.name FROM {tables} WHERE {keys}"))
    assert text.count("inner join") == 11
    assert "inner join all" not in text
