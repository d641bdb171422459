"""The console's grid in Chromium: rows from the click to the screen, and the longest stall while ten million scroll.

    python -m benchmarks.bench_grid [--rows 10000000] [--machine cpu2]

A stall is a gap between two frames, or a task that blocks the page's thread, as Chromium's trace tells them. Server
and browser share the machine with whatever else runs: the time of a task on the processor is what the page itself
takes. Needs Node.js and Chromium, as tests/console.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

import psycopg

from benchmarks.harness import Row, make_row, save_results
from tests.console.tools import find_chromium, find_node
from tests.support.server_program import Program

SCRIPT = Path(__file__).parent / "console" / "grid.mjs"
PASSWORD = "benchmark"


def measure(server: Program, rows: int) -> list[Row]:
    """Runs the browser's script; returns a row for each of its measurements."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(f"ALTER ROLE gpudb PASSWORD '{PASSWORD}'")
    command = [find_node(), str(SCRIPT), server.http, "gpudb", PASSWORD, str(rows)]
    variables = {**os.environ, "CHROMIUM": find_chromium()}
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [make_row(each["name"], "console", [ms / 1000 for ms in each["times"]], each["rows"]) for each in found]


def main() -> int:
    """Prints the measurements, and keeps them with --machine."""
    parser = argparse.ArgumentParser(description="The console's grid in Chromium")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--machine", help="keep the results under this label, such as cpu2")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="gpudb-grid-") as folder,
        Program(Path(folder) / "data", "--engine", "cpu", "--http-port", "0") as server,
    ):
        rows = measure(server, options.rows)
    for each in rows:
        print(f"{each.case:60}{1000 * (each.median_s or 0):8.1f} ms")
    if options.machine:
        print(save_results("console-grid", rows, {}, options.machine, "bench_grid"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
