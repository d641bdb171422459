"""A load larger than memory: many clients COPY parts of TPC-H's lineitem again and again; rows per second by tenth.

    python -m benchmarks.bench_steady_load [--scale 10] [--clients 24] [--rows 600000000] [--memory-limit 8GB]
        [--data DIR] [--tables 1] [--machine NAME] [--keep]

The scale's lineitem is generated as text once, in as many parts as there are clients, without the delimiter at the ends
of lines. Each client copies parts until all of them together have copied `rows`; into one table, or into several. The
server's data are below DIR, too. A tenth begins when the one before it ends, and the progress of running COPYs counts,
so that commits do not make waves. For each tenth it prints rows per second, the processors that all programs used, and
the server's resident memory; then the last tenth's rate beside the first one's.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from benchmarks import tables
from benchmarks.harness import Row, save_results
from benchmarks.systems import Wire, gpudb_server

CREATE = next(each for each in tables.schema("tpch") if "lineitem" in each)
TENTHS = 10
_PROGRESS_S = 0.2


@dataclass(frozen=True, slots=True)
class Part:
    """A file and its rows."""

    path: Path
    rows: int


def write_parts(scale: float, count: int, folder: Path) -> list[Part]:
    """Writes lineitem in parts, with all processors; returns them."""
    where = folder / f"steady-{scale:g}-{count}"
    where.mkdir(parents=True, exist_ok=True)
    program = str(Path(sys.executable).with_name("tpchgen-cli"))
    program = program if Path(program).exists() else (shutil.which("tpchgen-cli") or program)

    def write(number: int) -> Part:
        path = where / f"part-{number:02d}.tbl"
        if not path.exists():
            made = [program, "tbl", "-s", f"{scale:g}", "-T", "lineitem", "-p", str(count), "--part", str(number + 1)]
            unfinished = path.with_suffix(".new")
            with (
                unfinished.open("wb") as out,
                subprocess.Popen([*made, "-n", "1", "--stdout", "-q"], stdout=subprocess.PIPE) as generator,
            ):
                subprocess.run(["sed", "s/|$//"], stdin=generator.stdout, stdout=out, check=True)
            if generator.returncode:
                raise RuntimeError("tpchgen-cli failed")
            unfinished.replace(path)
        counted = subprocess.run(["wc", "-l", path], capture_output=True, check=True, text=True)
        return Part(path, int(counted.stdout.split()[0]))

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(write, range(count)))


@dataclass(frozen=True, slots=True)
class Sample:
    """What had been done at a time: rows that are committed or in progress, and seconds of processors in use."""

    time: float
    rows: float
    processors: float
    server_bytes: int


class Load:
    """Clients that copy parts into tables until they have copied so many rows."""

    def __init__(self, system: Wire, parts: Sequence[Part], targets: Sequence[str], rows: int) -> None:
        self._system, self._parts, self._targets, self._rows = system, parts, targets, rows
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._given = self.committed = 0
        self._done = threading.Event()
        self.samples: list[Sample] = []

    def run(self, clients: int) -> float:
        """Copies; returns the seconds."""
        watch = threading.Thread(target=self._watch)
        self.samples.append(_take_sample(0))
        begun = time.perf_counter()
        watch.start()
        try:
            with ThreadPoolExecutor(clients) as pool:
                for each in [pool.submit(self._copy) for _ in range(clients)]:
                    each.result()
        finally:
            self._done.set()
            watch.join()
        return time.perf_counter() - begun

    def _next(self) -> tuple[Part, str] | None:
        with self._lock:
            if self._given >= self._rows:
                return None
            number = next(self._numbers)
            part = self._parts[number % len(self._parts)]
            self._given += part.rows
            return part, self._targets[number % len(self._targets)]

    def _copy(self) -> None:
        with psycopg.connect(self._system.dsn, autocommit=True) as connection:
            while (found := self._next()) is not None:
                part, table = found
                connection.execute(f"COPY {table} FROM '{part.path}' (DELIMITER '|')".encode())
                with self._lock:
                    self.committed += part.rows

    def _watch(self) -> None:
        query = "SELECT coalesce(sum(tuples_processed), 0) FROM pg_stat_progress_copy"
        with psycopg.connect(self._system.dsn, autocommit=True) as connection:
            while True:
                last = self._done.wait(_PROGRESS_S)
                with self._lock:
                    committed = self.committed
                (running,) = connection.execute(query).fetchone() or (0,)
                self.samples.append(_take_sample(committed + float(running)))
                if last:
                    return


def _take_sample(rows: float) -> Sample:
    used = psutil.cpu_times()
    return Sample(time.perf_counter(), rows, used.user + used.system + used.nice, _server_bytes())


def _server_bytes() -> int:
    """Returns the resident bytes of this process's children: the server and its workers."""
    total = 0
    for each in psutil.Process().children(recursive=True):
        try:
            total += each.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def list_tenths(samples: Sequence[Sample], rows: int) -> list[tuple[float, float, int]]:
    """Returns for each tenth its rows per second, the processors in use, and the server's most resident bytes.

    A tenth ends with the first sample that has all of its rows.
    """
    found = []
    last = samples[0]
    most = 0
    wanted = 1
    for each in samples:
        most = max(most, each.server_bytes)
        if each.rows >= rows * wanted / TENTHS and each.time > last.time and wanted <= TENTHS:
            spent = each.time - last.time
            found.append(((each.rows - last.rows) / spent, (each.processors - last.processors) / spent, most))
            wanted = int(each.rows * TENTHS // rows) + 1
            last, most = each, 0
    return found


def main() -> int:
    """Measures, prints and writes results/steady-load.MACHINE.json; returns 1 if rows are missing."""
    parser = argparse.ArgumentParser(description="a load larger than memory")
    parser.add_argument("--scale", type=float, default=10)
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--rows", type=int, default=600_000_000)
    parser.add_argument("--tables", type=int, default=1)
    parser.add_argument("--memory-limit", help="the server's, such as 8GB")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--machine", help="the results' label")
    parser.add_argument("--keep", action="store_true", help="keep the server's data")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the server, too
    begun = time.perf_counter()
    parts = write_parts(options.scale, options.clients, options.data)
    size, each = sum(part.path.stat().st_size for part in parts), sum(part.rows for part in parts)
    print(f"{each} rows in {len(parts)} parts, {size / 1e9:.1f} GB, after {time.perf_counter() - begun:.1f} s")
    if options.memory_limit:
        os.environ["GPUDB_MEMORY_LIMIT"] = options.memory_limit
    where = options.data / "steady-load"
    shutil.rmtree(where, ignore_errors=True)
    targets = [f"lineitem{number}" for number in range(options.tables)]
    try:
        with gpudb_server(where) as system:
            for name in targets:
                system.query_none(CREATE.replace("lineitem", name, 1))
            load = Load(system, parts, targets, options.rows)
            spent = load.run(options.clients)
            rows = load.committed
            found = sum(int(system.query(f"SELECT count(*) FROM {name}")[0][0]) for name in targets)
            tenths = list_tenths(load.samples, rows)
            stored = sum(path.stat().st_size for path in where.rglob("*") if path.is_file())
    finally:
        if not options.keep:
            shutil.rmtree(where, ignore_errors=True)
    for number, (rate, processors, most) in enumerate(tenths, 1):
        print(f"tenth {number:2}: {rate / 1e6:7.2f} million rows/s, {processors:5.1f} processors, {most / 1e9:6.1f} GB")
    steady = tenths[-1][0] / tenths[0][0]
    text = size * rows / each
    print(
        f"{options.clients} COPY: {rows} rows ({text / 1e9:.1f} GB of text, {stored / 1e9:.1f} GB stored) in"
        f" {spent:.1f} s: {rows / spent / 1e6:.2f} million rows/s, {text / spent / 1e9:.2f} GB/s; the last tenth"
        f" {steady:.2f} times as fast as the first"
    )
    note = f"tenths: {', '.join(f'{rate / 1e6:.2f}' for rate, *_ in tenths)} million rows/s"
    row = Row(f"{options.clients} COPY", system.name, spent, spent, 1, rows, bytes=round(text), note=note)
    save_results("steady-load", [row], {}, options.machine, "bench_steady_load")
    if found != rows:
        print(f"{found} rows are there, {rows} were committed")
    return int(found != rows)


if __name__ == "__main__":
    sys.exit(main())
