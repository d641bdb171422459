"""What metrics and traces cost short statements, side by side in one process, and what a scrape takes.

    python -m benchmarks.bench_observe [--pairs 1500] [--statements 100] [--connections 1000] [--engine twin|gpu]
        [--machine LABEL]

One server in this process has two clients, which are one child process: the statements of one client are recorded,
those of the other are not. Short blocks of statements go through both in turns (ABBA), so that whatever else the
machine does hits both; both connect anew from time to time, since of two threads one may be slower by chance. Compared
is the processor time of this process by statement: a server that is busy is limited by it, so that the median
difference of a pair of blocks is the share of its throughput that recording takes. Beside it stand the times of what
happens later, by statement: the records are added up, and those that the settings' defaults let be traced are traced
and sent to a collector. All together has to be below 1 %.

Two statements are measured: `SELECT 1`, and a short one on a worker (the fast path, on the engine twin or a GPU). Then
`--connections` clients connect, and scrapes are timed, which have to be below 20 ms in the median. With --machine
results are written to results/observe.MACHINE.json.
"""

from __future__ import annotations

import argparse
import random
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg

from benchmarks.harness import Row, make_row, save_results, visible_gpus
from gpudb.config.database import DatabaseSettings
from gpudb.config.wire import WireSettings
from gpudb.observe.batches import Batch, make_batch
from gpudb.observe.traces import TraceExporter
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from tests.support.server_program import Program

LARGEST_SHARE = 0.01
LARGEST_SCRAPE_S = 0.020
SCRAPES = 40
DRAINED = 30
"""Pairs after which records are added up: as many statements as half a second has, or fewer."""
TRACED = 50
"""Traces that are sent at once: as many as a second allows, for OpenTelemetry's five seconds."""
TABLE = "CREATE TABLE t AS SELECT i AS a FROM generate_series(1, 1000) AS i"
CASES = {"SELECT 1": ("SELECT 1", 0, 1), "a count on a worker": ("SELECT count(*) FROM t WHERE a > 5", 1, 10)}
"""Statements, workers of the engine twin that run them, and by how much the blocks are shorter."""
CHILD = ("-m", "benchmarks.bench_observe", "child")


class Blocks:
    """A child process with two clients: it runs a statement through one of them, as often as it is told.

    Only the child's own time goes to sockets of clients: the processor time of this process is the server's.
    """

    def __init__(self, port: int, sql: str) -> None:
        self._child = subprocess.Popen(
            [sys.executable, *CHILD, str(port), sql], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def connect(self, connection: int) -> None:
        """Opens a connection, in the place of the one with that number."""
        self._tell(f"{connection} connect")

    def run(self, connection: int, statements: int) -> None:
        """Runs a block of statements."""
        self._tell(f"{connection} {statements}")

    def _tell(self, line: str) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()
        if self._child.stdout.readline() != "done\n":
            raise RuntimeError("the client has ended")

    def close(self) -> None:
        """Ends the child."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait(20)


def run_child(port: int, sql: str) -> None:
    """What the child does: reads from stdin which connection is to run how many statements."""
    connections: dict[str, socket.socket] = {}
    query = b"Q" + (len(sql) + 5).to_bytes(4, "big") + sql.encode() + b"\0"
    for line in sys.stdin:
        number, what = line.split()
        if what == "connect":
            if number in connections:
                connections[number].close()
            connections[number] = _connect(port)
        else:
            for _ in range(int(what)):
                connections[number].sendall(query)
                _read_until_ready(connections[number])
        print("done", flush=True)


def _connect(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    body = (3 << 16).to_bytes(4, "big") + b"user\0gpudb\0database\0gpudb\0\0"
    connection.sendall((len(body) + 4).to_bytes(4, "big") + body)
    _read_until_ready(connection)
    return connection


def _read_until_ready(connection: socket.socket) -> None:
    """Reads to the end of ReadyForQuery, which every reply ends with."""
    received = b""
    while received[-6:-1] != b"Z\0\0\0\5":
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError("the server has closed the connection")
        received = received[-6:] + piece


class _Collector(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def collecting() -> Iterator[str]:
    """A collector's endpoint. It takes spans in this process, so that its time is added to that of traces."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True, slots=True)
class Costs:
    """Processor times in seconds: by statement, of blocks without and with recording, of which those of a number are a
    pair; of adding a record up; of a trace. `limits` are the seconds by statement that limit the throughput, without
    recording.
    """

    plain: list[float]
    recorded: list[float]
    added_up: list[float]
    traced: list[float]
    limits: list[float]

    @property
    def record_share(self) -> float:
        """What to record adds to a statement, as a share of it: the median difference of a pair."""
        differences = [recorded - plain for plain, recorded in zip(self.plain, self.recorded, strict=True)]
        return statistics.median(differences) / statistics.median(self.limits)

    @property
    def add_share(self) -> float:
        """The share of a statement that its record takes later."""
        return statistics.median(self.added_up) / statistics.median(self.limits)

    @property
    def trace_share(self) -> float:
        """The share of a processor that traces take while it runs such statements."""
        defaults = DatabaseSettings()
        each_second = min(defaults.trace_ratio / statistics.median(self.limits), defaults.trace_limit)
        return statistics.median(self.traced) * each_second

    def estimate_error(self, draws: int = 200) -> float:
        """Returns the standard error of `record_share`, by drawing pairs anew."""
        pairs = list(zip(self.plain, self.recorded, strict=True))
        source = random.Random(1)
        drawn = (zip(*source.choices(pairs, k=len(pairs)), strict=True) for _ in range(draws))
        return statistics.stdev(
            Costs(list(plain), list(recorded), [], [], self.limits).record_share for plain, recorded in drawn
        )


def measure_costs(sql: str, workers: int, gpu: bool, pairs: int, statements: int) -> Costs:
    """Returns the costs of a statement, whose workers have a GPU each or are twins."""
    with ExitStack() as stack:
        traces = TraceExporter(stack.enter_context(collecting()), ratio=1.0)
        stack.callback(traces.close)
        gpus = visible_gpus(workers).split(",") if gpu and workers else ()
        settings = DatabaseSettings(engine="twin", workers=workers) if workers and not gpus else DatabaseSettings()
        database = Database(None, settings, gpus=gpus)
        last = _LastBatch()
        database.recorder.add_consumer(last)
        server = stack.enter_context(serving(database))
        with psycopg.connect(f"host=127.0.0.1 port={server.address[1]} user=gpudb", autocommit=True) as setup:
            setup.execute(TABLE)
        blocks = stack.enter_context(closing(Blocks(server.address[1], sql)))
        costs = Costs([], [], [], [], [])
        for number in range(pairs):
            if number % DRAINED == 0:  # anew, since which of two connections is faster is chance
                for recorder in (None, database.recorder) if number % (2 * DRAINED) else (database.recorder, None):
                    server.recorder = recorder
                    blocks.connect(int(recorder is not None))
                for which in (0, 1, 1, 0):
                    blocks.run(which, statements)
                database.recorder.drain()
            for which in (0, 1) if number % 2 else (1, 0):
                began, started = time.perf_counter(), time.process_time()
                blocks.run(which, statements)
                took = (time.process_time() - started) / statements
                (costs.plain, costs.recorded)[which].append(took)
                if which == 0:
                    costs.limits.append((time.perf_counter() - began) / statements if workers else took)
            if number % DRAINED == DRAINED - 1:
                started = time.process_time()
                database.recorder.drain()
                costs.added_up.append((time.process_time() - started) / (DRAINED * statements))
                costs.traced.append(_time_traces(traces, last.batch))
    return costs


def _time_traces(traces: TraceExporter, batch: Batch) -> float:
    """Returns the processor time of a trace, if TRACED are sent at once; the collector's is in it."""
    (group,) = batch.values()
    record = tuple(group.repeated[-1].make_last()) if group.repeated else group.records[-1]
    sampled = make_batch([record] * TRACED)
    started = time.process_time()
    traces.consume(sampled)
    traces.flush()
    return (time.process_time() - started) / TRACED


class _LastBatch:
    """A consumer that keeps the last batch."""

    def __init__(self) -> None:
        self.batch: Batch = {}

    def consume(self, batch: Batch) -> None:
        self.batch = batch


@contextmanager
def serving(database: Database) -> Iterator[PgServer]:
    """A server of this process over a database, which it closes."""
    server = PgServer(database, WireSettings(port=0))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown(timeout=1)
        thread.join()
        database.close()


def measure_scrapes(connections: int) -> Sequence[float]:
    """Returns the seconds of scrapes beside so many connections, of a server of its own."""
    options = ("--engine", "cpu", "--max-connections", str(connections + 50), "--http-port", "0")
    with (
        tempfile.TemporaryDirectory() as folder,
        Program(Path(folder) / "data", *options) as server,
        ExitStack() as stack,
    ):
        for _ in range(connections):
            stack.enter_context(psycopg.connect(server.dsn, autocommit=True))
        _scrape(server)
        return [_scrape(server) for _ in range(SCRAPES)]


def _scrape(server: Program) -> float:
    started = time.perf_counter()
    with urllib.request.urlopen(f"{server.http}/metrics", timeout=30) as reply:
        assert b"gpudb_statements_total" in reply.read()
    return time.perf_counter() - started


def main() -> int:
    """Measures both; fails unless both are below their limits."""
    if sys.argv[1:2] == ["child"]:
        run_child(int(sys.argv[2]), sys.argv[3])
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1500)
    parser.add_argument("--statements", type=int, default=100)
    parser.add_argument("--connections", type=int, default=1000)
    parser.add_argument("--engine", choices=("twin", "gpu"), default="twin")
    parser.add_argument("--machine")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows: list[Row] = []
    within = True
    for case, (sql, workers, shorter) in CASES.items():
        costs = measure_costs(sql, workers, options.engine == "gpu", options.pairs, options.statements // shorter)
        shares = costs.record_share, costs.add_share, costs.trace_share
        within &= sum(shares) < LARGEST_SHARE
        record, add, trace = (f"{100 * each:.2f} %" for each in shares)
        note = f"record {record} (standard error {100 * costs.estimate_error():.2f}), add up {add}, trace {trace}"
        times = [1e6 * statistics.median(each) for each in (costs.plain, costs.limits)]
        print(f"{case}: {times[0]:.1f} us of processor time, limited by {times[1]:.1f} us; {note}", flush=True)
        rows.append(make_row(f"{case}, processor time", "not recorded", costs.plain, 0))
        rows.append(make_row(f"{case}, processor time", "recorded", costs.recorded, 0, note=note))
        rows.append(make_row(f"{case}, time that limits", "not recorded", costs.limits, 0))
        rows.append(make_row(f"{case}, a record added up", "recorded", costs.added_up, 0))
        rows.append(make_row(f"{case}, a trace", "recorded", costs.traced, 0))
    scrapes = measure_scrapes(options.connections)
    print(f"a scrape with {options.connections} connections: {1000 * statistics.median(scrapes):.1f} ms")
    within &= statistics.median(scrapes) < LARGEST_SCRAPE_S
    rows.append(make_row(f"a scrape with {options.connections} connections", "recorded", scrapes, 0))
    if options.machine:
        save_results("observe", rows, {}, options.machine, "bench_observe")
    return int(not within)


if __name__ == "__main__":
    sys.exit(main())
