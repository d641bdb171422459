"""Functions that run on the host are evaluated once for each distinct value, with the embedded engine's answer."""

from __future__ import annotations

import polars as pl
import pytest

from gpudb.engine.gpu.lower.expressions import host_fallback
from gpudb.engine.gpu.lower.expressions.host_fallback import HostStep
from gpudb.errors import GpudbError
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab

DISTINCT = 7
SETUP = """
CREATE TABLE dt AS
SELECT i AS id, CASE WHEN i % 7 < 6 THEN 'user' || i % 7 || '@mail-' || i % 7 || '.org, ÀÉ' END AS s, i % 7 AS n,
    CASE WHEN i % 7 < 5 THEN (i % 7 * 100)::text ELSE '2024-0' || i % 7 END AS v
FROM generate_series(1, 3000) i
"""
HOSTED = (
    "regexp_replace(s, '(u)(s)er', '\\2\\1')",
    "regexp_replace(s, '[a-z]+', 'x', 'gi')",
    "regexp_replace(s, '(\\d)(.*)(\\d)', '\\3\\2\\1', 2, 1)",
    "(regexp_match(s, '@([a-z]+)-(\\d)'))[1]",
    "regexp_split_to_array(s, '[@,]')",
    "s ~ '^user[1-3]'",
    "s ~* 'USER[^1]'",
    "split_part(s, '@', -1)",
    "substring(s FROM '\\d')",
    "initcap(s)",
    "string_to_array(s, '-')",
    "format('%s|%s', s, n)",
    "md5(s)",
)


@pytest.fixture(scope="module")
def lab() -> Lab:
    made = Lab()
    made.run(SETUP)
    return made


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows that each call of the host has evaluated."""
    found: list[int] = []
    evaluate = HostStep._evaluate_slice

    def count(step: HostStep, frame: pl.DataFrame) -> pl.DataFrame:
        found.append(frame.height)
        return evaluate(step, frame)

    monkeypatch.setattr(HostStep, "_evaluate_slice", count)
    return found


@pytest.mark.parametrize("function", HOSTED)
def test_a_function_is_called_once_a_distinct_value(lab: Lab, evaluated: list[int], function: str) -> None:
    request = lab.request(f"SELECT id, {function} FROM dt")
    assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu)) == sorted_rows(embedded(lab, request))
    assert evaluated
    assert sum(evaluated) <= DISTINCT


def test_it_is_called_for_each_row_where_most_are_distinct(lab: Lab, evaluated: list[int]) -> None:
    request = lab.request("SELECT id, initcap(s || id) FROM dt")
    assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu)) == sorted_rows(embedded(lab, request))
    assert sum(evaluated) == 3000


def test_only_values_of_rows_that_remain_fail(lab: Lab) -> None:
    fine = lab.request("SELECT id, v::int + 1 FROM dt WHERE n < 5")
    for workers in (1, 2):
        assert sorted_rows(local_stages.rows(fine, workers, lab.database.cpu)) == sorted_rows(embedded(lab, fine))
    guarded = lab.request(
        "SELECT id, CASE WHEN n < 5 THEN v::int END, CASE WHEN n > 4 THEN (v || '-01')::date END FROM dt"
    )
    assert sorted_rows(local_stages.rows(guarded, 1, lab.database.cpu)) == sorted_rows(embedded(lab, guarded))
    with pytest.raises(GpudbError, match='invalid input syntax for type integer: "2024-05"') as raised:
        local_stages.rows(lab.request("SELECT v::int FROM dt WHERE n <> 6"), 1, lab.database.cpu)
    assert raised.value.sqlstate == "22P02"


def test_few_rows_are_evaluated_as_they_are(lab: Lab, evaluated: list[int]) -> None:
    assert host_fallback.REPEATED_ROWS > 500
    request = lab.request("SELECT id, initcap(s) FROM dt WHERE id <= 500")
    assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu)) == sorted_rows(embedded(lab, request))
    assert sum(evaluated) == 500
