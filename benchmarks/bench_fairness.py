"""Short statements beside heavy ones, through many clients: what both take alone, and what they take together.

    python -m benchmarks.bench_fairness [--engine cpu twin] [--clients 16 64] [--seconds 20] [--machine LABEL]

Half of the clients run heavy statements without a pause: a grouping by several keys, a window, a sort, and a join of
many tables, over ROWS rows. The other half run short ones in turn: `SELECT 1`, a lookup of one row, a grouping of
100,000 rows that the twin's kernels compute, and a small join that its general engine computes. All short clients
together start RATE statements a second, whatever their number, so that they are light.

Three measurements for each engine and number of clients, of SECONDS each: the short clients alone, the heavy ones
alone, and both. Answers are compared with the first. Clients have a process of their own, which may precede the
server's processes if the system lets it: elsewhere they have their own machine. With --machine results are written to
results/fairness.MACHINE.json.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import psycopg

from benchmarks.harness import Row, make_row, save_results
from benchmarks.systems import Wire, gpudb_server

TABLES = """
CREATE TABLE facts AS SELECT i AS k, (i * 7919 % 1000003)::int AS v, (i * 104729 % 50021)::int AS a,
    (i * 31 % 97)::int AS b, (i * 17 % 13)::int AS c FROM generate_series(1::bigint, {rows}) i;
CREATE TABLE dim_a AS SELECT i AS a, (i % 1009)::int AS p FROM generate_series(0, 50020) i;
CREATE TABLE dim_p AS SELECT i AS p, (i % 29)::int AS q FROM generate_series(0, 1008) i;
CREATE TABLE dim_q AS SELECT i AS q, 'name ' || i AS name FROM generate_series(0, 28) i;
CREATE TABLE items AS SELECT i AS id, (i % 43)::int AS g, (i * 7919 % 10007)::int AS v
    FROM generate_series(1, 100000) i;
CREATE TABLE pairs AS SELECT i AS id, (i * 31 % 1000)::int AS other FROM generate_series(1, 5000) i
"""
HEAVY = {
    "group by four keys": "SELECT count(*), max(s) FROM (SELECT a, b, c, v % 10 AS d, sum(v) AS s FROM facts"
    " GROUP BY a, b, c, d) AS t",
    "window": "SELECT count(*), sum(n), max(s) FROM (SELECT row_number() OVER w AS n, sum(v) OVER w AS s FROM facts"
    " WINDOW w AS (PARTITION BY a ORDER BY v, k)) AS t",
    "sort": "SELECT count(*), sum(n * v) FROM (SELECT v, row_number() OVER (ORDER BY v, b, k DESC) AS n FROM facts)"
    " AS t",
    "join of five tables": "SELECT name, count(*), sum(f.v - g.v) FROM facts f JOIN dim_a USING (a) JOIN dim_p USING"
    " (p) JOIN dim_q USING (q) JOIN facts g ON f.k = g.k + 1 GROUP BY name ORDER BY name",
}
SHORT = {
    "constant": "SELECT 1",
    "lookup": "SELECT v FROM items WHERE id = %s",
    "group of 100,000 rows": "SELECT g, sum(v), count(*) FROM items GROUP BY g ORDER BY g",
    "small join": "SELECT p.other, rank() OVER (ORDER BY sum(i.v), p.other) FROM pairs p LEFT JOIN items i"
    " ON p.id = i.id AND i.v > p.other GROUP BY p.other ORDER BY 2 LIMIT 10",
}
ITEMS = 1000
"""The lookups' parameters: so many rows, the same in each run."""
_WARM = 3
_CONNECTING_S, _ENDING_S = 60.0, 300.0
_NICE = -5


@dataclass(slots=True)
class Times:
    """Seconds of each kind of statement, in the order in which they ended, and wrong answers and errors."""

    short: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in SHORT})
    heavy: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in HEAVY})
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def done(self) -> float:
        """Heavy statements that ended in a second."""
        return sum(map(len, self.heavy.values())) / self.seconds


class Load:
    """Clients of one server; the first answer of a statement is the right one."""

    def __init__(self, dsn: str, rate: float) -> None:
        self._dsn, self._rate = dsn, rate
        self._answers: dict[tuple[str, int], object] = {}
        self._lock = threading.Lock()

    def run(self, short: int, heavy: int, seconds: float) -> Times:
        """Runs short and heavy clients side by side for some seconds, and until the last heavy statement has ended."""
        found, last, over = Times(), threading.Event(), threading.Event()
        ready = threading.Barrier(short + heavy + 1)
        quick = [threading.Thread(target=self._short, args=(n, short, found, over, ready)) for n in range(short)]
        slow = [threading.Thread(target=self._heavy, args=(n, found, last, ready)) for n in range(heavy)]
        for each in (*quick, *slow):
            each.start()
        ready.wait(_CONNECTING_S)
        began = time.perf_counter()
        last.wait(seconds)
        last.set()
        for each in slow:
            each.join(_ENDING_S)
        found.seconds = time.perf_counter() - began
        over.set()
        for each in quick:
            each.join(_ENDING_S)
        return found

    def _short(self, number: int, clients: int, found: Times, over: threading.Event, ready: threading.Barrier) -> None:
        period = clients / self._rate
        draw = random.Random(number)
        with self._connect(found, ready) as connection:
            turn = number
            # Clients start one after the other, and each anew after its period.
            due = time.perf_counter() + period * number / clients
            while not over.wait(max(due - time.perf_counter(), 0)):
                due = max(due + period, time.perf_counter())
                name, turn = list(SHORT)[turn % len(SHORT)], turn + 1
                argument = draw.randrange(1, ITEMS) if "%s" in SHORT[name] else 0
                started = time.perf_counter()
                rows = connection.execute(SHORT[name].encode(), (argument,) if argument else None).fetchall()
                self._record(found, found.short[name], name, argument, rows, time.perf_counter() - started)

    def _heavy(self, number: int, found: Times, last: threading.Event, ready: threading.Barrier) -> None:
        with self._connect(found, ready) as connection:
            turn = number
            while not last.is_set():
                name, turn = list(HEAVY)[turn % len(HEAVY)], turn + 1
                started = time.perf_counter()
                rows = connection.execute(HEAVY[name].encode()).fetchall()
                self._record(found, found.heavy[name], name, 0, rows, time.perf_counter() - started)

    @contextlib.contextmanager
    def _connect(self, found: Times, ready: threading.Barrier) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        """A client's session; an error ends the client and is recorded."""
        try:
            with psycopg.connect(self._dsn, autocommit=True, prepare_threshold=1) as connection:
                connection.execute("SET gpudb.fallback = off")
                for sql in SHORT.values():  # planned in each session before times count
                    connection.execute(sql.encode(), (1,) if "%s" in sql else None).fetchall()
                ready.wait(_CONNECTING_S)
                yield connection
        except psycopg.Error as error:
            with self._lock:
                found.faults.append(f"{error.sqlstate}: {error}")

    def _record(self, found: Times, times: list[float], name: str, argument: int, rows: object, seconds: float) -> None:
        with self._lock:
            if self._answers.setdefault((name, argument), rows) != rows:
                found.faults.append(f"wrong answer: {name}")
            times.append(seconds)


def quantile(times: Sequence[float], share: float) -> float:
    """Returns the time that this share of the statements do not exceed."""
    return sorted(times)[min(int(share * len(times)), len(times) - 1)]


def warm(system: Wire) -> dict[str, float]:
    """Runs each statement a few times; returns the least seconds of each heavy one."""
    least: dict[str, float] = {}
    system.query_none("SET gpudb.fallback = off")
    for _ in range(_WARM):
        for name, sql in HEAVY.items():
            started = time.perf_counter()
            system.query(sql)
            least[name] = min(time.perf_counter() - started, least.get(name, 1e9))
        for sql in SHORT.values():
            for _ in range(_WARM):
                system.connection.execute(sql.encode(), (1,) if "%s" in sql else None).fetchall()
    return least


def precede_server() -> None:
    """Gives the clients' threads a higher priority than the server's, which runs already, if the system lets it."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)


def measure(engine: str, options: argparse.Namespace) -> Iterator[tuple[Row, str]]:
    """Yields the rows of one engine, each with the server's version."""
    with gpudb_server(None, engine, 2 if engine == "twin" else 0) as system:
        precede_server()
        system.load([TABLES.format(rows=options.rows)], {}, [])
        least = warm(system)
        print(f"{system.name}: heavy statements alone " + ", ".join(f"{k} {v:.2f} s" for k, v in least.items()))
        for clients in options.clients:
            load = Load(f"{system.dsn} connect_timeout=30", options.rate)
            half = clients // 2
            alone = load.run(half, 0, options.seconds)
            heavy = load.run(0, half, options.seconds)
            beside = load.run(half, half, options.seconds)
            for fault in (*alone.faults, *heavy.faults, *beside.faults):
                raise RuntimeError(fault)
            yield from ((row, system.version) for row in make_rows(system.name, clients, alone, heavy, beside, options))


def make_rows(
    system: str, clients: int, alone: Times, heavy: Times, beside: Times, options: argparse.Namespace
) -> Iterator[Row]:
    """The rows of a result: each short statement alone and beside heavy ones, and the heavy ones' throughput."""
    for name, times in alone.short.items():
        table_rows = 1 if name == "constant" else 100_000
        yield make_row(f"{name}, {clients} clients, alone", system, times, table_rows, note=describe(times, times))
        more = beside.short[name]
        yield make_row(f"{name}, {clients} clients, beside", system, more, table_rows, note=describe(more, times))
    share = beside.done / heavy.done if heavy.done else 0.0
    for title, found in (("alone", heavy), ("beside", beside)):
        ended = [each for times in found.heavy.values() for each in times]
        note = f"{found.done:.2f} statements/s" + (f", {share:.0%} of those alone" if found is beside else "")
        if ended:
            yield make_row(f"heavy, {clients} clients, {title}", system, ended, options.rows, note=note)


def describe(times: Sequence[float], alone: Sequence[float]) -> str:
    """The 99th percentile, and what it is of the times alone."""
    last = quantile(times, 0.99)
    shown = f"p99 {1000 * last:.1f} ms"
    if times is alone:
        return shown
    of_median, of_last = last / statistics.median(alone), last / quantile(alone, 0.99)
    return f"{shown}: {of_median:.1f} times the median alone, {of_last:.1f} times the p99 alone"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", nargs="+", default=["cpu", "twin"], choices=("cpu", "twin", "gpu"))
    parser.add_argument("--clients", nargs="+", type=int, default=[16, 64])
    parser.add_argument("--seconds", type=float, default=20.0, help="of each of the three measurements")
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of the heavy statements' table")
    parser.add_argument("--rate", type=float, default=20.0, help="short statements a second, of all clients together")
    parser.add_argument("--machine", help="write the results under this name")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    for engine in options.engine:
        for row, version in measure(engine, options):
            rows.append(row)
            assert row.median_s is not None
            print(f"{row.system:18} {row.case:45} median {1000 * row.median_s:9.2f} ms {row.note}", flush=True)
            if options.machine:
                save_results("fairness", rows, {"gpudb": version}, options.machine, "bench_fairness")
    return 0


if __name__ == "__main__":
    sys.exit(main())
