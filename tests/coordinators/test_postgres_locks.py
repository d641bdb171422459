"""Locks of two coordinators over one PostgreSQL: modes, waiting, deadlocks, crashes of either side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from gpudb.errors import GpudbError, SerializationFailure, SqlError
from gpudb.storage.catalog.postgres_connection import connect, create_tables
from gpudb.storage.catalog.postgres_locks import KEPT_CONNECTIONS, PostgresLocks
from gpudb.storage.locks import Target
from tests.support.postgres_program import PostgresProgram
from tests.support.sessions import wait_until

TABLE = 16_384
NUMBER = Target(5, 0, 42, 1)


@pytest.fixture(autouse=True)
def commits(postgres: PostgresProgram) -> None:
    """The catalog's tables, with a commit number."""
    connection = connect(postgres.url)
    create_tables(connection)
    connection.execute("INSERT INTO gpudb_state VALUES ('commit', '7') ON CONFLICT DO NOTHING")
    connection.close()


class Pair:
    """The locks of two coordinators, the commits that each has caught up with, and threads to wait in."""

    def __init__(self, url: str, catalogs: tuple[str, str] = ("c", "c")) -> None:
        self.caught_up: tuple[list[int], list[int]] = [], []
        self.one, self.two = (
            PostgresLocks(url, catalog, seen.append) for catalog, seen in zip(catalogs, self.caught_up, strict=True)
        )
        self._threads = ThreadPoolExecutor(8)

    def wait_in_thread(self, locks: PostgresLocks, target: int | Target, owner: int, **options: object) -> Future[bool]:
        """Acquires a lock in a thread; returns once it waits."""
        future = self._threads.submit(locks.acquire, target, owner, **options)  # type: ignore[arg-type]
        wait_until(
            lambda: future.done() or any(not row.is_granted and row.owner == owner for row in locks.list_rows()),
            "the thread waits",
        )
        return future

    def close(self) -> None:
        self.one.close()
        self.two.close()
        self._threads.shutdown()


@pytest.fixture
def pair(postgres: PostgresProgram) -> Iterator[Pair]:
    made = Pair(postgres.url)
    yield made
    made.close()


@pytest.fixture
def count(postgres: PostgresProgram) -> Iterator[Callable[[], int]]:
    """A function that returns how many advisory locks PostgreSQL knows."""
    with postgres.connect() as connection:
        yield lambda: connection.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchall()[0][0]


@pytest.mark.parametrize("target", [TABLE, NUMBER])
def test_modes_exclude_each_other_over_both(pair: Pair, target: int | Target, count: Callable[[], int]) -> None:
    assert pair.one.acquire(target, 1, shared=True) is False
    assert pair.two.try_acquire(target, 1, shared=True)
    assert not pair.two.try_acquire(target, 2)
    assert not pair.one.try_acquire(target, 2)
    pair.one.release(1)
    assert pair.two.try_acquire(target, 1)  # its own shared lock is no obstacle
    assert not pair.one.try_acquire(target, 1, shared=True)
    pair.two.release(1)
    assert pair.one.try_acquire(target, 3)
    assert [(row.owner, row.is_shared, row.is_granted) for row in pair.one.list_rows()] == [(3, False, True)]
    pair.one.release(3)
    assert not pair.one.held
    assert count() == 0


def test_owners_of_one_party_share_and_count(pair: Pair) -> None:
    session, transaction = -9, 4
    pair.one.acquire(NUMBER, session, party=session)
    pair.one.acquire(NUMBER, session, party=session)
    pair.one.acquire(NUMBER, transaction, party=session)
    assert pair.one.release_one(NUMBER, session)
    pair.one.release(transaction)
    assert not pair.two.try_acquire(NUMBER, 1)
    assert not pair.one.release_one(NUMBER, session, shared=True)
    assert pair.one.release_one(NUMBER, session)
    assert not pair.one.release_one(NUMBER, session)
    assert pair.two.try_acquire(NUMBER, 1)


def test_catalogs_have_locks_of_their_own(postgres: PostgresProgram) -> None:
    pair = Pair(postgres.url, ("c", "d"))
    assert pair.one.try_acquire(TABLE, 1)
    assert pair.two.try_acquire(TABLE, 1)
    pair.close()


def test_a_waiter_gets_the_lock_and_what_was_committed_before(pair: Pair, postgres: PostgresProgram) -> None:
    pair.one.acquire(TABLE, 1)
    waiting = pair.wait_in_thread(pair.two, TABLE, 2)
    with postgres.connect() as connection:
        connection.execute("UPDATE gpudb.gpudb_state SET value = '8' WHERE key = 'commit'")
    assert not waiting.done()
    pair.one.release(1)
    assert waiting.result(30) is True
    assert pair.caught_up[1] == [8]
    with postgres.connect() as connection:
        connection.execute("UPDATE gpudb.gpudb_state SET value = '7' WHERE key = 'commit'")


def test_a_wait_ends_after_lock_timeout_or_cancellation(pair: Pair, count: Callable[[], int]) -> None:
    pair.one.acquire(TABLE, 1)
    with pytest.raises(SqlError) as late:
        pair.two.acquire(TABLE, 2, 0.1)
    assert late.value.sqlstate == "55P03"

    def check() -> None:
        raise SqlError.of("query_canceled", "canceling statement due to user request")

    with pytest.raises(SqlError) as cancelled:
        pair.two.acquire(TABLE, 2, None, check)
    assert cancelled.value.sqlstate == "57014"
    assert pair.two.list_rows() == []
    pair.one.release(1)
    assert count() == 0
    assert pair.two.try_acquire(TABLE, 2)


Wait = tuple[PostgresLocks, int, Future[bool]]


def _resolve_deadlock(waits: list[Wait]) -> None:
    """Asserts that one waiter, of a circle in which each waits for the next, gets 40P01, and the others their locks."""
    wait_until(lambda: any(waiting.done() for _, _, waiting in waits), "one is chosen")
    loser = next(number for number, (_, _, waiting) in enumerate(waits) if waiting.done())
    for number in range(loser, loser - len(waits), -1):
        locks, owner, waiting = waits[number]
        error = waiting.exception(30)
        if number == loser:
            assert isinstance(error, SqlError)
            assert error.sqlstate == "40P01"
        else:
            assert error is None
        locks.release(owner)


def test_a_deadlock_over_both_is_detected(pair: Pair) -> None:
    pair.one.acquire(TABLE, 1)
    pair.two.acquire(TABLE + 1, 2)
    first = pair.wait_in_thread(pair.one, TABLE + 1, 1)
    _resolve_deadlock([(pair.one, 1, first), (pair.two, 2, pair.wait_in_thread(pair.two, TABLE, 2))])


def test_a_deadlock_through_a_session_of_the_same_server_is_detected(pair: Pair) -> None:
    pair.one.acquire(TABLE, 1)
    pair.one.acquire(TABLE + 1, 2)
    pair.two.acquire(TABLE + 2, 3)
    _resolve_deadlock(
        [
            (pair.one, 1, pair.wait_in_thread(pair.one, TABLE + 1, 1)),
            (pair.one, 2, pair.wait_in_thread(pair.one, TABLE + 2, 2)),
            (pair.two, 3, pair.wait_in_thread(pair.two, TABLE, 3)),
        ]
    )


_HOLDER = """
import sys, time
from gpudb.storage.catalog.postgres_locks import PostgresLocks
locks = PostgresLocks(sys.argv[1], "c", print)
locks.acquire(16384, 1)
print("held", flush=True)
time.sleep(600)
"""


def test_a_coordinator_that_is_killed_holds_nothing(pair: Pair, postgres: PostgresProgram) -> None:
    holder = subprocess.Popen([sys.executable, "-c", _HOLDER, postgres.url], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    while b"held" not in holder.stdout.readline():
        assert holder.poll() is None
    waiting = pair.wait_in_thread(pair.one, TABLE, 1)
    assert not waiting.done()
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    assert waiting.result(30) is True


def test_after_a_crash_of_postgresql_lost_locks_are_an_error_and_new_ones_are_taken(
    pair: Pair, postgres: PostgresProgram
) -> None:
    pair.one.acquire(TABLE, 1)
    pair.two.acquire(TABLE + 1, 2)
    waiting = pair.wait_in_thread(pair.two, TABLE, 3)
    pair.one.check_held(1)
    postgres.kill()
    again = threading.Timer(0.3, postgres.start)
    again.start()
    # It has the lock, after PostgreSQL is there again or, if it notices the other's end first, just before.
    waiting.result(60)
    pair.two.release(3)
    again.join()
    with pytest.raises(SerializationFailure):
        pair.one.check_held(1)
    with pytest.raises(SerializationFailure):
        pair.two.acquire(TABLE, 2)
    pair.one.release(1)
    pair.two.release(2)
    assert pair.two.try_acquire(TABLE + 1, 2)
    pair.two.check_held(2)


def test_without_postgresql_a_lock_is_an_error_after_a_while(postgres: PostgresProgram) -> None:
    locks = PostgresLocks(postgres.url, "c", print, wait_seconds=0.2)
    postgres.kill()
    try:
        with pytest.raises(GpudbError) as unreachable:
            locks.acquire(TABLE, 1)
    finally:
        postgres.start()
    assert unreachable.value.sqlstate == "08006"
    assert locks.try_acquire(TABLE, 1)
    locks.close()


def test_connections_are_kept_up_to_a_number(pair: Pair, postgres: PostgresProgram) -> None:
    for owner in range(1, KEPT_CONNECTIONS + 5):
        pair.one.acquire(TABLE, owner, shared=True)
    for owner in range(1, KEPT_CONNECTIONS + 5):
        pair.one.release(owner)
    with postgres.connect() as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'gpudb locks of coordinator %'"
        wait_until(lambda: connection.execute(query).fetchall() == [(KEPT_CONNECTIONS,)], "the others are closed")
