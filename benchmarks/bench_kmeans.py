"""gpu_kmeans over a served table, beside scikit-learn (and cuML, where it is) by hand on the same rows, in one run.

`python -m benchmarks.bench_kmeans [--rows N] [--k K] [--engine cpu|twin|gpu] [--save]` prints seconds of: the statement
in SQL with the sizes of its clusters; the rows fetched as an array and clustered by the library; the library alone,
over the array in memory. All begin from the same centres, so their inertias must agree: it fails if they do not.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

import gpudb
from benchmarks.harness import Row, make_row, save_results, time_runs
from benchmarks.systems import served_database
from gpudb.analytics.rows import sample_rows

PLACES = 24
DRAWN = 1 << 17
AGREE = 1e-6


def make_table(rows: int) -> str:
    """Returns SQL that makes rides which begin near PLACES places, the same ones on each machine."""
    noise = "((i::bigint * {} % 1000003)::float8 / 1000003 - 0.5) * ((i::bigint * {} % 999983)::float8 / 999983)"
    x = f"-74 + 0.1 * sin(i % {PLACES}) + 0.05 * {noise.format(7919, 6007)}"
    y = f"40.7 + 0.1 * cos(i % {PLACES} * 2.4::float8) + 0.05 * {noise.format(4987, 3571)}"
    return f"CREATE TABLE rides AS SELECT i AS id, {x} AS x, {y} AS y FROM generate_series(1, {rows}) AS i"


def cluster(estimator: Any, matrix: np.ndarray, k: int) -> float:
    """Clusters an array with the steps of gpu_kmeans; returns the inertia."""
    centers, _ = kmeans_plusplus(sample_rows(matrix, DRAWN), k, random_state=0)
    model = estimator(n_clusters=k, init=centers, n_init=1, max_iter=300).fit(matrix)
    np.bincount(np.asarray(model.labels_), minlength=k)
    return float(model.inertia_)


def measure(db: gpudb.Connection, rows: int, k: int, engine: str) -> list[Row]:
    """Times each way, prints it, and compares inertias."""
    db.execute(make_table(rows))
    points = db.sql("SELECT x, y FROM rides")

    def fetch() -> np.ndarray:
        return np.column_stack(list(points.numpy().values()))

    held = fetch()
    call = f"'SELECT x, y FROM rides', {k}"

    def in_sql() -> float:
        db.execute(f"SELECT cluster, count(*) FROM gpu_kmeans({call}) GROUP BY cluster").fetchall()
        return math.nan

    ways: dict[str, Callable[[], float]] = {f"gpu_kmeans ({engine})": in_sql}
    libraries = {"scikit-learn": KMeans}
    if Path("/dev/nvidiactl").exists() and find_spec("cuml"):
        import_module("cuml").set_global_output_type("numpy")
        libraries["cuML"] = import_module("cuml.cluster").KMeans
    for name, estimator in libraries.items():
        ways[f"{name}, rows fetched"] = lambda estimator=estimator: cluster(estimator, fetch(), k)
        ways[f"{name}, rows in memory"] = lambda estimator=estimator: cluster(estimator, held, k)
    ((inertia,),) = db.execute(f"SELECT inertia FROM gpu_kmeans_metrics({call})").fetchall()
    found = []
    for name, run in ways.items():
        times, result = time_runs(run, warm=1, runs=3)
        agrees = None if math.isnan(result) else math.isclose(result, inertia, rel_tol=AGREE)
        found.append(make_row(f"k-means, k = {k}", name, times, rows, result_rows=k, answers_agree=agrees))
        print(
            f"{name:32}{found[-1].median_s:10.3f} s   {'' if agrees is None else f'inertia {result:.6g}'}", flush=True
        )
    print(f"inertia of gpu_kmeans: {inertia:.6g}")
    return found


def main() -> int:
    """Serves a table and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--k", type=int, default=PLACES)
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--save", action="store_true", help="keep the figures in benchmarks/results")
    given = parser.parse_args()
    with served_database(given.engine) as (db, _):
        rows = measure(db, given.rows, given.k, given.engine)
    if given.save:
        save_results("kmeans", rows, {"scikit-learn": version("scikit-learn")}, program="bench_kmeans")
    return 0 if all(each.answers_agree is not False for each in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
