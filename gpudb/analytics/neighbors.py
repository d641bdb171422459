"""Nearest neighbours: for each of some points the rows of a matrix that are nearest to it."""

from __future__ import annotations

import numpy as np

from gpudb.analytics.backend import load_estimators, quiet
from gpudb.analytics.rows import Floats, Integers
from gpudb.errors import SqlError

METRICS = ("chebyshev", "cosine", "euclidean", "manhattan")
"""The distances that both libraries have."""


def nearest_neighbors(matrix: Floats, points: Floats, k: int, metric: str = "euclidean") -> tuple[Integers, Floats]:
    """Returns the places of the k nearest rows of each point, and their distances, both (points, k), nearest first.

    22023 unless 1 <= k <= rows, for other metrics than METRICS, and for rows or points at 0 by cosine.
    """
    if metric not in METRICS:
        hint = f"Metrics are {', '.join(METRICS)}."
        raise SqlError.of("invalid_parameter_value", f'metric "{metric}" is not known', hint=hint)
    if not 1 <= k <= len(matrix):
        detail = f"k is {k}, and the number of rows without NULLs is {len(matrix)}."
        raise SqlError.of("invalid_parameter_value", "k must be between 1 and the number of rows", detail=detail)
    if metric == "cosine" and not (matrix.any(axis=1).all() and points.any(axis=1).all()):
        message = "rows whose features are all 0 have no cosine distance"
        raise SqlError.of("invalid_parameter_value", message)
    if not len(points):
        return np.empty((0, k), np.int64), np.empty((0, k))
    model = load_estimators().NearestNeighbors(n_neighbors=k, metric=metric)
    with quiet():
        model.fit(matrix)
        distances, places = model.kneighbors(points)
    return np.asarray(places).astype(np.int64), np.asarray(distances, dtype=np.float64)
