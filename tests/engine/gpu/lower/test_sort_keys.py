"""Intervals in arrays and rows on workers: equality, order and distinctness equal the embedded engine's."""

from __future__ import annotations

import pytest

from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab

SETUP = """
CREATE TYPE sk_pair AS (i interval, n numeric);
CREATE TABLE sk (id int, i interval, a interval[], p sk_pair);
INSERT INTO sk VALUES
    (1, '1 mon', '{1 mon,30 days}', ('1 mon', 1.0)), (2, '30 days', '{30 days,720:00}', ('720:00', 1)),
    (3, '31 days', '{31 days}', ('31 days', 2)), (4, '-1 mon', '{}', (NULL, 1)), (5, NULL, NULL, NULL),
    (6, '1 day 24:00', '{2 days,NULL}', ('29 days', 1)), (7, '2 days', '{48:00,NULL}', ('1 mon', 1.00))
"""
STATEMENTS = (
    "SELECT count(DISTINCT a), count(DISTINCT p), count(DISTINCT (i, id % 2)), count(DISTINCT ARRAY[i]) FROM sk",
    "SELECT x.id, y.id FROM sk AS x JOIN sk AS y ON x.a = y.a",
    "SELECT x.id, y.id FROM sk AS x JOIN sk AS y ON x.p = y.p",
    "SELECT x.id, y.id, x.a < y.a, x.p >= y.p, ARRAY[x.i] = ARRAY[y.i], ROW(x.i, 1) < ROW(y.i, 1) FROM sk AS x, sk AS y",
    "SELECT id, rank() OVER (ORDER BY a), rank() OVER (ORDER BY p), count(*) OVER (PARTITION BY a) FROM sk",
    "SELECT id FROM sk WHERE a IN (SELECT a FROM sk WHERE id IN (2, 7)) OR a = '{2 days,NULL}'",
    "SELECT min(id), count(*) FROM sk GROUP BY p",
)


@pytest.mark.parametrize("sql", STATEMENTS)
@pytest.mark.parametrize("workers", [1, 2])
def test_intervals_among_values_compare_by_their_length(lab: Lab, sql: str, workers: int) -> None:
    request = lab.request(sql)
    assert sorted_rows(local_stages.rows(request, workers, lab.database.cpu)) == sorted_rows(embedded(lab, request))
