"""CREATE MODEL … USING xgboost over a served table, beside XGBoost by hand on the same rows, in one run.

`python -m benchmarks.bench_tree_training [--rows N] [--trees N] [--depth N] [--engine cpu|twin|gpu] [--save]` prints
seconds of: the statement; the rows fetched as an array, and the library; the library alone, over arrays in memory, on
the GPU where there is one. All have the library's trees, so their errors must agree: it fails if they do not.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

import gpudb
from benchmarks.harness import Row, make_row, save_results, time_runs
from benchmarks.systems import served_database

FEATURES = 8
AGREE = 1e-2
"""Relative difference of errors: quantiles of features depend on how rows lie."""


def make_table(rows: int) -> str:
    """Returns SQL that makes rows of features, and a number that depends on some of them."""
    made = ", ".join(
        f"((i::bigint * {7919 + 612 * n} % 1000003) / 1000003.0::float8)::real AS f{n}" for n in range(FEATURES)
    )
    target = "(3 * f0 + f1 * f2 * 5 + sin(f3 * 6) + CASE WHEN f4 > 0.7 THEN 1 ELSE 0 END)::real AS y"
    return f"CREATE TABLE t AS SELECT *, {target} FROM (SELECT {made} FROM generate_series(1, {rows}) AS i) AS made"


def has_cuda() -> bool:
    """Whether the library trains on a GPU of this machine."""
    return Path("/dev/nvidiactl").exists() and bool(xgboost.build_info().get("USE_CUDA"))


def train(arrays: dict[str, Any], trees: int, depth: int) -> float:
    """Trains by hand, on the device where the arrays are; returns the error over the same rows."""
    on_device = has_cuda()
    xp: Any = __import__("cupy") if on_device else np
    columns = [xp.asarray(each) for each in arrays.values()]
    matrix, target = xp.stack(columns[:-1], axis=1), columns[-1]
    data = (xgboost.QuantileDMatrix if on_device else xgboost.DMatrix)(matrix, label=target)
    options = {"objective": "reg:squarederror", "max_depth": depth, "device": "cuda" if on_device else "cpu"}
    booster = xgboost.train(options, data, trees)
    found = booster.predict(data).astype(np.float64)
    wanted = target.get() if on_device else target
    return math.sqrt(float(np.mean((found - wanted) ** 2)))


def measure(db: gpudb.Connection, rows: int, trees: int, depth: int, engine: str) -> list[Row]:
    """Times each way, prints it, and compares errors."""
    db.execute(make_table(rows))
    held = db.table("t").numpy()
    statement = f"""CREATE OR REPLACE MODEL m FROM t TARGET y FUNCTION predict_y USING xgboost
        WITH (trees = {trees}, depth = {depth})"""

    def in_sql() -> float:
        db.execute(statement)
        ((metrics,),) = db.execute("SELECT metrics->>'training' FROM gpudb_models WHERE model = 'm'").fetchall()
        return float(json.loads(metrics)["rmse"])

    ways: dict[str, Callable[[], float]] = {
        f"CREATE MODEL ({engine})": in_sql,
        "XGBoost, rows fetched": lambda: train(db.table("t").numpy(), trees, depth),
        "XGBoost, rows in memory": lambda: train(held, trees, depth),
    }
    if has_cuda():
        import cupy

        on_device = {name: cupy.asarray(each) for name, each in held.items()}
        ways["XGBoost, rows on the GPU"] = lambda: train(on_device, trees, depth)
    found, wanted = list[Row](), 0.0
    for name, run in ways.items():
        times, error = time_runs(run, warm=1, runs=3)
        wanted = wanted or error
        case = f"{trees} trees of depth {depth}"
        agrees = math.isclose(error, wanted, rel_tol=AGREE)
        found.append(make_row(case, name, times, rows, answers_agree=agrees))
        print(f"{name:32}{found[-1].median_s:10.3f} s   rmse {error:.6g}", flush=True)
    return found


def main() -> int:
    """Serves a table and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--save", action="store_true", help="keep the figures in benchmarks/results")
    given = parser.parse_args()
    with served_database(given.engine) as (db, _):
        rows = measure(db, given.rows, given.trees, given.depth, given.engine)
    if given.save:
        save_results("tree-training", rows, {"xgboost": xgboost.__version__}, program="bench_tree_training")
    return 0 if all(each.answers_agree for each in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
