"""Many clients with heavy statements, and short ones beside them: who succeeds, and how long the short ones take.

    python -m benchmarks.bench_admission [--clients 200] [--rows 3000000] [--memory 1GB] [--each 1] [--machine LABEL]

Each of CLIENTS connects at the same time and runs EACH statements over ROWS rows that sort, join or group. Meanwhile
one client runs `SELECT 1` every 20 ms, and another one connects anew twice a second. Answers of heavy statements are
compared with the first ones. With --machine results are written to results/admission.MACHINE.json. The program fails if
a client does not finish, or if the short statements' median exceeds 5 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import psycopg

from benchmarks.harness import Row, make_row, save_results
from benchmarks.systems import gpudb_server

HEAVY = {
    "sort": "SELECT count(*), max(n) FROM (SELECT row_number() OVER (ORDER BY v, k DESC) AS n FROM big) AS t",
    "join": "SELECT count(*), sum(a.v - b.v) FROM big a JOIN big b ON a.k = b.k",
    "group": "SELECT count(*), max(s) FROM (SELECT k / 4 AS g, sum(v) AS s FROM big GROUP BY g) AS t",
}
TABLE = """
CREATE TABLE big AS SELECT i AS k, (i * 7919 % 1000003)::int AS v FROM generate_series(1::bigint, {rows}) i
"""
SHORT = "SELECT 1"
MOST_S = 0.005
"""The limit of the short statements' median."""
_EVERY_S, _CONNECT_EVERY_S = 0.02, 0.5


@dataclass(slots=True)
class Outcome:
    """Seconds of each kind of statement and of connecting, and the errors by SQLSTATE."""

    heavy: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in HEAVY})
    short: list[float] = field(default_factory=list)
    connect: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    seconds: float = 0.0


def measure(dsn: str, clients: int, each: int) -> Outcome:
    """Runs the heavy clients to their ends, and the short ones beside them."""
    with psycopg.connect(dsn, autocommit=True) as first:
        expected = {name: first.execute(sql).fetchall() for name, sql in HEAVY.items()}
    found = Outcome()
    lock, over = threading.Lock(), threading.Event()

    def heavy(number: int) -> None:
        try:
            with connect(dsn, found, lock) as connection:
                for turn in range(each):
                    name = list(HEAVY)[(number + turn) % len(HEAVY)]
                    started = time.perf_counter()
                    rows = connection.execute(HEAVY[name]).fetchall()
                    with lock:
                        found.heavy[name].append(time.perf_counter() - started)
                        found.wrong += rows != expected[name]
        except psycopg.Error as error:
            with lock:
                found.errors[error.sqlstate or type(error).__name__] += 1

    def short() -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            while not over.wait(_EVERY_S):
                started = time.perf_counter()
                connection.execute(SHORT).fetchall()
                found.short.append(time.perf_counter() - started)

    def newcomer() -> None:
        while not over.wait(_CONNECT_EVERY_S):
            with connect(dsn, found, lock):
                pass

    began = time.perf_counter()
    beside = [start(short), start(newcomer)]
    waiting = [start(lambda number=number: heavy(number)) for number in range(clients)]
    for thread in waiting:
        thread.join()
    found.seconds = time.perf_counter() - began
    over.set()
    for thread in beside:
        thread.join()
    return found


@contextlib.contextmanager
def connect(dsn: str, found: Outcome, lock: threading.Lock) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """Opens a connection and records how long that takes."""
    started = time.perf_counter()
    with psycopg.connect(dsn, autocommit=True) as connection:
        with lock:
            found.connect.append(time.perf_counter() - started)
        yield connection


def start(work: Callable[[], None]) -> threading.Thread:
    """Starts a thread."""
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def make_rows(found: Outcome, clients: int, each: int, table_rows: int) -> list[Row]:
    """The rows of a result file."""
    rows = [make_row(name, "gpudb", times, table_rows) for name, times in found.heavy.items() if times]
    rows.append(make_row(f"{SHORT} beside {clients} clients", "gpudb", found.short, 1))
    rows.append(make_row(f"connecting beside {clients} clients", "gpudb", found.connect, 0))
    ended = sum(map(len, found.heavy.values()))
    note = f"{ended} of {clients * each} statements ended in {found.seconds:.1f} s"
    note += f"; errors: {dict(found.errors)}" if found.errors else ""
    rows[0].note = note
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark and prints its figures; 1 if a client failed or short statements were slow."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--memory", default="1GB", help="the server's memory_limit")
    parser.add_argument("--each", type=int, default=1, help="heavy statements of each client")
    parser.add_argument("--machine", help="write the results under this name")
    options = parser.parse_args(arguments)
    with (
        mock.patch.dict(os.environ, {"GPUDB_MEMORY_LIMIT": options.memory}),
        tempfile.TemporaryDirectory() as folder,
        gpudb_server(Path(folder) / "db") as system,
    ):
        system.load([TABLE.format(rows=options.rows)], {}, [])
        found = measure(f"{system.dsn} connect_timeout=10", options.clients, options.each)
    rows = make_rows(found, options.clients, options.each, options.rows)
    for row in rows:
        assert row.median_s is not None
        print(f"{row.case:40} median {1000 * row.median_s:10.2f} ms   {row.runs} runs   {row.note or ''}")
    slowest = sorted(found.short)[int(0.99 * (len(found.short) - 1))]
    print(f"{SHORT}: 99th percentile {1000 * slowest:.2f} ms, slowest {1000 * max(found.short):.2f} ms")
    print(f"connecting: slowest {1000 * max(found.connect):.0f} ms")
    if options.machine:
        print(save_results("admission", rows, {}, options.machine, "bench_admission"))
    failed = found.errors.total() + found.wrong
    return int(failed > 0 or statistics.median(found.short) > MOST_S)


if __name__ == "__main__":
    sys.exit(main())
