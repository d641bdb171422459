"""A server on workers of a Dask scheduler that others have started: TPC-H queries over it, held against DuckDB's.

    python -m benchmarks.gpu.scheduled [--scale 30] [--workers 2] [--queries q01 q03 …] [--data DIR]

`dask scheduler` and `dask cuda worker` run as programs of their own, as the README tells users to start them; without
GPUs `dask worker` does, for the engine twin.
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

from benchmarks import tables
from benchmarks.harness import agree
from benchmarks.systems import DuckDb, gpudb_server

START_S = 60.0
STOP_S = 10.0


def started(log: Path, *command: str) -> subprocess.Popen[bytes]:
    """A program of Dask's that writes to a log."""
    with log.open("wb") as out:
        line = [sys.executable, "-W", "ignore", "-m", "dask", *command]
        return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=log.parent)


def said(log: Path, pattern: str) -> str:
    """What a program says of itself, once it has."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found[1]
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
    """Status 1 if an answer was wrong."""
    from gpudb.cli import machine

    parser = argparse.ArgumentParser(description="a server on a scheduler's workers")
    parser.add_argument("--scale", type=float, default=30)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--queries", nargs="+", default=["q01", "q03", "q05", "q06", "q12"])
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "gpudb-benchmarks")
    options = parser.parse_args(arguments)
    gpu = machine.engine_of(machine.gpus())[0] == "gpu"
    suite = tables.tpch(options.scale, options.data)
    right = True
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpudb-scheduled-", dir=options.data)))
        begun = time.monotonic()
        scheduler = folder / "scheduler.log"
        stack.callback(stop, started(scheduler, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"))
        address = said(scheduler, r"Scheduler at:\s+(tcp://\S+)")
        workers = folder / "workers.log"
        stack.callback(_show, workers)
        if gpu:
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(options.workers)))
            command = ["cuda", "worker", address, "--no-dashboard"]
        else:
            command = ["worker", address, "--nworkers", str(options.workers), "--nthreads", "1", "--no-dashboard"]
        stack.callback(stop, started(workers, *command))
        engine = "gpu" if gpu else "twin"
        data = folder / "data"
        server = stack.enter_context(gpudb_server(data, engine, options.workers, scheduler=address))
        print(f"scheduler, {options.workers} workers and server: {time.monotonic() - begun:.1f} s", flush=True)
        schema = tables.adopted(suite)
        server.adopt(schema, suite.tables)
        server.query_none("SET gpudb.fallback = off")
        duck = stack.enter_context(closing(DuckDb()))
        for name, path in suite.tables.items():
            duck.query(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{path}')")
        print(server.query("SELECT gpu_id, att_name, att_value FROM pgstrom_device_info() LIMIT 3"), flush=True)
        for name in options.queries:
            times = []
            for _ in range(2):
                begun = time.monotonic()
                answer = server.query(suite.queries[name])
                times.append(time.monotonic() - begun)
            same = agree(answer, duck.query(suite.queries[name]))
            right &= same
            verdict = "right" if same else "WRONG"
            print(f"{name}: {verdict}, {len(answer)} rows, {times[0]:.2f} s, then {1000 * times[1]:.1f} ms", flush=True)
    return 0 if right else 1


def _show(log: Path) -> None:
    print(log.read_text(errors="replace")[-1500:], flush=True)


if __name__ == "__main__":
    sys.exit(main())
