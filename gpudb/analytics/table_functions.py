"""What child processes serve for functions in FROM: Arrow columns and options in, Arrow columns out.

The columns of a call are its features as float8, and after them what else the function reads (weights, a target).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.analytics import clustering
from gpudb.analytics.rows import Floats, Mask, Scaling, find_complete, measure, spread, to_matrix

Options = Mapping[str, Any]


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
    weights = to_matrix(columns.select([width]), complete)[:, 0] if columns.num_columns > width else None
    found = clustering.kmeans(
        scaling.apply(matrix), options["k"], iterations=options["iterations"], seed=options["seed"], weights=weights
    )
    return found, complete, scaling


def _read(columns: pa.Table, width: int, options: Options) -> tuple[Mask, Floats, Scaling]:
    """Returns which rows are complete, the features of those, and their scaling."""
    complete = find_complete(columns)
    matrix = to_matrix(columns.select(range(width)), complete)
    return complete, matrix, measure(matrix, scale=options.get("scale", False))
