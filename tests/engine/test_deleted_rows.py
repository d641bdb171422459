"""Every engine leaves deleted rows out: when it reads files first, and when it had their rows in memory before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gpudb.catalog.tables import Table
from gpudb.engine.protocol import Engine
from gpudb.storage import compaction
from tests.support.lab import Lab, answer

ROWS = 6000
COLUMNS = "a int, b bigint, c text, d numeric(12, 2), e date, f float8, g interval, h uuid, i numeric"
SOURCE = f"""
    SELECT n, CASE WHEN n % 3 = 0 THEN NULL ELSE n * 1000000007::bigint END, 'text ' || n % 11, n / 4.0,
        date '2020-01-01' + n % 700, n * 0.5, n * interval '1 hour', md5(n::text)::uuid, n / 7.0
    FROM generate_series(0, {ROWS - 1}) n"""
QUERIES = (
    "SELECT count(*), sum(a), min(a), max(a), count(b), sum(b) FROM kept",
    "SELECT c, count(*), sum(d), min(e), max(e) FROM kept GROUP BY c ORDER BY c",
    "SELECT count(DISTINCT c), min(c), max(c), count(h), sum(f), sum(i) FROM kept",
    "SELECT a, b, c, d, e, f, g, h, i FROM kept WHERE a < 5 OR a BETWEEN 2995 AND 3005 OR a > 5990 ORDER BY a",
    "SELECT count(*), sum(kept.a) FROM kept JOIN kept AS other ON kept.a = other.a + 1 WHERE other.d > 3",
    "SELECT a FROM kept ORDER BY a DESC LIMIT 3",
    "SELECT count(*) FROM kept WHERE c = 'text 3' AND b IS NULL",
)


DISTRIBUTIONS = ("", "DISTRIBUTE BY HASH (a)", "DISTRIBUTE BY REPLICATION")


@pytest.fixture
def table(request: pytest.FixtureRequest, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Table `kept` in each distribution, of which no file is written anew, and `model` with the same rows."""
    monkeypatch.setattr(compaction, "SMALL_ROWS", 0)
    monkeypatch.setattr(compaction, "REWRITTEN_SHARE", 1.0)
    lab.run(f"CREATE TABLE kept ({COLUMNS}) {getattr(request, 'param', '')}")
    lab.run(f"INSERT INTO kept {SOURCE}")
    lab.run("CREATE TABLE model AS SELECT * FROM kept")
    yield "kept"
    lab.run("DROP TABLE kept, model")


def _rewrite(lab: Lab) -> None:
    """Writes `model` into files without deleted rows."""
    lab.run("CREATE TABLE copied AS SELECT * FROM model; DROP TABLE model; ALTER TABLE copied RENAME TO model")


def _deleted(lab: Lab) -> int:
    found = lab.database.store.catalog().relation("public", "kept")
    assert isinstance(found, Table)
    return sum(len(file.deleted) for file in found.files if file.deleted is not None)


def _compare(engine: Engine, lab: Lab) -> None:
    for query in QUERIES:
        expected = answer(lab.database.cpu, lab.request(query.replace("kept", "model")))
        assert _rounded(answer(engine, lab.request(query))) == _rounded(expected), query


def _rounded(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in rows]


@pytest.mark.parametrize(
    ("table", "warm"), [("", False), *((each, True) for each in DISTRIBUTIONS)], indirect=["table"]
)
def test_deletions_and_updates(engine: Engine, lab: Lab, table: str, warm: bool) -> None:
    if warm:
        _compare(engine, lab)
    steps = (
        "DELETE FROM kept WHERE a = 0",
        "DELETE FROM kept WHERE a IN (2999, 3000, 5999)",
        "UPDATE kept SET d = -5, c = 'changed' WHERE a = 3001",
        "DELETE FROM kept WHERE a % 97 = 1",
        """MERGE INTO kept USING (VALUES (2, 'x'), (9999, 'y')) v (k, t) ON a = k
            WHEN MATCHED THEN UPDATE SET c = t WHEN NOT MATCHED THEN INSERT (a, c) VALUES (k, t)""",
    )
    for number, step in enumerate(steps):
        lab.run(step)
        lab.run(step.replace("kept", "model"))
        _rewrite(lab)
        if number == 0:
            assert _deleted(lab) == 1
        if (warm and number in {0, 2}) or number == len(steps) - 1:
            _compare(engine, lab)
    assert _deleted(lab) > 60


def test_an_older_snapshot_keeps_its_rows(engine: Engine, lab: Lab, table: str) -> None:
    query = "SELECT count(*), sum(a), max(c) FROM kept"
    with lab.database.store.begin() as before:
        old = answer(engine, lab.request(query, transaction=before))
        lab.run("DELETE FROM kept WHERE a = 17")
        new = answer(engine, lab.request(query))
        assert (old[0][0], new[0][0]) == (ROWS, ROWS - 1)
        assert new[0][1] == old[0][1] - 17
        assert answer(engine, lab.request(query, transaction=before)) == old
        assert answer(engine, lab.request(query)) == new
