"""The first rows of a large table in an order: found by their first key, on any number of workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.gpu.lower import nodes
from tests.support.gpu import local_stages
from tests.support.lab import Lab


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    some = "CASE WHEN i % 11 > 0 THEN (i * 7919) % 1009 END AS x, 'text ' || i % 97 AS t, i % 5 AS few"
    made.run(f"CREATE TABLE wide AS SELECT i AS id, {some} FROM generate_series(1, 2000) i")
    made.run("CREATE TABLE few AS SELECT i AS few, 'few ' || i AS label FROM generate_series(0, 3) i")
    yield made
    made.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM wide ORDER BY x, id LIMIT 5",
        "SELECT t, id FROM wide ORDER BY x DESC, id LIMIT 7 OFFSET 180",
        "SELECT * FROM wide WHERE few < 3 ORDER BY x DESC NULLS LAST, t DESC, id LIMIT 5",
        "SELECT * FROM wide ORDER BY t, id DESC OFFSET 3 FETCH FIRST 4 ROWS ONLY",
        "SELECT id, x FROM wide ORDER BY few, id LIMIT 3",
        "SELECT id, label FROM wide JOIN few USING (few) ORDER BY x * -1 NULLS LAST, id LIMIT 6",
        "SELECT id, to_char(x, '0000') FROM wide ORDER BY to_char(x, '0000') NULLS LAST, id LIMIT 6",
        "SELECT * FROM wide ORDER BY x, id LIMIT 0",
        "SELECT * FROM wide ORDER BY x, id LIMIT 5000",
    ],
)
def test_first_rows(lab: Lab, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_LARGE_ROWS", 100)
    request = lab.request(sql)
    kinds = [each.type for each in request.query.columns]  # type: ignore[union-attr]
    wanted = local_stages.as_text(lab.database.cpu.run(request), kinds)
    for workers in (1, 2, 4):
        assert local_stages.rows(request, workers, lab.database.cpu) == wanted


def test_what_only_other_rows_raise_is_raised(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_LARGE_ROWS", 100)
    with pytest.raises(Exception, match="division by zero"):
        local_stages.rows(
            lab.request("SELECT id, 1 / (x - 1008) FROM wide ORDER BY x, id LIMIT 2"), 2, lab.database.cpu
        )
