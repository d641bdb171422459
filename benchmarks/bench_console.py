"""Steps of a brush over linked charts: six queries side by side over HTTP, on gpudb and on DuckDB's server for Mosaic.

    python -m benchmarks.bench_console [--rows 2000000] [--engine cpu|twin] [--peer PYTHON] [--machine cpu2] [--save]
    python -m benchmarks.bench_console --engine gpu [--rows 1113653018] [--folder DIR] [--machine h200x1] [--save]

A step is what a page asks while somebody drags over one chart: the queries of all charts with the brush as a filter,
one on each connection, from the first question to the last answer. The queries have the shapes that Mosaic's plots
have. The rides are those of the demonstration, or with `--folder`, and on a GPU, those of `benchmarks.fused.files`,
which are written once and adopted. PYTHON is that of an environment with the package `duckdb-server`, 3.12 or later;
without it gpudb is measured alone. Steps of both alternate, and their rows are compared; those of the last step with
DuckDB's over the same files, too, unless `--unchecked`. Where kernels answer, EXPLAIN ANALYZE tells their time.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import duckdb
import httpx
import psycopg
import pyarrow as pa

from benchmarks.fused.files import RIDES, SCHEMAS
from benchmarks.fused.wire import WARM, kernel_figures
from benchmarks.harness import Row, answers_equal, make_row, save_results, visible_gpus
from gpudb.demo.statements import read_create_table
from gpudb.demo.taxi import generate_csv
from gpudb.server.http.console.dialect.translate import translate
from tests.support.server_program import Program

CHARTS = (
    "SELECT FLOOR((pickup_longitude + 74.03) * 714.28)::INTEGER + FLOOR((pickup_latitude - 40.63) * 909.09)::INTEGER"
    " * 200 AS index, count(*)::INTEGER AS density FROM trips WHERE {brush} AND pickup_longitude BETWEEN -74.03 AND"
    " -73.75 AND pickup_latitude BETWEEN 40.63 AND 40.85 GROUP BY index",
    "SELECT date_trunc('week', pickup_datetime) AS x1, count(*) AS y FROM trips WHERE {brush} GROUP BY x1",
    "SELECT date_part('hour', pickup_datetime)::INTEGER AS x, avg(total_amount)::DOUBLE AS y FROM trips WHERE {brush}"
    " GROUP BY x",
    "SELECT FLOOR(total_amount::DOUBLE / 5)::INTEGER AS x1, count(*) AS y FROM trips WHERE {brush} AND total_amount"
    " BETWEEN 0 AND 100 GROUP BY x1",
    "SELECT passenger_count AS x, count(*) AS y FROM trips WHERE {brush} GROUP BY passenger_count",
    "SELECT cab_type AS y, count(*) AS x FROM trips WHERE {brush} GROUP BY cab_type",
)
"""A map, rides over time, a mean by hour, a histogram, and two charts of bars."""
WARM_STEPS = 5
"""Steps that load columns and wait for kernels."""
_WRITING_S = 900
Ask = Callable[[str], pa.Table]


def list_steps(count: int) -> list[str]:
    """Returns the brushes of a drag over distances: it opens, and moves to the right."""
    return [f"trip_distance BETWEEN {number * 0.05:.2f} AND {1 + number * 0.11:.2f}" for number in range(1, count + 1)]


def measure(asks: Sequence[Ask], pool: ThreadPoolExecutor, brush: str) -> tuple[float, list[pa.Table]]:
    """Returns the seconds of a step, and the rows of its charts."""
    began = time.perf_counter()
    running = [pool.submit(ask, sql.format(brush=brush)) for ask, sql in zip(asks, CHARTS, strict=True)]
    rows = [each.result() for each in running]
    return time.perf_counter() - began, rows


@contextmanager
def open_gpudb(server: Program) -> Iterator[list[Ask]]:
    """Logs in to the console, and yields a way to ask on each of six connections."""
    with ExitStack() as stack:
        clients = [stack.enter_context(httpx.Client(base_url=server.http, timeout=300)) for _ in CHARTS]
        answer = clients[0].post("/console/api/login", json={"user": "gpudb", "password": ""})
        answer.raise_for_status()
        token = {"X-CSRF-Token": answer.json()["csrf"]}
        for each in clients[1:]:
            each.cookies.update(clients[0].cookies)
        yield [_make_ask(each, "/console/api/mosaic", token) for each in clients]


@contextmanager
def open_duckdb(python: Path, files: Path) -> Iterator[list[Ask]]:
    """Serves the same rows by DuckDB's server for Mosaic, and yields a way to ask on each of six connections."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = "import sys; sys.argv = sys.argv[:1]; from pkg.app import create_app; import uvicorn;"
    command += f" uvicorn.run(create_app(), host='127.0.0.1', port={port}, log_level='error')"
    server = subprocess.Popen([python, "-c", command])
    try:
        with ExitStack() as stack:
            url = f"http://127.0.0.1:{port}"
            clients = [stack.enter_context(httpx.Client(base_url=url, timeout=300)) for _ in CHARTS]
            load = f"CREATE TABLE trips AS SELECT * FROM read_parquet('{files}/*.parquet')"
            while True:
                try:
                    clients[0].post("/", json={"type": "exec", "sql": load}).raise_for_status()
                    break
                except httpx.ConnectError:
                    time.sleep(0.1)
            yield [_make_ask(each, "/", {}) for each in clients]
    finally:
        server.terminate()
        server.wait()


def _make_ask(client: httpx.Client, path: str, headers: dict[str, str]) -> Ask:
    def ask(sql: str) -> pa.Table:
        reply = client.post(path, json={"type": "arrow", "sql": sql}, headers=headers)
        reply.raise_for_status()
        return pa.ipc.open_stream(reply.content).read_all()

    return ask


def load_rides(server: Program, rows: int, folder: Path) -> None:
    """Loads the demonstration's rides, and writes them as Parquet for the peer."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(read_create_table().encode())
        with connection.cursor().copy("COPY trips FROM STDIN (FORMAT csv)") as copy:
            for piece in generate_csv(rows, 1):
                copy.write(piece)
        connection.execute(f"COPY trips TO '{folder}/trips.parquet' (FORMAT parquet)".encode())


def make_rides(folder: Path, rows: int) -> Path:
    """Writes the rides with places, in a process of its own that leaves the GPU free, unless they are there.

    Returns the folder of their files.
    """
    made = folder / f"places-{rows}"
    command = [sys.executable, "-m", "benchmarks.fused.files", "places", str(made), str(rows)]
    subprocess.run(command, check=True, timeout=_WRITING_S)
    return made / "trips"


def adopt_rides(server: Program, files: Path) -> None:
    """Makes a table of files, without copying them."""
    began = time.perf_counter()
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE trips ({SCHEMAS['places']['trips']})".encode())
        connection.execute(f"SELECT add_files('trips', '{files}/*.parquet')".encode())
    print(f"adopted in {time.perf_counter() - began:.1f} s", flush=True)


def measure_kernels(server: Program, brush: str, rows: int) -> list[Row]:
    """Returns the times of the kernels of a step's queries, one alone at a time; none where no kernel answers."""
    found: list[Row] = []
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for number, chart in enumerate(CHARTS, 1):
            figures = kernel_figures(connection, translate(chart.format(brush=brush)).sql)
            if figures:
                case = f"brush step, kernel of chart {number} alone"
                found.append(make_row(case, "gpudb gpu", figures["times"], rows, bytes=figures["bytes"]))
    if len(found) == len(CHARTS):
        spent, size = sum(each.median_s or 0 for each in found), sum(each.bytes or 0 for each in found)
        case = "brush step, its kernels one after another"
        found.append(Row(case, "gpudb gpu", spent, sum(each.min_s or 0 for each in found), WARM, rows, bytes=size))
    return found


def count_wrong(files: Path, brush: str, answers: Sequence[pa.Table]) -> int:
    """Returns how many charts of a step have other rows than DuckDB finds in the files."""
    wrong = 0
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW trips AS SELECT * FROM read_parquet('{files}/*.parquet')")
        for chart, answer in zip(CHARTS, answers, strict=True):
            expected = connection.execute(chart.format(brush=brush)).fetchall()
            wrong += not answers_equal(_as_answer(answer), expected)
    return wrong


def _as_answer(table: pa.Table) -> Any:
    return [tuple(row.values()) for row in table.to_pylist()]


def main() -> int:
    """Prints, and with --save or --machine keeps, the median and the 95th percentile of a step; 1 if rows differ."""
    parser = argparse.ArgumentParser(description="Steps of a brush over linked charts")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--engine", default="cpu", choices=("cpu", "twin", "gpu"))
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--peer", type=Path, help="the Python of an environment with duckdb-server")
    parser.add_argument("--folder", type=Path, help="where the files of rides are kept")
    parser.add_argument("--unchecked", action="store_true", help="do not compare with DuckDB over the files")
    parser.add_argument("--machine", help="keep the results under this label, such as cpu2")
    parser.add_argument("--save", action="store_true", help="keep the results under the machine's own label")
    options = parser.parse_args()
    is_large = options.engine == "gpu" or options.folder is not None
    rows = options.rows or (RIDES if options.engine == "gpu" else 2_000_000)
    wrong = 0
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="gpudb-console-") as name, ExitStack() as stack:
        folder = Path(name)
        files = make_rides(options.folder or folder, rows) if is_large else folder
        own = {"GPUDB_WORKERS": "1", "CUDA_VISIBLE_DEVICES": visible_gpus(1)} if options.engine == "gpu" else {}
        arguments = ("--http-port", "0", "--engine", options.engine)
        server = stack.enter_context(Program(folder / "data", *arguments, environment=own, executed=True))
        if is_large:
            adopt_rides(server, files)
        else:
            load_rides(server, rows, files)
        systems = {f"gpudb {options.engine}": stack.enter_context(open_gpudb(server))}
        if options.peer is not None:
            systems["duckdb-server"] = stack.enter_context(open_duckdb(options.peer, files))
        pool = stack.enter_context(ThreadPoolExecutor(len(CHARTS)))
        for turn, brush in enumerate(list_steps(options.steps + WARM_STEPS)):
            answers = []
            for system, asks in systems.items():
                seconds, found = measure(asks, pool, brush)
                answers.append(found)
                if turn >= WARM_STEPS:
                    times.setdefault(system, []).append(seconds)
                else:
                    print(f"{system:16}step {turn + 1}, which loads: {1000 * seconds:.0f} ms", flush=True)
            for one, other in zip(answers[0], answers[-1], strict=True):
                wrong += not answers_equal(_as_answer(one), _as_answer(other))
        kept = measure_kernels(server, brush, rows) if options.engine == "gpu" else []
        if not options.unchecked:
            wrong += count_wrong(files, brush, answers[0])
    steps: list[Row] = []
    for system, spent in times.items():
        p95 = quantiles(spent, n=20)[18]
        print(f"{system:16}{len(spent)} steps  median {1000 * median(spent):.1f} ms  p95 {1000 * p95:.1f} ms")
        right = None if options.unchecked and options.peer is None else wrong == 0
        for case, value in (("brush step, median", median(spent)), ("brush step, p95", p95)):
            steps.append(Row(case, system, value, min(spent), len(spent), rows, answers_agree=right))
    for each in kept:
        print(f"{each.case:44}{1000 * (each.median_s or 0):9.3f} ms{(each.bytes or 0) / 1e9:8.2f} GB")
    print(f"{wrong} answers differ")
    if options.machine or options.save:
        print(save_results("console", [*steps, *kept], {}, options.machine, "bench_console"))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
