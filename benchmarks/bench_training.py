"""Rows from a served table to arrays, and from arrays to batches, each beside the copy that it cannot be faster than.

`python -m benchmarks.bench_training [--rows N] [--engine cpu|twin|gpu] [--library numpy|torch|cupy] [--device cuda]
[--save]`
prints, for a table of 13 floats and a label: the arrays' rate beside a copy of the same bytes; rows by text, for
comparison; and the loader's epochs, in order and shuffled, beside loops over blocks that are in memory already, in
order, and by a permutation that is made beforehand.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import gpudb
from benchmarks.harness import Row, make_row, save_results
from benchmarks.systems import served_database

COLUMNS = 13
BATCH = 8192
RUNS = 5


def time_runs(run: Callable[[], object]) -> list[float]:
    """Returns the seconds of some runs, after one that is not timed."""
    run()
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return times


def measure(db: gpudb.Connection, rows: int, library: str, device: str | None) -> list[Row]:
    """Prints the figures of one table, and returns their rows."""
    features = ", ".join(f"((i::bigint * {7919 + n} % 1000003) / 1000::real)::real AS f{n}" for n in range(COLUMNS))
    db.execute(f"CREATE TABLE t AS SELECT {features}, (i % 2)::real AS label FROM generate_series(1, {rows}) AS i")
    table = db.table("t")
    size = 4 * (COLUMNS + 1) * rows
    wait = _get_wait(library, device)

    def give_arrays() -> None:
        getattr(table, library)(**({"device": device} if library == "torch" else {}))
        wait()

    made: list[Row] = []

    def show(what: str, times: list[float], beside: Row | None = None) -> Row:
        row = make_row(what, library, times, rows, bytes=size)
        seconds, other = row.median_s or 0.0, (beside or row).median_s or 0.0
        print(f"{what:32}{1000 * seconds:10.1f} ms{size / seconds / 1e9:8.2f} GB/s{other / seconds:8.0%}", flush=True)
        made.append(row)
        return row

    held = table.block(library=library, device=device)
    print(f"{rows} rows, {size / 1e9:.2f} GB, batches of {BATCH}; shares are of the copy, and of the loop above")
    copy = show("copy", time_runs(lambda: (_copy(held), wait())))
    show("table to arrays", time_runs(give_arrays), copy)
    few = table.limit(min(rows, 100_000))
    part = rows / min(rows, 100_000)
    show("rows by execute(), from 100,000", [part * each for each in time_runs(lambda: db.execute(few.query))], copy)

    x, y = held[:, :COLUMNS], held[:, COLUMNS]
    order = np.random.default_rng(1).permutation(rows)
    numbers: Any = order
    if library != "numpy":
        library_ = __import__(library)
        numbers = library_.as_tensor(order, device=device) if library == "torch" else library_.asarray(order)

    def loop(numbers: Any = None) -> None:
        for start in range(0, rows, BATCH):
            part = slice(start, start + BATCH) if numbers is None else numbers[start : start + BATCH]
            _use(x[part], y[part])
        wait()

    def epoch(loader: Any) -> None:
        for batch in loader:
            _use(*batch)
        wait()

    for what, given in (("in order", None), ("shuffled", numbers)):
        resident = show(f"loop over resident, {what}", time_runs(lambda given=given: loop(given)))  # type: ignore[misc]
        loader = table.loader(BATCH, shuffle=given is not None, target="label", library=library, device=device)
        show(f"loader, {what}", time_runs(lambda loader=loader: epoch(loader)), resident)  # type: ignore[misc]
    return made


def _use(x: Any, y: Any) -> None:
    """What a step of training does at least: it reads the batch."""
    x.sum()
    y.sum()


def _copy(held: Any) -> Any:
    return held.clone() if hasattr(held, "clone") else held.copy()


def _get_wait(library: str, device: str | None) -> Callable[[], object]:
    """Returns what waits for a device's work."""
    if library == "cupy":
        import cupy

        return lambda: cupy.cuda.Stream.null.synchronize()
    if library == "torch" and device is not None:
        import torch

        return lambda: torch.cuda.synchronize()
    return lambda: None


def main() -> int:
    """Serves a table and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--engine", default="twin")
    parser.add_argument("--library", default="numpy")
    parser.add_argument("--device")
    parser.add_argument("--machine", help="the results' label")
    parser.add_argument("--save", action="store_true", help="write results under the label")
    given = parser.parse_args()
    with served_database(given.engine) as (db, _):
        made = measure(db, given.rows, given.library, given.device)
    if given.save:
        save_results(f"training-{given.library}", made, {}, given.machine, "bench_training")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
