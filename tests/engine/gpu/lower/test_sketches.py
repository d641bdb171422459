"""approx_count_distinct and approx_percentile: the embedded engine's answers on 1, 2 and 4 workers, and error bounds."""

from __future__ import annotations

import pytest

from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab

ROWS = 20_000
SETUP = f"""
CREATE TABLE t AS SELECT i, (i % 1000)::int4 a, i::numeric / 7 n, (i * 7919 % 100003)::float8 / 4 f, 'x' || i % 5000 s,
    date '2020-01-01' + (i % 300)::int d, i % 2 = 0 b, CASE WHEN i % 11 > 0 THEN i % 10 END g,
    (i % 77)::numeric(10, 2) m, interval '1 day' * (i % 40) iv, array[i % 9] ar,
    CASE i % 4 WHEN 0 THEN float8 'nan' WHEN 1 THEN 0 WHEN 2 THEN float8 '-0' END k
    FROM generate_series(1, {ROWS}) x(i)
"""
STATEMENTS = (
    "SELECT approx_count_distinct(i), approx_count_distinct(a), approx_count_distinct(n), approx_count_distinct(f),"
    " approx_count_distinct(s), approx_count_distinct(d), approx_count_distinct(b), approx_count_distinct(m),"
    " approx_count_distinct(iv), approx_count_distinct(ar), approx_count_distinct(k) FROM t",
    "SELECT g, approx_count_distinct(i), count(*), approx_count_distinct(s) FILTER (WHERE i < 1000), sum(m), avg(n)"
    " FROM t GROUP BY g",
    "SELECT abs(k), approx_count_distinct(i), count(DISTINCT a), percentile_disc(0.5) WITHIN GROUP (ORDER BY a)"
    " FROM t GROUP BY k",
    "SELECT s, approx_count_distinct(i), mode() WITHIN GROUP (ORDER BY a) FROM t GROUP BY s",
    "SELECT approx_count_distinct(i), approx_percentile(f, 0.5), approx_percentile(f, 0.5) FILTER (WHERE i = 7),"
    " approx_percentile(f, NULL) FROM t WHERE i < 0",
    "SELECT s, approx_percentile(i, 0.5), approx_percentile(a, array[0, 0.5, 1]) FROM t GROUP BY s",
    "SELECT abs(k), approx_percentile(f, 1, 3), approx_percentile(f, 0, 3) FROM t GROUP BY k",
    "SELECT approx_percentile(i, 0.5, 20000), approx_percentile(a, 0.25, 1000000) FROM t",
    "SELECT a, approx_percentile(i, NULL), count(*), median(i) FROM t GROUP BY a",
)


@pytest.mark.parametrize("sql", STATEMENTS, ids=range(len(STATEMENTS)))
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_workers_agree_with_the_embedded_engine(lab: Lab, sql: str, workers: int) -> None:
    request = lab.request(sql)
    assert sorted_rows(local_stages.rows(request, workers, lab.database.cpu)) == sorted_rows(embedded(lab, request))


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("accuracy", [10, 100, 1000])
def test_ranks_are_within_the_bound(lab: Lab, workers: int, accuracy: int) -> None:
    fractions = (0.001, 0.1, 0.5, 0.77, 0.999)
    calls = ", ".join(f"approx_percentile(i, {each}, {accuracy})" for each in fractions)
    ((*found,),) = local_stages.rows(lab.request(f"SELECT {calls} FROM t"), workers, lab.database.cpu)
    for value, fraction in zip(found, fractions, strict=True):
        assert abs((float(value or "nan") - 1) / (ROWS - 1) - fraction) <= 1 / accuracy


INFINITE = {
    "CASE WHEN i % 2 = 0 THEN float8 'inf' ELSE i END": (0.2, 0.4, 0.6, 0.7, 0.8, 1),
    "CASE WHEN i % 2 = 0 THEN float8 '-inf' ELSE i END": (0, 0.2, 0.4, 0.6, 0.8, 1),
    "CASE WHEN i % 2 = 0 THEN float8 '-inf' ELSE 'inf' END": (0, 0.2, 0.4, 0.6, 0.8, 1),
    "CASE WHEN i % 2 = 0 THEN float8 'nan' ELSE 'inf' END": (0, 0.2, 0.4, 0.6, 0.8, 1),
    "CASE WHEN i % 2 = 0 THEN float8 '1.7e308' ELSE '-1.7e308' END": (0, 0.1, 0.4, 0.6, 0.9, 1),
    "CASE WHEN i % 2 = 0 THEN float8 '1.6e308' ELSE '1.7e308' END": (0, 0.1, 0.4, 0.6, 0.9, 1),
}
"""Values with infinities, NaN and extremes, and fractions at which their percentiles are one of a few values."""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("value", INFINITE)
def test_infinities_and_extremes(lab: Lab, value: str, workers: int) -> None:
    calls = ", ".join(f"approx_percentile({value}, {each})" for each in INFINITE[value])
    request = lab.request(f"SELECT {calls} FROM t WHERE i <= 4000")
    ((*found,),) = local_stages.rows(request, workers, lab.database.cpu)
    ((*exact,),) = embedded(lab, request)
    for mine, theirs in zip(found, exact, strict=True):
        assert float(mine or 0) == pytest.approx(float(theirs or 0), rel=0.01, nan_ok=True)


def test_distinct_values_are_within_five_standard_errors(lab: Lab) -> None:
    sql = "SELECT approx_count_distinct(i), approx_count_distinct(s), approx_count_distinct(f) FROM t"
    ((*found,),) = local_stages.rows(lab.request(sql), 2, lab.database.cpu)
    for value, exact in zip(found, (ROWS, 5000, ROWS), strict=True):
        assert abs(int(value or 0) / exact - 1) < 5 * 0.01625
