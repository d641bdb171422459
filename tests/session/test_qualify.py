"""QUALIFY, which PostgreSQL lacks: the result of a WHERE around the same query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import gpudb
from gpudb.errors import GpudbError

PAIRS = {
    "SELECT k, v FROM q QUALIFY row_number() OVER (PARTITION BY k ORDER BY v DESC, n) = 1 ORDER BY k": (
        "SELECT k, v FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC, n) AS r FROM q) s"
        " WHERE r = 1 ORDER BY k"
    ),
    "SELECT k, rank() OVER (ORDER BY v) AS r FROM q WHERE n < 5 QUALIFY r > 1 ORDER BY v, n LIMIT 2": (
        "SELECT k, r FROM (SELECT k, v, n, rank() OVER (ORDER BY v) AS r FROM q WHERE n < 5) s"
        " WHERE r > 1 ORDER BY v, n LIMIT 2"
    ),
    "SELECT DISTINCT k FROM q QUALIFY count(*) OVER (PARTITION BY k) > 1 ORDER BY k": (
        "SELECT k FROM q GROUP BY k HAVING count(*) > 1 ORDER BY k"
    ),
    "SELECT k, sum(v) FROM q GROUP BY k QUALIFY rank() OVER (ORDER BY sum(v) DESC) = 1 UNION ALL SELECT 'ünï', 0": (
        "(SELECT k, sum(v) FROM q GROUP BY k ORDER BY sum(v) DESC LIMIT 1) UNION ALL SELECT 'ünï', 0"
    ),
    "SELECT (SELECT max(v) FROM q) FROM (SELECT v FROM q QUALIFY v = max(v) OVER ()) s QUALIFY count(*) OVER () > 0": (
        "SELECT 9"
    ),
    "SELECT 'qualify 1' AS qualify": "SELECT 'qualify 1'",
}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[gpudb.Connection]:
    """A database with one small table."""
    directory: Path = tmp_path_factory.mktemp("qualify")
    with gpudb.connect(directory) as connection:
        connection.execute("CREATE TABLE q (n integer, k text, v integer)")
        connection.execute("INSERT INTO q VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 3), (4, 'b', 3), (5, 'ü', 9)")
        yield connection


@pytest.mark.parametrize("text", PAIRS)
def test_same_as_a_where_around_it(db: gpudb.Connection, text: str) -> None:
    """Each query and its spelling without QUALIFY return the same rows in the same order."""
    assert db.sql(text).fetchall() == db.sql(PAIRS[text]).fetchall()


def test_conditions_are_part_of_the_statement(db: gpudb.Connection) -> None:
    """Two statements that differ only in their conditions have separate plans."""
    rows = [db.sql(f"SELECT n FROM q QUALIFY row_number() OVER (ORDER BY n) = {n}").fetchall() for n in (2, 4, 2)]
    assert rows == [[(2,)], [(4,)], [(2,)]]


@pytest.mark.parametrize(
    ("text", "sqlstate", "position"),
    [
        ("SELECT k FROM q QUALIFY nothing = 1", "42703", 25),
        ("SELECT k FROM q QUALIFY row_number() OVER () = 1, 2", "42601", None),
        ("SELECT k FROM q QUALIFY v", "42804", None),
        ("SELECT k FROM q QUALIFY v + ", "42601", None),
    ],
)
def test_wrong_conditions(db: gpudb.Connection, text: str, sqlstate: str, position: int | None) -> None:
    """Errors inside the condition are those of any condition, with their position in the text."""
    with pytest.raises(GpudbError) as raised:
        db.sql(text).fetchall()
    assert raised.value.sqlstate == sqlstate
    if position is not None:
        assert raised.value.position == position
