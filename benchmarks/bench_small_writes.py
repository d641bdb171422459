"""Small writes beside PostgreSQL: single rows in a transaction and as commits of many clients, and long VALUES.

    python -m benchmarks.bench_small_writes [--rounds N] [--machine LABEL] [--save]

Both servers run at once, and each round runs every case on both. Times are of the whole case: 150 INSERTs and COMMIT,
16 clients that commit 10 rows each, a statement of 1,000 rows. The tables' contents are compared in the end. With
--save results are written to results/small_writes.MACHINE.json.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psycopg

from benchmarks.harness import Answer, Row, check_answers, make_row, save_results
from benchmarks.systems import Wire, gpudb_server, postgres

ROWS, CLIENTS, COMMITS, LONG, WIDE = 150, 16, 10, 1000, 20
SCHEMA = (
    "CREATE TABLE plain (id int, name text, v double precision)",
    "CREATE TABLE keyed (id int PRIMARY KEY, name text UNIQUE, v double precision)",
    "CREATE TABLE parent (id int PRIMARY KEY)",
    "INSERT INTO parent SELECT i FROM generate_series(1, 200) i",
    "CREATE TABLE child (id int PRIMARY KEY, parent int REFERENCES parent)",
    "CREATE TABLE commits (id int PRIMARY KEY, name text)",
    "CREATE TABLE long_rows (id int, name text, v double precision)",
    "CREATE TABLE scanned (id int PRIMARY KEY, v int)",
    "INSERT INTO scanned SELECT i, i % 1000 FROM generate_series(1, 1000000) i",
    f"CREATE TABLE wide ({', '.join(f'c{n} {kind}' for n, kind in enumerate(['int', 'text'] * (WIDE // 2)))})",
)
TABLES = ("plain", "keyed", "child", "commits", "long_rows", "wide", "scanned")


@dataclass(slots=True)
class Run:
    """One system, the numbers of rows that it has got, and its times by case."""

    system: Wire
    number: int = 0
    times: dict[str, list[float]] = field(default_factory=dict)

    def time(self, case: str, run: Callable[[], object]) -> None:
        """Runs a case once."""
        start = time.perf_counter()
        run()
        self.times.setdefault(case, []).append(time.perf_counter() - start)

    def take(self, count: int) -> range:
        """Returns new row numbers."""
        self.number += count
        return range(self.number - count, self.number)


def _insert_in_transaction(run: Run, render: Callable[[int], str]) -> None:
    rows = run.take(ROWS)
    with run.system.connection.transaction():
        for number in rows:
            run.system.query_none(render(number))


def _commit_rows(run: Run, clients: list[psycopg.Connection]) -> None:
    failures: list[BaseException] = []

    def work(client: psycopg.Connection, rows: range) -> None:
        try:
            for number in rows:
                client.execute(f"INSERT INTO commits VALUES ({number}, 'row {number}')".encode())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(client, run.take(COMMITS))) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _insert_wide(run: Run, count: int) -> None:
    rows = [[number if place % 2 == 0 else f"text {number}" for place in range(WIDE)] for number in run.take(count)]
    with run.system.connection.transaction(), run.system.connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO wide VALUES ({', '.join(['%s'] * WIDE)})", rows)


def _render_wide(rows: range) -> str:
    cells = [", ".join(str(row) if place % 2 == 0 else f"'text {row}'" for place in range(WIDE)) for row in rows]
    return "INSERT INTO wide VALUES " + ", ".join(f"({cell})" for cell in cells)


def measure(run: Run, clients: list[psycopg.Connection]) -> None:
    """Runs every case once on a system."""
    plain = "INSERT INTO {} VALUES ({}, 'row {}', {}.5)"
    run.time("150 rows", lambda: _insert_in_transaction(run, lambda n: plain.format("plain", n, n, n)))
    run.time("150 rows, unique", lambda: _insert_in_transaction(run, lambda n: plain.format("keyed", n, n, n)))
    child = "INSERT INTO child VALUES ({}, {})"
    run.time("150 rows, foreign key", lambda: _insert_in_transaction(run, lambda n: child.format(n, n % 200 + 1)))
    run.time("10 commits of one client", lambda: _commit_rows(run, clients[:1]))
    run.time("160 commits of 16 clients", lambda: _commit_rows(run, clients))
    values = ", ".join(f"({number}, 'row {number}', {number}.5)" for number in run.take(LONG))
    run.time("VALUES of 1,000 rows", lambda: run.system.query_none(f"INSERT INTO long_rows VALUES {values}"))
    wide = _render_wide(run.take(LONG))
    run.time("VALUES of 1,000 rows of 20", lambda: run.system.query_none(wide))
    run.time("executemany of 200 rows of 20", lambda: _insert_wide(run, LONG // 5))
    run.time("executemany of 5,000 rows of 20", lambda: _insert_wide(run, 5 * LONG))
    scan = "SELECT v, count(*), sum(id) FROM scanned GROUP BY v ORDER BY v LIMIT 5"
    run.system.query(scan)
    run.time("scan", lambda: run.system.query(scan))
    run.system.query_none(f"INSERT INTO scanned VALUES ({2_000_000 + run.number}, 1)")
    run.time("scan after INSERT", lambda: run.system.query(scan))
    run.system.query_none(f"UPDATE scanned SET v = 7 WHERE id = {run.number % 1_000_000 + 1}")
    run.time("scan after UPDATE", lambda: run.system.query(scan))


def main() -> int:
    """Measures both systems and prints their times; 1 if their tables differ."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--machine", default="cpu2", help="label of the results")
    parser.add_argument("--save", action="store_true", help="write results under the label")
    options = parser.parse_args()
    answers: dict[tuple[str, str], Answer] = {}
    with postgres() as peer, gpudb_server() as server:
        runs = [Run(peer), Run(server)]
        connections = {
            run.system.name: [psycopg.connect(run.system.dsn, autocommit=True) for _ in range(CLIENTS)] for run in runs
        }
        for run in runs:
            for statement in SCHEMA:
                run.system.query_none(statement)
            run.system.query("SELECT count(*) FROM pg_catalog.pg_class")  # what a server loads beside its first minute
        for number in range(options.rounds + 1):
            for run in runs:
                measure(run, connections[run.system.name])
                if number == 0:
                    run.times.clear()  # the first round loads what later ones find
        synced = peer.query("SHOW fsync")[0][0]
        for run in runs:
            for table in TABLES:
                column = "c0" if table == "wide" else "id"
                answers[table, run.system.name] = run.system.query(f"SELECT count(*), sum({column}) FROM {table}")
            for client in connections[run.system.name]:
                client.close()
        versions = {"PostgreSQL": peer.version, "gpudb": server.version}
        rows: list[Row] = [
            make_row(case, run.system.name, times, run.number) for run in runs for case, times in run.times.items()
        ]
        theirs, ours = runs[0].times, runs[1].times
        same = all(answers[table, peer.name] == answers[table, server.name] for table in TABLES)
    print(f"PostgreSQL's fsync is {synced}")
    for case, times in theirs.items():
        one, other = (1000 * statistics.median(each) for each in (times, ours[case]))
        print(f"{case:32}PostgreSQL {one:9.1f} ms   gpudb {other:9.1f} ms   {other / one:6.2f} times")
    check_answers(rows, answers, peer.name)
    if options.save:
        save_results("small_writes", rows, versions, options.machine, "bench_small_writes")
    if not same:
        print("answers differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
