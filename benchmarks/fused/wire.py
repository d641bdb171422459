"""Fused pipelines through a client: taxi's four and SSB's thirteen queries, on one GPU or CPU worker.

python -m benchmarks.fused.wire taxi|ssb [--rows N] [--engine gpu|twin] [--folder DIR] [--machine LABEL] …

Writes the files (`benchmarks.fused.files`), starts a server, adopts them with add_files, runs each query once cold,
warms it, and takes the median of RUNS runs, from sending the statement to having its result. With libpq that is a
PGresult, as in psql: every value can be read as text. With psycopg the rows are converted to Python values.
EXPLAIN ANALYZE adds the kernel's time, the bytes of the columns that it reads, and their share of the bandwidth of a
copy. Answers are compared with DuckDB's over the same files. Writes results/wire-SUITE.MACHINE.json, after each query
too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.fused import files
from benchmarks.fused.bare import BareClient
from benchmarks.harness import Row, answers_equal, make_row, save_results, visible_gpus, write_json

RUNS = 20
WARM = 5
START_S = 180
LIBPQ, PSYCOPG, KERNEL = "gpudb by libpq", "gpudb by psycopg", "its kernel"
ROWS = {"taxi": files.RIDES, "ssb": files.LINES}


@contextmanager
def server(engine: str, folder: Path, workers: int = 1) -> Iterator[int]:
    """Yields the port of a server on the first GPUs, a program whose log goes to FOLDER/server.log; `twin` runs in this
    process.
    """
    begun = time.perf_counter()
    with _cpu_server(workers) if engine == "twin" else _gpu_server(folder, workers) as port:
        print(f"server ready in {time.perf_counter() - begun:.1f} s", flush=True)
        yield port


@contextmanager
def _gpu_server(folder: Path, workers: int) -> Iterator[int]:
    from gpudb.cli.program import Program

    environment = {"GPUDB_WORKERS": str(workers), "CUDA_VISIBLE_DEVICES": visible_gpus(workers)}
    program = Program(folder / "data", folder / "server.log", engine="gpu", environment=environment)
    try:
        yield program.port
    finally:
        program.stop()


@contextmanager
def _cpu_server(workers: int) -> Iterator[int]:
    """A server of CPU workers with the kernels' NumPy backend."""
    from gpudb.config.wire import WireSettings
    from gpudb.engine.gpu.cluster.cluster import Cluster
    from gpudb.engine.gpu.cluster.config import cpu_processes
    from gpudb.engine.gpu.engine import ClusterEngine
    from gpudb.engine.routing import RoutedEngine
    from gpudb.plan.dask.dask_sql_planner import warm_up
    from gpudb.server.wire.server import PgServer
    from gpudb.session.database import Database

    database = Database(None)
    cluster = Cluster(cpu_processes(workers, fuse=True))
    database.engine = RoutedEngine(ClusterEngine(cluster, database.cpu), database.cpu)
    warm_up()
    listener = PgServer(database, WireSettings(port=0, max_connections=10))
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield listener.address[1]
    finally:
        listener.shutdown(1)
        database.close()


def load(connection: Any, suite: str, folder: Path) -> None:
    """Creates a suite's tables from its files."""
    schema = {statement.split()[2]: statement for statement in tables.schema(suite)}
    begun = time.perf_counter()
    for table in sorted(path.name for path in folder.iterdir() if path.is_dir() and path.name != "data"):
        columns = files.SCHEMAS[suite].get(table)
        connection.execute(f"CREATE TABLE {table} ({columns})" if columns else schema[table])
        (count,) = connection.execute(f"SELECT add_files('{table}', '{folder / table}/*.parquet')").fetchone()
        print(f"{table}: {count:,} rows adopted, {time.perf_counter() - begun:.1f} s", flush=True)


def kernel_figures(connection: Any, sql: str) -> dict[str, Any]:
    """Figures of a query's kernel from EXPLAIN ANALYZE: the median of its times, and the last run's other figures."""
    runs: list[dict[str, str]] = []
    for _ in range(WARM):
        lines = [row[0] for row in connection.execute(f"EXPLAIN (ANALYZE) {sql}").fetchall()]
        figures = dict(line.strip().split(": ", 1) for line in lines if ": " in line)
        runs.append(figures)
    if "Kernel Time" not in runs[-1]:
        print("\n".join(lines), flush=True)
        return {}
    times = [float(each["Kernel Time"].split()[0]) / 1000 for each in runs]
    last = runs[-1]
    return {
        "times": times,
        "bytes": int(last["Bytes Read"]),
        "segments": int(last["Segments"]),
        "registers": int(last.get("Registers", 0)),
        "stages": [line.split("actual time=")[1].split()[0] for line in lines if "actual time=" in line],
    }


def measure_query(
    connection: Any, bare: BareClient, name: str, sql: str, rows: int, speed: float
) -> tuple[list[Row], list[Any]]:
    """Rows of results of a query, and its answer."""
    begun = time.perf_counter()
    answer = connection.execute(sql).fetchall()
    cold = time.perf_counter() - begun
    for _ in range(WARM):
        connection.execute(sql).fetchall()
    by_libpq, size = libpq_times(connection.pgconn, sql, len(answer))
    times = []
    for _ in range(RUNS):
        at = time.perf_counter()
        again = connection.execute(sql).fetchall()
        times.append(time.perf_counter() - at)
    assert again == answer or answers_equal(again, answer)
    last_byte = 1000 * statistics.median([bare.time_query(sql) for _ in range(WARM + RUNS)][WARM:])
    note = f"its last byte is there after {last_byte:.2f} ms; {size:,} bytes of text"
    results = [make_row(name, LIBPQ, by_libpq, rows, result_rows=len(answer), note=note)]
    note = f"first run {cold:.2f} s"
    results.append(make_row(name, PSYCOPG, times, rows, result_rows=len(answer), note=note))
    figures = kernel_figures(connection, sql)
    summary = ""
    if figures:
        share = figures["bytes"] / speed / statistics.median(figures["times"]) if speed else 0.0
        note = f"{figures['segments']} segments, {figures['registers']} registers"
        note += f", its columns whole at {share:.0%} of a copy's bandwidth" if speed else ""
        more = {"result_rows": len(answer), "bytes": figures["bytes"], "note": note}
        results.append(make_row(name, KERNEL, figures["times"], rows, **more))
        summary = (
            f"kernel {1000 * statistics.median(figures['times']):7.3f} ms, {figures['bytes'] / 1e9:6.2f} GB, {note}"
        )
        summary += f", stages {' '.join(reversed(figures['stages']))} ms"
    best, median = 1000 * min(times), 1000 * statistics.median(times)
    print(
        f"{name:5s} by libpq {1000 * statistics.median(by_libpq):8.3f} ms, by psycopg {median:8.3f} (least {best:.3f}),"
        f" last byte {last_byte:.3f}, first {cold:6.2f} s; {summary}",
        flush=True,
    )
    return results, answer


def libpq_times(connection: Any, sql: str, rows: int) -> tuple[list[float], int]:
    """Seconds of each run from sending a statement to its PGresult, by the simple protocol as in psql, and the bytes of
    the result's values as text.
    """
    from psycopg.pq import ExecStatus

    text, times = sql.encode(), []
    for number in range(WARM + RUNS):
        at = time.perf_counter()
        result = connection.exec_(text)
        if number >= WARM:
            times.append(time.perf_counter() - at)
        assert result.status == ExecStatus.TUPLES_OK, result.error_message
        assert result.ntuples == rows
    places = [(row, column) for row in range(result.ntuples) for column in range(result.nfields)]
    return times, sum(len(result.get_value(*place) or b"") for place in places)


def totals(rows: Sequence[Row]) -> dict[str, float]:
    """Milliseconds of all cases together, by system."""
    found: dict[str, float] = {}
    for row in rows:
        found[row.system] = found.get(row.system, 0.0) + 1000 * (row.median_s or 0.0)
    return found


def check_answers(suite: str, folder: Path, answers: dict[str, list[Any]], rows: list[Row]) -> None:
    """Marks rows by whether DuckDB has the same answer over the same files."""
    import duckdb

    connection = duckdb.connect()
    for table in (path.name for path in folder.iterdir() if path.is_dir() and path.name != "data"):
        connection.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{folder / table}/*.parquet')")
    for name, sql in tables.queries(suite).items():
        begun = time.perf_counter()
        right = answers_equal(connection.execute(sql).fetchall(), answers[name])
        for row in rows:
            if row.case == f"{suite} {name}":
                row.answers_agree = right
        print(f"{name}: {'agrees with' if right else 'DIFFERS from'} DuckDB ({time.perf_counter() - begun:.1f} s)")


def main() -> None:
    """Writes a suite's files, runs its queries, prints and writes the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("suite", choices=sorted(ROWS))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--engine", choices=("gpu", "twin"), default="gpu")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--machine")
    parser.add_argument("--unchecked", action="store_true", help="do not compare with DuckDB")
    options = parser.parse_args()
    rows = options.rows or ROWS[options.suite]
    with tempfile.TemporaryDirectory() as temporary:
        base = options.folder or Path(temporary)
        folder = base / f"{options.suite}-{rows}"
        command = [sys.executable, "-m", "benchmarks.fused.files", options.suite, str(folder), str(rows)]
        subprocess.run(command, check=True, timeout=400)
        speed = float((folder / "bandwidth").read_text()) if (folder / "bandwidth").exists() else 0.0
        keep = lambda rows: write_results(options.suite, rows, speed, options.machine)  # noqa: E731
        found, answers = measure_suite(options.suite, options.engine, folder, rows, speed, keep=keep)
        if not options.unchecked:
            check_answers(options.suite, folder, answers, found)
    print(
        f"{options.suite} in all: {', '.join(f'{name} {ms:.2f} ms' for name, ms in totals(found).items())}", flush=True
    )
    print(write_results(options.suite, found, speed, options.machine))


def write_results(suite: str, rows: Sequence[Row], speed: float, machine: str | None) -> Path:
    """Writes results/wire-SUITE.MACHINE.json."""
    path = save_results(f"wire-{suite}", rows, versions(), machine, "fused.wire")
    result = json.loads(path.read_text(encoding="utf-8"))
    return write_json(path, {**result, "copy_bytes_per_s": speed})


def measure_suite(
    suite: str,
    engine: str,
    folder: Path,
    rows: int,
    speed: float,
    workers: int = 1,
    keep: Callable[[list[Row]], None] = lambda _: None,
) -> tuple[list[Row], dict[str, list[Any]]]:
    """Times of each query on a server of `workers` workers over a folder's files, and the answers; `keep` is called
    with the results after each.
    """
    with client(engine, folder, workers) as (connection, port):
        return measure_queries(connection, port, suite, folder, rows, speed * workers, keep)


@contextmanager
def client(engine: str, folder: Path, workers: int) -> Iterator[tuple[Any, int]]:
    """Yields a session with a server of `workers` workers, without fallback to the embedded engine, and its port."""
    import psycopg

    with server(engine, folder, workers) as port:
        address = f"host=127.0.0.1 port={port} user=gpudb dbname=gpudb sslmode=disable connect_timeout={START_S}"
        try:
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute("SET gpudb.fallback = off")
                yield connection, port
        except Exception:
            if (folder / "server.log").exists():
                print((folder / "server.log").read_text()[-6000:], flush=True)
            raise


def measure_queries(
    connection: Any,
    port: int,
    suite: str,
    folder: Path,
    rows: int,
    speed: float,
    keep: Callable[[list[Row]], None] = lambda _: None,
) -> tuple[list[Row], dict[str, list[Any]]]:
    """Times of each query over a folder's files, which are adopted, and the answers; `speed` is the bandwidth of all
    GPUs together in bytes per second.
    """
    found: list[Row] = []
    answers: dict[str, list[Any]] = {}
    load(connection, suite, folder)
    with closing(BareClient(port)) as bare:
        for name, sql in tables.queries(suite).items():
            lines, answers[name] = measure_query(connection, bare, f"{suite} {name}", sql, rows, speed)
            found += lines
            keep(found)
    return found, answers


def versions() -> dict[str, str]:
    """The measurements and their conditions."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("gpudb", "psycopg", "polars", "pylibcudf-cu13", "cudf-polars-cu13", "cupy-cuda13x", "duckdb"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
