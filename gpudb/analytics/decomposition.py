"""Principal components of a matrix (rows, features)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudb.analytics.backend import load_estimators, quiet
from gpudb.analytics.rows import Floats
from gpudb.errors import SqlError


@dataclass(frozen=True, slots=True)
class Components:
    """Principal components, the one of the greatest variance first.

    `axes` (components, features) are unit vectors, each with its greatest entry positive; `scores` (rows, components)
    are the rows' coordinates along them, from the mean; `variances` and `ratios` (components) are the variance of the
    scores, by n - 1, and its share in that of all features.
    """

    axes: Floats
    scores: Floats
    variances: Floats
    ratios: Floats


def pca(matrix: Floats, components: int) -> Components:
    """Finds principal components; 22023 unless 1 <= components <= min(rows, features), and for fewer than two rows."""
    rows, features = matrix.shape
    if rows < 2:
        message = f"principal components need two rows or more without NULLs, and there are {rows}"
        raise SqlError.of("invalid_parameter_value", message)
    if not 1 <= components <= min(rows, features):
        message = "components must be between 1 and the number of features, and of rows"
        detail = f"components is {components}, and there are {features} features and {rows} rows without NULLs."
        raise SqlError.of("invalid_parameter_value", message, detail=detail)
    model = load_estimators().PCA(n_components=components, random_state=0)
    centred = matrix - matrix.mean(axis=0)  # the libraries' covariances lose digits to great means
    with quiet():
        model.fit(centred)
    axes = np.asarray(model.components_, dtype=np.float64)
    greatest = np.abs(axes).argmax(axis=1)
    axes = axes * np.where(axes[np.arange(components), greatest] < 0, -1.0, 1.0)[:, None]
    scores = centred @ axes.T
    variances = scores.var(axis=0, ddof=1)
    total = centred.var(axis=0, ddof=1).sum()
    ratios = variances / total if total > 0 else np.zeros(components)
    return Components(axes, scores, variances, ratios)
