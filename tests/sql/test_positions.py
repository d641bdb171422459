"""Errors raised while binding: the same SQLSTATE and the same character position as PostgreSQL's."""

from __future__ import annotations

import psycopg
import pytest

from gpudb.errors import GpudbError
from tests.support.oracle.server import Oracle
from tests.support.session_fixtures import Database, database
from tests.support.sessions import run

__all__ = ["database"]

SETUP = "CREATE TABLE pos_t (a integer, b text, d date); CREATE TABLE pos_u (a integer, c numeric(10, 2))"

STATEMENTS = (
    "SELECT nothing",
    "  SELECT   nothing FROM pos_t",
    "SELECT 'é', nothing FROM pos_t",
    "SELECT '日本', pos_t.nothing FROM pos_t",
    "SELECT x.a FROM pos_t",
    "SELECT * FROM nowhere",
    "SELECT * FROM pos_t, nowhere.pos_u",
    "SELECT a FROM pos_t, pos_u",
    "SELECT pos_t.a FROM pos_t AS x",
    "SELECT no_such_function(1)",
    "SELECT 1, upper(1, 2)",
    "SELECT a + b FROM pos_t",
    "SELECT a = b FROM pos_t",
    "SELECT 1 + true",
    "SELECT -b FROM pos_t",
    "SELECT 'x'::integer",
    "SELECT date '2024-02-30'",
    "SELECT 1 + 'x'",
    "SELECT a FROM pos_t WHERE a",
    "SELECT a FROM pos_t WHERE b = 1",
    "SELECT a FROM pos_t WHERE d > 'never'",
    "SELECT a FROM pos_t GROUP BY b",
    "SELECT sum(a), b FROM pos_t",
    "SELECT a FROM pos_t WHERE sum(a) > 1",
    "SELECT sum(sum(a)) FROM pos_t",
    "SELECT b FROM pos_t HAVING a > 1",
    "SELECT a FROM pos_t ORDER BY 5",
    "SELECT a FROM pos_t GROUP BY 7",
    "SELECT a FROM pos_t ORDER BY nothing",
    "SELECT DISTINCT a FROM pos_t ORDER BY b",
    "SELECT a, b FROM pos_t UNION SELECT a FROM pos_u",
    "SELECT a FROM pos_t UNION SELECT b FROM pos_t",
    "SELECT rank() FROM pos_t",
    "SELECT a FROM pos_t WHERE row_number() OVER () = 1",
    "SELECT sum(a) OVER w FROM pos_t",
    "SELECT (SELECT a, b FROM pos_t)",
    "SELECT a IN (SELECT a, b FROM pos_t) FROM pos_t",
    "SELECT CASE WHEN a THEN 1 END FROM pos_t",
    "SELECT CASE WHEN true THEN 1 ELSE b END FROM pos_t",
    "SELECT coalesce(a, b) FROM pos_t",
    "SELECT * FROM pos_t JOIN pos_u USING (b)",
    "SELECT * FROM pos_t JOIN pos_u ON pos_t.a",
    "SELECT a::no_such_type FROM pos_t",
    "SELECT ARRAY[1, 'x']",
    "SELECT a FROM pos_t LIMIT 'x'",
    "SELECT a FROM pos_t LIMIT a",
    "INSERT INTO pos_t (nothing) VALUES (1)",
    "INSERT INTO pos_t (a, a) VALUES (1, 2)",
    "INSERT INTO pos_t (a) VALUES (1, 2)",
    "INSERT INTO pos_t (a, b) VALUES (1)",
    "INSERT INTO pos_t (a) VALUES ('x')",
    "INSERT INTO pos_t (d) VALUES (1)",
    "INSERT INTO nowhere VALUES (1)",
    "UPDATE pos_t SET nothing = 1",
    "UPDATE pos_t SET a = 'x'",
    "UPDATE pos_t SET a = b",
    "UPDATE pos_t SET a = 1 WHERE nothing = 2",
    "UPDATE pos_t SET a = 1, a = 2",
    "DELETE FROM pos_t WHERE nothing",
    "DELETE FROM nowhere",
    "SELECT 'é'; SELECT a, nothing FROM pos_t",
    "EXPLAIN SELECT nothing FROM pos_t",
    "CREATE TABLE pos_made AS SELECT nothing FROM pos_t",
    "CREATE VIEW pos_made AS SELECT a, nothing FROM pos_t",
    "PREPARE pos_p AS SELECT nothing FROM pos_t",
    "DECLARE pos_c CURSOR WITH HOLD FOR SELECT nothing FROM pos_t",
    "WITH c AS (SELECT 1 AS x) SELECT y FROM c",
    "SELECT * FROM (SELECT a FROM pos_t) AS s WHERE s.b = 1",
    "SELECT * FROM pos_t AS x, pos_u AS x",
    "VALUES (1, 2), (3)",
)  # fmt: skip


@pytest.fixture(scope="module")
def theirs(oracle: Oracle) -> dict[str, tuple[str, int | None]]:
    """PostgreSQL's error for each statement."""
    found: dict[str, tuple[str, int | None]] = {}
    with psycopg.connect(oracle.create_database("positions"), autocommit=True) as connection:
        connection.execute(SETUP)
        for sql in STATEMENTS:
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(sql)  # type: ignore[call-overload]
            diagnostics = caught.value.diag
            at = diagnostics.statement_position
            found[sql] = (diagnostics.sqlstate or "", int(at) if at else None)
    return found


def test_errors_stand_where_postgresql_says(theirs: dict[str, tuple[str, int | None]], database: Database) -> None:
    session = database.session("gpudb")
    run(session, SETUP)
    wrong = []
    for sql, expected in theirs.items():
        try:
            run(session, sql)
            wrong.append(f"{sql}: PostgreSQL {expected}, gpudb answers")
        except GpudbError as error:
            if (error.sqlstate, error.position) != expected:
                wrong.append(f"{sql}: PostgreSQL {expected}, gpudb {error.sqlstate, error.position} {error.message}")
    session.close()
    assert not wrong, "\n".join(wrong)
