"""All checks of the general engine's answers on GPUs, by one command; results are written as they come.

    python -m tests.engine.gpu.device OUT [--only survey drawn tests] [--processes 12] [--seconds 150] [--machine NAME]
        [--data DIR] [--twin]

`survey` runs the suites' statements on GPUs (see `survey`), in several processes that share them; the shares and
reasons go to benchmarks/results/survey/MACHINE.json, every statement's outcome to OUT. `drawn` runs random statements
until its time ends; its results go to results/drawn/MACHINE.json. `tests` runs the tests of `make test-gpu` without the
suites, those first that use a GPU as a server does; their outcomes go to benchmarks/results/tests/MACHINE.json. DIR has
the suites' data, generated elsewhere if DuckDB's generator of TPC-DS cannot be downloaded. With --twin the survey runs
on the host, to try this file.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import RESULTS, default_machine
from tests.engine.gpu import survey
from tests.support.gpu.suites import SUITES

_CUDF = [
    f"tests/engine/gpu/cudf/test_{name}.py"
    for name in (
        "server",
        "ipc_memory",
        "raw_text",
        "frames",
        "packing",
        "resident_columns",
        "results",
        "streams",
        "pinned_memory",
    )
]
_TESTS = [*_CUDF, "tests/engine/test_engines.py", "tests/engine/gpu/fused"]
"""Tests of a folder are adjacent, because pytest finds a folder's fixtures for its first tests only."""
_ALL = ("survey", "drawn", "tests")
PARTS = {"tpcds": 4}
"""Number of processes for a suite's statements, if more than one."""
EVERY_S = 10.0
ENDING_S = 10.0
"""Grace period of tests, with their servers, after SIGTERM."""
STARTING_S = 15.0
"""Start-up and shutdown time of a process."""


Job = tuple[str, int, int]
"""A suite, the number of a part, and the number of parts."""


def suites(options: argparse.Namespace, data: Path) -> Iterator[Job]:
    """Yields the survey's processes."""
    yield from (("cases", number, options.processes) for number in range(1, options.processes + 1))
    for suite, make in SUITES.items():
        try:
            make(data)  # once, before several processes do it
        except Exception as error:
            print(f"{suite} cannot be made: {error}", flush=True)
            continue
        yield from ((suite, number, PARTS.get(suite, 1)) for number in range(1, PARTS.get(suite, 1) + 1))


def surveyed(options: argparse.Namespace, data: Path, folder: str, jobs: list[Job]) -> bool:
    """Compares statements with the embedded engine's answers; returns whether every process ended with status 0.
    `folder` of the results gets the outcomes.
    """
    began = time.monotonic()
    running: dict[str, subprocess.Popen[bytes]] = {}
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")
    try:
        for place, (suite, number, parts) in enumerate(jobs):
            name = f"{suite}-{number}"
            command = [sys.executable, "-W", "ignore", "-m", "tests.engine.gpu.survey", "--only", suite]
            command += ["--part", f"{number}/{parts}", "--seconds", str(max(options.seconds - STARTING_S, 1))]
            command += ["--data", str(data), "--seed", str(options.seed), "--json", str(options.out / f"{name}.json")]
            command += ["--twin"] if options.twin else []
            with (options.out / f"survey-{name}.txt").open("wb") as log:
                where = {**os.environ, "CUDA_VISIBLE_DEVICES": gpus[place % len(gpus)], "POLARS_MAX_THREADS": "2"}
                running[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=where)
        kept = began
        while time.monotonic() < began + options.seconds and any(each.poll() is None for each in running.values()):
            time.sleep(0.2)
            if time.monotonic() > kept + EVERY_S:
                kept = time.monotonic()
                keep(options, folder, list(running), began)
    finally:
        for process in running.values():
            process.kill()
        keep(options, folder, list(running), began)
    for name, process in running.items():
        print(f"{name}: status {process.wait()}", flush=True)
    return all(each.returncode == 0 for each in running.values())


def keep(options: argparse.Namespace, folder: str, names: list[str], began: float) -> None:
    """Merges and writes the findings of all processes so far."""
    paths = [path for name in names if (path := options.out / f"{name}.json").exists()]
    ended = sum(json.loads(path.read_text())["ended"] for path in paths)
    more = {"seconds": round(time.monotonic() - began), "processes": len(names), "processes that ended": ended}
    survey.keep(paths, folder, options.machine, "tests.engine.gpu.device", **more)


def tested(options: argparse.Namespace, names: list[str]) -> bool:
    """Runs the tests that need a GPU; returns whether all passed."""
    kept = RESULTS / "tests" / f"{options.machine or default_machine()}.json"
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "tests.engine.gpu.record_outcomes", "--keep", str(kept), "--machine", kept.stem]
    command += ["-n", str(options.processes), "--dist", "loadgroup", *names]
    with (options.out / "tests.txt").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            process.wait(options.seconds)
        except subprocess.TimeoutExpired:
            print("the tests' time is over", flush=True)
        finally:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(ENDING_S)
                process.kill()
                process.wait()
    print((options.out / "tests.txt").read_text(errors="replace")[-3000:], flush=True)
    return process.returncode == 0


def main(arguments: list[str] | None = None) -> int:
    """Runs the parts in order; returns status 1 if an answer was wrong, a test failed, or time ran out."""
    parser = argparse.ArgumentParser(description="all checks of the general engine's answers on GPUs")
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", choices=_ALL, default=_ALL)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=150, help="time limit of each part")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of random statements")
    parser.add_argument("--tests", nargs="+", default=_TESTS, help="files and folders of tests, in this order")
    parser.add_argument("--machine", help="the results' label, such as h200x1")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--twin", action="store_true")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    well = True
    if "survey" in options.only:
        with tempfile.TemporaryDirectory(prefix="gpudb-survey-") as made:
            data = options.data or Path(made)
            well &= surveyed(options, data, "survey", [*suites(options, data)])
    if "drawn" in options.only:
        drawn = [("drawn", number, options.processes) for number in range(1, options.processes + 1)]
        well &= surveyed(options, options.out, "drawn", drawn)
    if "tests" in options.only:
        well &= tested(options, options.tests)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
