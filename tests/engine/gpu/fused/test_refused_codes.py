"""Large columns of mostly distinct texts never get a dictionary: frames compute what kernels cannot over raw text."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gpudb.engine.gpu.fused.packed_cache import packed_tables
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.planning import matching
from gpudb.engine.gpu.fused.translate.typed_values import TEXT
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.fused.recording import Recording
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, outcome
from tests.support.lab import Lab

QUERIES = (
    "SELECT count(*) FROM r WHERE t LIKE '%a%' AND t <> ''",
    "SELECT count(*), count(t) FROM r WHERE t = 'é' OR t IN ('a', '') OR t IS NULL",
    "SELECT count(*) FROM r WHERE t < 'b'",
    "SELECT t, count(*) FROM r GROUP BY t ORDER BY t",
    "SELECT count(DISTINCT t), min(t), max(t) FROM r",
    "SELECT i % 3, max(t), sum(length(t)) FROM r GROUP BY 1 ORDER BY 1",
    "SELECT upper(t) || 'x', substring(t, 2, 3), position('a' IN t) FROM r WHERE i < 40 ORDER BY i",
    "SELECT t, i FROM r ORDER BY t, i LIMIT 10",
    "SELECT count(*) FROM r JOIN r AS s ON r.t = s.t AND r.i < s.i",
    "SELECT count(*) FROM r WHERE t ILIKE 'É%'",
)


class _RawTables(PackedTables):
    """Tables in which no text column may become codes."""

    def variant(self, table: Any, column: Any, *, raw: bool = False) -> Any:
        assert raw or column.type.name not in TEXT
        return super().variant(table, column, raw=raw)


def _text(draw: random.Random) -> str:
    kind = draw.randrange(6)
    if kind == 0:
        return "NULL"
    if kind == 1:
        return "'" + "ab日" * draw.randrange(60) + "'"
    return "'" + "".join(draw.choice("aAbé日😀 _%") for _ in range(draw.randrange(5))) + "'"


@pytest.mark.parametrize("raw_text_rows", [None, 0])
def test_no_dictionary_is_made_of_distinct_texts(raw_text_rows: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MANY_ROWS", -1)
    monkeypatch.setattr(packed_tables, "DISTINCT_SAMPLE", (-1.0, 100))
    monkeypatch.setattr(packed_tables, "MAX_CODED_ROWS", -1)
    lab, draw = Lab(), random.Random(7)
    rows = ", ".join(f"({i}, {_text(draw)})" for i in range(300))
    lab.run("CREATE TABLE r (i int, t text)")
    lab.run(f"INSERT INTO r VALUES {rows}")
    tables = _RawTables(2**28, raw_text_rows=raw_text_rows)
    for query in QUERIES:
        request = lab.request(query)
        wanted = outcome(lambda r=request: embedded(lab, r))
        for workers in (1, 2):
            found = outcome(
                lambda r=request, w=workers: local_stages.rows(
                    r, w, lab.database.cpu, Costs(scan=0), kernels=Recording(tables)
                )
            )
            assert found == wanted, query
    lab.close()


def test_the_form_is_known_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_tables, "MAX_CODED_ROWS", 1000)
    lab = Lab()
    lab.run(
        "CREATE TABLE s AS SELECT 'address ' || i AS distinct_texts, 'n' || i % 50 AS few,"
        " CASE WHEN i % 10 = 0 THEN 'phrase ' || i ELSE '' END AS mostly_empty,"
        " CASE WHEN i % 10 = 0 THEN 'phrase ' || i END AS mostly_null,"
        " CASE WHEN i % 900 = 0 THEN 'rare ' || i ELSE 'a' END AS rare, NULL::text AS nothing"
        " FROM generate_series(1, 2000) i"
    )
    table = next(each for each in lab.request("SELECT 1").snapshot.relations.values() if each.name == "s")
    tables = PackedTables(2**28, raw_text_rows=0)
    many = {column.name for column in table.columns if tables.refuses_codes(table, column)}
    assert many == {"distinct_texts", "mostly_empty", "mostly_null"}
    # Small tables are coded, whatever their texts.
    monkeypatch.setattr(packed_tables, "MAX_CODED_ROWS", 2000)
    assert not any(tables.refuses_codes(table, column) for column in table.columns)
    lab.close()
