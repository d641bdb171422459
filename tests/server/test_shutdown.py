"""Shutdown: transactions may end within the time that they are given, and nobody may come in meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from gpudb.config.wire import WireSettings
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from tests.support.sessions import run, wait_until

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    made = Database(None)
    yield made
    made.close()


class Ending:
    """A server, its clients, and its shutdown in a thread."""

    def __init__(self, database: Database) -> None:
        self.server = PgServer(database, WireSettings(port=0))
        self.fast = threading.Event()
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.clients: list[Connection] = []
        self.stopper: threading.Thread | None = None

    def connect(self, *, autocommit: bool = True) -> Connection:
        host, port = self.server.address
        made: Connection = psycopg.connect(
            host=host, port=port, user="gpudb", dbname="gpudb", connect_timeout=60, autocommit=autocommit
        )
        self.clients.append(made)
        return made

    def begin(self, timeout: float) -> None:
        self.stopper = threading.Thread(target=self.server.shutdown, args=(timeout, self.fast))
        self.stopper.start()

    def join(self) -> None:
        assert self.stopper is not None
        self.stopper.join(60)
        assert not self.stopper.is_alive()
        self.thread.join(60)
        assert not self.thread.is_alive()


@pytest.fixture
def ending(database: Database) -> Iterator[Ending]:
    made = Ending(database)
    yield made
    made.fast.set()
    if made.stopper is None:
        made.begin(0)
    made.join()
    for client in made.clients:
        client.close()


ENDED = {"57P01", None}
"""SQLSTATEs of a connection that was ended: none if it broke while the driver was sending."""


def sqlstate_of(connection: Connection, sql: str) -> str | None:
    with pytest.raises(psycopg.Error) as ended:
        connection.execute(sql)
    assert connection.closed
    return ended.value.sqlstate


def end_of(connection: Connection) -> str | None:
    """Asks until the server ends the connection, which may take a moment; returns the SQLSTATE."""
    found: list[str | None] = []

    def is_ended() -> bool:
        try:
            connection.execute("SELECT 1")
        except psycopg.Error as error:
            found.append(error.sqlstate)
        return bool(found)

    wait_until(is_ended, "the server has ended the connection")
    assert connection.closed
    return found[0]


def test_a_transaction_may_end(ending: Ending, database: Database) -> None:
    idle, writer = ending.connect(), ending.connect(autocommit=False)
    writer.execute("CREATE TABLE IF NOT EXISTS kept (a int)")
    ending.begin(60)
    assert end_of(idle) in ENDED
    writer.execute("INSERT INTO kept VALUES (1)")
    with pytest.raises(psycopg.OperationalError) as refused:
        ending.connect()
    assert "the database system is shutting down" in str(refused.value)
    writer.commit()
    ending.join()
    assert sqlstate_of(writer, "SELECT 1") in ENDED
    with closing(database.session("gpudb")) as session:
        assert run(session, "SELECT a FROM kept") == [(1,)]


def test_a_transaction_that_takes_too_long_is_ended(ending: Ending, database: Database) -> None:
    lazy = ending.connect(autocommit=False)
    lazy.execute("SELECT 1")
    started = time.monotonic()
    ending.begin(0.5)
    ending.join()
    assert time.monotonic() - started >= 0.5
    assert sqlstate_of(lazy, "SELECT 1") in ENDED
    assert not database.sessions()


def test_fast_ends_the_wait(ending: Ending) -> None:
    lazy, busy = ending.connect(autocommit=False), ending.connect()
    lazy.execute("SELECT 1")
    found: list[str | None] = []
    running = threading.Thread(target=lambda: found.append(sqlstate_of(busy, "SELECT pg_sleep(60)")))
    running.start()
    look = ending.connect()
    wait_until(
        lambda: look.execute("SELECT 1 FROM pg_stat_activity WHERE query LIKE '%sleep(60)' AND state = 'active'"
                             " AND pid <> pg_backend_pid()").fetchone(), "it runs")  # fmt: skip
    ending.begin(60)
    assert end_of(look) in ENDED
    assert not found
    ending.fast.set()
    ending.join()
    running.join(60)
    assert found == ["57P01"]
