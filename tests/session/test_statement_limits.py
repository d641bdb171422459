"""Limits of statements that roles cannot lift, and signals to the sessions that a query finds."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg
import pytest

from gpudb.engine.admission import Cost, Ticket
from gpudb.session.database import Database
from gpudb.session.session import Session
from gpudb.session.settings.system_file import SystemSettings
from tests.support.session_fixtures import Connect
from tests.support.sessions import fails, run, value, wait_until

HEAVY = "SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY -x) r FROM generate_series(1, 3000000) g(x)) t"


@pytest.fixture
def limited(session: Session, connect: Connect) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection of a role with limits."""
    run(session, "DROP ROLE IF EXISTS limited; CREATE ROLE limited LOGIN PASSWORD 'x'")
    run(session, "SELECT 1")  # the engine's first statement takes longer than these limits
    run(session, "ALTER ROLE limited SET gpudb.max_statement_timeout = '600ms'")
    run(session, "ALTER ROLE limited SET gpudb.max_running_statements = 1")
    run(session, "ALTER ROLE limited SET statement_timeout = '500ms'")
    return connect(user="limited", password="x")


# ---- statement_timeout


@pytest.mark.parametrize(
    "attempt",
    [
        "SELECT 1",
        "SET statement_timeout = 0",
        "SET statement_timeout = '1h'",
        "RESET ALL",
        "DISCARD ALL",
        "SELECT set_config('statement_timeout', '0', false)",
        "ALTER ROLE limited SET statement_timeout = 0",
        "ALTER ROLE limited RESET ALL",
    ],
)
def test_a_role_cannot_lift_its_limit(
    limited: psycopg.Connection[tuple[Any, ...]], connect: Connect, attempt: str
) -> None:
    limited.execute(attempt.encode())
    again = connect(user="limited", password="x", options="-c statement_timeout=0")
    for connection in (limited, again):
        started = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled) as canceled:
            connection.execute("SELECT pg_sleep(60)")
        assert "canceling statement due to statement timeout" in str(canceled.value)
        assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    "attempt",
    [
        "SET gpudb.max_statement_timeout = 0",
        "SET LOCAL gpudb.max_statement_timeout = 0",
        "RESET gpudb.max_statement_timeout",
        "SELECT set_config('gpudb.max_statement_timeout', '0', false)",
        "ALTER ROLE limited SET gpudb.max_statement_timeout = 0",
        "ALTER ROLE limited RESET gpudb.max_statement_timeout",
    ],
)
def test_only_superusers_change_the_limit(limited: psycopg.Connection[tuple[Any, ...]], attempt: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
        limited.execute(attempt.encode())
    assert 'permission denied to set parameter "gpudb.max_statement_timeout"' in str(refused.value)
    assert limited.execute("SHOW gpudb.max_statement_timeout").fetchone() == ("600ms",)


def test_nobody_connects_with_another_limit(limited: psycopg.Connection[tuple[Any, ...]], connect: Connect) -> None:
    with pytest.raises(psycopg.OperationalError, match="permission denied to set parameter"):
        connect(user="limited", password="x", options="-c gpudb.max_statement_timeout=0")


def test_a_superuser_sets_it_for_a_while(session: Session) -> None:
    run(session, "SET gpudb.max_statement_timeout = '50ms'")
    assert fails(session, "SELECT pg_sleep(60)").sqlstate == "57014"
    run(session, "RESET gpudb.max_statement_timeout; SELECT pg_sleep(0.1)")


def test_a_roles_settings_are_what_reset_returns_to(session: Session, connect: Connect) -> None:
    run(session, "DROP ROLE IF EXISTS tokyo; CREATE ROLE tokyo LOGIN PASSWORD 'x'")
    run(session, "ALTER ROLE tokyo SET TimeZone = 'Asia/Tokyo'")
    connection = connect(user="tokyo", password="x", application_name="given")
    connection.execute("SET TimeZone = 'UTC'; SET application_name = 'other'")
    connection.execute("RESET ALL")
    assert connection.execute("SHOW TimeZone").fetchone() == ("Asia/Tokyo",)
    assert connection.execute("SHOW application_name").fetchone() == ("given",)


def test_alter_system_sets_the_defaults_of_later_sessions(
    database: Database, session: Session, limited: psycopg.Connection[tuple[Any, ...]], connect: Connect
) -> None:
    run(session, "ALTER SYSTEM SET gpudb.max_statement_timeout = '300ms'")
    run(session, "ALTER SYSTEM SET idle_session_timeout TO 60000")
    try:
        later = connect()
        assert later.execute("SHOW gpudb.max_statement_timeout").fetchone() == ("300ms",)
        assert later.execute("SHOW idle_session_timeout").fetchone() == ("1min",)
        assert value(session, "SELECT current_setting('idle_session_timeout')") == "0"
        assert SystemSettings(database.store.directory).values == database.system_settings.values
        run(session, "ALTER SYSTEM RESET idle_session_timeout")
        assert connect().execute("SHOW idle_session_timeout").fetchone() == ("0",)
        for refused in ("ALTER SYSTEM SET idle_session_timeout = 1", "ALTER SYSTEM RESET ALL"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                limited.execute(refused.encode())
        assert fails(session, "ALTER SYSTEM SET max_connections = 5").sqlstate == "55P02"
        assert fails(session, "ALTER SYSTEM SET nothing = 5").sqlstate == "42704"
        assert fails(session, "BEGIN; ALTER SYSTEM SET idle_session_timeout = 1").sqlstate == "25001"
        run(session, "ROLLBACK")
    finally:
        run(session, "ALTER SYSTEM RESET ALL")
    assert connect().execute("SHOW gpudb.max_statement_timeout").fetchone() == ("0",)


# ---- admission


def test_a_role_runs_as_many_as_it_may(
    database: Database, session: Session, limited: psycopg.Connection[tuple[Any, ...]]
) -> None:
    queues = database.cpu.admission.queues
    other = Ticket(Cost(0, 5.0), session=-1, role="limited")
    queues.enter(other)
    try:
        run(session, HEAVY)  # another role's
        limited.execute("SELECT count(*) FROM generate_series(1, 10)")  # a short one
        with pytest.raises(psycopg.errors.QueryCanceled) as canceled:
            limited.execute(HEAVY)
        assert "canceling statement due to statement timeout" in str(canceled.value)
        assert queues.counts() == (1, 0)
    finally:
        queues.leave(other)
    run(session, "ALTER ROLE limited RESET ALL")


def test_a_statement_waits_visibly_and_can_be_cancelled(database: Database, connect: Connect) -> None:
    queues = database.cpu.admission.queues
    taken = [Ticket(Cost(0, 5.0), session=-number) for number in range(1, queues.long.places + 1)]
    for each in taken:
        queues.enter(each)
    waiting, watcher = connect(), connect()
    look = f"SELECT wait_event_type, wait_event, state FROM pg_stat_activity WHERE pid = {waiting.info.backend_pid}"
    errors: list[str | None] = []

    def ask() -> None:
        try:
            waiting.execute(HEAVY)
        except psycopg.Error as error:
            errors.append(error.sqlstate)

    running = threading.Thread(target=ask)
    running.start()
    try:
        wait_until(
            lambda: watcher.execute(look.encode()).fetchone() == ("Extension", "Admission", "active"), "it waits"
        )
        assert watcher.execute(f"SELECT pg_cancel_backend({waiting.info.backend_pid})".encode()).fetchone() == (True,)
        running.join(30)
        assert errors == ["57014"]
    finally:
        for each in taken:
            queues.leave(each)
    assert waiting.execute(HEAVY).fetchone() == (3000000,)
    assert queues.counts() == (0, 0)


# ---- signals


def test_sessions_that_a_query_finds_are_cancelled_and_ended(
    database: Database, session: Session, connect: Connect
) -> None:
    victims = [connect(application_name="victim") for _ in range(3)]
    keeper = connect(application_name="keeper")
    errors: list[str | None] = []

    def ask() -> None:
        try:
            victims[0].execute("SELECT pg_sleep(60)")
        except psycopg.Error as error:
            errors.append(error.sqlstate)

    running = threading.Thread(target=ask)
    running.start()
    found = "FROM pg_stat_activity WHERE application_name = 'victim' AND pid <> pg_backend_pid()"
    wait_until(lambda: value(session, f"SELECT count(*) {found} AND state = 'active'") == 1, "it runs")
    assert run(session, f"SELECT usename, pg_cancel_backend(pid) {found} AND state = 'active'") == [("gpudb", True)]
    running.join(30)
    assert errors == ["57014"]
    ended = f"SELECT pg_terminate_backend(pid, 20000) AS ended {found}"
    assert value(session, f"SELECT count(*) FROM ({ended}) t WHERE ended") == 3
    assert value(session, f"SELECT count(*) {found}") == 0
    for each in victims:
        with pytest.raises(psycopg.errors.AdminShutdown):
            each.execute("SELECT 1")
    assert keeper.execute("SELECT 1").fetchone() == (1,)


def test_who_is_not_there_is_warned_of(session: Session) -> None:
    session.take_notices()
    assert run(session, "SELECT pg_terminate_backend(pid) FROM (VALUES (1), (NULL)) AS v(pid)") == [(False,), (None,)]
    (notice,) = session.take_notices()
    assert (notice.severity, notice.sqlstate) == ("WARNING", "01000")
    assert notice.message == "PID 1 is not a PostgreSQL backend process"


def test_a_session_that_does_not_end_in_time(database: Database, session: Session) -> None:
    other = database.session("gpudb")  # without a connection that would end it
    session.take_notices()
    assert value(session, f"SELECT pg_terminate_backend({other.process_id}, 50)") is False
    (notice,) = session.take_notices()
    assert notice.message == f"backend with PID {other.process_id} did not terminate within 50 milliseconds"
    other.close()
