"""Rows scored by an ensemble of trees within a query, beside the same model by its library, in one run.

`python -m benchmarks.bench_tree_scores [--rows N] [--trees N] [--depth N] [--engine cpu|twin|gpu] [--save]` trains a
model on some of the rows of a served table, and prints seconds and rows a second of: counting rows by their score;
counting them by a column, for comparison; and the library over the same features in memory, on the GPU where there is
one, in pieces, scaled to all rows. The counts of the first and the last must agree. On a GPU it prints the share of the
bound: a test of a tree is at least TEST instructions, and a multiprocessor issues ISSUED of them in a clock.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

import gpudb
from benchmarks.harness import Row, make_row, save_results, time_runs
from benchmarks.systems import served_database

FEATURES = 8
TRAINED = 200_000
PIECE = 10_000_000
LIMIT = 500.0
TEST, ISSUED, LANES = 10, 3, 32
"""Instructions of a test: two loads, comparisons, the choice of a child; warps' instructions in a clock; lanes."""


def make_table(rows: int) -> str:
    """Returns SQL that makes rows of small integers, the features."""
    made = ", ".join(f"(i * {7919 + 612 * n} % 1000003 % 1000)::smallint AS f{n}" for n in range(FEATURES))
    return f"CREATE TABLE t AS SELECT {made} FROM generate_series(1::bigint, {rows}) AS i"


def train(db: gpudb.Connection, trees: int, depth: int, path: Path) -> Any:
    """Trains on the first rows by hand, and brings the model into the database by its file; returns the booster."""
    names = [f"f{n}" for n in range(FEATURES)]
    held = [each.astype(np.float32) for each in db.sql(f"SELECT * FROM t LIMIT {TRAINED}").numpy().values()]
    target = held[0] * 0.4 + held[1] * held[2] * 0.0004 + np.where(held[3] > 700, 200, 0) + held[4] % 100
    data = xgboost.DMatrix(np.stack(held, axis=1), label=target)
    booster = xgboost.train({"max_depth": depth, "learning_rate": 0.1}, data, trees)
    booster.save_model(path)
    declared = ", ".join(f"{each} smallint" for each in names)
    db.execute(f"""CREATE MODEL m FROM FILE '{path}' FUNCTION predict_y({declared}) RETURNS double precision
        USING xgboost""")
    return booster


def count_by_library(booster: Any, held: list[np.ndarray], rows: int) -> tuple[float, int]:
    """Returns the seconds that the library takes for rows in its memory, in pieces, and how many scores are great."""
    on_device = Path("/dev/nvidiactl").exists() and bool(xgboost.build_info().get("USE_CUDA"))
    xp: Any = __import__("cupy") if on_device else np
    if on_device:
        booster.set_param({"device": "cuda"})
    spent, found = 0.0, 0
    for start in range(0, rows, PIECE):
        piece = xp.stack([xp.asarray(each[start : start + PIECE]) for each in held], axis=1).astype(np.float32)
        if not start:
            booster.inplace_predict(piece[:1000])
        at = time.perf_counter()
        scores = booster.inplace_predict(piece)
        found += int((scores > LIMIT).sum())
        spent += time.perf_counter() - at
    return spent, found


def print_bound(seconds: float, rows: int, trees: int, depth: int) -> str:
    """Returns the share of the bound by instructions; nothing without a GPU."""
    if not Path("/dev/nvidiactl").exists():
        return ""
    import cupy

    facts = cupy.cuda.runtime.getDeviceProperties(0)
    rate = ISSUED * LANES * facts["multiProcessorCount"] * facts["clockRate"] * 1000
    return f"{rows * trees * depth * TEST / rate / seconds:.0%} of the bound by instructions"


def measure(db: gpudb.Connection, rows: int, trees: int, depth: int, engine: str, path: Path) -> list[Row]:
    """Times each way, prints it, and compares counts."""
    at = time.perf_counter()
    db.execute(make_table(rows))
    booster = train(db, trees, depth, path)
    print(f"{rows} rows made, and a model of {trees} trees of depth {depth}, in {time.perf_counter() - at:.0f} s")
    names = ", ".join(f"f{n}" for n in range(FEATURES))

    def count(condition: str) -> int:
        ((found,),) = db.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall()
        return int(found)

    scored, counted = time_runs(lambda: count(f"predict_y({names}) > {LIMIT}"), warm=2, runs=3)
    plain, _ = time_runs(lambda: count(f"f0 > {LIMIT}"), warm=2, runs=3)
    few = min(rows, 5 * PIECE)
    held = list(db.sql(f"SELECT {names} FROM t LIMIT {few}").numpy().values())
    spent, alone = count_by_library(booster, held, few)
    ((own,),) = db.execute(
        f"SELECT count(*) FROM (SELECT * FROM t LIMIT {few}) AS few WHERE predict_y({names}) > {LIMIT}"
    ).fetchall()
    case = f"{trees} trees of depth {depth}"
    found = [
        make_row(case, f"WHERE predict_y(…) > {LIMIT:.0f} ({engine})", scored, rows, result_rows=counted),
        make_row("a column", f"WHERE f0 > {LIMIT:.0f} ({engine})", plain, rows),
        make_row(case, "XGBoost, rows in memory", [spent * rows / few], rows, answers_agree=own == alone),
    ]
    for each in found:
        assert each.median_s is not None
        shown = print_bound(each.median_s, rows, trees, depth) if each.case == case else ""
        print(f"{each.system:36}{each.median_s:10.4f} s{rows / each.median_s / 1e6:12.1f} million rows/s   {shown}")
    print(f"{own} of {few} rows have a great score; the library: {alone}")
    return found


def main() -> int:
    """Serves a table and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--save", action="store_true", help="keep the figures in benchmarks/results")
    given = parser.parse_args()
    with served_database(given.engine) as (db, folder):
        rows = measure(db, given.rows, given.trees, given.depth, given.engine, folder / "m.ubj")
    if given.save:
        save_results("tree-scores", rows, {"xgboost": xgboost.__version__}, program="bench_tree_scores")
    return 0 if all(each.answers_agree is not False for each in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
