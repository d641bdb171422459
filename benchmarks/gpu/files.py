"""Queries over Parquet, Arrow and CSV files where they are, without resident columns, beside the files' raw read rate.

    python -m benchmarks.gpu.files [--scale 30] [--csv-rows 20000000] [--runs 3] [--data DIR] [--out DIR]
        [--machine NAME] [--seconds 280] [--engine gpu]

SSB's lineorder is written as Parquet, as Arrow and, of fewer rows, as CSV, into DIR (its page cache has them). The raw
rates are of all bytes of the files: read by many threads into host memory, and by KvikIO into the GPU's. Each query
runs as often as said with new times of change of all files, so that nothing of them is resident, and once more with
resident columns. GB/s are of the bytes of the columns that the query reads; the share is of the raw rate to the GPU if
there is one. The embedded engine answers the same queries in the same run, and answers are compared. EXPLAIN ANALYZE of
each query goes to OUT. After `seconds` nothing more is started. Without a GPU it runs the engine twin.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks import report, tables
from benchmarks.gpu.loading import stored_bytes
from benchmarks.gpu.served import read_rate
from benchmarks.harness import Answer, Row, answers_equal, make_row, save_results
from benchmarks.systems import Gpudb, Wire, gpudb_server

BATCH_ROWS = 1 << 20
"""Rows of a record batch, as of a row group."""
QUERIES = {
    "q1.1": (
        "SELECT sum(lo_extendedprice * lo_discount) FROM {lines} AS lineorder, {days} AS date1 WHERE lo_orderdate ="
        " d_datekey AND d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25",
        ("lo_orderdate", "lo_quantity", "lo_extendedprice", "lo_discount"),
    ),
    "scan: one sum": ("SELECT sum(lo_revenue) FROM {lines} AS lineorder", ("lo_revenue",)),
    "scan: filter": (
        "SELECT count(*), sum(lo_revenue) FROM {lines} AS lineorder WHERE lo_discount >= 9 AND lo_quantity < 10",
        ("lo_revenue", "lo_discount", "lo_quantity"),
    ),
    "scan: groups": (
        "SELECT lo_discount, lo_quantity, count(*), sum(lo_extendedprice), min(lo_supplycost), max(lo_revenue)"
        " FROM {lines} AS lineorder GROUP BY 1, 2 ORDER BY 1, 2",
        ("lo_discount", "lo_quantity", "lo_extendedprice", "lo_supplycost", "lo_revenue"),
    ),
}
"""Queries, each with the columns of lineorder that it reads."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Lineorder in one format: its files, its rows, and how many bytes some columns have."""

    name: str
    paths: Sequence[Path]
    rows: int
    count_bytes: Callable[[Sequence[str]], int]


def make_kinds(options: argparse.Namespace) -> tuple[list[Kind], Path]:
    """Writes the files that are missing; returns them, and the file of the days."""
    suite = tables.ssb_lines(options.scale, options.data)
    parquet = tables.list_files(suite.tables["lineorder"])
    rows = tables.count_rows(suite.tables["lineorder"])
    folder = options.data / f"files-{rows}"
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        arrow = list(pool.map(lambda path: _write_arrow(path, folder), parquet))
    csv = _write_csv(parquet[0], folder, options.csv_rows)
    kinds = [
        Kind("parquet", parquet, rows, lambda columns: stored_bytes(parquet, columns)),
        Kind("arrow", arrow, rows, lambda columns: 4 * rows * len(columns)),
        Kind("csv", [csv], _count_lines(parquet[0], options.csv_rows), lambda columns: csv.stat().st_size),
    ]
    return kinds, tables.list_files(suite.tables["date1"])[0]


def _write_arrow(path: Path, folder: Path) -> Path:
    made = folder / f"{path.stem}.arrow"
    if not made.exists():
        unfinished = made.with_suffix(".new")
        with (
            pq.ParquetFile(path) as opened,
            pa.OSFile(str(unfinished), "wb") as file,
            pa.ipc.new_file(file, opened.schema_arrow) as out,
        ):
            for number in range(opened.num_row_groups):
                out.write_table(opened.read_row_group(number, use_threads=False), max_chunksize=BATCH_ROWS)
        unfinished.replace(made)
    return made


def _write_csv(path: Path, folder: Path, rows: int) -> Path:
    made = folder / f"{path.stem}-{rows}.csv"
    if not made.exists():
        unfinished = made.with_suffix(".new")
        pyarrow.csv.write_csv(pq.read_table(path).slice(0, rows), unfinished)
        unfinished.replace(made)
    return made


def _count_lines(path: Path, rows: int) -> int:
    return min(rows, pq.read_metadata(path).num_rows)


def device_rate(paths: Sequence[Path], threads: int) -> list[float]:
    """The seconds of reading files into GPU memory three times, by KvikIO."""
    import cupy
    import kvikio
    import kvikio.defaults

    kvikio.defaults.set("num_threads", threads)
    room = cupy.empty(max(path.stat().st_size for path in paths), "u1")
    times = []
    for _ in range(4):
        begun = time.perf_counter()
        for path in paths:
            with kvikio.CuFile(path, "r") as file:
                file.pread(room, path.stat().st_size).get()
        times.append(time.perf_counter() - begun)
    del room
    cupy.get_default_memory_pool().free_all_blocks()
    return times[1:]


def raw_rates(kinds: Sequence[Kind], threads: int, *, gpu: bool) -> Iterator[tuple[Row, float]]:
    """Yields rows of the raw rates, each with its bytes per second; a kind's last one is its reference."""
    for kind in kinds:
        size, times = read_rate(kind.paths, threads)
        yield make_row(f"raw: {kind.name}", "read by the host", times, kind.rows, bytes=size), size / min(times)
        if gpu:
            times = device_rate(kind.paths, threads)
            yield make_row(f"raw: {kind.name}", "read to the GPU", times, kind.rows, bytes=size), size / min(times)


def fill_in(query: str, kind: Kind, days: Path) -> str:
    """Returns a query over the files of a kind."""
    paths = ", ".join(f"'{path}'" for path in kind.paths)
    return query.format(lines=f"read_{kind.name}(ARRAY[{paths}])", days=f"'{days}'")


def touch(paths: Sequence[Path]) -> None:
    """Changes files' times, so that no cache has them; their pages stay in the page cache."""
    for path in paths:
        os.utime(path)


class Measurement:
    """The queries over the files on a server, beside the embedded engine."""

    def __init__(self, options: argparse.Namespace, server: Wire, embedded: Gpudb, days: Path) -> None:
        self._options, self._server, self._embedded, self._days = options, server, embedded, days

    def measure(self, kind: Kind, name: str, rate: float) -> Row:
        """Times a query over a kind of files; `rate` is the raw rate in bytes per second."""
        query, columns = QUERIES[name]
        text = fill_in(query, kind, self._days)
        case, system = f"{name}: {kind.name}", self._server.name
        try:
            self._server.query(text)  # kernels are compiled
            times = []
            answer: Answer = []
            for _ in range(self._options.runs):
                touch(kind.paths)
                begun = time.perf_counter()
                answer = self._server.query(text)
                times.append(time.perf_counter() - begun)
            resident = self._time(lambda: self._server.query(text))
            touch(kind.paths)
            self._explain(case, text)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".partition("\n")[0][:300]
            return Row(case, system, None, None, 0, kind.rows, note=reason)
        expected: Answer = []

        def run_embedded() -> None:
            nonlocal expected
            expected = self._embedded.query(text)

        beside = self._time(run_embedded)
        size = kind.count_bytes(columns)
        found = size / statistics.median(times)
        note = (
            f"{found / 1e9:.2f} GB/s, {found / rate:.0%} of the raw rate of {rate / 1e9:.2f} GB/s; resident"
            f" {resident:.4f} s; embedded engine {beside:.3f} s"
        )
        agrees = answers_equal(answer, expected)
        return make_row(case, system, times, kind.rows, bytes=size, answers_agree=agrees, note=note)

    def _time(self, run: Callable[[], Any]) -> float:
        begun = time.perf_counter()
        run()
        return time.perf_counter() - begun

    def _explain(self, case: str, text: str) -> None:
        lines = [str(line) for (line,) in self._server.query(f"EXPLAIN ANALYZE {text}")]
        name = case.replace(": ", "-").replace(" ", "-")
        (self._options.out / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(options: argparse.Namespace, engine: str) -> Iterator[Row]:
    """Yields a row for each raw rate, and for each query over each kind of files."""
    begun = time.perf_counter()
    kinds, days = make_kinds(options)
    rates: dict[str, float] = {}
    for row, rate in raw_rates(kinds, options.threads, gpu=engine == "gpu"):
        rates[row.case.removeprefix("raw: ")] = rate
        yield row
    with gpudb_server(None, engine, 1) as server, closing(Gpudb()) as embedded:
        server.query_none("SET gpudb.fallback = off")
        server.query_none("SET statement_timeout = '60s'")
        measurement = Measurement(options, server, embedded, days)
        for kind in kinds:
            for name in QUERIES:
                if time.perf_counter() - begun > options.seconds:
                    yield Row(f"{name}: {kind.name}", server.name, None, None, 0, kind.rows, note="no time left")
                    continue
                yield measurement.measure(kind, name, rates[kind.name])


def main(arguments: list[str] | None = None) -> int:
    """Measures, prints and writes results/file-scans.MACHINE.json; returns status 1 for a wrong or missing answer."""
    parser = argparse.ArgumentParser(description="queries over files where they are")
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--csv-rows", type=int, default=20_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=min(16, len(os.sched_getaffinity(0))))
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-files")
    parser.add_argument("--seconds", type=float, default=280, help="no query starts later")
    parser.add_argument("--engine", choices=["gpu", "twin"])
    parser.add_argument("--machine", help="the results' label, such as h200x1")
    options = parser.parse_args(arguments)
    from gpudb.cli import machine

    options.data.mkdir(parents=True, exist_ok=True)
    options.out.mkdir(parents=True, exist_ok=True)
    engine = options.engine or ("gpu" if machine.select_engine(machine.query_gpus())[0] == "gpu" else "twin")
    rows: list[Row] = []
    for row in measure(options, engine):
        rows.append(row)
        agrees = "" if row.answers_agree is None else ", agrees" if row.answers_agree else ", DIFFERS"
        spent = "no answer" if row.median_s is None else f"{row.median_s:.4f} s"
        rate = f", {row.bytes / row.min_s / 1e9:.2f} GB/s" if row.bytes and row.min_s else ""
        print(f"{row.case}: {row.system}: {spent}{rate}{agrees}\n    {row.note or ''}", flush=True)
        save_results("file-scans", rows, {}, options.machine, "gpu.files")
    report.main()
    return 0 if all(row.answers_agree is not False and row.median_s is not None for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
