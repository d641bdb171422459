"""defer_columns: texts that a group's key determines are fetched after ORDER BY … LIMIT."""

from __future__ import annotations

import sys

import pytest

from gpudb.plan.optimize import defer_columns as rule
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded
from tests.support.lab import Lab
from tests.support.plan_text import plan, shape
from tests.support.snapshots import Check

FIXTURES = {
    "by a key": (
        "SELECT a.a, a.name, sum(f.v) s FROM facts f JOIN dim_a a ON f.a = a.a GROUP BY a.a, a.name"
        " ORDER BY s DESC LIMIT 5",
        """
        sort sum
          project a, name, sum
            inner join a = a
              dim_a(a, name)
              sort sum first '5'
                aggregate by a
                  project v, a
                    inner join a = a
                      facts(a, v)
                      dim_a(a)
        """,
    ),
    "by a reference": (
        "SELECT a.a, b.name, sum(f.v) s FROM facts f JOIN dim_a a ON f.a = a.a JOIN dim_b b ON a.b = b.b"
        " GROUP BY a.a, b.name ORDER BY s DESC LIMIT 5",
        """
        sort sum
          project a, name, sum
            inner join b = b
              dim_b(b, name)
              inner join a = a
                dim_a(a, b)
                sort sum first '5'
                  aggregate by a
                    project v, a
                      inner join a = a
                        facts(a, v)
                        inner join b = b
                          dim_a(a, b)
                          dim_b(b)
        """,
    ),
}
LEFT_ALONE = (
    "SELECT a.b, a.name, sum(f.v) s FROM facts f JOIN dim_a a ON f.a = a.a GROUP BY a.b, a.name ORDER BY s LIMIT 5",
    "SELECT a.a, a.name, sum(f.v) s FROM facts f JOIN dim_a a ON f.a = a.a GROUP BY a.a, a.name ORDER BY s, name LIMIT 5",
    "SELECT a.a, a.name, sum(f.v) s FROM facts f JOIN dim_a a ON f.a = a.a GROUP BY a.a, a.name ORDER BY s",
    "SELECT a.a, a.name, count(f.v) s FROM facts f LEFT JOIN dim_a a ON f.a = a.a GROUP BY a.a, a.name ORDER BY s LIMIT 5",
)
ANSWERS = (
    "SELECT f.a, x.name, y.name, x.b, sum(f.v) s FROM facts f JOIN dim_a x ON f.a = x.a JOIN dim_b y ON x.b = y.b"
    " WHERE f.a <> 3 GROUP BY f.a, x.a, x.name, y.name, x.b ORDER BY s DESC, f.a LIMIT 7 OFFSET 2",
    "SELECT x.a, x.name || '!', sum(f.v) s FROM facts f JOIN dim_a x ON f.a = x.a GROUP BY x.a, x.name"
    " ORDER BY s DESC, x.a LIMIT 7",
    "SELECT x.a, x.name, z.name, count(*) s FROM facts f JOIN dim_a x ON f.a = x.a JOIN dim_b y ON x.b = y.b"
    " JOIN dim_c z ON y.c = z.c GROUP BY x.a, x.name, z.name ORDER BY s DESC, x.a LIMIT 3",
    "WITH c AS (SELECT * FROM dim_a) SELECT x.a, y.name, sum(f.v) s FROM facts f JOIN c x ON f.a = x.a"
    " JOIN c y ON f.b = y.a GROUP BY x.a, y.name ORDER BY s DESC, x.a LIMIT 5",
    "SELECT x.a, y.name, sum(f.v) s FROM facts f JOIN dim_a x ON f.a = x.a"
    " JOIN dim_a y ON f.b = y.a GROUP BY x.a, y.name ORDER BY s DESC, x.a LIMIT 5",
    "SELECT x.a, x.name, sum(f.v) s FROM facts f JOIN dim_a x ON f.a = x.a WHERE false GROUP BY x.a, x.name"
    " ORDER BY s DESC LIMIT 7",
)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[rule.__module__], "_MIN_GROUPS", 0)


@pytest.mark.parametrize("name", FIXTURES)
def test_shape(star: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shape(plan(star, sql)))


@pytest.mark.parametrize("sql", LEFT_ALONE)
def test_left_alone(star: Lab, sql: str) -> None:
    assert shape(plan(star, sql)).count("dim_a(") == 1


@pytest.mark.parametrize("sql", ANSWERS)
def test_answers(star: Lab, sql: str) -> None:
    request = star.request(sql)
    for workers in (1, 3):
        assert local_stages.rows(request, workers, star.database.cpu) == embedded(star, request)
