"""LIMIT and EXISTS over a join with a side that DuckDB knows to be empty, where it would drop their row count."""

from __future__ import annotations

import pytest

import gpudb

TABLES = """
CREATE TABLE few AS SELECT date '2000-01-01' + i AS born, 'n' || i AS name FROM generate_series(1, 10) i;
CREATE TABLE more AS SELECT date '2001-01-01' + i AS day, 'x' || i AS note FROM generate_series(1, 25) i
"""
JOIN = "SELECT m.note FROM few f RIGHT JOIN more m ON f.born = m.day AND f.name = 'é'"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"SELECT 1 WHERE NOT EXISTS ({JOIN})", []),
        (f"SELECT count(*) FROM more WHERE EXISTS ({JOIN}) OR note IS NULL", [(25,)]),
        (f"SELECT count(*) FROM ({JOIN} LIMIT 1) q", [(1,)]),
        (f"SELECT count(*) FROM ({JOIN} LIMIT 2 OFFSET 24) q", [(1,)]),
        (f"SELECT (SELECT 'one' FROM ({JOIN}) q LIMIT 1)", [("one",)]),
    ],
)
def test_rows_are_counted(sql: str, expected: list[tuple[object, ...]]) -> None:
    with gpudb.connect() as connection:
        for statement in TABLES.split(";"):
            connection.execute(statement)
        assert connection.execute(sql).fetchall() == expected
