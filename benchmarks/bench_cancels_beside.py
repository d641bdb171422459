"""Cancels at drawn moments beside other clients: whether statements of others fail, and what they wait.

    python -m benchmarks.bench_cancels_beside [--engine gpu|twin] [--rows 20000000] [--cancels 200] [--machine h200x1]

CLIENTS clients run short statements over a large table without a pause and check their answers: first alone, then while
one more client runs heavy statements and cancels each at a drawn moment. Printed are the median and the 99th percentile
of the short ones in both parts, the statements of others that failed, and how long a cancelled statement took to end.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from statistics import median, quantiles

import psycopg

from benchmarks.harness import Row, save_results
from benchmarks.systems import gpudb_server

CLIENTS = 8
LONGEST_S = 1.5
"""The latest drawn moment of a cancel, after its statement began."""
TABLES = """
CREATE TABLE facts AS SELECT i AS id, (i * 7919 % 1000003)::int AS v, (i * 104729 % 50021)::int AS a,
    (i * 17 % 13)::int AS c, 'name ' || i % 5003 AS name FROM generate_series(1::bigint, {rows}) i;
CREATE TABLE names AS SELECT i AS a, 'group ' || i % 101 AS label FROM generate_series(0, 50020) i
"""
SHORT = (
    "SELECT c, count(*), sum(v) FROM facts GROUP BY c ORDER BY c",
    "SELECT count(*) FROM facts WHERE name LIKE '%77%'",
    "SELECT label, sum(v) FROM facts JOIN names USING (a) GROUP BY label ORDER BY 2 DESC, 1 LIMIT 5",
    "SELECT v, id FROM facts WHERE id = 4711",
)
HEAVY = (
    "SELECT sum(x.id % 7 * (y.id % 5)) FROM facts x JOIN facts y USING (c) WHERE x.v <> y.v",
    "SELECT max(n) FROM (SELECT row_number() OVER (PARTITION BY a ORDER BY name, v, id) n FROM facts) w",
    "SELECT count(*) FROM (SELECT DISTINCT name || v FROM facts) d",
)


class Clients:
    """Clients that run short statements without a pause, and check that each has the answer that it had at first."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        with psycopg.connect(dsn, autocommit=True) as connection:
            self._answers = {sql: connection.execute(sql.encode()).fetchall() for sql in SHORT}
        self.faults: list[str] = []

    def run(self, until: threading.Event) -> list[tuple[float, str]]:
        """Runs them until an event is set; the seconds of every statement, and its text."""
        times: list[tuple[float, str]] = []
        threads = [threading.Thread(target=self._work, args=(number, until, times)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return times

    def _work(self, number: int, until: threading.Event, times: list[tuple[float, str]]) -> None:
        chance = random.Random(number)
        with psycopg.connect(self._dsn, autocommit=True) as connection:
            while not until.is_set():
                sql = chance.choice(SHORT)
                started = time.perf_counter()
                try:
                    found = connection.execute(sql.encode()).fetchall()
                except psycopg.Error as error:
                    self.faults.append(f"{error.sqlstate} {error} in {sql}")
                    continue
                times.append((time.perf_counter() - started, sql))
                if found != self._answers[sql]:
                    self.faults.append(f"{found[:2]} instead of {self._answers[sql][:2]} in {sql}")


def cancel(dsn: str, count: int, heavy: Sequence[str]) -> tuple[list[float], int]:
    """Runs heavy statements, each cancelled at a drawn moment: seconds to their ends, and how many ended before."""
    chance, ends, early = random.Random(1), [], 0
    with closing(psycopg.connect(dsn, autocommit=True)) as connection:
        for _ in range(count):
            told: list[float] = []

            def tell(told: list[float] = told) -> None:
                told.append(time.perf_counter())
                connection.cancel_safe(timeout=30)

            timer = threading.Timer(chance.uniform(0.01, LONGEST_S), tell)
            timer.start()
            try:
                connection.execute(chance.choice(heavy).encode())
                early += 1
            except psycopg.errors.QueryCanceled:
                ends.append(time.perf_counter() - told[0])
            timer.cancel()
            timer.join()
    return ends, early


def main() -> int:
    """Prints, and with --machine keeps, both parts' times; 1 if a statement of others failed or was wrong."""
    parser = argparse.ArgumentParser(description="Cancels beside other clients")
    parser.add_argument("--engine", default="gpu", choices=("gpu", "twin"))
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--cancels", type=int, default=200)
    parser.add_argument("--alone", type=float, default=15.0, help="seconds of the part without cancels")
    parser.add_argument("--machine", help="keep the results under this label, such as h200x1")
    parser.add_argument("--heavy", type=int, choices=range(len(HEAVY)), help="only this heavy statement")
    options = parser.parse_args()
    heavy = HEAVY if options.heavy is None else HEAVY[options.heavy :][:1]
    with gpudb_server(engine=options.engine, workers=options.workers) as server:
        for statement in TABLES.format(rows=options.rows).split(";"):
            server.query_none(statement)
        clients = Clients(server.dsn)
        over = threading.Event()
        timer = threading.Timer(options.alone, over.set)
        timer.start()
        alone = clients.run(over)
        over = threading.Event()
        found: list[tuple[list[float], int]] = []

        def cancel_all() -> None:
            try:
                found.append(cancel(server.dsn, options.cancels, heavy))
            finally:
                over.set()

        canceller = threading.Thread(target=cancel_all)
        canceller.start()
        beside = clients.run(over)
        canceller.join()
    rows = []
    for sql in SHORT:
        spent = [sorted(seconds for seconds, text in part if text == sql) or [0.0] for part in (alone, beside)]
        shown = ", beside ".join(f"{1000 * times[len(times) * 99 // 100]:.1f}" for times in spent)
        print(f"99 % of {sql[:70]}: alone {shown} ms")
    cases = {
        "short alone": [seconds for seconds, _ in alone],
        "short beside cancels": [seconds for seconds, _ in beside],
        "cancel to end": found[0][0],
    }
    for case, times in cases.items():
        p99 = quantiles(times, n=100)[98]
        rows += [Row(f"{case} median", f"gpudb {options.engine}", median(times), min(times), len(times), options.rows)]
        rows += [Row(f"{case} p99", f"gpudb {options.engine}", p99, min(times), len(times), options.rows)]
        print(
            f"{case:22}{len(times):7} times  median {median(times) * 1000:8.1f} ms  p99 {p99 * 1000:8.1f} ms"
            f"  most {max(times) * 1000:8.1f} ms"
        )
    print(f"{found[0][1]} heavy statements ended before their cancel; {len(clients.faults)} faults of others")
    for fault in clients.faults[:10]:
        print(f"  {fault}")
    if options.machine:
        print(save_results("cancels", rows, {}, options.machine, "bench_cancels_beside"))
    return 1 if clients.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
