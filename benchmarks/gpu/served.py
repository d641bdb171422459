"""A served database: time from start to first answer, loading, and many clients while a worker is killed.

    python -m benchmarks.gpu.served [--suite ssb-lines] [--scale 30] [--workers 2] [--minutes 5] [--clients 10] …

The tables are adopted from Parquet files; the server is restarted over them, with warm caches. Loading is compared
with reading the same files' bytes from the page cache. Each client runs the suite's queries in its own order, and
compares every answer with the previous one; halfway one worker's process is killed. Results are written to
results/served-SUITE.MACHINE.json as they come; an interrupt ends the clients early. Without GPUs it runs the twin.
"""

from __future__ import annotations

import argparse
import contextlib
import mmap
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import report, tables
from benchmarks.harness import Row, answers_equal, make_row, save_results
from benchmarks.systems import Wire, gpudb_server

_PIECE = 2**24
BLOCK = 8192
"""Block size of pg_prewarm's count."""
RESTART_S = 60.0
"""Time limit for the killed worker's return."""
STATEMENT_S = 30
"""A statement that takes longer is cancelled, which counts as an error; after the same time again its client hangs."""


@dataclass
class ClientResults:
    """The clients' observations: seconds of each right answer, wrong ones, errors by SQLSTATE with their times."""

    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    failed: list[float] = field(default_factory=list)
    lost: int = 0
    """Number of connections that the server closed."""


def read_once(paths: Sequence[Path], threads: int, flags: int = 0) -> int:
    """Reads files by many threads and discards the bytes; returns their number. `flags` may be O_DIRECT."""
    pieces = [(path, start) for path in paths for start in range(0, path.stat().st_size, _PIECE)]
    room = threading.local()

    def read(piece: tuple[Path, int]) -> int:
        if not hasattr(room, "buffer"):
            room.buffer = mmap.mmap(-1, _PIECE)  # aligned to a page
        file = os.open(piece[0], os.O_RDONLY | flags)
        try:
            return os.preadv(file, [room.buffer], piece[1])
        finally:
            os.close(file)

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(read, pieces))


def read_rate(paths: Sequence[Path], threads: int) -> tuple[int, list[float]]:
    """The bytes of some files, and the seconds of reading them three times from the page cache by many threads."""
    times = []
    for _ in range(4):
        begun = time.perf_counter()
        total = read_once(paths, threads)
        times.append(time.perf_counter() - begun)
    return total, times[1:]


def worker_processes(system: Wire) -> dict[int, int]:
    """Each worker's process."""
    asked = "SELECT gpu_id, att_value::int FROM pgstrom_device_info() WHERE att_name = 'PROCESS_ID'"
    return dict(system.query(asked))  # type: ignore[arg-type]


@dataclass
class Deadline:
    """End of the clients on the monotonic clock."""

    at: float


def run_client(
    number: int, dsn: str, queries: dict[str, str], expected: dict[str, Any], deadline: Deadline, results: ClientResults
) -> None:
    """Runs queries until time is up; records errors and continues with the next query."""
    import psycopg

    names = list(queries)
    random.Random(number).shuffle(names)
    with psycopg.connect(f"{dsn} options='-c statement_timeout={STATEMENT_S}s'", autocommit=True) as connection:
        while time.monotonic() < deadline.at:
            for name in names:
                if time.monotonic() >= deadline.at:
                    break
                begun = time.monotonic()
                try:
                    answer = connection.execute(queries[name].encode()).fetchall()
                except psycopg.Error as error:
                    results.errors[error.sqlstate or type(error).__name__] += 1
                    results.failed.append(time.monotonic())
                    if connection.closed:
                        results.lost += 1
                        return
                    time.sleep(0.05)
                    continue
                results.seconds.append(time.monotonic() - begun)
                if not answers_equal(answer, expected[name]):
                    results.wrong.append(name)


def run_clients(system: Wire, suite: Any, count: int, minutes: float) -> Row:
    """Many clients, and a worker killed halfway."""
    expected = {name: system.query(text) for name, text in suite.queries.items()}
    before = worker_processes(system)
    results = ClientResults()
    begun = time.monotonic()
    deadline = Deadline(begun + 60 * minutes)
    threads = [
        threading.Thread(
            target=run_client, args=(number, system.dsn, suite.queries, expected, deadline, results), daemon=True
        )
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    killed, restarted_after = None, None
    try:
        time.sleep(30 * minutes)
        killed = time.monotonic()
        os.kill(before[max(before)], signal.SIGKILL)
        restarted_after = _wait_for_restart(system, before, killed)
        time.sleep(max(deadline.at - time.monotonic(), 0))
    except KeyboardInterrupt:
        deadline.at = time.monotonic()
    for thread in threads:
        thread.join(max(deadline.at + 2 * STATEMENT_S - time.monotonic(), 0.1))
    hung = sum(thread.is_alive() for thread in threads)
    well = killed is None or restarted_after is not None
    right = well and not (results.wrong or hung or results.lost) and _answers_unchanged(system, suite, expected)
    note = (
        f"{count} clients, {deadline.at - begun:.0f} s: {len(results.seconds):,} answers, {len(results.wrong)} wrong,"
        f" errors {dict(results.errors)}, {results.lost} connections lost, {hung} clients hung; "
    )
    if killed is None:
        note += "no worker was killed"
    else:
        late = [each - killed for each in results.failed if each > killed]
        note += f"a worker was killed, {f'the last error came {max(late):.1f} s after' if late else 'no error came'}, "
        note += "it was back "
        note += f"after {restarted_after:.1f} s" if restarted_after else f"NOT within {RESTART_S:.0f} s"
    print(note, flush=True)
    return make_row("an answer", system.name, results.seconds or [0.0], suite.rows, answers_agree=right, note=note)


def _answers_unchanged(system: Wire, suite: Any, expected: dict[str, Any]) -> bool:
    """Returns whether every query has its answer afterwards."""
    import psycopg

    try:
        return all(answers_equal(system.query(text), expected[name]) for name, text in suite.queries.items())
    except psycopg.Error as error:
        print(f"after all: {type(error).__name__}: {error}", flush=True)
        return False


def _wait_for_restart(system: Wire, before: dict[int, int], killed: float) -> float | None:
    """Returns the seconds until a killed worker is back in another process; None if it is not."""
    import psycopg

    while time.monotonic() < killed + RESTART_S:
        time.sleep(0.2)
        now = before
        with contextlib.suppress(psycopg.Error):
            now = worker_processes(system)
        if len(now) == len(before) and now != before:
            return time.monotonic() - killed
    return None


def measure(options: argparse.Namespace, suite: Any, engine: str, folder: Path) -> Iterator[tuple[Row, str]]:
    """The rows of results as they come, and the server's version."""
    workers = options.workers
    schema, data = tables.adopted_schema(suite), folder / "data"
    with gpudb_server(data, engine, workers) as system:
        system.adopt(schema, suite.tables)
        for text in suite.queries.values():
            system.query(text)
    begun = time.perf_counter()
    with gpudb_server(data, engine, workers) as system:
        version = system.version
        ready = time.perf_counter() - begun
        system.query_none("SET gpudb.fallback = off")
        system.query(f"SELECT count(*) FROM {next(iter(suite.tables))}")
        first = time.perf_counter() - begun
        yield make_row("start to listening", system.name, [ready], 0), version
        yield make_row("start to first answer", system.name, [first], 0), version
        for name, path in suite.tables.items():
            paths = tables.list_files(path)
            size, times = read_rate(paths, options.threads)
            count = tables.count_rows(path)
            yield make_row(f"load {name}", "reading its files", times, count, bytes=size), version
            taken = []
            for _ in range(options.runs):
                system.query(f"SELECT gpudb_evict('{name}')")
                begun = time.perf_counter()
                ((blocks,),) = system.query(f"SELECT pg_prewarm('{name}'::regclass)")
                taken.append(time.perf_counter() - begun)
            note = f"{blocks * BLOCK / 1e9:.2f} GB resident"
            yield make_row(f"load {name}", system.name, taken, count, bytes=size, note=note), version
        if options.minutes:
            yield run_clients(system, suite, options.clients, options.minutes), version


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if an answer was wrong."""
    from gpudb.cli import machine

    parser = argparse.ArgumentParser(description="a served database on several GPUs")
    parser.add_argument("--suite", choices=("ssb-lines", "tpch", "exchange"), default="ssb-lines")
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=16, help="threads that read files")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--machine")
    options = parser.parse_args(arguments)
    engine = "gpu" if machine.select_engine(machine.query_gpus())[0] == "gpu" else "twin"
    suite = getattr(tables, options.suite.replace("-", "_"))(options.scale, options.data)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="gpudb-served-", dir=options.data) as folder:
        for row, version in measure(options, suite, engine, Path(folder)):
            rows.append(row)
            save_results(f"served-{options.suite}", rows, {"gpudb": version}, options.machine, "gpu.served")
            rate = f", {row.bytes / (row.median_s or 1) / 1e9:.2f} GB/s" if row.bytes else ""
            print(f"{row.case}, {row.system}: {row.median_s:.3f} s{rate} {row.note or ''}", flush=True)
    report.main()
    return 0 if all(row.answers_agree is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
