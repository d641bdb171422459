"""A mixed load: clients that write, read, define, vacuum and sort, and compare each answer with what it must be.

The tables' sizes are bounded, so that a server that runs the load for long has no reason to grow.

events    batches that one client COPYs; it deletes the oldest ones
accounts  balances with the sum 0; two clients move amounts in transactions
stock     quantities by key, by MERGE; one client knows each
log       numbers in a row, by single INSERTs; the oldest are deleted
made_N    tables that are created, altered and dropped
lines     rows that nobody changes, which others aggregate, join and sort
"""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg

Connection = psycopg.Connection[tuple[Any, ...]]

ACCOUNTS = 200
BATCHES, BATCH_ROWS = 20, 2_000
KEYS = 400
LOGGED = 300
RETRIED = frozenset({"40001", "40P01"})
LOST_WORKER = "57P01"

SETUP = f"""
CREATE TABLE events (batch bigint NOT NULL, n int NOT NULL, v bigint NOT NULL);
CREATE TABLE accounts (id int PRIMARY KEY, balance bigint NOT NULL);
INSERT INTO accounts SELECT i, 0 FROM generate_series(1, {ACCOUNTS}) i;
CREATE TABLE stock (k int PRIMARY KEY, quantity bigint NOT NULL);
CREATE TABLE log (n bigint PRIMARY KEY, words text NOT NULL);
CREATE TABLE kinds AS SELECT i AS kind, 'kind ' || i AS name FROM generate_series(0, 99) i;
CREATE TABLE lines AS
    SELECT i AS k, (i % 100)::int AS kind, (i * 7919 % 1000003)::int AS v, md5(i::text) AS words
    FROM generate_series(1::bigint, {{lines}}) i;
"""
READS = (
    "SELECT count(*), sum(v), min(v), max(v) FROM lines",
    "SELECT kind, count(*), sum(v) FROM lines GROUP BY kind ORDER BY kind",
    "SELECT name, sum(v) FROM lines JOIN kinds USING (kind) WHERE v < 500000 GROUP BY name ORDER BY name",
    "SELECT count(DISTINCT v) FROM lines WHERE kind < 10",
    "SELECT k, words FROM lines ORDER BY v DESC, k LIMIT 20",
    "SELECT k, sum(v) OVER (PARTITION BY kind ORDER BY k) FROM lines WHERE kind = 7 ORDER BY k LIMIT 10",
)
SORTS = (
    "SELECT count(*), max(n) FROM (SELECT row_number() OVER (ORDER BY words, k DESC) AS n, * FROM lines) AS t",
    "SELECT max(length(words)), sum(v), sum(n * (k % 7)) FROM"
    " (SELECT row_number() OVER (ORDER BY words || k, v) AS n, * FROM lines) AS t",
)


class MixedLoad:
    """The clients of one server. `performed` counts each kind of step, `wrong` has answers and errors that must not be."""

    def __init__(self, dsn: str, seed: int, *, pause: float) -> None:
        """`pause` is the longest time in seconds that a client waits between its steps."""
        self._dsn, self._seed, self._pause = dsn, seed, pause
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.performed: Counter[str] = Counter()
        self.retried: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._expected: dict[str, list[tuple[Any, ...]]] = {}
        self._threads: list[threading.Thread] = []

    def prepare(self, lines: int) -> None:
        """Creates the tables and notes the answers about the rows that nobody changes."""
        with closing(psycopg.connect(self._dsn, autocommit=True)) as connection:
            connection.execute(SETUP.format(lines=lines))  # type: ignore[arg-type]
            for sql in (*READS, *SORTS):
                self._expected[sql] = connection.execute(sql).fetchall()  # type: ignore[arg-type]
        first = self._expected[READS[0]][0]
        values = [i * 7919 % 1000003 for i in range(1, lines + 1)]
        if first != (lines, sum(values), min(values), max(values)):
            self.wrong.append(f"{READS[0]}: {first}")

    def start(self) -> None:
        """Starts the clients."""
        jobs: tuple[Callable[[Connection, random.Random], Iterator[str]], ...] = (
            self._copy, self._move, self._move, self._merge, self._log, self._define, self._read, self._read,
            self._sort, self._keep,
        )  # fmt: skip
        for number, job in enumerate(jobs):
            self._threads.append(threading.Thread(target=self._work, args=(job, number), daemon=True))
            self._threads[-1].start()

    def stop(self) -> None:
        """Ends the clients after their current steps."""
        self._over.set()
        for thread in self._threads:
            thread.join(120)
            if thread.is_alive():
                self.wrong.append("a client hangs")

    @property
    def is_running(self) -> bool:
        """Whether all clients still work."""
        return all(thread.is_alive() for thread in self._threads)

    def _work(self, job: Callable[[Connection, random.Random], Iterator[str]], number: int) -> None:
        chance = random.Random(f"{self._seed} {number}")
        try:
            with closing(psycopg.connect(self._dsn, autocommit=True)) as connection:
                for step in job(connection, chance):
                    with self._lock:
                        self.performed[step] += 1
                    if self._over.wait(chance.uniform(0, self._pause)):
                        return
        except Exception as error:
            state = getattr(error, "sqlstate", None)
            self._blame(f"{job.__name__}: {type(error).__name__} {state} {str(error)[:500]}")

    def _blame(self, text: str) -> None:
        with self._lock:
            self.wrong.append(text)

    def _compare(self, connection: Connection, sql: str, wanted: list[tuple[Any, ...]]) -> None:
        try:
            found = connection.execute(sql).fetchall()  # type: ignore[arg-type]
        except psycopg.Error as error:
            if error.sqlstate != LOST_WORKER:
                raise
            # As the hint says, the statement runs again.
            with self._lock:
                self.retried[LOST_WORKER] += 1
            found = connection.execute(sql).fetchall()  # type: ignore[arg-type]
        if found != wanted:
            self._blame(f"{sql}: {found[:3]} instead of {wanted[:3]}")

    def _retry(self, kind: str, run: Callable[[], object]) -> None:
        """Runs a transaction until it wins against the others."""
        while not self._over.is_set():
            try:
                run()
            except psycopg.Error as error:
                if error.sqlstate not in RETRIED:
                    raise
                with self._lock:
                    self.retried[kind] += 1
            else:
                return

    def _copy(self, connection: Connection, chance: random.Random) -> Iterator[str]:
        kept: deque[tuple[int, int]] = deque()
        batch = 0
        while True:
            batch += 1
            values = [chance.randrange(-1000, 1000) for _ in range(BATCH_ROWS)]
            with connection.cursor() as cursor, cursor.copy("COPY events FROM STDIN") as copy:
                copy.write("".join(f"{batch}\t{n}\t{v}\n" for n, v in enumerate(values)))
            kept.append((batch, sum(values)))
            yield "COPY"
            if len(kept) > BATCHES:
                oldest = kept.popleft()[0]
                deleted = connection.execute(f"DELETE FROM events WHERE batch <= {oldest}").rowcount  # type: ignore[arg-type]
                if deleted != BATCH_ROWS:
                    self._blame(f"DELETE of batch {oldest}: {deleted} rows")
                yield "DELETE"
            wanted = [(len(kept) * BATCH_ROWS, sum(total for _, total in kept), len(kept))]
            self._compare(connection, "SELECT count(*), sum(v), count(DISTINCT batch) FROM events", wanted)
            yield "check of COPY"

    def _move(self, connection: Connection, chance: random.Random) -> Iterator[str]:
        def move() -> None:
            source, target = chance.sample(range(1, ACCOUNTS + 1), 2)
            amount = chance.randrange(1, 1000)
            with connection.transaction():
                for id, change in sorted(((source, -amount), (target, amount))):
                    connection.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", (change, id))

        while True:
            self._retry("UPDATE", move)
            yield "UPDATE"
            self._compare(connection, "SELECT count(*), sum(balance) FROM accounts", [(ACCOUNTS, 0)])
            yield "check of UPDATE"
            if chance.random() < 0.2:
                # In each of its states the balances sum to zero.
                past = "FOR SYSTEM_TIME AS OF clock_timestamp() - interval '10 ms'"
                both = f"SELECT count(*), sum(a.balance + b.balance) FROM accounts {past} a JOIN accounts {past} b USING (id)"
                self._compare(connection, both, [(ACCOUNTS, 0)])
                yield "check of the past"

    def _merge(self, connection: Connection, chance: random.Random) -> Iterator[str]:
        known: dict[int, int] = {}
        while True:
            changes = {key: chance.randrange(1, 100) for key in chance.sample(range(KEYS), 30)}
            rows = ", ".join(f"({key}, {value})" for key, value in changes.items())
            connection.execute(
                f"MERGE INTO stock USING (VALUES {rows}) AS c (k, q) ON stock.k = c.k"  # type: ignore[arg-type]
                " WHEN MATCHED AND quantity > 500 THEN DELETE"
                " WHEN MATCHED THEN UPDATE SET quantity = quantity + q"
                " WHEN NOT MATCHED THEN INSERT VALUES (c.k, c.q)"
            )
            for key, value in changes.items():
                if known.get(key, 0) > 500:
                    del known[key]
                else:
                    known[key] = known.get(key, 0) + value
            yield "MERGE"
            self._compare(connection, "SELECT k, quantity FROM stock ORDER BY k", sorted(known.items()))
            yield "check of MERGE"

    def _log(self, connection: Connection, chance: random.Random) -> Iterator[str]:
        first, last = 1, 0
        while True:
            for _ in range(20):
                last += 1
                connection.execute("INSERT INTO log VALUES (%s, %s)", (last, f"line {last}" * chance.randrange(9)))
                yield "INSERT"
            if last - first >= LOGGED:
                first = last - LOGGED // 2
                connection.execute("DELETE FROM log WHERE n < %s", (first,))
                yield "DELETE"
            count = last - first + 1
            wanted = [(count, first, last, (first + last) * count // 2)]
            self._compare(connection, "SELECT count(*), min(n), max(n), sum(n)::bigint FROM log", wanted)
            yield "check of INSERT"

    def _define(self, connection: Connection, chance: random.Random) -> Iterator[str]:
        number = 0
        while True:
            number += 1
            name, rows = f"made_{number % 5}", chance.randrange(1, 5000)
            connection.execute(
                f"CREATE TABLE {name} AS SELECT i AS a, i * 2 AS b FROM generate_series(1, {rows}) i"  # type: ignore[arg-type]
            )
            connection.execute(f"ALTER TABLE {name} ADD COLUMN c int DEFAULT 3")  # type: ignore[arg-type]
            wanted = [(rows, rows * (rows + 1), 3 * rows)]
            self._compare(connection, f"SELECT count(*), sum(b)::bigint, sum(c)::bigint FROM {name}", wanted)
            yield "CREATE TABLE"
            connection.execute(f"CREATE VIEW {name}_view AS SELECT max(a) AS m FROM {name}")  # type: ignore[arg-type]
            self._compare(connection, f"SELECT m FROM {name}_view", [(rows,)])
            connection.execute(f"DROP TABLE {name} CASCADE")  # type: ignore[arg-type]
            yield "DROP TABLE"

    def _read(self, connection: Connection, chance: random.Random) -> Iterator[str]:
        while True:
            sql = chance.choice(READS)
            self._compare(connection, sql, self._expected[sql])
            yield "SELECT"

    def _sort(self, connection: Connection, chance: random.Random) -> Iterator[str]:
        while True:
            sql = chance.choice(SORTS)
            self._compare(connection, sql, self._expected[sql])
            yield "sort"
            if self._over.wait(4 * self._pause):
                return

    def _keep(self, connection: Connection, chance: random.Random) -> Iterator[str]:
        while True:
            connection.execute("VACUUM")
            yield "VACUUM"
            connection.execute("ANALYZE")
            yield "ANALYZE"
            with closing(psycopg.connect(self._dsn)) as other:
                other.execute("CREATE TEMP TABLE chosen AS SELECT k, v FROM lines WHERE kind = 3")
                with other.cursor(name="rows") as cursor:
                    cursor.execute("SELECT k FROM chosen ORDER BY k")
                    found = cursor.fetchmany(3)
                if found != [(3,), (103,), (203,)]:
                    self._blame(f"a cursor: {found}")
                other.rollback() if chance.random() < 0.5 else other.commit()
            yield "connection"
