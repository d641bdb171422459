"""Two servers over one catalog: each sees the other's commits, and transactions of both are isolated."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg
import pytest

from tests.support.coordinators import Connection, catch_up, connect, read_state, read_value
from tests.support.isolation_checker import End, find_anomalies
from tests.support.isolation_workload import SETUP, IsolationWorkload, read_counters
from tests.support.server_program import Program
from tests.support.sessions import wait_until

Pair = tuple[Program, Program]
T = TypeVar("T")


def _wait_for(connection: Connection, query: str, expected: object) -> None:
    def matches() -> bool:
        try:
            return bool(read_value(connection, query) == expected)
        except psycopg.Error:  # what it reads may not be there yet
            return False

    wait_until(matches, f"{query} is {expected}")


def _wait_for_state(connection: Connection, query: str, expected: str | None) -> None:
    wait_until(lambda: read_state(connection, query) == expected, f"{query} ends with {expected}")


def test_each_sees_what_the_other_commits(one: Connection, two: Connection) -> None:
    one.execute("CREATE TABLE seen (a int)")
    for number, (writer, reader) in enumerate([(one, two), (two, one)] * 3, 1):
        _wait_for_state(writer, "SELECT FROM seen", None)
        writer.execute(f"INSERT INTO seen VALUES ({number})")
        _wait_for(reader, "SELECT count(*) FROM seen", number)
    two.execute("DELETE FROM seen WHERE a < 3")
    _wait_for(one, "SELECT sum(a) FROM seen", 3 + 4 + 5 + 6)


def test_a_transaction_keeps_its_snapshot(one: Connection, two: Connection) -> None:
    one.execute("CREATE TABLE kept AS SELECT i FROM generate_series(1, 10) i")
    _wait_for(two, "SELECT count(*) FROM kept", 10)
    two.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    assert read_value(two, "SELECT count(*) FROM kept") == 10
    one.execute("INSERT INTO kept VALUES (11)")
    one.execute("DELETE FROM kept WHERE i < 4")
    one.execute("DROP TABLE kept")
    assert read_value(two, "SELECT sum(i) FROM kept") == 55
    two.execute("COMMIT")
    _wait_for_state(two, "SELECT FROM kept", "42P01")


def test_definitions_of_one_are_used_on_the_other(servers: Pair, one: Connection, two: Connection) -> None:
    one.execute("CREATE SCHEMA s; CREATE TYPE s.mood AS ENUM ('sad', 'happy')")
    one.execute("CREATE TABLE s.people (id int PRIMARY KEY, feels s.mood)")
    one.execute("CREATE FUNCTION s.twice(n int) RETURNS int LANGUAGE sql AS 'SELECT 2 * n'")
    one.execute("CREATE VIEW s.happy AS SELECT s.twice(id) AS id FROM s.people WHERE feels = 'happy'")
    _wait_for_state(two, "SELECT FROM s.happy", None)
    two.execute("INSERT INTO s.people VALUES (1, 'sad'), (2, 'happy')")
    two.execute("ALTER TABLE s.people ADD COLUMN since date DEFAULT '2026-01-01'")
    _wait_for(one, "SELECT max(since)::text FROM s.people", "2026-01-01")
    assert one.execute("SELECT * FROM s.happy").fetchall() == [(4,)]
    one.execute("ALTER TABLE s.people RENAME TO persons")
    _wait_for(two, "SELECT count(*) FROM s.persons", 2)
    assert read_state(two, "SELECT FROM s.people") == "42P01"
    one.execute("CREATE DATABASE other")
    wait_until(lambda: read_value(two, "SELECT count(*) FROM pg_database WHERE datname = 'other'"), "it is there")
    with connect(servers[1], "other") as inside:
        inside.execute("CREATE TABLE t AS SELECT 1 AS a")
    with connect(servers[0], "other") as inside:
        _wait_for(inside, "SELECT a FROM t", 1)
    two.execute("DROP SCHEMA s CASCADE")
    _wait_for_state(one, "SELECT FROM s.persons", "42P01")


def test_the_same_name_is_created_once(one: Connection, two: Connection) -> None:
    states = _at_once(
        [lambda: read_state(one, "CREATE TABLE once (a int)"), lambda: read_state(two, "CREATE TABLE once (b int)")]
    )
    assert sorted(states, key=str) == ["42P07", None]
    assert read_value(one, "SELECT count(*) FROM pg_class WHERE relname = 'once'") == 1


def test_transactions_over_both_have_no_anomaly(servers: Pair, one: Connection, two: Connection) -> None:
    one.execute(SETUP)
    _wait_for(two, "SELECT count(*) FROM c2", 2)
    workload = IsolationWorkload([each.dsn for each in servers], clients=2, count=25, seed=20261126)
    workload.run()
    assert not workload.unexpected, workload.unexpected
    catch_up(one)
    assert find_anomalies(workload.history, read_counters(one)) == []
    committed = [each for each in workload.history if each.writes and each.end is End.COMMITTED]
    for side in (0, 1):
        assert sum(each.client.endswith(f"server {side}") for each in committed) > 10


def test_sequences_give_no_value_twice(servers: Pair, one: Connection, two: Connection) -> None:
    one.execute("CREATE SEQUENCE numbers; CREATE TABLE made (id int GENERATED ALWAYS AS IDENTITY, side int)")
    _wait_for_state(two, "SELECT FROM made", None)

    def draw(side: int) -> list[int]:
        with connect(servers[side]) as connection:
            connection.execute(f"INSERT INTO made (side) SELECT {side} FROM generate_series(1, 500)")
            return [read_value(connection, "SELECT nextval('numbers')") for _ in range(50)]

    drawn = [number for part in _at_once([lambda side=side: draw(side) for side in (0, 1, 0, 1)]) for number in part]  # type: ignore[misc]
    assert len(set(drawn)) == 200
    _wait_for(one, "SELECT count(*) FROM made", 2000)
    assert read_value(one, "SELECT count(DISTINCT id) FROM made") == 2000
    one.execute("SELECT setval('numbers', 1000000)")
    assert read_value(two, "SELECT nextval('numbers')") > 1_000_000


def test_a_key_is_unique_over_both(servers: Pair, one: Connection, two: Connection) -> None:
    one.execute("CREATE TABLE keyed (k int PRIMARY KEY, side int)")
    _wait_for_state(two, "SELECT FROM keyed", None)

    def insert(side: int) -> list[int]:
        mine = []
        with connect(servers[side]) as connection:
            for key in range(30):
                state = read_state(connection, f"INSERT INTO keyed VALUES ({key}, {side})")
                assert state in {None, "23505", "40001"}
                mine += [key] if state is None else []
        return mine

    parts = _at_once([lambda side=side: insert(side) for side in (0, 1)])  # type: ignore[misc]
    assert sorted(parts[0] + parts[1]) == list(range(30))
    rows = one.execute("SELECT k, side FROM keyed").fetchall()
    assert sorted(rows) == sorted((key, side) for side in (0, 1) for key in parts[side])


def test_a_reference_is_kept_over_both(servers: Pair, one: Connection, two: Connection) -> None:
    one.execute("CREATE TABLE parents (id int PRIMARY KEY); CREATE TABLE children (parent int REFERENCES parents)")
    one.execute("INSERT INTO parents SELECT i FROM generate_series(1, 20) i")
    _wait_for(two, "SELECT count(*) FROM parents", 20)

    def delete() -> None:
        for number in range(1, 21):
            assert read_state(one, f"DELETE FROM parents WHERE id = {number}") in {None, "23503", "40001"}

    def add() -> None:
        for number in range(20, 0, -1):
            assert read_state(two, f"INSERT INTO children VALUES ({number})") in {None, "23503", "40001"}

    _at_once([delete, add])
    orphans = "SELECT count(*) FROM children WHERE NOT EXISTS (SELECT FROM parents WHERE id = parent)"
    for connection in (one, two):
        _wait_for(connection, orphans, 0)


def _at_once(jobs: list[Callable[[], T]]) -> list[T]:
    """Runs functions in threads that begin together; returns what they return."""
    begin = threading.Barrier(len(jobs))

    def run(job: Callable[[], T]) -> T:
        begin.wait(30)
        return job()

    with ThreadPoolExecutor(len(jobs)) as threads:
        return list(threads.map(run, jobs))


@pytest.mark.parametrize("begin", ["", "BEGIN"])
def test_updates_of_one_row_are_not_lost(servers: Pair, one: Connection, two: Connection, begin: str) -> None:
    one.execute("DROP TABLE IF EXISTS counter; CREATE TABLE counter (n int); INSERT INTO counter VALUES (0)")
    catch_up(two)

    def count(side: int) -> int:
        done = 0
        with connect(servers[side]) as connection:
            for _ in range(10):
                statements = [begin, "UPDATE counter SET n = n + 1", "COMMIT" if begin else ""]
                state = next((found for each in statements if each and (found := read_state(connection, each))), None)
                assert state in {None, "40001"}
                done += state is None
                connection.execute("ROLLBACK")
        return done

    done = _at_once([lambda side=side: count(side) for side in (0, 1)])  # type: ignore[misc]
    assert sum(done)
    if not begin:
        assert done == [10, 10]  # each waits for the lock of the other server's transaction
    catch_up(two)
    assert read_value(two, "SELECT n FROM counter") == sum(done)
