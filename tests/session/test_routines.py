"""Functions and procedures over time and by every protocol; unsupported clauses are refused by name."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.session_fixtures import Connect
from tests.support.sessions import fails, run, value


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
        "CREATE FUNCTION refused() RETURNS int LANGUAGE c AS 'library', 'symbol'",
        "DO LANGUAGE sql 'SELECT 1'",
    ],
)
def test_what_is_refused(session: Session, sql: str) -> None:
    assert fails(session, sql).sqlstate == "0A000"


def test_a_function_does_not_change_rows_under_its_statement(session: Session) -> None:
    run(session, "CREATE TABLE beneath (v int); INSERT INTO beneath VALUES (1), (2)")
    run(session, "CREATE FUNCTION deeper() RETURNS int LANGUAGE sql AS 'UPDATE beneath SET v = v + 1; SELECT 5'")
    assert fails(session, "UPDATE beneath SET v = deeper()").sqlstate == "27000"
    assert run(session, "SELECT v FROM beneath ORDER BY v") == [(1,), (2,)]
    assert run(session, "SELECT v, d FROM beneath, deeper() AS f(d) ORDER BY v") == [(1, 5), (2, 5)]
    assert run(session, "SELECT v FROM beneath ORDER BY v") == [(2,), (3,)]


def test_a_function_that_changes_data_in_a_read_only_transaction(session: Session) -> None:
    run(session, "CREATE TABLE unwritten (v int)")
    run(session, "CREATE FUNCTION writing() RETURNS void LANGUAGE sql AS 'INSERT INTO unwritten VALUES (1)'")
    assert fails(session, "BEGIN READ ONLY; SELECT writing(); COMMIT").sqlstate == "25006"
    run(session, "ROLLBACK")


@pytest.fixture
def logging(session: Session) -> Session:
    """A session with functions that log their argument."""
    if not run(session, "SELECT 1 FROM pg_class WHERE relname = 'log'"):
        run(session, "CREATE TABLE log (n int)")
        body = "INSERT INTO log VALUES ($1) RETURNING n"
        run(session, f"CREATE FUNCTION logged(int) RETURNS int LANGUAGE sql AS '{body}'")
        run(session, f"CREATE FUNCTION logged_rows(int) RETURNS SETOF int LANGUAGE sql AS '{body}'")
    return session


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 WHERE logged(1) > 0",
        "SELECT coalesce(NULL, logged(1), 2)",
        "SELECT CASE WHEN n > 1 THEN logged(n) END FROM generate_series(1, 3) AS g(n)",
        "SELECT n FROM generate_series(1, 3) AS g(n) WHERE n > 1 OR logged(n) > 1",
        "SELECT n, (SELECT logged(n)) FROM generate_series(1, 3) AS g(n)",
    ],
)
def test_where_functions_that_change_data_are_refused(logging: Session, sql: str) -> None:
    assert fails(logging, sql).sqlstate == "0A000"
    assert value(logging, "SELECT count(*) FROM log") == 0


@pytest.mark.parametrize(
    ("sql", "rows", "logged"),
    [
        ("SELECT count(*) FROM generate_series(1, 3) AS g(n) GROUP BY logged(n)", [(1,), (1,), (1,)], [1, 2, 3]),
        ("SELECT coalesce(logged(1), 2)", [(1,)], [1]),
        ("SELECT n, l FROM generate_series(1, 2) AS g(n), logged_rows(n) AS l", [(1, 1), (2, 2)], [1, 2]),
        ("SELECT sum(logged(n)) FROM generate_series(1, 3) AS g(n)", [(6,)], [1, 2, 3]),
        ("SELECT n FROM generate_series(1, 3) AS g(n) WHERE n > 1 AND logged(n) > 2", [(3,)], [2, 3]),
    ],
)
def test_functions_that_change_data_run_for_each_row(
    logging: Session, sql: str, rows: list[tuple[int, ...]], logged: list[int]
) -> None:
    run(logging, "BEGIN")
    assert run(logging, sql) == rows
    assert [n for (n,) in run(logging, "SELECT n FROM log ORDER BY n")] == logged
    run(logging, "ROLLBACK")


def test_parameters_of_functions_that_change_data(connect: Connect) -> None:
    with connect() as connection:
        connection.execute("CREATE TABLE sent (a int, b numeric)")
        connection.execute("CREATE FUNCTION send(a int, b numeric) RETURNS numeric LANGUAGE sql AS"
                           " 'INSERT INTO sent VALUES (a, b) RETURNING sent.b'")  # fmt: skip
        assert connection.execute("SELECT send(%s, 2.50), send(%s, 3)", (3, 4)).fetchall() == [
            (Decimal("2.50"), Decimal(3))
        ]
        assert connection.execute("SELECT * FROM sent ORDER BY a").fetchall() == [(3, Decimal("2.50")), (4, Decimal(3))]


@pytest.mark.parametrize("prepare", [False, True])
@pytest.mark.parametrize("language", ["sql", "plpgsql"])
def test_a_body_with_changes_in_with_runs_again(connect: Connect, language: str, prepare: bool) -> None:
    body = "WITH w AS (INSERT INTO noted VALUES (1) RETURNING a) SELECT count(*) {} FROM w"
    if language == "plpgsql":
        body = f"DECLARE n bigint; BEGIN {body.format('INTO n')}; RETURN n; END"
    with connect() as connection:
        connection.execute("DROP TABLE IF EXISTS noted CASCADE; CREATE TABLE noted (a int)")
        connection.execute(
            f"CREATE OR REPLACE FUNCTION note() RETURNS bigint LANGUAGE {language} AS $$ {body.format('')} $$".encode()
        )
        for _ in range(3):
            assert connection.execute("SELECT note()", prepare=prepare).fetchall() == [(1,)]
        assert connection.execute("SELECT count(*) FROM noted").fetchall() == [(3,)]
        connection.execute("DROP FUNCTION note()")


def test_a_body_of_the_same_text_as_the_statement_is_another_statement(connect: Connect) -> None:
    with connect() as connection:
        connection.execute("CREATE SCHEMA aside; CREATE TABLE same_text (a int); CREATE TABLE aside.same_text (a int)")
        connection.execute("INSERT INTO same_text VALUES (1), (2); INSERT INTO aside.same_text VALUES (1)")
        connection.execute(
            "CREATE FUNCTION beside() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " PERFORM set_config('search_path', 'aside', true); DELETE FROM same_text; RETURN NULL; END $$"
        )
        connection.execute("CREATE TRIGGER also AFTER DELETE ON same_text FOR EACH STATEMENT EXECUTE FUNCTION beside()")
        for _ in range(2):
            connection.execute("DELETE FROM same_text", prepare=True)
        assert connection.execute("SELECT count(*) FROM aside.same_text").fetchall() == [(0,)]
        connection.execute("DROP TABLE same_text, aside.same_text; DROP FUNCTION beside(); DROP SCHEMA aside")


def test_renaming_tells_functions_of_one_name_apart(session: Session) -> None:
    run(session, "CREATE FUNCTION twice(n int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT n * 2'")
    run(session, "CREATE FUNCTION twice(n bigint) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 100'")
    run(session, "CREATE FUNCTION upper(n int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT n'")
    run(session, "CREATE VIEW twice_text AS SELECT 'twice, upper' AS told")
    for name in ("twice", "upper"):  # nothing calls them: a text of the same words is no call
        run(session, f"ALTER FUNCTION {name}(int) RENAME TO other; ALTER FUNCTION other(int) RENAME TO {name}")
    run(session, "CREATE VIEW asked AS SELECT twice(4) AS n, upper('a') AS u")
    run(session, "ALTER FUNCTION twice(int) RENAME TO other; ALTER FUNCTION twice(bigint) RENAME TO later")
    assert run(session, "SELECT n, u FROM asked") == [(8, "A")]
    assert "SELECT other(4) AS n" in value(session, "SELECT pg_get_viewdef('asked'::regclass)")
    run(session, "ALTER FUNCTION upper(int) RENAME TO same")
    assert run(session, "SELECT n, u FROM asked") == [(8, "A")]
    run(session, "DROP VIEW asked")
    assert value(session, "SELECT other(4)") == 8
