"""Models of trees on every engine: queries that call them run whole on workers, with the answers of the libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpudb.engine.cpu.engine import CpuEngine
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.lab import ON_GPUS, engine_of
from tests.support.sessions import run

KINDS = ("xgboost", "lightgbm", "random_forest")
SETUP = """CREATE TABLE t AS SELECT i AS id, (i * 37 % 101) / 10.0::float8 AS a, CASE WHEN i % 7 <> 0 THEN i % 13 END AS b,
    (ARRAY['x', 'y', 'z'])[i % 4] AS c, i % 3 = 0 AS d FROM generate_series(1, 3000) i;
CREATE TABLE rows AS SELECT *, a * 2 + coalesce(b, 3) + CASE c WHEN 'x' THEN 5 ELSE 0 END AS y,
    CASE WHEN a > 5 THEN 'hi' WHEN b > 3 THEN 'lo' END AS k, a > 6 AS e FROM t"""
TARGETS = (("number", "y"), ("text", "k"), ("digit", "id % 5 AS m"), ("truth", "e"))
QUERIES = (
    "SELECT count(*), round(sum({k}_number(a, b, c, d))::numeric, 3) FROM t WHERE {k}_number(a, b, c, d) > 9",
    "SELECT {k}_text(a, b, c, d), count(*) FROM t WHERE d GROUP BY 1 ORDER BY 1",
    "SELECT {k}_digit(a, b, c, d) + 1, count(*), sum({k}_digit(a, b, c, d)) FROM t GROUP BY 1 ORDER BY 1",
    "SELECT count(*) FROM t WHERE {k}_truth(a, b, c, d) AND {k}_text_proba(a, b, c, d) < 0.9 AND id > 100",
    "SELECT id, {k}_number(a, b, c, d), {k}_text(a, b, c, d), {k}_truth(a, b, c, d), {k}_digit(a, b, c, d) FROM t"
    " WHERE id % 100 = 1 ORDER BY {k}_number(a, b, c, d), id LIMIT 20",
    "SELECT x.id, {k}_number(x.a, y.b, x.c, y.d) FROM t x JOIN t y ON y.id = x.id + 1 WHERE x.id < 30 ORDER BY 1",
)
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    made = Database(None)
    session = made.session("gpudb")
    run(session, SETUP)
    for kind in KINDS:
        for name, target in TARGETS:
            last = target.split()[-1]
            train = f"CREATE MODEL {kind}_{name} FROM (SELECT a, b, c, d, {target} FROM rows) TARGET {last}"
            run(session, f"{train} FUNCTION {kind}_{name} USING {kind} WITH (trees = 6, depth = 4)")
    session.close()
    yield made
    made.close()


@pytest.fixture(scope="module")
def wanted(database: Database) -> dict[str, Rows]:
    """The answers of the embedded engine, for which the libraries score rows."""
    session = database.session("gpudb")
    found = {each: run(session, each) for kind in KINDS for each in (query.format(k=kind) for query in QUERIES)}
    session.close()
    return found


@pytest.fixture(
    params=[
        pytest.param("twin", marks=pytest.mark.timeout(300)),
        pytest.param("fused", marks=pytest.mark.timeout(300)),
        pytest.param("gpu", marks=ON_GPUS),
        pytest.param("fused gpu", marks=ON_GPUS),
    ],
    scope="module",
)
def session(database: Database, wanted: dict[str, Rows], request: pytest.FixtureRequest) -> Iterator[Session]:
    engine = engine_of(request.param, CpuEngine(spill=database.store.spill))
    before, database.engine = database.engine, engine
    made = database.session("gpudb")
    run(made, "SET gpudb.fallback = off")
    yield made
    made.close()
    database.engine = before
    engine.close()


def test_workers_answer_as_libraries(session: Session, wanted: dict[str, Rows]) -> None:
    for query, rows in wanted.items():
        found = run(session, query)
        assert len(found) == len(rows), query
        for one, other in zip(found, rows, strict=True):
            assert one == pytest.approx(other, rel=1e-6), query
        assert session.measures["engine"] in {"twin", "gpu"}, query


def test_explain_shows_the_trees(session: Session) -> None:
    shown = "\n".join(line for (line,) in run(session, "EXPLAIN " + QUERIES[0].format(k="xgboost")))
    assert "Filter: float8gt(6 trees(a, b::double precision, CASE, d), '9.0')" in shown


def test_what_engines_do_not_compute_is_scored_by_libraries(session: Session) -> None:
    run(session, "CREATE SEQUENCE s")
    counted = "SELECT count(*) FROM (SELECT nextval('s'), xgboost_number(a, b, c, d) > 9 AS f FROM t) WHERE f"
    (((count,),), ((alone,),)) = (run(session, q) for q in (counted, "SELECT xgboost_number(1, 2, 'x', true)"))
    assert count == run(session, "SELECT count(*) FROM t WHERE xgboost_number(a, b, c, d) > 9")[0][0]
    assert alone == pytest.approx(1 * 2 + 2 + 5, abs=3)
    run(session, "DROP SEQUENCE s")


def test_training_reads_the_memory_of_workers(session: Session) -> None:
    source = "SELECT a, b, d, a * 2 + coalesce(b, 3) AS y FROM t"
    run(session, f"CREATE MODEL other FROM ({source}) TARGET y FUNCTION fo USING xgboost WITH (trees = 20)")
    ((rows, r2, device),) = run(session, "SELECT rows, metrics->'training'->>'r2', metrics->>'device' FROM gpudb_models"
                                         " WHERE model = 'other'")  # fmt: skip
    assert rows == 3000
    assert float(r2) > 0.99
    assert device == ("cuda" if session.database.engine.name == "gpu" else None)
    run(session, "DROP MODEL other")


def test_a_replaced_model_is_another_one(session: Session) -> None:
    train = "CREATE OR REPLACE MODEL other FROM (SELECT a, a * {} AS y FROM rows) TARGET y FUNCTION fo USING xgboost"
    found = []
    for factor in (1, 10):
        run(session, train.format(factor) + " WITH (trees = 3)")
        found.append(run(session, "SELECT sum(fo(a)) FROM t")[0][0])
    run(session, "DROP MODEL other")
    assert found[1] > 5 * found[0]
