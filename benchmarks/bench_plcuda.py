"""PL/CUDA functions and aggregates in taxi queries, beside the same written with built-in ones, in one run.

`python -m benchmarks.bench_plcuda [--rows N] [--engine gpu|twin] [--folder DIR] [--save]` writes the rides' files,
serves them, and takes the medians of both forms of each query, in turns, from sending the statement to having its
result by libpq, and of their kernels by EXPLAIN ANALYZE. It fails if answers differ, and on a GPU if a PL/CUDA form
takes more than WITHIN times as long as the built-in one, or if one of them is not fused.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.fused import wire
from benchmarks.fused.files import RIDES
from benchmarks.harness import Row, answers_equal, make_row, save_results

WITHIN = 1.10
SETUP = """
CREATE EXTENSION plcuda;
CREATE FUNCTION discounted(x float8) RETURNS float8 STRICT LANGUAGE plcuda AS 'return x * 0.9 + 1.0;';
CREATE FUNCTION is_dear(x float8, passengers smallint) RETURNS bool STRICT LANGUAGE plcuda AS
    'return x > 20.0 && passengers > 1;';
CREATE TYPE mean_state AS (total float8, rides bigint);
CREATE FUNCTION mean_add(s mean_state, x float8) RETURNS mean_state STRICT LANGUAGE plcuda AS
    's.total += x; s.rides++; return s;';
CREATE FUNCTION mean_merge(a mean_state, b mean_state) RETURNS mean_state STRICT LANGUAGE plcuda AS
    'return {a.total + b.total, a.rides + b.rides};';
CREATE FUNCTION mean_end(s mean_state) RETURNS float8 STRICT LANGUAGE plcuda AS
    'if (s.rides == 0) RETURN_NULL(); return s.total / s.rides;';
CREATE AGGREGATE mean(float8) (SFUNC = mean_add, STYPE = mean_state, COMBINEFUNC = mean_merge, FINALFUNC = mean_end,
    INITCOND = '(0,0)');
"""
AMOUNT = "total_amount::float8"
CASES = {
    "scalar in a sum by passengers": (
        f"SELECT passenger_count, sum({AMOUNT} * 0.9::float8 + 1.0::float8) FROM trips GROUP BY passenger_count",
        f"SELECT passenger_count, sum(discounted({AMOUNT})) FROM trips GROUP BY passenger_count",
    ),
    "scalar in WHERE": (
        f"SELECT count(*) FROM trips WHERE {AMOUNT} > 20.0::float8 AND passenger_count > 1::smallint",
        f"SELECT count(*) FROM trips WHERE is_dear({AMOUNT}, passenger_count)",
    ),
    "aggregate by passengers (taxi's second)": (
        f"SELECT passenger_count, avg({AMOUNT}) FROM trips GROUP BY passenger_count",
        f"SELECT passenger_count, mean({AMOUNT}) FROM trips GROUP BY passenger_count",
    ),
    "aggregate of all rides": (f"SELECT avg({AMOUNT}) FROM trips", f"SELECT mean({AMOUNT}) FROM trips"),
}
"""A query with built-in functions, and with PL/CUDA's."""
SYSTEMS = "built-in", "PL/CUDA"


def measure(connection: Any, case: str, queries: tuple[str, str], rows: int) -> tuple[list[Row], list[float]]:
    """Times both forms of a query; returns rows, and how much longer PL/CUDA's takes, by libpq and in kernels."""
    answers = [connection.execute(sql).fetchall() for sql in queries]
    agree = answers_equal(*answers)
    if not agree:
        print(f"{case}: answers differ: {answers[0][:3]} {answers[1][:3]}")
    times: list[list[float]] = [[], []]
    for _ in range(2):  # in turns
        for place, sql in enumerate(queries):
            times[place] += wire.libpq_times(connection.pgconn, sql, len(answers[place]))[0]
    figures = [wire.kernel_figures(connection, sql) for sql in queries]
    found, ratios = [], [statistics.median(times[1]) / statistics.median(times[0])]
    for system, answer, each, kernel in zip(SYSTEMS, answers, times, figures, strict=True):
        found.append(make_row(case, f"{system} by libpq", each, rows, result_rows=len(answer), answers_agree=agree))
        if kernel:
            more = {"bytes": kernel["bytes"], "note": f"{kernel['registers']} registers"}
            found.append(make_row(case, f"{system}, its kernel", kernel["times"], rows, **more))
    if all(figures):
        ratios.append(statistics.median(figures[1]["times"]) / statistics.median(figures[0]["times"]))
    for row in found:
        print(f"{case:42}{row.system:24}{1000 * (row.median_s or 0):10.3f} ms  {row.note or ''}", flush=True)
    print(f"{case:42}PL/CUDA takes {', '.join(f'{each:.2f}' for each in ratios)} times as long", flush=True)
    return found, ratios if all(figures) else [*ratios, float("inf")]


def main() -> int:
    """Serves rides and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--engine", choices=("gpu", "twin"), default="gpu")
    parser.add_argument("--folder", type=Path, help="where the files are kept")
    parser.add_argument("--machine")
    parser.add_argument("--save", action="store_true", help="keep the figures in benchmarks/results")
    given = parser.parse_args()
    rows = given.rows or (RIDES if given.engine == "gpu" else 2_000_000)
    found: list[Row] = []
    slow: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.folder or Path(temporary)) / f"taxi-{rows}"
        command = [sys.executable, "-m", "benchmarks.fused.files", "taxi", str(folder), str(rows)]
        subprocess.run(command, check=True, timeout=400)
        with wire.client(given.engine, folder, 1) as (connection, _):
            connection.execute(SETUP)
            wire.load(connection, "taxi", folder)
            for case, queries in CASES.items():
                lines, ratios = measure(connection, case, queries, rows)
                found += lines
                if given.engine == "gpu" and max(ratios) > WITHIN:
                    slow.append(case)
    if given.save:
        print(save_results("plcuda", found, wire.versions(), given.machine, "bench_plcuda"))
    if slow:
        print(f"more than {WITHIN} times as long: {', '.join(slow)}")
    return 1 if slow or any(each.answers_agree is False for each in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
