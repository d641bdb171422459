"""The log of slow statements: log_min_duration_statement, and auto_explain's plans."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.oracle.server import Oracle
from tests.support.server_program import Program

SECRET = "kangaroo"
VALUES = ("100", "'2s'", "0", "-1", "'-1ms'", "-2", "'soon'", "'1.5min'")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with Program(tmp_path_factory.mktemp("slow") / "data", "--engine", "cpu") as program:
        yield program


def outcome(connection: psycopg.Connection[tuple[object, ...]], value: str) -> object:
    """What SET and SHOW answer."""
    try:
        connection.execute(f"SET log_min_duration_statement = {value}")
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary
    return connection.execute("SHOW log_min_duration_statement").fetchone()


def test_values_are_those_of_postgresql(server: Program, oracle: Oracle) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as own, psycopg.connect(oracle.dsn, autocommit=True) as peer:
        assert [outcome(own, each) for each in VALUES] == [outcome(peer, each) for each in VALUES]
        setting = "SELECT setting, unit, vartype FROM pg_settings WHERE name = 'log_min_duration_statement'"
        for connection in (own, peer):
            connection.execute("SET log_min_duration_statement = '2s'")
        assert own.execute(setting).fetchone() == peer.execute(setting).fetchone()


def test_only_superusers_set_it(server: Program) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE quick LOGIN")
    with psycopg.connect(server.dsn, user="quick", autocommit=True) as connection:
        for name in ("log_min_duration_statement", "auto_explain.log_min_duration"):
            message = f'permission denied to set parameter "{name}"'
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match=message):
                connection.execute(f"SET {name} = 0")


def read_new(server: Program, at: int) -> str:
    return server.read_log()[at:]


def test_slow_statements_and_their_plans_are_logged(server: Program) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE slow AS SELECT g AS a FROM generate_series(1, 1000) g")
        before = len(server.read_log())
        connection.execute("SET log_min_duration_statement = '200ms'")
        connection.execute("SELECT 1 AS quick")
        connection.execute("SELECT pg_sleep(0.25)")
        logged = read_new(server, before)
        ((milliseconds, text),) = re.findall(r"duration: (\d+\.\d{3}) ms  statement: (.*)\n", logged)
        assert (text, float(milliseconds) >= 250) == ("SELECT pg_sleep(0.25)", True)
        assert "quick" not in logged

        connection.execute("SET log_min_duration_statement = -1")
        connection.execute('SET "auto_explain.log_min_duration" = 0')
        before = len(server.read_log())
        connection.execute("SELECT count(*) FROM slow WHERE a > %s", (5,))
        (plan,) = re.findall(r"ms  plan:\nQuery Text: (.*)\n((?:.*\n)*?)Engine: cpu\n", read_new(server, before))
        assert plan[0] == "SELECT count(*) FROM slow WHERE a > $1"
        assert "slow" in plan[1]
        explained = [row[0] for row in connection.execute("EXPLAIN SELECT count(*) FROM slow WHERE a > 5")]
        assert plan[1].splitlines() == explained[:-1]


def test_no_password_is_logged(server: Program) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("SET log_min_duration_statement = 0")
        connection.execute(f"CREATE ROLE secretive PASSWORD '{SECRET}'")
        connection.execute("DROP ROLE secretive")
    assert "CREATE ROLE secretive" in server.read_log()
    assert SECRET not in server.read_log()


def test_all_sessions_of_a_role_are_logged(server: Program) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE ROLE watched LOGIN")
        connection.execute("ALTER ROLE watched SET log_min_duration_statement = 0")
    with psycopg.connect(server.dsn, user="watched", autocommit=True) as connection:
        connection.execute("SELECT 1 AS watched_statement")
    assert "statement: SELECT 1 AS watched_statement" in server.read_log()
