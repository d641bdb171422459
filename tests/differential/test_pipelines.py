"""Prepared INSERTs that a client sends without waiting have PostgreSQL's outcomes, one that fails among them too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import psycopg
import pytest

from tests.support.oracle.server import Oracle

Connection = psycopg.Connection
_TABLES = (
    "CREATE TABLE piped (id int PRIMARY KEY, name text UNIQUE, v double precision, at timestamp, n numeric(6,2))",
    "CREATE TABLE piped_children (id serial, parent int REFERENCES piped, CHECK (parent < 1000))",
    "CREATE TABLE piped_log (id int NOT NULL, b boolean DEFAULT true, c varchar(5))",
)
_READS = ("SELECT * FROM piped ORDER BY id", "SELECT * FROM piped_children ORDER BY id", "SELECT * FROM piped_log")


@dataclass(frozen=True, slots=True)
class Case:
    """An INSERT and the values of its parameters, one execution after the other."""

    sql: str
    rows: tuple[tuple[object, ...], ...]


_IDS = tuple((number, f"row {number}") for number in range(40))
_CASES = {
    "plain": Case("INSERT INTO piped (id, name) VALUES (%s, %s)", _IDS),
    "nulls and kinds": Case(
        "INSERT INTO piped (id, name, v, n) VALUES (%s, %s, %s, %s)",
        tuple((number, None, number / 4 if number % 3 else None, "1.25") for number in range(30)),
    ),
    "numbers of several widths": Case(
        "INSERT INTO piped (id) VALUES (%s)", tuple((number,) for number in (1, 40000, 2, 2**31 - 1, 3, 70000, -1) * 1)
    ),
    "a duplicate": Case("INSERT INTO piped (id, name) VALUES (%s, %s)", (*_IDS, (7, "again"), (100, "later"))),
    "a duplicate text": Case("INSERT INTO piped (id, name) VALUES (%s, %s)", (*_IDS, (50, "row 7"), (100, "later"))),
    "too large": Case("INSERT INTO piped (id) VALUES (%s::bigint)", ((1,), (2,), (2**31,), (3,))),
    "a NULL too many": Case(
        "INSERT INTO piped_log VALUES (%s, %s, %s)", ((1, True, "x"), (None, False, "y"), (2, None, "z"))
    ),
    "too long": Case(
        "INSERT INTO piped_log VALUES (%s, %s, %s)", ((1, True, "x"), (2, False, "abcdef"), (2, None, "z"))
    ),
    "no parent": Case("INSERT INTO piped_children (parent) VALUES (%s)", ((500,), (500,))),
    "a violated check": Case("INSERT INTO piped_children (parent) VALUES (%s)", ((None,), (1000,), (None,))),
    "on conflict": Case("INSERT INTO piped (id) VALUES (%s) ON CONFLICT DO NOTHING", ((1,), (1,), (2,))),
    "a query": Case("INSERT INTO piped (id) SELECT %s::int + 1", ((1,), (3,), (5,))),
}


@pytest.fixture(scope="module")
def connections(oracle: Oracle, gpudb_server: str) -> Iterator[tuple[Connection, Connection]]:
    """A connection to PostgreSQL and one to gpudb, with the tables."""
    with (
        psycopg.connect(oracle.create_database("pipelines"), autocommit=True) as left,
        psycopg.connect(gpudb_server, autocommit=True) as right,
    ):
        for connection in (left, right):
            for table in _TABLES:
                connection.execute(table)
        yield left, right
        right.execute("DROP TABLE piped, piped_children, piped_log")


def _execute_many(connection: Connection, case: Case) -> object:
    with connection.cursor() as cursor:
        cursor.executemany(case.sql, case.rows)
        return cursor.rowcount


def _execute_in_pipeline(connection: Connection, case: Case) -> object:
    """Executes each by itself; returns what each of them says."""
    cursors = [connection.cursor() for _ in case.rows]
    try:
        with connection.pipeline():
            for cursor, row in zip(cursors, case.rows, strict=True):
                cursor.execute(case.sql, row, prepare=True)
    except psycopg.Error as error:
        return error.sqlstate
    return [cursor.rowcount for cursor in cursors]


def _execute_in_block(connection: Connection, case: Case) -> object:
    connection.execute("BEGIN")
    try:
        return _execute_many(connection, case)
    finally:
        state = connection.info.transaction_status
        connection.execute("COMMIT")
        assert state in (psycopg.pq.TransactionStatus.INTRANS, psycopg.pq.TransactionStatus.INERROR)


@pytest.mark.parametrize("execute", [_execute_many, _execute_in_pipeline, _execute_in_block])
@pytest.mark.parametrize("name", _CASES)
def test_pipelined_inserts(
    name: str, execute: Callable[[Connection, Case], object], connections: tuple[Connection, Connection]
) -> None:
    outcomes = []
    for connection in connections:
        connection.execute("TRUNCATE piped, piped_children, piped_log RESTART IDENTITY")
        connection.execute("DEALLOCATE ALL")
        connection._prepared.clear()
        try:
            said = execute(connection, _CASES[name])
        except psycopg.Error as error:
            said = error.sqlstate, error.diag.message_primary, error.diag.message_detail
        outcomes.append((said, [connection.execute(read).fetchall() for read in _READS]))
    assert outcomes[0] == outcomes[1]
