"""Roles and passwords, permissions to change them, and what a session sees of others and does to them."""

from __future__ import annotations

import psycopg
import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.session_fixtures import Connect
from tests.support.sessions import run, state, value, wait_until


def test_a_password_is_needed_once_it_is_set(session: Session, connect: Connect) -> None:
    run(session, "CREATE ROLE anna LOGIN PASSWORD 'geheim'")
    assert connect(user="anna", password="geheim").execute("SELECT current_user").fetchone() == ("anna",)
    for wrong in ("falsch", "", "GEHEIM"):
        with pytest.raises(psycopg.OperationalError) as caught:
            connect(user="anna", password=wrong)
        assert "password" in str(caught.value)
    run(session, "ALTER ROLE anna PASSWORD 'neu'")
    assert connect(user="anna", password="neu").execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError):
        connect(user="anna", password="geheim")
    run(session, "DROP ROLE anna")


def test_only_roles_with_login_log_in(session: Session, connect: Connect) -> None:
    run(session, "CREATE ROLE group_only PASSWORD 'x'; CREATE USER may PASSWORD 'x'")
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        connect(user="group_only", password="x")
    assert connect(user="may", password="x").execute("SELECT session_user").fetchone() == ("may",)
    run(session, "DROP ROLE group_only, may")


def test_passwords_are_not_kept_as_text(session: Session, database: Database) -> None:
    run(session, "CREATE ROLE secret LOGIN PASSWORD 'plain text'")
    verifier = database.roles()["secret"].verifier
    assert verifier is not None
    assert verifier.startswith("SCRAM-SHA-256$")
    assert "plain text" not in verifier
    run(session, "DROP ROLE secret")


def test_what_needs_a_privilege(session: Session, connect: Connect) -> None:
    run(session, "CREATE ROLE weak LOGIN PASSWORD 'x'")
    weak = connect(user="weak", password="x")
    for sql in (
        "CREATE ROLE more",
        "ALTER ROLE weak SUPERUSER",
        "DROP ROLE gpudb",
        "ALTER ROLE gpudb PASSWORD 'mine'",
        "COPY (SELECT 1) TO '/nowhere/file'",
        "CREATE TABLE pg_catalog.own (a int)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            weak.execute(sql)
    weak.execute("ALTER ROLE weak PASSWORD 'own'")
    assert connect(user="weak", password="own").execute("SELECT 1").fetchone() == (1,)
    weak.close()
    run(session, "DROP ROLE weak")


def test_role_errors(session: Session) -> None:
    assert state(session, "CREATE ROLE gpudb") == "42710"
    assert state(session, "DROP ROLE nobody") == "42704"
    assert state(session, "CREATE ROLE pg_mine") == "42939"
    assert state(session, "DROP ROLE gpudb") == "55006"
    assert state(session, "GRANT SELECT ON t TO gpudb") == "42P01"


def test_settings_of_a_role(session: Session, connect: Connect) -> None:
    run(session, "CREATE ROLE far LOGIN PASSWORD 'x'; ALTER ROLE far SET TimeZone = 'Asia/Tokyo'")
    assert connect(user="far", password="x").execute("SHOW TimeZone").fetchone() == ("Asia/Tokyo",)
    given = connect(user="far", password="x", options="-c TimeZone=Europe/Rome")
    assert given.execute("SHOW TimeZone").fetchone() == ("Europe/Rome",)
    run(session, "DROP ROLE far")


def test_pg_stat_activity(session: Session, connect: Connect) -> None:
    idle, blocked = connect(application_name="idler"), connect(application_name="in block")
    idle.execute("SELECT 42")
    blocked.execute("BEGIN")
    rows = run(
        session, "SELECT application_name, state, query, usename FROM pg_stat_activity WHERE application_name <> ''"
    )
    assert set(rows) >= {("idler", "idle", "SELECT 42", "gpudb"), ("in block", "idle in transaction", "BEGIN", "gpudb")}
    own = "SELECT state FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    assert value(session, own) == "active"
    idle.close()
    wait_until(
        lambda: not run(session, "SELECT 1 FROM pg_stat_activity WHERE application_name = 'idler'"), "it is gone"
    )


def test_pg_terminate_backend(session: Session, connect: Connect, database: Database) -> None:
    run(session, "CREATE TABLE survives (a int)")
    victim = connect()
    pid = victim.info.backend_pid
    victim.execute("BEGIN")
    victim.execute("INSERT INTO survives VALUES (1)")
    assert value(session, f"SELECT pg_terminate_backend({pid})") is True
    with pytest.raises(psycopg.errors.AdminShutdown) as caught:
        victim.execute("SELECT 1")
    assert caught.value.sqlstate == "57P01"
    assert victim.closed
    wait_until(lambda: database.find(pid) is None, "the session is gone")
    assert run(session, "SELECT * FROM survives") == []
    run(session, "DROP TABLE survives")
    assert value(session, "SELECT pg_terminate_backend(1)") is False
    assert value(session, "SELECT pg_cancel_backend(1)") is False
