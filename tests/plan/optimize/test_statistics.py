"""Distinct values counted by ANALYZE: kept over a restart and a change, and their effect on estimates and plans."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from gpudb.plan.cost import sampling
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.tree.nodes import Join, Scan
from gpudb.plan.tree.traversal import walk_nodes
from gpudb.session.database import Database
from tests.support.lab import Lab
from tests.support.plan_text import plan, shape

SETUP = """
CREATE TABLE visits (page text, person text, n int);
INSERT INTO visits SELECT 'page ' || i % 5, 'person ' || i % 8000, i FROM generate_series(1, 16000) i;
CREATE TABLE people (person text, country text);
INSERT INTO people SELECT 'person ' || i, 'country ' || i % 1000 FROM generate_series(0, 7999) i;
CREATE TABLE pages (page text, kind text);
INSERT INTO pages SELECT 'page ' || i % 5, 'kind ' || i FROM generate_series(0, 99) i
"""


def _rows(lab: Lab, sql: str) -> int:
    return estimate(plan(lab, sql))


def _joined_first(lab: Lab, sql: str) -> str:
    """Returns the table that the innermost join joins."""
    (*_, last) = (node for node in walk_nodes(plan(lab, sql)) if isinstance(node, Join))
    (scan,) = (each for each in walk_nodes(last.right) if isinstance(each, Scan))
    return scan.table.name


def test_estimates_and_order_go_by_counted_values(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "_sampler", lambda table, column: None)
    join = (
        "SELECT v.n, p.country, k.kind FROM visits v JOIN pages k ON v.page = k.page JOIN people p"
        " ON v.person = p.person WHERE p.country = 'country 1' AND k.kind = 'kind 7'"
    )
    # Texts have a default alone.
    assert _rows(lab, "SELECT person FROM visits GROUP BY person") == 200
    assert _joined_first(lab, join) == "pages"
    lab.run("ANALYZE visits")
    lab.run("VACUUM ANALYZE people")
    lab.run("ANALYZE pages (page)")
    lab.release()
    assert 7000 < _rows(lab, "SELECT person FROM visits GROUP BY person") <= 9000
    assert _rows(lab, "SELECT n FROM visits WHERE page = 'page 3'") == 3200
    assert _joined_first(lab, join) == "people"
    assert (
        shape(plan(lab, join))
        == dedent(
            """
        project n, country, kind
          inner join page = page
            inner join person = person
              visits(page, person, n)
              people(person, country) where texteq(country, 'country 1')
            pages(page, kind) where texteq(kind, 'kind 7')
        """
        ).strip()
    )


def test_counted_values_grow_with_the_table_and_outlive_it_open(tmp_path: Path) -> None:
    database = Database(tmp_path / "data")
    session = database.session("gpudb")

    def run(sql: str) -> None:
        for result in session.run(sql):
            for _ in result.batches or ():
                pass

    run("CREATE TABLE t AS SELECT 'k' || i AS many, 'f' || i % 3 AS few FROM generate_series(1, 1000) i; ANALYZE t")
    run("INSERT INTO t SELECT 'l' || i, 'g' FROM generate_series(1, 1000) i")
    session.close()
    database.close()
    database = Database(tmp_path / "data")
    (table,) = (each for each in database.store.begin().catalog.tables() if each.name == "t")
    many, few = (each.estimate_distinct(table.rows) for each in table.statistics)
    assert 1900 < many < 2100
    assert few == 3
    database.close()


def test_bounds_that_are_not_finite_are_no_bounds(lab: Lab) -> None:
    lab.run("CREATE TABLE reals (x float8)")
    lab.run("INSERT INTO reals SELECT i FROM generate_series(1, 98) i UNION ALL VALUES ('inf'::float8), ('-inf')")
    for constant in ("-1.5", "'inf'", "'NaN'"):
        for op in ("=", "<", ">="):
            assert 1 <= _rows(lab, f"SELECT 1 FROM reals WHERE x {op} {constant}::float8") <= 100
    lab.release()
