"""A server on workers of an existing Dask scheduler: TPC-H queries, compared with DuckDB's answers.

    python -m benchmarks.gpu.scheduled [--scale 30] [--workers 2] [--queries q01 q03 …] [--data DIR] [--machine NAME]

`dask scheduler` and `dask cuda worker` run as separate programs, started as in docs/cluster-security.md; without GPUs
`dask worker` runs for the engine twin. Writes results/scheduled-tpch.MACHINE.json after each query.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

from benchmarks import report, tables
from benchmarks.harness import Row, answers_equal, make_row, save_results, visible_gpus
from benchmarks.systems import DuckDb, Wire, gpudb_server
from benchmarks.tables import Suite
from gpudb.certificates import create_cluster_certificates, locate_member
from gpudb.cli.cluster_certificates import MEMBERS

START_S = 60.0
STOP_S = 10.0


def start_program(log: Path, *command: str, **environment: str) -> subprocess.Popen[bytes]:
    """A program of Dask with a log; it runs in this folder, where its workers find gpudb as this process does."""
    line = [sys.executable, "-W", "ignore", "-m", "dask", *command]
    more = {**os.environ, **environment}
    with log.open("wb") as out:
        return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=more)


def wait_for_output(program: subprocess.Popen[bytes], log: Path, pattern: str) -> str:
    """Waits for a pattern in a program's log and returns the match."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
        if program.poll() is not None:
            break
        time.sleep(0.1)
    raise TimeoutError(f"{log.name}: {log.read_text(errors='replace')[-2000:]}")


def stop(program: subprocess.Popen[bytes]) -> None:
    """Ends a program."""
    program.terminate()
    try:
        program.wait(STOP_S)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if an answer was wrong."""
    from gpudb.cli import machine

    parser = argparse.ArgumentParser(description="a server on the workers of a Dask scheduler")
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--queries", nargs="+", default=["q01", "q03", "q05", "q06", "q12"])
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    parser.add_argument("--machine")
    options = parser.parse_args(arguments)
    gpu = machine.select_engine(machine.query_gpus())[0] == "gpu"
    suite = tables.tpch(options.scale, options.data)
    rows: list[Row] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpudb-scheduled-", dir=options.data)))
        begun = time.monotonic()
        server = _start_server(stack, folder, options.workers, gpu=gpu)
        ready = time.monotonic() - begun
        print(f"scheduler, {options.workers} workers and server: {ready:.1f} s", flush=True)
        rows.append(make_row("scheduler, workers and server start", server.name, [ready], 0))
        server.adopt(tables.adopted_schema(suite), suite.tables)
        server.query_none("SET gpudb.fallback = off")
        duck = stack.enter_context(closing(DuckDb()))
        for name, path in suite.tables.items():
            duck.query(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{path}')")
        asked = "SELECT gpu_id, att_value FROM pgstrom_device_info() WHERE att_name = 'DEVICE_NAME' ORDER BY 1"
        print(server.query(asked), flush=True)
        for name in options.queries:
            rows.append(_measure_query(server, duck, name, suite))
            save_results("scheduled-tpch", rows, {"gpudb": server.version}, options.machine, "gpu.scheduled")
    report.main()
    return 0 if all(row.answers_agree is not False for row in rows) else 1


def _start_server(stack: ExitStack, folder: Path, workers: int, *, gpu: bool) -> Wire:
    """Starts a scheduler, its workers and a server, which end with the stack."""
    create_cluster_certificates(folder / "certificates", MEMBERS, keep_authority_key=False)
    log = folder / "scheduler.log"
    common = ["--host", "127.0.0.1", "--no-dashboard"]
    program = start_program(log, "scheduler", *common, "--port", "0", *_tls_options(folder, "scheduler"))
    stack.callback(stop, program)
    address = wait_for_output(program, log, r"Scheduler at:\s+(tls://\S+)")
    # Guessing its own address may query the network for names.
    common = [address, *common, "--nthreads", "1", *_tls_options(folder, "worker")]
    log = folder / "workers.log"
    stack.callback(_print_log, log)
    if gpu:
        program = start_program(log, "cuda", "worker", *common, CUDA_VISIBLE_DEVICES=visible_gpus(workers))
    else:
        program = start_program(log, "worker", *common, "--nworkers", str(workers))
    stack.callback(stop, program)
    engine = "gpu" if gpu else "twin"
    files = locate_member(folder / "certificates", "server")
    return stack.enter_context(gpudb_server(folder / "data", engine, workers, address, files))


def _tls_options(folder: Path, member: str) -> list[str]:
    files = locate_member(folder / "certificates", member)
    options = ("--tls-ca-file", files.authority, "--tls-cert", files.certificate, "--tls-key", files.key)
    return list(map(str, options))


def _measure_query(server: Wire, duck: DuckDb, name: str, suite: Suite) -> Row:
    """A query's first run and the next one, with its answer compared with DuckDB's."""
    times = []
    for _ in range(2):
        begun = time.monotonic()
        answer = server.query(suite.queries[name])
        times.append(time.monotonic() - begun)
    same = answers_equal(answer, duck.query(suite.queries[name]))
    note = f"first run {times[0]:.2f} s"
    print(
        f"{name}: {'right' if same else 'WRONG'}, {len(answer)} rows, {note}, then {1000 * times[1]:.1f} ms", flush=True
    )
    more = {"result_rows": len(answer), "answers_agree": same, "note": note}
    return make_row(name, f"{server.name} of a scheduler", times[1:], suite.rows, **more)


def _print_log(log: Path) -> None:
    print(log.read_text(errors="replace")[-1500:], flush=True)


if __name__ == "__main__":
    sys.exit(main())
