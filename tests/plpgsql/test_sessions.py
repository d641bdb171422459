"""PL/pgSQL in sessions: cancellation, limits of depth, owners' privileges, restarts and what a crash leaves."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest

from tests.support.emptying import empty_database
from tests.support.server_program import Program
from tests.support.sessions import wait_until
from tests.support.wire_server import running_database

_ENDLESS = "DO $$ BEGIN LOOP NULL; END LOOP; END $$"
_ROWS = "DO $$ DECLARE r record; BEGIN LOOP FOR r IN SELECT generate_series(1, 9) LOOP END LOOP; END LOOP; END $$"


@pytest.fixture
def connection(gpudb_server: str) -> psycopg.Connection:
    with psycopg.connect(gpudb_server, autocommit=True) as opened:
        yield opened
    empty_database(gpudb_server)


@pytest.mark.parametrize("block", [_ENDLESS, _ROWS])
def test_a_timeout_ends_a_loop(connection: psycopg.Connection, block: str) -> None:
    connection.execute("SET statement_timeout = '200ms'")
    started = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout") as caught:
        connection.execute(block)
    assert time.monotonic() - started < 10
    assert "PL/pgSQL function inline_code_block line 1" in (caught.value.diag.context or "")


def test_a_cancel_ends_a_loop_that_handles_all_errors(connection: psycopg.Connection) -> None:
    timer = threading.Timer(0.3, connection.cancel_safe)
    timer.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("DO $$ BEGIN LOOP BEGIN PERFORM 1; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END $$")
    timer.join()
    assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("call", ["endless(n + 1) + 0", "(SELECT endless(n + 1))"])
def test_endless_recursion_is_an_error(connection: psycopg.Connection, call: str) -> None:
    connection.execute(
        "CREATE FUNCTION endless(n int) RETURNS int LANGUAGE plpgsql AS "
        f"$$ DECLARE m int; BEGIN m := {call}; RETURN m; END $$"
    )
    with pytest.raises(psycopg.errors.StatementTooComplex, match="stack depth limit exceeded"):
        connection.execute("SELECT endless(1)")
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_recursion_of_a_useful_depth(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE FUNCTION depth(n int) RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN IF n = 0 THEN RETURN 0; END IF; RETURN 1 + depth(n - 1); END $$"
    )
    assert connection.execute("SELECT depth(60)").fetchone() == (60,)


def test_a_definer_function_has_its_owners_privileges(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE secret (v int)")
    connection.execute("INSERT INTO secret VALUES (7)")
    body = "$$ DECLARE x int; BEGIN SELECT v INTO x FROM secret; RETURN x || current_user; END $$"
    connection.execute(f"CREATE FUNCTION reads() RETURNS text LANGUAGE plpgsql AS {body}")
    connection.execute(f"CREATE FUNCTION defined() RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS {body}")
    connection.execute("CREATE ROLE plpgsql_caller")
    try:
        owner = connection.execute("SELECT current_user").fetchone()
        assert owner is not None
        connection.execute("SET ROLE plpgsql_caller")
        assert connection.execute("SELECT defined()").fetchone() == (f"7{owner[0]}",)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="secret"):
            connection.execute("SELECT reads()")
    finally:
        connection.execute("RESET ROLE")
        connection.execute("DROP ROLE plpgsql_caller")


def test_parameters_of_the_extended_protocol(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE FUNCTION joins(a int, b text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN b || a; END'"
    )
    for number in range(3):
        found = connection.execute("SELECT joins(%s, %s)", (number, "x"), prepare=True).fetchone()
        assert found == (f"x{number}",)


def test_a_new_definition_is_used_by_other_sessions(connection: psycopg.Connection, gpudb_server: str) -> None:
    with psycopg.connect(gpudb_server, autocommit=True) as other:
        for answer in (1, 2):
            connection.execute(
                f"CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN {answer}; END'"
            )
            assert other.execute("SELECT answer()").fetchone() == (answer,)


def test_a_body_follows_its_tables(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE shape (a int)")
    connection.execute("INSERT INTO shape VALUES (1)")
    connection.execute(
        "CREATE FUNCTION shown() RETURNS text LANGUAGE plpgsql AS "
        "$$ DECLARE r record; s shape; BEGIN SELECT * INTO r FROM shape; s := r; RETURN r || '/' || s; END $$"
    )
    assert connection.execute("SELECT shown()").fetchone() == ("(1)/(1)",)
    connection.execute("ALTER TABLE shape ADD COLUMN b text DEFAULT 'x'")
    assert connection.execute("SELECT shown()").fetchone() == ("(1,x)/(1,x)",)


def test_a_body_follows_its_files(connection: psycopg.Connection, tmp_path: Path) -> None:
    connection.execute(
        "CREATE FUNCTION counted() RETURNS text LANGUAGE plpgsql AS $$ DECLARE n int; r record; "
        f"BEGIN SELECT count(*) INTO n FROM '{tmp_path}/*.csv'; r := (SELECT row(count(*)) FROM '{tmp_path}/*.csv'); "
        "RETURN n || '/' || r; END $$"
    )
    for number in (1, 2):
        (tmp_path / f"{number}.csv").write_text("a\n1\n", encoding="utf-8")
        assert connection.execute("SELECT counted()").fetchone() == (f"{number}/({number})",)
    (tmp_path / "1.csv").write_text("a\n1\n2\n", encoding="utf-8")
    assert connection.execute("SELECT counted()").fetchone() == ("3/(3)",)


def test_a_body_copies_to_and_from_files(connection: psycopg.Connection, tmp_path: Path) -> None:
    connection.execute("CREATE TABLE copied (a int)")
    notices: list[str | None] = []
    connection.add_notice_handler(lambda each: notices.append(each.message_primary))
    connection.execute(
        "DO $$ DECLARE n int; BEGIN INSERT INTO copied VALUES (1), (2); "
        f"COPY copied TO '{tmp_path}/a.txt'; COPY copied FROM '{tmp_path}/a.txt'; "
        "GET DIAGNOSTICS n = ROW_COUNT; RAISE NOTICE '%', n; END $$"
    )
    assert notices == ["2"]
    assert connection.execute("SELECT a FROM copied ORDER BY a").fetchall() == [(1,), (1,), (2,), (2,)]
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="cannot COPY to/from client in PL/pgSQL"):
        connection.execute("DO $$ BEGIN COPY copied TO STDOUT; END $$")


def test_names_have_63_bytes(connection: psycopg.Connection) -> None:
    name = "n" * 62 + "é"  # the last letter has two bytes, one too many
    connection.execute(
        f"CREATE FUNCTION takes({name} int) RETURNS int LANGUAGE plpgsql AS "
        f'$$ DECLARE {"m" * 70} int := {name} + 1; BEGIN RETURN {"m" * 63} + "{"m" * 64}"; END $$'
    )
    assert connection.execute("SELECT takes(1)").fetchone() == (4,)


def test_routines_and_what_they_committed_survive_a_crash(tmp_path: Path) -> None:
    with Program(tmp_path / "data") as program, psycopg.connect(program.dsn, autocommit=True) as first:
        first.execute("CREATE TABLE kept (v int)")
        first.execute(
            "CREATE PROCEDURE fills(n int) LANGUAGE plpgsql AS "
            "$$ BEGIN FOR i IN 1..n LOOP INSERT INTO kept VALUES (i); COMMIT; END LOOP;"
            " INSERT INTO kept VALUES (-1); PERFORM pg_sleep(60); END $$"
        )
        caller = threading.Thread(target=_call_until_lost, args=(first,))
        caller.start()
        with psycopg.connect(program.dsn, autocommit=True) as watcher:
            count = "SELECT count(*) FROM kept"
            wait_until(lambda: watcher.execute(count).fetchone() == (3,), "three are committed")
        program.kill()
        caller.join()
    with running_database(tmp_path / "data") as dsn, psycopg.connect(dsn, autocommit=True) as second:
        assert second.execute("SELECT v FROM kept ORDER BY v").fetchall() == [(1,), (2,), (3,)]
        second.execute("CREATE OR REPLACE PROCEDURE fills(n int) LANGUAGE plpgsql AS 'BEGIN DELETE FROM kept; END'")
        second.execute("CALL fills(0)")
        assert second.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def _call_until_lost(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.OperationalError):
        connection.execute("CALL fills(3)")


@pytest.mark.parametrize(
    "statements",
    [
        "OPEN c FOR SELECT a FROM locked FOR UPDATE",
        "OPEN c FOR EXECUTE 'SELECT a FROM locked FOR UPDATE'",
    ],
)
def test_cursors_that_lock_are_refused(connection: psycopg.Connection, statements: str) -> None:
    connection.execute("CREATE TABLE locked (a int)")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="queries that lock or change rows"):
        connection.execute(f"DO $$ DECLARE c refcursor; BEGIN {statements}; END $$")


def test_outputs_of_a_procedure_that_is_found_at_the_call_are_refused(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE PROCEDURE doubles(n int, INOUT twice int) LANGUAGE plpgsql AS 'BEGIN twice := n * 2; END'"
    )
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="found only at the call"):
        connection.execute(
            "DO $$ DECLARE r record; m int; BEGIN SELECT 1 AS a INTO r; CALL doubles(r.a, m); RAISE NOTICE '%', m; END $$"
        )
