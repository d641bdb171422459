"""The same data on more GPUs: the star schema benchmark and the taxi rides through a client, and the kernels alone.

python -m benchmarks.fused.speedup [--gpus 1 2] [--lines N] [--rides N] [--engine gpu|twin] [--folder DIR] …

The files are generated once, a part of them on each GPU; a server on each number of GPUs adopts the same ones,
beginning with the fewest. Every query is timed as in `benchmarks.fused.wire`, and its answer compared with that on the
fewest GPUs; with --checked also with DuckDB's. The speed-up is the time on the fewest divided by that on more. Writes
results/speedup.MACHINE.json, after each query too.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.fused import files, wire
from benchmarks.fused.scaling import generate_files, label_rows, write_all
from benchmarks.harness import Row, answers_equal, save_results

FILE_ROWS = 75_000_000
"""Lines of a file; files are large, so that reading them does not matter."""
Answers = dict[str, list[Any]]


def measure_on(
    gpus: int, engine: str, suites: Mapping[str, tuple[Path, int]], data: Path, keep: Callable[[list[Row]], None]
) -> tuple[list[Row], dict[str, Answers]]:
    """Times of each query on a server with `gpus` GPUs, its suites' totals, and the answers; a suite is its files'
    folder and its rows.
    """
    rows: list[Row] = []
    answers: dict[str, Answers] = {}
    data.mkdir()
    with wire.client(engine, data, gpus) as (connection, port):
        for suite, (folder, count) in suites.items():
            told = folder / "bandwidth"
            speed = gpus * float(told.read_text()) if told.exists() else 0.0
            before = list(rows)
            keep_all = lambda found, before=before: keep([*before, *found])  # noqa: E731
            found, answers[suite] = wire.measure_queries(connection, port, suite, folder, count, speed, keep_all)
            rows += [*found, *_totals(suite, found, count)]
            keep(rows)
    shutil.rmtree(data, ignore_errors=True)
    return rows, answers


def _totals(suite: str, rows: Sequence[Row], count: int) -> list[Row]:
    return [
        Row(f"{suite} in all", system, total / 1000, total / 1000, wire.RUNS, count)
        for system, total in wire.totals(rows).items()
    ]


def add_speedups(few: Sequence[Row], more: Sequence[Row]) -> None:
    """Adds to each result on more GPUs its speed-up over the fewest, and prints all."""
    before = {(row.case, row.system.partition(" on ")[0]): row.median_s for row in few}
    for row in more:
        first = before.get((row.case, row.system.partition(" on ")[0]))
        if first and row.median_s:
            speed = f"{first / row.median_s:.2f} times as fast"
            row.note = f"{row.note}; {speed}" if row.note else speed
            print(f"{row.case} {row.system}: {1000 * first:.3f} → {1000 * row.median_s:.3f} ms, {speed}", flush=True)


def check_answers(rows: Sequence[Row], answers: Mapping[str, Answers], expected: Mapping[str, Answers]) -> None:
    """Marks queries' rows by whether their answers are the `wanted` ones."""
    for suite, each in answers.items():
        for name, answer in each.items():
            right = answers_equal(answer, expected[suite][name])
            for row in rows:
                if row.case == f"{suite} {name}":
                    row.answers_agree = right and row.answers_agree is not False
            if not right:
                print(f"{suite} {name} DIFFERS", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Returns status 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description="the same data on more GPUs")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--lines", type=int, default=2 * files.LINES, help="SSB lines; 0 for none")
    parser.add_argument("--rides", type=int, default=files.RIDES, help="taxi rides; 0 for none")
    parser.add_argument("--file-rows", type=int, default=FILE_ROWS)
    parser.add_argument("--engine", choices=("gpu", "twin"), default="gpu")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--machine")
    parser.add_argument("--checked", action="store_true", help="compare with DuckDB too")
    options = parser.parse_args(arguments)
    counts = sorted(options.gpus)
    write = lambda rows: save_results("speedup", rows, wire.versions(), options.machine, "fused.speedup")  # noqa: E731
    found: list[Row] = []
    first: tuple[list[Row], dict[str, Answers]] | None = None
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        base = options.folder or Path(temporary)
        suites = {
            suite: (base / f"speedup-{suite}-{rows}", rows)
            for suite, rows in (("ssb", options.lines), ("taxi", options.rides))
            if rows
        }
        for suite, (folder, rows) in suites.items():
            generate_files(folder, rows, counts[-1], options.engine, options.file_rows, suite)
        for count in counts:
            keep = partial(write_all, write, list(found), count)
            rows, answers = measure_on(count, options.engine, suites, Path(temporary) / f"on-{count}", keep)
            label_rows(rows, count)
            if first is None:
                first = rows, answers
                for suite, (folder, _) in suites.items() if options.checked else ():
                    wire.check_answers(suite, folder, answers[suite], rows)
            else:
                check_answers(rows, answers, first[1])
                add_speedups(first[0], rows)
            found += rows
    write(found)
    report.main()
    return 0 if all(row.answers_agree is not False for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
