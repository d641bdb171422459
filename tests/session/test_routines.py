"""Functions and procedures over time and by every protocol; what of them is refused, each by its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.session.conftest import Connect
from tests.session.use import fails, run, value


def test_they_are_there_after_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, "CREATE TABLE t (a int)")
    run(session, "CREATE FUNCTION doubled(n int DEFAULT 4, OUT r int) LANGUAGE sql AS 'SELECT n * 2'")
    run(session, "CREATE PROCEDURE put(n int) LANGUAGE sql AS 'INSERT INTO t VALUES (doubled(n))'")
    run(session, "CREATE VIEW v AS SELECT doubled(a) AS d FROM t")
    session.close()
    database.close()
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, "CALL put(5)")
    assert run(session, "SELECT a, d, doubled() FROM t, v") == [(10, 20, 8)]
    session.close()
    database.close()


def test_a_replaced_function_is_seen_by_plans(session: Session, other: Session) -> None:
    run(session, "CREATE FUNCTION changing() RETURNS int LANGUAGE sql AS 'SELECT 1'")
    assert [value(each, "SELECT changing()") for each in (session, other)] == [1, 1]
    run(session, "CREATE OR REPLACE FUNCTION changing() RETURNS int LANGUAGE sql AS 'SELECT 2'")
    assert [value(each, "SELECT changing()") for each in (session, other)] == [2, 2]


def test_a_volatile_argument_is_computed_once(session: Session) -> None:
    run(session, "CREATE FUNCTION thrice(x bigint) RETURNS text LANGUAGE sql AS $$ SELECT x || '-' || x || '-' || x $$")
    run(session, "CREATE SEQUENCE counted")
    assert value(session, "SELECT thrice(nextval('counted'))") == "1-1-1"
    assert run(session, "SELECT thrice(nextval('counted')) FROM generate_series(1, 2)") == [("2-2-2",), ("3-3-3",)]
    run(session, "CREATE FUNCTION differs(x double precision) RETURNS boolean LANGUAGE sql STRICT AS 'SELECT x <> x'")
    assert value(session, "SELECT bool_or(differs(random())) FROM generate_series(1, 1000)") is False
    distinct = "SELECT count(DISTINCT same) FROM (SELECT once(random()) AS same FROM generate_series(1, 100)) AS q"
    run(
        session,
        "CREATE FUNCTION once(x double precision) RETURNS double precision LANGUAGE sql AS 'SELECT (x + x) / 2'",
    )
    assert value(session, distinct) == 100


def test_parameters_of_calls(connect: Connect) -> None:
    with connect() as connection:
        connection.execute("CREATE TABLE called (a int, b text)")
        connection.execute("CREATE PROCEDURE put(a int, INOUT b text) LANGUAGE sql AS"
                           " 'INSERT INTO called VALUES (a, b); SELECT b || a'")  # fmt: skip
        assert connection.execute("CALL put(%s, %s)", (3, "x")).fetchall() == [("x3",)]
        assert connection.execute("CALL put(%s, b => %s)", (4, None)).fetchall() == [(None,)]
        assert connection.execute("SELECT * FROM called ORDER BY a").fetchall() == [(3, "x"), (4, None)]
        connection.execute("CREATE FUNCTION plus(a int, b int) RETURNS int LANGUAGE sql AS 'SELECT a + b'")
        assert connection.execute("SELECT plus(%s, b => %s)", (1, 2)).fetchone() == (3,)


def test_recursion_ends(session: Session) -> None:
    run(session, "CREATE FUNCTION looping(n int) RETURNS int LANGUAGE sql AS 'SELECT n'")
    run(session, "SET check_function_bodies = off")
    run(session, "CREATE OR REPLACE FUNCTION looping(n int) RETURNS int LANGUAGE sql AS 'SELECT looping(n - 1)'")
    assert fails(session, "SELECT looping(3)").sqlstate in {"0A000", "54001"}
    run(session, "CREATE PROCEDURE endless() LANGUAGE sql AS 'SELECT 1'")
    run(session, "CREATE OR REPLACE PROCEDURE endless() LANGUAGE sql AS 'CALL endless()'")
    assert fails(session, "CALL endless()").sqlstate == "54001"
    run(session, "RESET check_function_bodies")


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE FUNCTION refused() RETURNS void LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION refused() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'",
        "CREATE FUNCTION refused() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'",
        "CREATE FUNCTION refused() RETURNS int LANGUAGE sql SET search_path = public AS 'SELECT 1'",
        "CREATE FUNCTION refused() RETURNS int LANGUAGE sql AS 'SELECT 1; SELECT 2'",
        "CREATE FUNCTION refused() RETURNS record LANGUAGE sql AS 'SELECT 1, 2'",
        "DO 'SELECT 1'",
    ],
)
def test_what_is_refused(session: Session, sql: str) -> None:
    assert fails(session, sql).sqlstate == "0A000"
