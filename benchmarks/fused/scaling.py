"""The star schema benchmark with data that grow with the GPUs: through a client, and the kernels alone.

python -m benchmarks.fused.scaling [--gpus 1 2] [--rows N] [--engine gpu|twin] [--folder DIR] [--machine LABEL] …

Each number of GPUs has N lines per GPU (600 million, scale factor 100), the first files of one set; all have the
dimensions of the largest number, so that only the scan grows. Each GPU generates a part of the files, and each worker
of a server reads an equal run of rows of each file. Every query is timed as in `benchmarks.fused.wire`, on one server
after the other; efficiency is the time on the fewest GPUs divided by that on more. DuckDB's answers over the files of
the largest number are compared. Writes results/scaling-ssb.MACHINE.json, after each query too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks import report
from benchmarks.fused import files, wire
from benchmarks.harness import Row, save_results, visible_gpus
from gpudb.demo.star_schema import data as ssb

MAKE_S = 400


def generate_files(folder: Path, rows: int, gpus: int, engine: str, file_rows: int, suite: str = "ssb") -> None:
    """Files of some lines, or of a suite's rows, generated on as many GPUs."""
    begun = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.fused.files", suite, str(folder), str(rows)]
    command += ["--file-rows", str(file_rows)]
    running = []
    devices = visible_gpus(gpus).split(",") if engine == "gpu" else [""] * gpus
    for number, device in enumerate(devices):
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": device} if engine == "gpu" else os.environ
        running.append(subprocess.Popen([*command, "--turn", f"{number}/{gpus}"], env=environment))
    failed = [each.wait(MAKE_S) for each in running]
    if any(failed):
        raise SystemExit("the files could not be made")
    print(f"{suite}: files of {rows:,} rows in {time.perf_counter() - begun:.1f} s", flush=True)


def link_first_files(folder: Path, gpus: int, most: int) -> Path:
    """A folder with the dimensions, and the share of the lines for some GPUs."""
    part = folder / f"on-{gpus}"
    shutil.rmtree(part, ignore_errors=True)
    for table in ssb.TABLES:
        (part / table).mkdir(parents=True)
        paths = sorted((folder / table).glob("*.parquet"))
        for path in paths[: len(paths) * gpus // most] if table == "lineorder" else paths:
            (part / table / path.name).hardlink_to(path)
    return part


def label_rows(rows: Sequence[Row], gpus: int) -> list[Row]:
    """Results labelled with their number of GPUs."""
    on = f"on {gpus} GPU{'s' if gpus > 1 else ''}"
    for row in rows:
        row.system = f"{row.system.removeprefix('its ')} {on}"
    return list(rows)


def write_all(write: Callable[[list[Row]], object], before: Sequence[Row], count: int, rows: Sequence[Row]) -> None:
    """Writes the results of earlier numbers of GPUs and those so far of this one."""
    write([*before, *label_rows([replace(row) for row in rows], count)])


def add_efficiencies(few: Sequence[Row], more: Sequence[Row], gpus: int) -> None:
    """Adds to each result's note the time of the same share of data on fewer GPUs, and prints all."""
    before = {(row.case, row.system.partition(" on ")[0]): row.median_s or 0.0 for row in few}
    for system in (wire.LIBPQ, wire.PSYCOPG, "kernel"):
        pairs = [(row, before[row.case, system]) for row in more if row.system.partition(" on ")[0] == system]
        for row, first in pairs:
            row.note = f"{row.note}; efficiency {first / (row.median_s or 1.0):.0%}"
            print(f"{row.case} {row.system}: {1000 * (row.median_s or 0):.3f} ms, {first / (row.median_s or 1):.0%}")
        total = sum(row.median_s or 0.0 for row, _ in pairs)
        if total:
            share = sum(first for _, first in pairs) / total
            print(f"{system} on {gpus} GPUs: {1000 * total:.2f} ms in all, efficiency {share:.1%}", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description="SSB with data that grow with the GPUs")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rows", type=int, default=files.LINES, help="lines per GPU")
    parser.add_argument("--file-rows", type=int, default=files.FILE_ROWS)
    parser.add_argument("--engine", choices=("gpu", "twin"), default="gpu")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--machine")
    parser.add_argument("--unchecked", action="store_true", help="do not compare with DuckDB")
    options = parser.parse_args(arguments)
    counts = sorted(options.gpus)
    write = lambda rows: save_results("scaling-ssb", rows, wire.versions(), options.machine, "fused.scaling")  # noqa: E731
    found: list[Row] = []
    by_count: dict[int, list[Row]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        base = (options.folder or Path(temporary)) / f"scaling-{counts[-1]}x{options.rows}"
        generate_files(base, options.rows * counts[-1], counts[-1], options.engine, options.file_rows)
        speed = float((base / "bandwidth").read_text()) if (base / "bandwidth").exists() else 0.0
        for count in counts:
            folder = link_first_files(base, count, counts[-1])
            keep = partial(write_all, write, list(found), count)
            rows, answers = wire.measure_suite("ssb", options.engine, folder, options.rows * count, speed, count, keep)
            by_count[count] = label_rows(rows, count)
            found += rows
            shutil.rmtree(folder / "data", ignore_errors=True)
        if not options.unchecked:
            wire.check_answers("ssb", folder, answers, by_count[counts[-1]])
    for count in counts[1:]:
        add_efficiencies(by_count[counts[0]], by_count[count], count)
    write(found)
    report.main()
    return 0 if all(row.answers_agree is not False for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
