"""Concurrent writers until the server dies, a record of acknowledged writes, and the invariants after a restart.

log       numbers, each once, by INSERT and COPY: every acknowledged one is present, a COPY's all or none, and none of
          a statement that failed
accounts  balances; every one is the sum of its rows in `moves`, which the same transaction wrote
waiting   numbers that a transaction deletes and inserts into `done`: each is in exactly one
made_N    tables created, altered and dropped, each in a transaction that records it in `definitions`

Several workloads may run at once, over several servers, each with a `name` of its own.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg

ACCOUNTS = 20
WAITING = 2000
"""More than a file that is written anew when a row of it is deleted."""
COPIED = (1, 50, 2_000, 20_000)
EXPECTED = frozenset({"40001", "40P01"})
"""A transaction that lost against another one; its client retries."""

SETUP = f"""
CREATE TABLE log (n bigint PRIMARY KEY, batch text NOT NULL);
CREATE TABLE accounts (id integer NOT NULL, balance bigint NOT NULL);
CREATE TABLE moves (source integer NOT NULL, target integer NOT NULL, amount bigint NOT NULL);
CREATE TABLE waiting (n integer NOT NULL);
CREATE TABLE done (n integer NOT NULL);
CREATE TABLE definitions (at bigint NOT NULL, name text NOT NULL, columns integer NOT NULL);
INSERT INTO accounts SELECT i, 0 FROM generate_series(1, {ACCOUNTS}) i;
INSERT INTO waiting SELECT i FROM generate_series(1, {WAITING}) i;
"""

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(slots=True)
class Acknowledged:
    """Acknowledged commits of all rounds, numbers that were refused, and unexpected errors."""

    logged: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    finished: set[int] = field(default_factory=set)
    moves: int = 0
    definitions: int = 0
    unexpected: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Workload:
    """The clients of one round. `numbers` must not repeat over rounds."""

    def __init__(
        self, dsn: str, seed: int, numbers: Iterator[int], acknowledged: Acknowledged, *, name: str = ""
    ) -> None:
        self._dsn = dsn
        self._name = name
        self._seed = seed
        self._numbers = numbers
        self._known = acknowledged
        self._stopping = threading.Event()
        self._started = threading.Barrier(7, timeout=120)
        jobs = (self._insert, self._insert, self._copy, self._move, self._finish, self._define)
        self._threads = [
            threading.Thread(target=self._work, args=(job, number), daemon=True) for number, job in enumerate(jobs)
        ]

    def start(self) -> None:
        """Starts the clients; returns once all are connected."""
        for thread in self._threads:
            thread.start()
        self._started.wait()

    def end(self) -> None:
        """Waits until every client has lost its connection, or ended its transaction."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a client still waits for a server that was killed"

    def _work(self, job: Callable[[Connection, random.Random], None], number: int) -> None:
        chance = random.Random(f"{self._seed} {self._name}{number}")
        try:
            with contextlib.closing(psycopg.connect(self._dsn, autocommit=True)) as connection:
                self._started.wait()
                while not self._stopping.is_set():
                    try:
                        job(connection, chance)
                    except psycopg.Error as error:
                        if connection.closed:
                            return
                        if error.sqlstate not in EXPECTED:
                            self._known.unexpected.append(f"{job.__name__}: {error.sqlstate} {error}")
                            return
        except psycopg.OperationalError as error:
            if not self._stopping.is_set() and self._started.n_waiting:
                self._known.unexpected.append(f"{job.__name__} could not begin: {error}")

    def _next(self, count: int) -> list[int]:
        with self._known.lock:
            return list(itertools.islice(self._numbers, count))

    def _insert(self, connection: Connection, chance: random.Random) -> None:
        chosen = self._next(chance.choice((1, 1, 1, 7)))
        rows = ", ".join(f"({n}, 'i{chosen[0]}')" for n in chosen)
        with self._logs(connection, chosen):
            connection.execute(f"INSERT INTO log VALUES {rows}")

    def _copy(self, connection: Connection, chance: random.Random) -> None:
        chosen = self._next(chance.choice(COPIED))
        with (
            self._logs(connection, chosen),
            connection.cursor() as cursor,
            cursor.copy("COPY log FROM STDIN") as copy,
        ):
            for start in range(0, len(chosen), 500):
                copy.write("".join(f"{n}\tc{chosen[0]}_{len(chosen)}\n" for n in chosen[start : start + 500]))

    @contextlib.contextmanager
    def _logs(self, connection: Connection, numbers: list[int]) -> Iterator[None]:
        """Records whether a statement that writes numbers is acknowledged or refused."""
        try:
            yield
        except psycopg.Error:
            if not connection.closed:  # otherwise it may have been written
                with self._known.lock:
                    self._known.refused.update(numbers)
            raise
        with self._known.lock:
            self._known.logged.update(numbers)

    def _move(self, connection: Connection, chance: random.Random) -> None:
        source, target = chance.sample(range(1, ACCOUNTS + 1), 2)
        amount = chance.randrange(1, 1000)
        with connection.transaction():
            connection.execute(f"UPDATE accounts SET balance = balance - {amount} WHERE id = {source}")
            connection.execute(f"INSERT INTO moves VALUES ({source}, {target}, {amount})")
            connection.execute(f"UPDATE accounts SET balance = balance + {amount} WHERE id = {target}")
        with self._known.lock:
            self._known.moves += 1

    def _finish(self, connection: Connection, chance: random.Random) -> None:
        found = connection.execute("SELECT n FROM waiting ORDER BY n LIMIT 3").fetchall()
        chosen = [int(row[0]) for row in found]
        if not chosen:
            # All done: start again, which forgets what was acknowledged.
            with self._known.lock:
                self._known.finished.clear()
            connection.execute("BEGIN; DELETE FROM done; DELETE FROM waiting;"
                               f"INSERT INTO waiting SELECT i FROM generate_series(1, {WAITING}) i; COMMIT")  # fmt: skip
            return
        listed = ", ".join(map(str, chosen))
        with connection.transaction():
            # Another server's client may have taken some of them.
            taken = connection.execute(f"DELETE FROM waiting WHERE n IN ({listed}) RETURNING n").fetchall()
            chosen = [int(row[0]) for row in taken]
            connection.execute(f"INSERT INTO done SELECT unnest(ARRAY[{', '.join(map(str, chosen))}]::integer[])")
        with self._known.lock:
            self._known.finished.update(chosen)

    def _define(self, connection: Connection, chance: random.Random) -> None:
        name = f"made_{self._name}{chance.randrange(4)}"
        columns = _columns(connection, name)
        (at,) = self._next(1)
        with connection.transaction():
            match columns:
                case 0:
                    connection.execute(f"CREATE TABLE {name} AS SELECT 1 AS c1, i AS c2 FROM generate_series(1, 100) i")
                    columns = 2
                case 2 | 3:
                    columns += 1
                    connection.execute(f"ALTER TABLE {name} ADD COLUMN c{columns} integer DEFAULT {columns}")
                case _:
                    connection.execute(f"DROP TABLE {name}")
                    columns = 0
            connection.execute(f"INSERT INTO definitions VALUES ({at}, '{name}', {columns})")
        with self._known.lock:
            self._known.definitions += 1


def _columns(connection: Connection, name: str) -> int:
    """Returns a table's column count; 0 if the table does not exist."""
    try:
        # not prepared: its columns change concurrently
        return len(connection.execute(f"SELECT * FROM {name} LIMIT 0", prepare=False).description or ())
    except psycopg.errors.UndefinedTable:
        return 0


def check(dsn: str, known: Acknowledged) -> None:
    """Asserts the invariants after a restart."""
    with contextlib.closing(psycopg.connect(dsn, autocommit=True)) as connection:
        _check_log(connection, known)
        _check_accounts(connection, known)
        _check_waiting(connection, known)
        _check_definitions(connection, known)


def _rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def _check_log(connection: Connection, known: Acknowledged) -> None:
    rows = _rows(connection, "SELECT n, batch FROM log")
    numbers = {n for n, _ in rows}
    assert len(rows) == len(numbers), "a number is there twice"
    assert known.logged <= numbers, f"lost: {sorted(known.logged - numbers)[:10]}"
    assert not known.refused & numbers, f"there, but refused: {sorted(known.refused & numbers)[:10]}"
    sizes: dict[str, int] = {}
    for _, batch in rows:
        sizes[batch] = sizes.get(batch, 0) + 1
    halves = {batch: size for batch, size in sizes.items() if batch[0] == "c" and int(batch.split("_")[1]) != size}
    assert not halves, f"parts of a COPY: {halves}"


def _check_accounts(connection: Connection, known: Acknowledged) -> None:
    wrong = _rows(
        connection,
        """SELECT a.id, a.balance, m.balance FROM accounts a LEFT JOIN (
               SELECT id, sum(amount) AS balance FROM (
                   SELECT target AS id, amount FROM moves UNION ALL SELECT source, -amount FROM moves
               ) AS both_sides GROUP BY id
           ) AS m ON m.id = a.id WHERE a.balance <> coalesce(m.balance, 0)""",
    )
    assert not wrong, f"balances that are not their moves' sums: {wrong}"
    ((count, accounts, total),) = _rows(
        connection, "SELECT (SELECT count(*) FROM moves), count(*), sum(balance) FROM accounts"
    )
    assert count >= known.moves
    assert (accounts, total) == (ACCOUNTS, 0)


def _check_waiting(connection: Connection, known: Acknowledged) -> None:
    waiting = [row[0] for row in _rows(connection, "SELECT n FROM waiting")]
    done = [row[0] for row in _rows(connection, "SELECT n FROM done")]
    assert sorted(waiting + done) == list(range(1, WAITING + 1))
    assert known.finished <= set(done)
    known.finished = set(done)


def _check_definitions(connection: Connection, known: Acknowledged) -> None:
    ((count,),) = _rows(connection, "SELECT count(*) FROM definitions")
    assert count >= known.definitions
    known.definitions = count
    last = dict(_rows(connection, "SELECT name, columns FROM definitions ORDER BY at"))
    for name, columns in last.items():
        found = _columns(connection, name)
        assert found == columns, f"{name} has {found} columns, and {columns} by its last definition"
        if columns:
            values = ", ".join(f"sum(c{n}), min(c{n})" for n in range(3, columns + 1)) or "1"
            ((rows, least, *added),) = _rows(connection, f"SELECT count(*), min(c2), {values} FROM {name}")
            assert (rows, least) == (100, 1)
            assert columns == 2 or added == [x for n in range(3, columns + 1) for x in (100 * n, n)]
