"""Takeovers: what a coordinator held that is killed, hangs, or is cut off is free within its lease, and it notices."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.support.coordinators import Connection, catch_up, connect, read_state, read_value
from tests.support.hanging_proxy import HangingProxy
from tests.support.postgres_program import PostgresProgram
from tests.support.server_program import Program
from tests.support.sessions import wait_until

LEASE = {"GPUDB_CATALOG_LEASE": "3"}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of all coordinators."""
    return tmp_path_factory.mktemp("takeover") / "data"


@pytest.fixture(scope="module")
def other(postgres: PostgresProgram, data_dir: Path) -> Iterator[Program]:
    """A coordinator that goes on."""
    with Program(data_dir, "--catalog", postgres.url, environment=LEASE) as program:
        with connect(program) as connection:
            connection.execute("CREATE TABLE t (n int)")
        yield program
        program.end()


@pytest.fixture
def leader(postgres: PostgresProgram, other: Program, data_dir: Path) -> Iterator[Program]:
    """A coordinator that leads: the other one's lock is taken away for a moment."""
    with Program(data_dir, "--catalog", postgres.url, environment=LEASE) as program:
        with postgres.connect("catalog") as connection:
            make_leader(connection, program, other)
        yield program
        program.kill()


@pytest.fixture
def catalog(postgres: PostgresProgram) -> Iterator[Connection]:
    """A connection to the PostgreSQL of the catalog."""
    with postgres.connect("catalog") as connection:
        yield connection


def number(catalog: Connection, program: Program) -> int | None:
    """Returns a server's number among the coordinators."""
    return read_value(catalog, f"SELECT id FROM gpudb.gpudb_coordinators WHERE pid = {program.process.pid}")  # type: ignore[no-any-return]


def leading(catalog: Connection) -> int | None:
    """Returns the number of the coordinator whose connection has the leader's lock."""
    return read_value(  # type: ignore[no-any-return]
        catalog,
        "SELECT substring(application_name FROM '[0-9]+$')::bigint FROM pg_locks JOIN pg_stat_activity USING (pid)"
        " WHERE locktype = 'advisory' AND granted AND application_name LIKE 'gpudb coordinator %'",
    )


def make_leader(catalog: Connection, program: Program, other: Program) -> None:
    """Takes the leader's lock away from a server until the other one has it."""

    def leads() -> bool:
        if leading(catalog) == number(catalog, other):
            catalog.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
                (f"gpudb coordinator {number(catalog, other)}",),
            )
        return leading(catalog) == number(catalog, program)

    wait_until(leads, "it leads")


@contextmanager
def writing(program: Program, acknowledged: list[int], first: int) -> Iterator[None]:
    """Inserts numbers from `first` on, one a commit, during the block; adds those that are acknowledged."""
    stop = threading.Event()

    def write() -> None:
        with connect(program) as connection:
            for n in range(first, first + 100_000):
                if stop.is_set():
                    return
                try:
                    connection.execute("INSERT INTO t VALUES (%s)", (n,))
                except psycopg.errors.SerializationFailure:
                    continue
                except psycopg.OperationalError:
                    return
                acknowledged.append(n)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()


def insert(program: Program, n: int) -> None:
    """Commits a row; again if the server was taken for gone, as a busy machine's may be."""
    with connect(program) as connection:
        wait_until(lambda: read_state(connection, f"INSERT INTO t VALUES ({n})") is None, "the row is there")


def stop_within_commit(catalog: Connection, program: Program) -> None:
    """Stops a server that commits, at a moment at which it keeps all others from committing."""
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        f" AND application_name = 'gpudb commits of coordinator {number(catalog, program)}'"
    )

    def stopped() -> bool:
        os.kill(program.process.pid, signal.SIGSTOP)
        if read_value(catalog, query) == 1:
            return True
        os.kill(program.process.pid, signal.SIGCONT)
        return False

    wait_until(stopped, "it is stopped within a commit")


def test_a_leader_that_hangs_in_a_commit(catalog: Connection, leader: Program, other: Program) -> None:
    """Reads go on meanwhile, another leads and commits, and the one that is back changes nothing of before."""
    acknowledged: list[int] = []
    successor = number(catalog, other)
    with connect(other) as reader, connect(leader) as old:
        old.execute("BEGIN")
        old.execute("INSERT INTO t VALUES (-1)")
        with writing(leader, acknowledged, 0):
            stop_within_commit(catalog, leader)
            committing = threading.Thread(target=insert, args=(other, -2))
            committing.start()
            assert read_value(reader, "SELECT count(*) >= 0 FROM t") is True
            with connect(other) as login:
                assert read_value(login, "SELECT count(*) >= 0 FROM t") is True
            wait_until(lambda: leading(catalog) == successor, "the other one leads")
            committing.join(60)
            assert not committing.is_alive()
            wait_until(lambda: number(catalog, leader) is None, "it counts as gone")
            os.kill(leader.process.pid, signal.SIGCONT)
            wait_until(lambda: number(catalog, leader) is not None, "it is back")
            before = len(acknowledged)
            wait_until(lambda: len(acknowledged) > before + 2, "it commits again")
        assert read_state(old, "COMMIT") == "40001"
    wait_until(lambda: leading(catalog) is not None, "one leads")
    for program in (leader, other):
        with connect(program) as connection:
            catch_up(connection)
            found = [n for (n,) in connection.execute("SELECT n FROM t WHERE n >= 0 ORDER BY n").fetchall()]
            assert set(acknowledged) <= set(found)
            assert len(set(found)) == len(found)
            assert read_value(connection, "SELECT count(*) FROM t WHERE n = -1") == 0
            assert read_value(connection, "SELECT count(*) FROM t WHERE n = -2") == 1


def test_a_leader_that_is_killed(catalog: Connection, leader: Program, other: Program) -> None:
    successor = number(catalog, other)
    leader.kill()
    wait_until(lambda: leading(catalog) == successor, "the other one leads")
    insert(other, -3)
    wait_until(lambda: read_value(catalog, "SELECT count(*) FROM gpudb.gpudb_coordinators") == 1, "it is forgotten")


def test_a_leader_whose_network_is_cut(
    catalog: Connection, postgres: PostgresProgram, other: Program, data_dir: Path
) -> None:
    """Another one leads; meanwhile the one that is cut off reads, and once it is back commits of before fail."""
    successor = number(catalog, other)
    parts = urlsplit(postgres.url)
    assert parts.port is not None
    with HangingProxy(parts.port) as proxy:
        url = parts._replace(netloc=parts.netloc.replace(str(parts.port), str(proxy.port))).geturl()
        with Program(data_dir, "--catalog", url, environment=LEASE) as leader:
            make_leader(catalog, leader, other)
            with connect(leader) as old, connect(leader) as reader:
                before = read_value(reader, "SELECT count(*) FROM t")
                old.execute("BEGIN")
                old.execute("INSERT INTO t VALUES (-4)")
                proxy.passes.clear()
                wait_until(lambda: leading(catalog) == successor, "the other one leads")
                wait_until(lambda: number(catalog, leader) is None, "it counts as gone")
                insert(other, -5)
                assert read_value(reader, "SELECT count(*) FROM t") == before
                proxy.passes.set()
                wait_until(lambda: number(catalog, leader) is not None, "it is back")
                assert read_state(old, "COMMIT") == "40001"
                catch_up(reader)
                assert read_value(reader, "SELECT count(*) FROM t") == before + 1
                insert(leader, -6)
            leader.kill()
