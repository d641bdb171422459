"""The star schema benchmark of 600 million lines: gpudb through a client, then cudf-polars and DuckDB, in one run.

python -m benchmarks.fused.peers FOLDER [--rows N] [--engine gpu|twin] [--machine LABEL] [--seconds S]

Writes the files in FOLDER, on the GPU if there is one; runs all 13 queries through libpq, psycopg and in the kernels
alone (`wire`); then each peer in its own process over the same files, alone on the machine (`peer`). A peer that cannot
hold the lines gets a quarter of them: its times are multiplied by four, and its name says so. Answers over the same
lines are compared. With --engine twin CPU workers run the kernels' NumPy backend, and Polars replaces cudf-polars.
results/peers-ssb.MACHINE.json is written after each query of gpudb and after each peer, however the run ends.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import tables
from benchmarks.fused import files, wire
from benchmarks.harness import SYSTEM_TOLERANCES, Row, answers_equal, make_row, save_results

REQUIRED_RATIOS = {"cudf-polars": 15, "polars": 15, "duckdb": 50}
"""Required ratio to gpudb's total time."""
REDUCED_PART = 4
"""A peer that cannot hold all lines gets one in so many."""
SPARE_S = 10.0
"""Seconds reserved for the end of a process whose time is over."""


class Run:
    """The measurements so far, and the remaining seconds."""

    def __init__(self, folder: Path, rows: int, seconds: float, machine: str | None) -> None:
        self.folder, self.lines, self._machine = folder, rows, machine
        self._end = time.perf_counter() + seconds
        self.rows: list[Row] = []
        self.answers: dict[str, list[Any]] = {}

    @property
    def remaining_s(self) -> float:
        """Remaining seconds."""
        return self._end - time.perf_counter()

    def write(self, more: Sequence[Row] = ()) -> Path:
        """Writes the results, including those of an unfinished part."""
        return save_results("peers-ssb", [*self.rows, *more], wire.versions(), self._machine, "fused.peers")

    def run_gpudb(self, engine: str, speed: float) -> None:
        """gpudb's rows and answers."""
        suite, folder = "ssb", self.folder
        found, self.answers = wire.measure_suite(suite, engine, folder, self.lines, speed, keep=self.write)
        self.rows += found
        shutil.rmtree(folder / "data", ignore_errors=True)
        self.write()

    def run_peer(self, name: str, seconds: float) -> None:
        """A peer's rows: over all lines, or over a part of them."""
        for part in (1, REDUCED_PART):
            queries = self._run_process(name, part, min(seconds, self.remaining_s - SPARE_S))
            times = {query: each for query, each in queries.items() if "times" in each}
            if times:
                self._add_rows(name, part, queries)
                return
            if self.remaining_s < 3 * SPARE_S:
                break
        print(f"{name}: nothing was answered in the time that there was", flush=True)

    def _run_process(self, name: str, part: int, seconds: float) -> dict[str, Any]:
        out = self.folder / f"{name}.json"
        out.unlink(missing_ok=True)
        command = [sys.executable, "-u", "-m", "benchmarks.fused.peer", name, str(self.folder), str(out)]
        command += ["--part", str(part), "--seconds", str(seconds)]
        try:
            code = subprocess.run(command, timeout=max(seconds, 1) + SPARE_S).returncode
            print(f"{name}, one line in {part}: status {code}", flush=True)
        except subprocess.TimeoutExpired:
            print(f"{name}, one line in {part}: ended after {seconds + SPARE_S:.0f} s", flush=True)
        queries: dict[str, Any] = json.loads(out.read_text())["queries"] if out.exists() else {}
        return queries

    def _add_rows(self, name: str, part: int, queries: dict[str, Any]) -> None:
        system = name if part == 1 else f"{name}, {part} times its time over {self.lines // part:,} lines"
        for query, each in queries.items():
            if "times" not in each:
                print(f"{name} {query}: {each['error']}", flush=True)
                continue
            more: dict[str, Any] = {"result_rows": len(each["answer"])}
            if part == 1:
                tolerance = SYSTEM_TOLERANCES.get(name, 1e-9)
                answer = [tuple(row) for row in each["answer"]]
                more["answers_agree"] = answers_equal(answer, self.answers[query], tolerance)
                for row in self.rows:
                    if row.case == f"ssb {query}" and row.system in {wire.LIBPQ, wire.PSYCOPG, wire.KERNEL}:
                        row.answers_agree = row.answers_agree is not False and more["answers_agree"]
            times = [part * second for second in each["times"]]
            self.rows.append(make_row(f"ssb {query}", system, times, self.lines // part, **more))
        self.write()

    def add_totals(self) -> None:
        """Adds the totals, and prints each peer's ratio to gpudb over the queries that it answers."""
        queries = [f"ssb {query}" for query in tables.queries("ssb")]
        seconds: dict[str, dict[str, float]] = {}
        for row in self.rows:
            seconds.setdefault(row.system, {})[row.case] = row.median_s or 0.0
        for system, by_case in seconds.items():
            some = [by_case[case] for case in queries if case in by_case]
            note = None if len(some) == len(queries) else f"of {len(some)} queries"
            self.rows.append(make_row("total", system, [sum(some)], self.lines, note=note))
            print(f"{system}: {1000 * sum(some):,.2f} ms for {len(some)} of {len(queries)} queries", flush=True)
        for system, by_case in seconds.items():
            aim = next((aim for name, aim in REQUIRED_RATIOS.items() if system.startswith(name)), None)
            for ours in (wire.LIBPQ, wire.PSYCOPG) if aim is not None else ():
                both = [case for case in by_case if case in seconds.get(ours, {})]
                mine = sum(seconds[ours][case] for case in both)
                if mine:
                    ratio = sum(by_case[case] for case in both) / mine
                    print(f"{system} takes {ratio:.1f} times {ours} over {len(both)} queries (aim {aim})", flush=True)
        self.write()


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if an answer differs."""
    parser = argparse.ArgumentParser(description="SSB on gpudb and its peers, in one run")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=files.LINES)
    parser.add_argument("--engine", choices=("gpu", "twin"), default="gpu")
    parser.add_argument("--machine")
    parser.add_argument("--seconds", type=float, default=230.0)
    options = parser.parse_args(arguments)
    folder = options.folder / f"ssb-{options.rows}"
    run = Run(folder, options.rows, options.seconds, options.machine)
    command = [sys.executable, "-m", "benchmarks.fused.files", "ssb", str(folder), str(options.rows)]
    subprocess.run(command, check=True, timeout=max(run.remaining_s, 1))
    speed = float((folder / "bandwidth").read_text()) if (folder / "bandwidth").exists() else 0.0
    print(f"files are there, {run.remaining_s:.0f} s left", flush=True)
    run.run_gpudb(options.engine, speed)
    print(f"gpudb is measured, {run.remaining_s:.0f} s left", flush=True)
    run.run_peer("cudf-polars" if options.engine == "gpu" else "polars", run.remaining_s / 2)
    run.run_peer("duckdb", run.remaining_s)
    run.add_totals()
    return 0 if all(row.answers_agree is not False for row in run.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
