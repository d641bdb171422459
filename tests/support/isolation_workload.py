"""Clients that read and write counters in random transactions, recorded for the isolation checker."""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
from collections.abc import Sequence
from typing import Any

import psycopg

from tests.support.isolation_checker import End, Recorded, Versions

TABLES = 3
ROWS = 2
COUNTERS = [f"c{table}_{row}" for table in range(TABLES) for row in range(ROWS)]
CONFLICTS = frozenset({"40001", "40P01"})

SETUP = "; ".join(
    f"CREATE TABLE c{table} (name text PRIMARY KEY, version int NOT NULL, writer int NOT NULL);"
    f"INSERT INTO c{table} SELECT 'c{table}_' || i, 0, 0 FROM generate_series(0, {ROWS - 1}) i"
    for table in range(TABLES)
)
READ = " UNION ALL ".join(f"SELECT name, version, writer FROM c{table}" for table in range(TABLES))

Connection = psycopg.Connection[tuple[Any, ...]]


class IsolationWorkload:
    """Clients of several servers, named after them, each with `count` transactions."""

    def __init__(self, servers: Sequence[str], clients: int, count: int, seed: int) -> None:
        self.history: list[Recorded] = []
        self.unexpected: list[str] = []
        self._numbers = itertools.count(1)
        self._count = count
        self._threads = [
            threading.Thread(target=self._run, args=(dsn, f"client {n} of server {side}", random.Random(f"{seed} {side} {n}")))
            for side, dsn in enumerate(servers)
            for n in range(clients)
        ]  # fmt: skip

    def run(self) -> None:
        """Runs all transactions; `history` then has them."""
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()

    def _run(self, dsn: str, client: str, chance: random.Random) -> None:
        try:
            with contextlib.closing(psycopg.connect(dsn, autocommit=True)) as connection:
                for _ in range(self._count):
                    record = Recorded(next(self._numbers), client, repeatable=chance.random() < 0.6)
                    self.history.append(record)
                    self._transact(connection, record, chance)
        except psycopg.Error as error:
            self.unexpected.append(f"{client}: {error.sqlstate} {error}")

    def _transact(self, connection: Connection, record: Recorded, chance: random.Random) -> None:
        written = chance.sample(COUNTERS, chance.choice((0, 1, 1, 2, 2, 3)))
        level = "REPEATABLE READ" if record.repeatable else "READ COMMITTED"
        aborts = chance.random() < 0.1
        try:
            connection.execute(f"BEGIN ISOLATION LEVEL {level}")
            for _ in range(chance.choice((1, 2))):
                record.reads.append(read_counters(connection))
            for counter in written:
                found = connection.execute(
                    f"UPDATE {counter.partition('_')[0]} SET version = version + 1, writer = {record.number}"
                    f" WHERE name = '{counter}' RETURNING version"
                ).fetchall()
                record.writes[counter] = found[0][0]
            if written:
                record.own.append(read_counters(connection))
            connection.execute("ROLLBACK" if aborts else "COMMIT")
            record.end = End.ABORTED if aborts else End.COMMITTED
        except psycopg.Error as error:
            if error.sqlstate not in CONFLICTS:
                raise
            record.end = End.ABORTED
            connection.execute("ROLLBACK")


def read_counters(connection: Connection) -> Versions:
    """Reads all counters in one statement."""
    return {name: (version, writer) for name, version, writer in connection.execute(READ).fetchall()}
