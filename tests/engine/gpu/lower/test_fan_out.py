"""Joins that fan out: the answers in pieces are those of the whole, and no piece is larger than it may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl
import pytest

from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.physical import stage_cutting
from gpudb.plan.tree.nodes import Join
from gpudb.plan.tree.traversal import walk_nodes
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, outcome
from tests.support.lab import Lab
from tests.support.plan_text import plan, stages


class SmallPieces(HostBackend):
    """Cuts joins into pieces of few rows, and keeps the rows of all that it computes."""

    piece_bytes = 2000

    def __init__(self) -> None:
        self.rows: list[int] = []

    def compute(self, lazy: pl.LazyFrame) -> HostFrame:
        found = super().compute(lazy)
        self.rows.append(found.rows)
        return found


@pytest.fixture(scope="module")
def tables() -> Iterator[Lab]:
    lab = Lab()
    lab.run("CREATE TABLE l (a int, b int, t text)")
    lab.run("INSERT INTO l SELECT i, NULLIF(i % 3, 2), 't' || i % 5 FROM generate_series(1, 90) i")
    lab.run("CREATE TABLE r (a int, b int, t text)")
    lab.run("INSERT INTO r SELECT i * 2, NULLIF(i % 4, 3), 't' || i % 7 FROM generate_series(1, 60) i")
    yield lab
    lab.close()


@pytest.fixture
def every_join_fans_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_cutting, "MANY_ROWS", 0)
    monkeypatch.setattr(stage_cutting, "FAN_OUT", 0)


STATEMENTS = (
    "SELECT count(*), sum(l.a + r.a), min(l.t) FROM l, r",
    "SELECT l.t, count(*), avg(r.a), max(r.t) FROM l JOIN r ON l.b = r.b GROUP BY l.t",
    "SELECT l.t, r.t, count(*) FROM l JOIN r ON l.b = r.b GROUP BY 1, 2",
    "SELECT l.b, count(r.a), sum(r.a) FROM l LEFT JOIN r ON l.b = r.b AND l.a < 50 GROUP BY l.b",
    "SELECT count(*), count(l.a), count(r.a), sum(r.a) FROM l FULL JOIN r ON l.b = r.b AND r.a > 40",
    "SELECT count(*), count(l.a), count(r.a), sum(r.a) FROM l FULL JOIN r ON l.b = r.b AND l.a + r.a > 100",
    "SELECT count(*), count(l.a), count(r.a) FROM l FULL JOIN r ON l.b IN (SELECT b FROM r) AND r.a IN (SELECT a FROM l)",
    "SELECT count(*), count(r.a) FROM l LEFT JOIN r ON l.a < r.a",
    "SELECT l.a, r.a FROM l JOIN r ON l.a > r.a + 70 WHERE r.b = 1",
    "SELECT l.a, r.a FROM l LEFT JOIN r ON l.a > r.a + 80 WHERE r.a IS NULL",
    "SELECT l.a, r.a FROM l, r ORDER BY l.a + r.a DESC, l.a, r.a LIMIT 7 OFFSET 3",
    "SELECT count(*) FROM (SELECT l.a FROM l, r LIMIT 2000 OFFSET 100) s",
    "SELECT count(*), sum(l.a) FROM l WHERE EXISTS (SELECT FROM r WHERE r.a > l.a + 50)",
    "SELECT count(*), sum(l.a) FROM l WHERE NOT EXISTS (SELECT FROM r WHERE r.a > l.a + 50)",
    "SELECT count(DISTINCT r.t), count(DISTINCT l.a) FROM l JOIN r ON l.b = r.b",
    "SELECT approx_count_distinct(r.t), l.b FROM l JOIN r ON l.b = r.b GROUP BY l.b",
    "SELECT l.t, s.n FROM l JOIN r ON l.b = r.b JOIN (SELECT t, count(*) AS n FROM r GROUP BY t) s ON s.t = l.t WHERE r.a < 9",
    "SELECT 1 / (l.a + r.a - 100) FROM l, r WHERE l.a > 1 ORDER BY 1 LIMIT 3",
    "SELECT count(*) FROM l, r WHERE false",
)


@pytest.mark.parametrize("sql", STATEMENTS)
@pytest.mark.usefixtures("every_join_fans_out")
def test_pieces_answer_as_the_whole(tables: Lab, sql: str) -> None:
    request = tables.request(sql)
    wanted = outcome(lambda: embedded(tables, request))
    for workers in (1, 2):
        frames = SmallPieces()
        given = outcome(lambda w=workers, f=frames: local_stages.rows(request, w, tables.database.cpu, frames=f))
        assert given == wanted


@pytest.mark.usefixtures("every_join_fans_out")
@pytest.mark.parametrize("sql", STATEMENTS[:5])
def test_no_piece_is_as_large_as_the_result(tables: Lab, sql: str) -> None:
    """5400, 1800 and more rows are made of pieces that have no more rows than the inputs, or 2000 bytes."""
    frames = SmallPieces()
    local_stages.rows(tables.request(sql), 1, tables.database.cpu, frames=frames)
    assert max(frames.rows) <= 250


def test_a_join_with_many_more_rows_than_its_inputs_fans_out(tables: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates decide, where the plan is made: workers do not know the profile of received rows."""
    monkeypatch.setattr(stage_cutting, "MANY_ROWS", 1000)
    many, few = "SELECT count(*) FROM l JOIN r ON l.b = r.b", "SELECT count(*) FROM l JOIN r ON l.a = r.a"
    for sql, expected in ((many, True), (few, False)):
        (join,) = (each for stage in stages(tables, sql) for each in walk_nodes(stage.root) if isinstance(each, Join))
        assert join.fans_out == expected
    (whole,) = (each for each in walk_nodes(plan(tables, many)) if isinstance(each, Join))
    assert estimate(replace(whole, fans_out=True)) == estimate(whole) > 1000
