"""What child processes serve for functions in FROM: Arrow columns and options in, Arrow columns out.

The columns of a call are `width` features as float8, and after them what else the function reads (weights, a target).
Results are the columns that the function adds to its rows, or rows of its own. A result's metadata may have a `notice`
for the client.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.analytics import clustering, decomposition, neighbors, regression
from gpudb.analytics.backend import load_estimators
from gpudb.analytics.rows import Floats, Mask, Scaling, find_complete, measure, spread, to_matrix

Options = Mapping[str, Any]
_INTERCEPT = "intercept"


def prepare() -> None:
    """Imports the library of the functions: that takes longer than most of them."""
    load_estimators()


def _read(columns: pa.Table, width: int, options: Options) -> tuple[Mask, Floats, Scaling]:
    """Returns which rows are complete, the features of those, and their scaling."""
    complete = find_complete(columns)
    matrix = to_matrix(columns.select(range(width)), complete)
    return complete, matrix, measure(matrix, scale=options.get("scale", False))


def _read_more(columns: pa.Table, place: int, complete: Mask) -> Floats | None:
    """Returns a column of floats after the features; None if there is none."""
    return to_matrix(columns.select([place]), complete)[:, 0] if columns.num_columns > place else None


# ------------------------------------------------------------------------------------------------ clusters


def gpu_kmeans(columns: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns the cluster and the distance of each row; NULL for rows with a NULL."""
    found, complete, _ = _kmeans(columns, width, options)
    return pa.table({"cluster": spread(found.labels, complete), "distance": spread(found.distances, complete)})


def gpu_kmeans_centers(columns: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns each cluster's number, rows, and centre in the units of the columns."""
    found, _, scaling = _kmeans(columns, width, options)
    numbers = np.arange(len(found.centers), dtype=np.int32)
    return pa.table(
        [numbers, found.sizes, *scaling.undo(found.centers).T],
        names=["cluster", "size", *columns.column_names[:width]],
    )


def _kmeans(columns: pa.Table, width: int, options: Options) -> tuple[clustering.KMeans, Mask, Scaling]:
    complete, matrix, scaling = _read(columns, width, options)
    found = clustering.kmeans(
        scaling.apply(matrix),
        options["k"],
        iterations=options["iterations"],
        seed=options["seed"],
        weights=_read_more(columns, width, complete),
    )
    return found, complete, scaling


def gpu_kmeans_metrics(columns: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns one row about all clusters: rows, iterations, and measures of how good they are."""
    found, complete, scaling = _kmeans(columns, width, options)
    matrix = scaling.apply(to_matrix(columns.select(range(width)), complete))
    return pa.table(
        {
            "clusters": [int(np.count_nonzero(found.sizes))],
            "rows": [len(matrix)],
            "iterations": [found.iterations],
            "inertia": [found.inertia],
            "silhouette": pa.array([clustering.silhouette(matrix, found.centers)], pa.float64()),
        }
    )


def gpu_dbscan(columns: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns the cluster of each row; NULL for noise, and for rows with a NULL."""
    complete, matrix, scaling = _read(columns, width, options)
    labels = clustering.dbscan(scaling.apply(matrix), options["eps"], options["min_samples"])
    clustered = complete.copy()
    clustered[complete] = labels != clustering.NOISE
    return pa.table({"cluster": spread(labels[labels != clustering.NOISE], clustered)})


# ------------------------------------------------------------------------------------------------ components


def gpu_pca(columns: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns the coordinates of each row along the components; NULL for rows with a NULL."""
    complete, matrix, scaling = _read(columns, width, options)
    found = decomposition.pca(scaling.apply(matrix), options["components"])
    return pa.table({f"pc{n}": spread(scores, complete) for n, scores in enumerate(found.scores.T, 1)})


def gpu_pca_components(columns: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns each component's number, variance, share of the whole variance, and axis."""
    _, matrix, scaling = _read(columns, width, options)
    found = decomposition.pca(scaling.apply(matrix), options["components"])
    numbers = np.arange(1, len(found.axes) + 1, dtype=np.int32)
    return pa.table(
        [numbers, found.variances, found.ratios, *found.axes.T],
        names=["component", "variance", "ratio", *columns.column_names[:width]],
    )


# ------------------------------------------------------------------------------------------------ regressions


def gpu_linear_regression(columns: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns each coefficient with its standard error, t and p, the intercept first."""
    complete, matrix, _ = _read(columns, width, options)
    names = columns.column_names[:width]
    target, weights = _read_more(columns, width, complete), _read_more(columns, width + 1, complete)
    assert target is not None
    found = regression.least_squares(matrix, target, names, weights)
    return pa.table(
        {
            "name": [_INTERCEPT, *names],
            "coefficient": found.coefficients,
            **{
                name: pa.array(values, from_pandas=True)
                for name, values in (("std_error", found.errors), ("t", found.t), ("p", found.p))
            },
        }
    )


def gpu_ridge(columns: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns each coefficient, the intercept first."""
    complete, matrix, scaling = _read(columns, width, options)
    target = _read_more(columns, width, complete)
    assert target is not None
    found = regression.ridge(matrix, target, options["alpha"], scaling)
    return pa.table({"name": [_INTERCEPT, *columns.column_names[:width]], "coefficient": found})


def gpu_logistic_regression(columns: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns each class's coefficients, the intercept first; of two classes, those of the second."""
    complete, matrix, scaling = _read(columns, width, options)
    codes, classes = _encode(columns.column(width), complete)
    found = regression.logistic(matrix, codes, options["c"], options["iterations"], scaling)
    names = [_INTERCEPT, *columns.column_names[:width]]
    result = pa.table(
        {
            "class": np.repeat(np.array(classes, dtype=object)[found.classes], len(names)).tolist(),
            "name": names * len(found.classes),
            "coefficient": found.coefficients.ravel(),
        }
    )
    if found.converged:
        return result
    notice = f"the logistic regression did not converge within {options['iterations']} iterations"
    return result.replace_schema_metadata({"notice": notice})


def _encode(column: pa.ChunkedArray, complete: Mask) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Sequence[str]]:
    """Returns the classes of the complete rows as numbers in the order of their texts, and those texts."""
    encoded = column.filter(pa.array(complete)).combine_chunks().dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[encoded.indices.to_numpy()], encoded.dictionary.take(pa.array(order)).to_pylist()


# ------------------------------------------------------------------------------------------------ neighbours


def gpu_nearest_neighbors(columns: pa.Table, points: pa.Table, width: int, options: Options) -> pa.Table:
    """Returns for each point and rank the places of the point and of its neighbour, and their distance."""
    complete, matrix, _ = _read(columns, width, options)
    complete_points, wanted, _ = _read(points, width, options)
    places, distances = neighbors.nearest_neighbors(matrix, wanted, options["k"], options["metric"])
    count = places.shape[1]
    return pa.table(
        {
            "point": np.repeat(np.flatnonzero(complete_points), count),
            "neighbor": np.flatnonzero(complete)[places.ravel()],
            "rank": np.tile(np.arange(1, count + 1, dtype=np.int32), len(places)),
            "distance": distances.ravel(),
        }
    )
