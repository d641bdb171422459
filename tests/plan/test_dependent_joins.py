"""Subqueries and LATERAL by domains: shapes of plans, and answers compared with the embedded engine's."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import dedent

import pytest

from gpudb.plan.cost.estimate import estimate
from gpudb.plan.logical.query_planner import plan_query
from gpudb.plan.optimize import optimize
from gpudb.plan.tree.nodes import AssignUniqueId, Join, Node, Shared
from gpudb.plan.tree.traversal import walk_nodes
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, outcome
from tests.support.lab import Lab
from tests.support.plan_text import shape


@pytest.fixture(scope="module")
def tables() -> Iterator[Lab]:
    lab = Lab()
    lab.run("CREATE TABLE o (a int, b int, t text, f float8, i interval, n numeric)")
    lab.run(
        "INSERT INTO o VALUES (1, 2, 'x', 0.5, '1 day', 1.50), (1, 2, 'x', 0.5, '2 days', 1.5), (2, NULL, 'y', '0.25', NULL, 2),"
        " (NULL, 3, NULL, 0, '1 mon', NULL), (3, 5, '', 'NaN', '31 days', 7.25)"
    )
    lab.run("CREATE TABLE s (a int, b int, t text)")
    lab.run("INSERT INTO s VALUES (1, 1, 'x'), (1, 3, 'y'), (2, NULL, 'x'), (NULL, 4, NULL), (4, 2, 'z')")
    lab.run("CREATE TABLE nothing (a int)")
    yield lab
    lab.close()


STATEMENTS = (
    # Scalar subqueries: an aggregate over no rows is NULL, a count 0; a second row raises 21000.
    "SELECT a, (SELECT count(*) FROM s WHERE s.a < o.a), (SELECT max(b) FROM s WHERE s.a <= o.a) FROM o",
    "SELECT a, (SELECT count(*) + sum(s.b) FROM s WHERE s.a <> o.a AND s.b > o.b) FROM o",
    "SELECT (SELECT b FROM s WHERE s.a < o.a) FROM o",
    "SELECT a, (SELECT s.b FROM s WHERE s.a IS NOT DISTINCT FROM o.a ORDER BY s.b DESC LIMIT 1) FROM o",
    "SELECT a, (SELECT s.b FROM s WHERE s.a >= o.a ORDER BY s.b OFFSET 1 LIMIT 1) FROM o",
    "SELECT a, (SELECT a + b), (SELECT (SELECT count(*) FROM s WHERE s.b = o.b) + o.a) FROM o",
    # Types without PostgreSQL's equality, or whose equal values display differently: rows are numbered.
    "SELECT a, (SELECT o.i FROM s WHERE s.a = 4) FROM o",
    "SELECT (SELECT n) FROM o",
    "SELECT (SELECT f FROM nothing RIGHT JOIN (VALUES (1)) v(x) ON true) FROM o",
    # Subqueries under OR, in select lists, in HAVING, in aggregates.
    "SELECT a FROM o WHERE a = 3 OR EXISTS (SELECT 1 FROM s WHERE s.a = o.a AND s.b > o.b)",
    "SELECT a, EXISTS (SELECT 1 FROM s WHERE s.a > o.a), EXISTS (SELECT 1 FROM nothing) FROM o",
    "SELECT a, a IN (SELECT a FROM s), a NOT IN (SELECT a FROM s WHERE a IS NOT NULL), a IN (SELECT a FROM nothing) FROM o",
    "SELECT a, b IN (SELECT s.b FROM s WHERE s.a = o.a), b NOT IN (SELECT s.b FROM s WHERE s.a < o.a) FROM o",
    "SELECT a, a > ANY (SELECT a FROM s), a > ALL (SELECT a FROM s), a < ALL (SELECT a FROM nothing) FROM o",
    "SELECT a FROM o WHERE (a, b) <> ALL (SELECT 1, 3)",
    "SELECT a FROM o WHERE (a, b) IN (SELECT a, 2 FROM s) OR t = ''",
    "SELECT t, sum((SELECT count(*) FROM s WHERE s.a = o.a)) FROM o GROUP BY t",
    "SELECT t, (SELECT max(s.b) FROM s WHERE s.b < sum(o.b)) FROM o GROUP BY t HAVING count(*) > (SELECT min(a) FROM nothing) IS NULL",
    "SELECT a, t, (SELECT count(*) FROM s WHERE s.a = o.a) FROM o GROUP BY ROLLUP (a, t)",
    "SELECT a, count(*), (SELECT count(*) FROM s WHERE s.a = o.a) FROM o GROUP BY ROLLUP (a)",
    "SELECT a, count(*), count(*) IN (SELECT count(*) FROM s) FROM o GROUP BY a HAVING EXISTS (SELECT 1 FROM s"
    " WHERE s.a < o.a) OR count(*) > 1",
    "SELECT (SELECT s.b FROM s WHERE s.a = o.a AND s.b < 3) AS m, count(*) FROM o GROUP BY m",
    "SELECT a, (SELECT string_agg(x.t, ',') FROM (SELECT t FROM s WHERE s.a >= o.a ORDER BY b DESC) x) FROM o",
    "SELECT ARRAY(SELECT ARRAY[a] FROM s WHERE a IS NULL OR b = 1), ARRAY(SELECT s.t FROM s WHERE s.a = o.a ORDER BY s.b) FROM o",
    "SELECT ARRAY(SELECT CASE WHEN a > 1 THEN ARRAY[a] ELSE ARRAY[a, b] END FROM s) FROM o",
    # LATERAL: joins, groups, limits, sets, values.
    "SELECT o.a, x.b FROM o, LATERAL (SELECT s.b FROM s WHERE s.a <= o.a ORDER BY s.b DESC NULLS LAST LIMIT 1) x",
    "SELECT o.a, x.n FROM o LEFT JOIN LATERAL (SELECT count(*) AS n FROM s WHERE s.a = o.a) x ON x.n > 0",
    "SELECT o.a, v FROM o CROSS JOIN LATERAL (VALUES (o.a), (o.b), (NULL)) x(v)",
    "SELECT o.a, x.* FROM o, LATERAL (SELECT a FROM s WHERE s.b > o.b UNION SELECT o.a) x",
    "SELECT o.a, x.* FROM o, LATERAL (SELECT DISTINCT s.t FROM s WHERE s.b > o.b) x, LATERAL (SELECT x.t || o.t AS u) y",
    "SELECT o.a, x.* FROM o, LATERAL (SELECT s.a, row_number() OVER (ORDER BY s.b) FROM s WHERE s.b >= o.b) x",
    "SELECT o.a, g FROM o, generate_series(1, o.a) g",
    "SELECT o.a, x.g, x.n FROM o LEFT JOIN generate_series(o.a, 0, -1) WITH ORDINALITY x(g, n) ON x.g > 0",
    "SELECT a, generate_series(1, 3), generate_series(a, b) FROM o",
    "SELECT generate_series(1, b, a - 1) FROM o",
    # Conditions of outer joins.
    "SELECT o.a, s.b FROM o LEFT JOIN s ON s.a = o.a AND s.b = (SELECT max(b) FROM s i WHERE i.a = o.a)",
    "SELECT o.a, s.b FROM s RIGHT JOIN o ON EXISTS (SELECT 1 FROM nothing) OR s.a = o.a",
    "SELECT o.a, s.b FROM o LEFT JOIN s ON s.a = o.a AND s.b IN (SELECT b FROM o i)",
    "SELECT o.a, s.b FROM o LEFT JOIN s ON s.a = o.a AND s.b NOT IN (SELECT b FROM o i WHERE b IS NOT NULL)",
    "SELECT o.a, s.b FROM o LEFT JOIN s ON s.a = o.a AND o.b NOT IN (SELECT b FROM s i)",
    "SELECT o.a, s.b FROM o LEFT JOIN s ON o.b IN (SELECT b FROM s i)",
    "SELECT o.a, s.b FROM o LEFT JOIN s ON s.b IN (SELECT b FROM o i) OR o.b = 2",
    "SELECT o.a, s.b FROM o LEFT JOIN s ON NOT EXISTS (SELECT 1 FROM o i WHERE i.a = s.a AND i.b > s.b)",
    "SELECT o.a, s.b FROM o LEFT JOIN s ON (s.a, s.b) IN (SELECT a, b FROM o i) AND s.t = o.t",
    "SELECT o.a, s.b FROM o LEFT JOIN s ON (s.a, s.b) NOT IN (SELECT a, b FROM o i) AND s.t = o.t",
    "SELECT o.a, s.b FROM o RIGHT JOIN s ON s.a = o.a AND o.b IN (SELECT b FROM s i WHERE i.a IS DISTINCT FROM o.a)",
    "SELECT o.a, s.b FROM o FULL JOIN s ON s.a = o.a AND s.b IN (SELECT b FROM o i)",
    "SELECT o.a, s.b FROM o FULL JOIN s ON s.a = o.a AND o.b NOT IN (SELECT b FROM s i)",
    "SELECT o.a, s.b FROM o FULL JOIN s ON s.a = o.a AND EXISTS (SELECT 1 FROM o i WHERE i.b = o.b AND i.a = s.a)",
    "SELECT o.a, s.b FROM o FULL JOIN s ON EXISTS (SELECT 1 FROM s i WHERE i.b < o.b + s.b)",
    "SELECT o.a, s.b FROM o JOIN s ON CASE WHEN o.a = 1 THEN s.b IN (SELECT b FROM o i) ELSE s.a NOT IN (SELECT a FROM nothing) END",
    "SELECT o.a, s.b FROM nothing n RIGHT JOIN (o JOIN s ON s.a = o.a AND s.b NOT IN (SELECT b FROM o i)) ON n.a = o.a",
    "SELECT o.a, x.b FROM o, LATERAL (SELECT s.b FROM s LEFT JOIN nothing n ON n.a = s.b AND s.a IN (SELECT o.b) WHERE s.a = o.a) x",
    # LIMIT and OFFSET by subqueries.
    "SELECT a FROM o ORDER BY a LIMIT (SELECT 2) OFFSET (SELECT min(a) FROM s)",
    "SELECT a FROM o ORDER BY a LIMIT (SELECT -1)",
    "SELECT a FROM o ORDER BY a OFFSET (SELECT -1)",
    "VALUES ((SELECT max(a) FROM o)), ((SELECT min(b) FROM s)) ORDER BY 1 LIMIT (SELECT 1)",
    "SELECT grouping(t), t FROM o GROUP BY t HAVING grouping(t) = 0",
)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_answers_are_the_embedded_engines(tables: Lab, sql: str) -> None:
    request = tables.request(sql)
    wanted = outcome(lambda: embedded(tables, request))
    for workers in (1, 2, 3):
        assert outcome(lambda w=workers: local_stages.rows(request, w, tables.database.cpu)) == wanted


def _nodes(lab: Lab, sql: str) -> list[Node]:
    return list(walk_nodes(optimize(plan_query(lab.request(sql).query, estimate).root)))


def test_a_domain_is_the_distinct_values_that_are_read(tables: Lab) -> None:
    """The outer rows and the domain are computed once; they are joined back by value, NULL equal to NULL."""
    found = _nodes(tables, "SELECT a, (SELECT max(b) FROM s WHERE s.a < o.a) FROM o")
    back = [node for node in found if isinstance(node, Join) and node.kind == "LEFT"]
    assert [len(node.keys) for node in back] == [2, 2]
    assert len({node.number for node in found if isinstance(node, Shared)}) == 2
    assert not any(isinstance(node, AssignUniqueId) for node in found)


def test_values_without_one_form_are_told_apart_by_numbers(tables: Lab) -> None:
    found = _nodes(tables, "SELECT (SELECT max(s.b) FROM s WHERE s.a < o.f) FROM o")
    assert any(isinstance(node, AssignUniqueId) for node in found)


def test_a_plain_subquery_is_the_planners(tables: Lab) -> None:
    """Subqueries that dask-sql unnests have no domain."""
    found = _nodes(tables, "SELECT a FROM o WHERE b > (SELECT avg(b) FROM s WHERE s.a = o.a)")
    assert not any(isinstance(node, Shared) for node in found)


SHAPES = {
    "SELECT o.a, s.b FROM o LEFT JOIN s ON s.a = o.a AND s.b IN (SELECT b FROM o i)": """
        project a, b
          left join a = a
            o(a)
            semi join b = b
              s(a, b)
              o(b)
        """,
    "SELECT o.a, s.b FROM o LEFT JOIN s ON s.a = o.a AND NOT EXISTS (SELECT 1 FROM o i WHERE i.b = s.b)": """
        project a, b
          left join a = a
            o(a)
            anti join b = b
              s(a, b)
              o(b)
        """,
    "SELECT o.a, s.b FROM o JOIN s ON s.a = o.a AND s.b NOT IN (SELECT b FROM o i)": """
        project a, b
          inner join a = a
            o(a)
            anti join b = b
              s(a, b)
              o(b)
        """,
    # A side whose rows stay gets a mark.
    "SELECT o.a, s.b FROM o LEFT JOIN s ON o.b IN (SELECT b FROM s i)": """
        project a, b
          left join all if column 2
            project a, CASE
              inner join all
                left join b = b
                  o(a, b)
                  project b, 'True'
                    aggregate by b
                      filter b IS NOT NULL
                        shared 4
                          s(b)
                aggregate by all
                  shared 4
                    s(b)
            s(b)
        """,
    "SELECT o.a, s.b FROM o FULL JOIN s ON s.a = o.a AND EXISTS (SELECT 1 FROM o i WHERE i.a = s.a)": """
        project a, b
          full join a = a if column 4
            o(a)
            project a, b, int8gt(CHOICE, '0')
              left join a IS NULL = column 1 IS NULL and CHOICE = CHOICE
                shared 4
                  s(a, b)
                aggregate by column 1
                  project a
                    inner join a = a
                      o(a)
                      aggregate by a
                        project a
                          shared 4
                            s(a, b)
        """,
}


@pytest.mark.parametrize("sql", SHAPES)
def test_subqueries_of_on_are_joins_of_their_side(tables: Lab, sql: str) -> None:
    """Conditions on the nullable side keep its rows by a semi-join; marks serve where rows stay. No pair is made."""
    assert shape(optimize(plan_query(tables.request(sql).query, estimate).root)) == dedent(SHAPES[sql]).strip()
