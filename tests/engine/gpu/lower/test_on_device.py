"""Percentiles and recursion on the device: nothing is copied to the host; results equal the embedded engine's."""

from __future__ import annotations

import pytest

from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.gpu.lowering import fetched
from tests.support.lab import Lab

SETUP = """
CREATE TABLE ip (id int, k float8, f float8, n numeric(8,2), t text, d date, part int);
INSERT INTO ip SELECT i, CASE i % 4 WHEN 0 THEN 0 WHEN 1 THEN float8 '-0' WHEN 2 THEN float8 'NaN' END,
    CASE WHEN i % 11 = 0 THEN float8 'NaN' WHEN i % 7 > 0 THEN i * 37 % 101 / float8 '8' END,
    CASE WHEN i % 5 > 0 THEN (i * 7919 % 1000) / 4.0 END, 't' || i % 13, date '2024-01-01' + i * 17 % 300, i / 2
    FROM generate_series(1, 200) AS g(i);
CREATE TABLE ia (id int, a int[], t text[]);
INSERT INTO ia SELECT i, CASE i % 5 WHEN 0 THEN '{}' WHEN 1 THEN NULL WHEN 2 THEN ARRAY[i, NULL, i] ELSE ARRAY[i] END::int[],
    CASE i % 3 WHEN 0 THEN '{}' ELSE ARRAY['x' || i, NULL, ''] END::text[] FROM generate_series(1, 60) AS g(i);
INSERT INTO ip VALUES (201, 9, NULL, NULL, NULL, NULL, NULL)
"""
STATEMENTS = (
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n), percentile_cont(0.3) WITHIN GROUP (ORDER BY f) FROM ip",
    "SELECT abs(k), percentile_disc(0) WITHIN GROUP (ORDER BY t), percentile_disc(1) WITHIN GROUP (ORDER BY d DESC),"
    " percentile_cont(0.75) WITHIN GROUP (ORDER BY f DESC), count(*), sum(n) FROM ip GROUP BY k",
    "SELECT t, percentile_cont(0.5) WITHIN GROUP (ORDER BY n) FILTER (WHERE id > 50), min(d) FROM ip GROUP BY t",
    "SELECT id % 3, percentile_disc(0.95) WITHIN GROUP (ORDER BY id * 3 % 50), avg(f) FROM ip GROUP BY 1",
    "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY d), count(*) FROM ip WHERE id < 0",
    "SELECT count(DISTINCT (k, part % 3)), count((k, n)), count(ip), count(DISTINCT ROW(t)), sum(n) FROM ip",
    "SELECT part % 5, count(DISTINCT (k, n)) FILTER (WHERE id % 3 > 0), count(DISTINCT (f, t, d)), max(t),"
    " count((id, k)) FILTER (WHERE k = 0) FROM ip GROUP BY 1",
    "SELECT count(DISTINCT (id, t)), count((id, t)) FROM ip WHERE id < 0",
    "SELECT string_agg(DISTINCT t, ',' ORDER BY t DESC), string_agg(DISTINCT t, '' ORDER BY t), count(*) FROM ip",
    "SELECT part % 3, string_agg(DISTINCT t, ', ' ORDER BY t) FROM ip GROUP BY 1",
    "SELECT d, percentile_cont(1) WITHIN GROUP (ORDER BY f) FROM ip WHERE id < 0 GROUP BY d",
    "SELECT id, unnest(a) FROM ia",
    "SELECT id, u, o, a FROM ia, unnest(a) WITH ORDINALITY AS x(u, o)",
    "SELECT u, count(*), min(o) FROM ia CROSS JOIN LATERAL unnest(t) WITH ORDINALITY AS x(u, o) WHERE id % 7 > 1 GROUP BY u",
    "SELECT id, u FROM ia LEFT JOIN LATERAL unnest(a) AS x(u) ON true",
    "SELECT id, unnest(t) FROM ia WHERE id < 0",
    "WITH RECURSIVE up(id, part, deep) AS (SELECT id, part, 0 FROM ip WHERE id > 190 UNION ALL"
    " SELECT ip.id, ip.part, deep + 1 FROM ip, up WHERE ip.id = up.part) SELECT deep, count(*), min(id) FROM up GROUP BY 1",
    "WITH RECURSIVE up(id, part) AS (SELECT id, part FROM ip WHERE id > 190 OR id IS NULL UNION"
    " SELECT ip.id, ip.part FROM ip, up WHERE ip.id = up.part) SELECT * FROM up",
    "WITH RECURSIVE s(n) AS (SELECT id FROM ip WHERE id = 1 UNION ALL SELECT n + 1 FROM s WHERE n < 300)"
    " SELECT count(*), sum(n) FROM s",
    "WITH RECURSIVE s(n) AS (SELECT id FROM ip WHERE id < 3 UNION SELECT n % 150 + 1 FROM s) SELECT * FROM s",
)


@pytest.mark.parametrize("sql", STATEMENTS, ids=range(len(STATEMENTS)))
def test_nothing_is_fetched(lab: Lab, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(fetched(lab, lab.request(sql), monkeypatch)) <= {"few quotients"}


def test_what_has_no_such_place_goes_to_the_host(lab: Lab) -> None:
    for sql in (
        "SELECT percentile_disc(ARRAY[0.5, 1]) WITHIN GROUP (ORDER BY n), count(*) FROM ip",
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY id) FILTER (WHERE id = 3) FROM ip",
    ):
        request = lab.request(sql)
        assert sorted_rows(local_stages.rows(request, 1, lab.database.cpu)) == sorted_rows(embedded(lab, request))
