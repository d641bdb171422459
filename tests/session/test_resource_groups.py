"""Resource groups: limits that the statements of some roles share, and that these cannot lift."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpudb.config.database import EMBEDDED
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run, state, value, wait_until

LIMIT = 512 << 20


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database with the roles a, b and c, of which c has no group."""
    opened = Database(tmp_path_factory.mktemp("groups") / "data", replace(EMBEDDED, memory_limit=LIMIT))
    session = opened.session("gpudb")
    for each in "abc":
        run(session, f"CREATE ROLE {each} LOGIN")
    session.close()
    yield opened
    opened.close()


@pytest.fixture
def admin(database: Database) -> Iterator[Session]:
    """A superuser; the groups that a test makes are dropped after it."""
    session = database.session("gpudb")
    yield session
    if session.status != "I":
        run(session, "ROLLBACK")
    for each in "abc":
        run(session, f"ALTER ROLE {each} RESOURCE GROUP NONE")
    for (name,) in run(
        session, "SELECT name FROM gpudb_resource_groups WHERE name NOT IN ('default_group', 'admin_group')"
    ):
        run(session, f'DROP RESOURCE GROUP "{name}"')
    run(session, "ALTER RESOURCE GROUP default_group SET (concurrency = none, statement_seconds = none)")
    session.close()


@pytest.fixture
def roles(database: Database, admin: Session) -> Iterator[tuple[Session, Session, Session]]:
    """Sessions of a, a and b."""
    opened = database.session("a"), database.session("a"), database.session("b")
    yield opened
    for each in opened:
        each.close()


class Background:
    """A statement in a thread."""

    def __init__(self, session: Session, sql: str) -> None:
        self.error: GpudbError | None = None
        self.rows: list[tuple[object, ...]] | None = None
        self._session, self._sql = session, sql
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.rows = run(self._session, self._sql)
        except GpudbError as error:
            self.error = error

    def join(self) -> None:
        self._thread.join(60)
        assert not self._thread.is_alive()


def counts(admin: Session, name: str) -> tuple[int, int]:
    ((running, queued),) = run(admin, f"SELECT running, queued FROM gpudb_resource_groups WHERE name = '{name}'")
    return running, queued


# ---- concurrency


def test_a_second_transaction_waits_and_a_cancel_ends_the_wait(
    admin: Session, roles: tuple[Session, Session, Session]
) -> None:
    run(admin, "CREATE RESOURCE GROUP g WITH (concurrency = 1)")
    run(admin, "ALTER ROLE a RESOURCE GROUP g; ALTER ROLE b RESOURCE GROUP g")
    first, second, third = roles
    run(first, "BEGIN; SELECT 1")
    waiting = Background(second, "SELECT 2")
    wait_until(lambda: counts(admin, "g") == (1, 1), "the second waits")
    found = run(admin, f"SELECT wait_event, state FROM pg_stat_activity WHERE pid = {second.process_id}")
    assert found == [("ResourceGroup", "active")]
    canceled = Background(third, "SELECT 3")
    wait_until(lambda: counts(admin, "g") == (1, 2), "the third waits")
    third.cancel()
    canceled.join()
    assert canceled.error is not None
    assert canceled.error.sqlstate == "57014"
    assert value(admin, "SELECT 4") == 4
    assert run(first, "SELECT 5; SHOW role") == [("none",)]  # the place is its own to the end
    run(first, "COMMIT")
    waiting.join()
    assert waiting.rows == [(2,)]
    wait_until(lambda: counts(admin, "g") == (0, 0), "all have left")


def test_a_higher_limit_admits_those_that_wait(admin: Session, roles: tuple[Session, Session, Session]) -> None:
    run(admin, "CREATE RESOURCE GROUP g WITH (concurrency = 1); ALTER ROLE a RESOURCE GROUP g")
    first, second, _ = roles
    run(first, "BEGIN; SELECT 1")
    waiting = Background(second, "SELECT 2")
    wait_until(lambda: counts(admin, "g") == (1, 1), "the second waits")
    run(admin, "ALTER RESOURCE GROUP g SET concurrency 2")
    waiting.join()
    assert waiting.rows == [(2,)]
    run(first, "ROLLBACK")
    assert counts(admin, "g") == (0, 0)


def test_a_procedure_that_commits_keeps_its_place(admin: Session, roles: tuple[Session, Session, Session]) -> None:
    run(admin, "CREATE RESOURCE GROUP g WITH (concurrency = 1); ALTER ROLE a RESOURCE GROUP g")
    first, second, _ = roles
    calling = Background(first, "DO $$ BEGIN COMMIT; PERFORM pg_sleep(600); END $$")
    wait_until(lambda: counts(admin, "g")[0] == 1, "the block runs")
    waiting = Background(second, "SELECT 2")
    wait_until(lambda: counts(admin, "g") == (1, 1), "the second waits")
    first.cancel()
    calling.join()
    waiting.join()
    assert calling.error is not None
    assert calling.error.sqlstate == "57014"
    assert waiting.rows == [(2,)]


# ---- time


def test_statement_seconds(admin: Session, roles: tuple[Session, Session, Session]) -> None:
    run(admin, "CREATE RESOURCE GROUP g WITH (statement_seconds = 0.3); ALTER ROLE a RESOURCE GROUP g")
    limited, _, other = roles
    for attempt in ("SET statement_timeout = 0", "SET ROLE none", "RESET ALL", "DISCARD ALL"):
        run(limited, attempt)
        error = fails(limited, "SELECT pg_sleep(600)")
        assert error.sqlstate == "57014"
        assert error.message == 'canceling statement due to statement_seconds of resource group "g"'
    assert run(other, "SELECT pg_sleep(0.4)")


def test_the_default_group_has_all_others(admin: Session, roles: tuple[Session, Session, Session]) -> None:
    run(admin, "ALTER RESOURCE GROUP default_group WITH (statement_seconds = 0.3)")
    run(admin, "CREATE RESOURCE GROUP g; ALTER ROLE a RESOURCE GROUP g")
    assert run(roles[0], "SELECT pg_sleep(0.4)")
    assert state(roles[2], "SELECT pg_sleep(600)") == "57014"
    assert run(admin, "SELECT pg_sleep(0.4)")


# ---- memory

_LARGE = "SELECT length(string_agg(lpad(x::text, 100, 'z'), ',')) FROM generate_series(1, 200000) g(x)"


def test_a_group_has_its_own_memory(admin: Session, roles: tuple[Session, Session, Session]) -> None:
    run(admin, "CREATE RESOURCE GROUP small WITH (memory = '32MB', temporary_space = '1MB', workers = 0.5)")
    run(admin, "ALTER ROLE a RESOURCE GROUP small")
    limited, _, other = roles
    assert state(limited, _LARGE) == "53200"
    assert value(other, _LARGE) == 20_199_999
    assert value(limited, "SELECT sum(x) FROM generate_series(1, 1000) g(x)") == 500500
    sort = "SELECT count(r) FROM (SELECT row_number() OVER (ORDER BY md5(x::text)) r FROM generate_series(1, 400000) g(x)) t"
    error = fails(limited, sort)
    assert (error.sqlstate, error.message) == (
        "53400",
        'temporary file size exceeds temporary_space of resource group "small" (1024kB)',
    )
    assert value(other, sort) == 400_000
    run(admin, "ALTER RESOURCE GROUP small SET (memory = '40%', temporary_space = none)")
    assert value(limited, _LARGE) == 20_199_999
    cpu = admin.database.cpu
    assert cpu.instance.memory_limit() < 0.61 * LIMIT
    run(admin, "ALTER ROLE a RESOURCE GROUP NONE; DROP RESOURCE GROUP small")
    assert value(limited, "SELECT 1") == 1
    assert cpu.instance.memory_limit() > 0.99 * LIMIT


# ---- definitions


def test_only_superusers_change_groups(admin: Session, roles: tuple[Session, Session, Session]) -> None:
    run(admin, "CREATE RESOURCE GROUP g WITH (concurrency = 1); ALTER ROLE b RESOURCE GROUP g")
    run(admin, "ALTER ROLE b CREATEROLE")
    for attempt in (
        "CREATE RESOURCE GROUP mine",
        "ALTER RESOURCE GROUP g SET (concurrency = 9)",
        "DROP RESOURCE GROUP g",
        "ALTER ROLE b RESOURCE GROUP NONE",
        "ALTER ROLE b RESOURCE GROUP admin_group",
        "CREATE ROLE other RESOURCE GROUP g",
    ):
        assert state(roles[2], attempt) == "42501", attempt
    run(admin, "ALTER ROLE b NOCREATEROLE")


def test_definitions(admin: Session) -> None:
    run(admin, """CREATE RESOURCE GROUP "a Group" WITH (memory = '25%', concurrency = 3, statement_seconds = 1.5)""")
    run(admin, "CREATE ROLE kept RESOURCE GROUP \"a Group\" PASSWORD 'resource group x' NOLOGIN")
    shown = "SELECT concurrency, memory_bytes, memory_share, statement_seconds, roles FROM gpudb_resource_groups"
    assert run(admin, f"{shown} WHERE name = 'a Group'") == [(3, LIMIT // 4, 0.25, 1.5, ["kept"])]
    assert state(admin, 'DROP RESOURCE GROUP "a Group"') == "2BP01"
    assert state(admin, "DROP RESOURCE GROUP default_group") == "2BP01"
    assert state(admin, "ALTER ROLE kept RESOURCE GROUP none_such") == "42704"
    assert state(admin, "DROP RESOURCE GROUP none_such") == "42704"
    assert state(admin, 'CREATE RESOURCE GROUP "a Group"') == "42710"
    run(admin, 'CREATE RESOURCE GROUP IF NOT EXISTS "a Group"; DROP RESOURCE GROUP IF EXISTS none_such')
    run(admin, "DROP ROLE kept")
    run(admin, 'BEGIN; DROP RESOURCE GROUP "a Group"; ROLLBACK')
    assert run(admin, "SELECT 1 FROM gpudb_resource_groups WHERE name = 'a Group'") == [(1,)]
    run(admin, 'DROP RESOURCE GROUP "a Group"')


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("concurrency = 0", "22023"),
        ("concurrency = 1.5", "22023"),
        ("memory = '1MB'", "22023"),
        ("memory = '2 bananas'", "22023"),
        ("memory = '90%'", "22023"),
        ("memory = '100GB'", "22023"),
        ("temporary_space = '1GB'", "22023"),
        ("workers = 0.5", "22023"),
        ("memory = '64MB', workers = 2", "22023"),
        ("statement_seconds = 'soon'", "22023"),
        ("cpu = 3", "22023"),
        ("concurrency == 3", "42601"),
    ],
)
def test_options_that_are_refused(admin: Session, options: str, expected: str) -> None:
    assert state(admin, f"CREATE RESOURCE GROUP bad WITH ({options})") == expected


def test_groups_survive_a_restart(tmp_path: Path) -> None:
    first = Database(tmp_path / "data", EMBEDDED)
    session = first.session("gpudb")
    run(session, "CREATE RESOURCE GROUP g WITH (statement_seconds = 0.2); CREATE ROLE a LOGIN RESOURCE GROUP g")
    first.close()
    second = Database(tmp_path / "data", EMBEDDED)
    assert state(second.session("a"), "SELECT pg_sleep(600)") == "57014"
    second.close()
