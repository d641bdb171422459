"""CREATE, ALTER, DROP and COMMENT ON EXTENSION, beside PostgreSQL where it has the case."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.oracle.server import Oracle
from tests.support.sessions import fails, run

NAME = "pg_stat_statements"
LISTED = (
    "SELECT extname, extversion, nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace"
    " WHERE e.oid >= 16384"
)
COMMENT = f"SELECT obj_description(oid, 'pg_extension') FROM pg_extension WHERE extname = '{NAME}'"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE EXTENSION hstore",
        "CREATE EXTENSION IF NOT EXISTS hstore WITH SCHEMA nowhere VERSION '9' CASCADE",
        'CREATE EXTENSION "../hstore"',
        'CREATE EXTENSION ""',
        'CREATE EXTENSION "a--b"',
        'CREATE EXTENSION "-a"',
        "CREATE EXTENSION hstore VERSION '1' VERSION '2'",
        "DROP EXTENSION hstore",
        "DROP EXTENSION IF EXISTS hstore",
        "ALTER EXTENSION hstore UPDATE",
        "COMMENT ON EXTENSION hstore IS 'text'",
    ],
)
def test_what_is_missing_is_refused_as_in_postgresql(session: Session, oracle: Oracle, sql: str) -> None:
    with oracle.connect() as client:
        expected = client.execute(sql)
    if not expected.failed:
        run(session, sql)
        return
    error = fails(session, sql)
    assert (error.sqlstate, error.message, error.hint) == (expected.sqlstate, expected.message, expected.hint)
    assert error.position == expected.position


def test_a_known_extension_is_listed_until_it_is_dropped(session: Session) -> None:
    available = f"SELECT default_version, installed_version FROM pg_available_extensions WHERE name = '{NAME}'"
    assert run(session, available) == [("1.10", None)]
    run(session, f"CREATE EXTENSION {NAME}")
    assert run(session, LISTED) == [(NAME, "1.10", "public")]
    assert run(session, available) == [("1.10", "1.10")]
    versions = f"SELECT installed, superuser FROM pg_available_extension_versions WHERE name = '{NAME}'"
    assert run(session, versions) == [(True, True)]
    run(session, f"CREATE EXTENSION IF NOT EXISTS {NAME}")
    assert session.notices[-1].sqlstate == "42710"
    error = fails(session, f"CREATE EXTENSION {NAME}")
    assert (error.sqlstate, error.message) == ("42710", f'extension "{NAME}" already exists')
    run(session, f"ALTER EXTENSION {NAME} UPDATE")
    assert session.notices[-1].message == f'version "1.10" of extension "{NAME}" is already installed'
    assert fails(session, f"ALTER EXTENSION {NAME} UPDATE TO '2'").sqlstate == "22023"
    assert run(session, COMMENT) == [("track planning and execution statistics of all SQL statements executed",)]
    run(session, f"COMMENT ON EXTENSION {NAME} IS 'ours'")
    assert run(session, COMMENT) == [("ours",)]
    run(session, f"DROP EXTENSION {NAME}")
    assert run(session, LISTED) == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT extname, extversion, nspname, extrelocatable, obj_description(e.oid, 'pg_extension'), e.oid < 16384,"
        " e.oid = l.oid - 4 FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace, pg_language l"
        " WHERE lanname = 'plpgsql'",
        "SELECT default_version, installed_version FROM pg_available_extensions WHERE name = 'plpgsql'",
        "SELECT deptype, refobjid::regnamespace::text FROM pg_depend WHERE refclassid = 'pg_namespace'::regclass"
        " AND objid = (SELECT oid FROM pg_extension WHERE extname = 'plpgsql')",
        "SELECT deptype, lanname FROM pg_depend JOIN pg_language l ON l.oid = objid WHERE classid = 'pg_language'::regclass"
        " AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'plpgsql')",
        "CREATE EXTENSION plpgsql",
        "CREATE EXTENSION IF NOT EXISTS plpgsql WITH SCHEMA pg_catalog",
        "ALTER EXTENSION plpgsql UPDATE",
        "COMMENT ON EXTENSION plpgsql IS 'PL/pgSQL procedural language'",
    ],
)
def test_every_database_has_plpgsql(session: Session, oracle: Oracle, sql: str) -> None:
    with oracle.connect() as client:
        expected = client.execute(sql)
    if expected.failed:
        error = fails(session, sql)
        assert (error.sqlstate, error.message) == (expected.sqlstate, expected.message)
        return
    found = [tuple("ft"[each] if isinstance(each, bool) else each for each in row) for row in run(session, sql) or ()]
    assert found == list(expected.rows)


def test_plpgsql_cannot_be_dropped(session: Session) -> None:
    for sql in ("DROP EXTENSION plpgsql", "DROP EXTENSION IF EXISTS plpgsql CASCADE"):
        assert fails(session, sql).sqlstate == "0A000"
    run(session, "COMMENT ON EXTENSION plpgsql IS 'ours'")
    assert run(session, COMMENT.replace(NAME, "plpgsql")) == [("ours",)]
    assert run(session, "SELECT count(*) FROM pg_extension") == [(1,)]
    run(session, "COMMENT ON EXTENSION plpgsql IS 'PL/pgSQL procedural language'")


def test_options_of_create_extension(session: Session) -> None:
    message = f'extension "{NAME}" has no installation script nor update path for version "0.1"'
    error = fails(session, f"CREATE EXTENSION {NAME} VERSION '0.1'")
    assert (error.sqlstate, error.message) == ("22023", message)
    assert fails(session, f"CREATE EXTENSION {NAME} SCHEMA nowhere").sqlstate == "3F000"
    run(session, "CREATE SCHEMA apart")
    run(session, f"CREATE EXTENSION {NAME} WITH SCHEMA apart VERSION '1.10' CASCADE")
    assert run(session, LISTED) == [(NAME, "1.10", "apart")]
    error = fails(session, "DROP SCHEMA apart")
    assert (error.sqlstate, error.detail) == ("2BP01", f"extension {NAME} depends on schema apart")
    run(session, "DROP SCHEMA apart CASCADE")
    assert run(session, LISTED) == []
    run(session, f"BEGIN; CREATE EXTENSION {NAME} SCHEMA pg_catalog; ROLLBACK")
    assert run(session, LISTED) == []


def test_only_superusers_create_and_drop(session: Session) -> None:
    run(session, f"CREATE EXTENSION {NAME}")
    run(session, "CREATE ROLE plain; SET ROLE plain")
    try:
        assert fails(session, f"DROP EXTENSION {NAME}").message == f"must be owner of extension {NAME}"
        run(session, f"RESET ROLE; DROP EXTENSION {NAME}; SET ROLE plain")
        error = fails(session, f"CREATE EXTENSION {NAME}")
        assert (error.sqlstate, error.message) == ("42501", f'permission denied to create extension "{NAME}"')
        assert error.hint == "Must be superuser to create this extension."
    finally:
        run(session, f"RESET ROLE; DROP ROLE plain; DROP EXTENSION IF EXISTS {NAME}")


def test_extensions_are_kept(tmp_path: Path) -> None:
    for sql in (f"CREATE EXTENSION {NAME}", "SELECT 1"):
        with contextlib.closing(Database(tmp_path / "data")) as database:
            session = database.session("gpudb")
            run(session, sql)
            assert run(session, LISTED) == [(NAME, "1.10", "public")]
            session.close()
