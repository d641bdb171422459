"""Sort keys over columns without NULLs place NULLs last, as long as there are none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.cpu.statement import statement_sql
from tests.support.lab import Lab, answer

LAST = "SELECT k, v FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM keyed) t WHERE n = 1"


@pytest.fixture
def cpu(lab: Lab) -> Iterator[CpuEngine]:
    made = CpuEngine(spill=lab.database.store.spill)
    lab.run("CREATE TABLE keyed AS SELECT i % 3 AS k, i AS v FROM generate_series(1, 30) i")
    yield made
    lab.release()
    lab.run("DROP TABLE keyed")
    made.close()


def _render(cpu: CpuEngine, lab: Lab, sql: str) -> str:
    with cpu.instance.loaded.open_reader() as reading:
        return statement_sql(cpu.instance, lab.request(sql), reading).text


def test_a_column_without_nulls_is_sorted_with_nulls_last(cpu: CpuEngine, lab: Lab) -> None:
    for sql in (LAST, "SELECT v FROM keyed ORDER BY v DESC LIMIT 3", "SELECT array_agg(k ORDER BY v DESC) FROM keyed"):
        assert "NULLS LAST" in _render(cpu, lab, sql)
        assert "NULLS FIRST" not in _render(cpu, lab, sql)
    assert sorted(answer(cpu, lab.request(LAST))) == [(0, 30), (1, 28), (2, 29)]


def test_one_with_a_null_is_sorted_as_before(cpu: CpuEngine, lab: Lab) -> None:
    request = lab.request(LAST)
    assert sorted(answer(cpu, request)) == [(0, 30), (1, 28), (2, 29)]
    lab.run("INSERT INTO keyed VALUES (1, NULL)")
    later = lab.request(LAST)
    assert "NULLS FIRST" in _render(cpu, lab, LAST)
    assert sorted(answer(cpu, later), key=str) == [(0, 30), (1, None), (2, 29)]
    assert sorted(answer(cpu, request)) == [(0, 30), (1, 28), (2, 29)]
    lab.run("DELETE FROM keyed WHERE v IS NULL")
    assert sorted(answer(cpu, lab.request(LAST))) == [(0, 30), (1, 28), (2, 29)]


def test_rows_that_a_join_adds_have_nulls(cpu: CpuEngine, lab: Lab) -> None:
    sql = "SELECT b.v FROM keyed a LEFT JOIN keyed b ON b.v = a.v + 20 ORDER BY b.v DESC, a.v LIMIT 1"
    assert answer(cpu, lab.request(sql)) == [(None,)]
    sets = "SELECT k FROM keyed GROUP BY GROUPING SETS ((k), ()) ORDER BY k DESC LIMIT 1"
    assert answer(cpu, lab.request(sets)) == [(None,)]
