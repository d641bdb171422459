"""Clusters of rows: k-means and DBSCAN over matrices (rows, features).

Both give the same clusters however the rows come: k-means begins from centres that it draws from sorted rows, and
DBSCAN sees its rows sorted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpudb.analytics.backend import load_estimators, quiet
from gpudb.analytics.rows import Floats, sample_rows, sort_rows
from gpudb.errors import SqlError

Labels = NDArray[np.int32]

_DRAWN = 1 << 17
"""The most rows from which the first centres are drawn."""
_COMPARED = 5000
"""The most rows that are compared with each other."""
_CHUNK = 1 << 16
NOISE = -1
"""The label of a row in no cluster."""


@dataclass(frozen=True, slots=True)
class KMeans:
    """Clusters that k-means has found.

    `labels` (rows) are numbers from 0 on; `distances` (rows) are to the row's centre, Euclidean; `centers`
    (k, features); `sizes` (k) are numbers of rows; `inertia` is the weighted sum of squared distances; `iterations`
    are those that it took.
    """

    labels: Labels
    distances: Floats
    centers: Floats
    sizes: NDArray[np.int64]
    inertia: float
    iterations: int


def kmeans(matrix: Floats, k: int, *, iterations: int = 300, seed: int = 0, weights: Floats | None = None) -> KMeans:
    """Finds k clusters by Lloyd's algorithm from k-means++ centres.

    22023 unless 1 <= k <= rows, iterations >= 1, 0 <= seed < 2³², and weights are not negative and not all 0.
    """
    rows = len(matrix)
    if not 1 <= k <= rows:
        detail = f"k is {k}, and the number of rows without NULLs is {rows}."
        raise SqlError.of("invalid_parameter_value", "k must be between 1 and the number of rows", detail=detail)
    check_at_least("iterations", iterations, 1)
    if not 0 <= seed < 1 << 32:
        raise SqlError.of("invalid_parameter_value", "seed must be between 0 and 4294967295")
    if weights is not None and ((weights < 0).any() or not weights.any()):
        raise SqlError.of("invalid_parameter_value", "weights must not be negative, and not all of them 0")
    library = load_estimators()
    model = library.KMeans(
        n_clusters=k, init=_draw_centers(matrix, k, seed, weights), n_init=1, max_iter=iterations, random_state=seed
    )
    with quiet():
        model.fit(matrix, sample_weight=weights)
    labels = np.asarray(model.labels_).astype(np.int32)
    centers = np.asarray(model.cluster_centers_, dtype=np.float64)
    distances = np.empty(rows)
    for start in range(0, rows, _CHUNK):
        part = slice(start, start + _CHUNK)
        distances[part] = np.linalg.norm(matrix[part] - centers[labels[part]], axis=1)
    squares = np.square(distances)
    inertia = float(squares.sum() if weights is None else squares @ weights)
    return KMeans(labels, distances, centers, np.bincount(labels, minlength=k), inertia, int(model.n_iter_))


def _draw_centers(matrix: Floats, k: int, seed: int, weights: Floats | None) -> Floats:
    """Draws the first centres by k-means++ from the rows, or from a sample of them."""
    from sklearn.cluster import kmeans_plusplus

    if weights is None:
        drawn, drawn_weights = sample_rows(matrix, max(_DRAWN, k)), None
    else:
        both = sample_rows(np.column_stack((matrix, weights)), max(_DRAWN, k))
        drawn, drawn_weights = np.ascontiguousarray(both[:, :-1]), both[:, -1]
    with quiet():
        centers: Floats = kmeans_plusplus(drawn, k, sample_weight=drawn_weights, random_state=seed)[0]
    return centers


def silhouette(matrix: Floats, centers: Floats) -> float | None:
    """Returns the mean silhouette of rows in the clusters of their nearest centres; None for fewer than two clusters.

    It compares each row with each other one, so many rows are represented by a sample.
    """
    from sklearn.metrics import silhouette_score

    sample = sample_rows(matrix, _COMPARED)
    labels = np.square(sample[:, None] - centers).sum(axis=2).argmin(axis=1)
    count = len(np.unique(labels))
    return float(silhouette_score(sample, labels)) if 2 <= count < len(sample) else None


def dbscan(matrix: Floats, eps: float, min_samples: int = 5) -> Labels:
    """Finds clusters of density: a label (rows) for each row, from 0 on, NOISE for a row in none.

    22023 unless eps > 0 and min_samples >= 1.
    """
    if not (eps > 0 and np.isfinite(eps)):
        raise SqlError.of("invalid_parameter_value", "eps must be greater than 0 and finite")
    check_at_least("min_samples", min_samples, 1)
    labels = np.full(len(matrix), NOISE, np.int32)
    if len(matrix):
        order = sort_rows(matrix)
        model = load_estimators().DBSCAN(eps=eps, min_samples=min_samples)
        with quiet():
            labels[order] = np.asarray(model.fit_predict(matrix[order])).astype(np.int32)
    return labels


def check_at_least(name: str, value: float, least: float) -> None:
    """22023 for a value below the least one."""
    if not value >= least:
        raise SqlError.of("invalid_parameter_value", f"{name} must be at least {least}")
