"""Regressions of a target (rows) on features (rows, features), with an intercept: least squares, ridge and logistic.

Least squares are solved here, by a QR factorisation in chunks of rows, since standard errors need its factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudb.analytics.backend import load_estimators, quiet
from gpudb.analytics.libraries import load_library
from gpudb.analytics.rows import Floats, Integers, Scaling
from gpudb.errors import SqlError

_CHUNK = 1 << 16
_DEPENDENT = 1e-10
"""What share of a feature's deviation must remain beside the features before it."""


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Coefficients of least squares, each an array (1 + features), the intercept first.

    `errors` are standard errors, `t` the coefficients divided by them, and `p` the probabilities of a |t| so great if
    the coefficient were 0 (Student's t, rows - features - 1 degrees of freedom); NaN without degrees of freedom.
    """

    coefficients: Floats
    errors: Floats
    t: Floats
    p: Floats


def least_squares(matrix: Floats, target: Floats, names: list[str], weights: Floats | None = None) -> LeastSquares:
    """Fits ordinary or weighted least squares; rows of weight 0 do not count.

    22023 for fewer rows than coefficients, for features that depend linearly on those before them (named by `names`),
    and for negative weights.
    """
    stdtr = load_library("scipy.special").stdtr
    if weights is not None:
        if (weights < 0).any():
            raise SqlError.of("invalid_parameter_value", "weights must not be negative")
        used = weights > 0
        matrix, target, weights = matrix[used], target[used], weights[used]
    rows, features = matrix.shape
    if rows <= features:
        message = f"{features + 1} coefficients need so many rows without NULLs or more, and there are {rows}"
        raise SqlError.of("invalid_parameter_value", message)
    total = float(rows if weights is None else weights.sum())
    mean = np.average(matrix, axis=0, weights=weights)
    target_mean = float(np.average(target, weights=weights))
    factor = _factorise(matrix, target, weights, mean, target_mean)
    inner = factor[:features, :features]
    _check_independent(inner, names)
    inverse = np.linalg.inv(inner) if features else inner
    slopes = inverse @ factor[:features, features]
    freedom = rows - features - 1
    residual = float(factor[features, features] ** 2)
    variance = residual / freedom if freedom else np.nan
    through_mean = mean @ inverse
    errors = np.sqrt(variance * np.concatenate(([1 / total + through_mean @ through_mean], (inverse**2).sum(axis=1))))
    coefficients = np.concatenate(([target_mean - mean @ slopes], slopes))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = coefficients / errors
    p = 2 * stdtr(freedom, -np.abs(t)) if freedom else np.full(features + 1, np.nan)
    return LeastSquares(coefficients, errors, t, np.asarray(p, dtype=np.float64))


def _factorise(matrix: Floats, target: Floats, weights: Floats | None, mean: Floats, target_mean: float) -> Floats:
    """Returns the triangular factor of the centred features and target side by side."""
    width = matrix.shape[1] + 1
    factor = np.zeros((width, width))
    for start in range(0, len(matrix), _CHUNK):
        part = slice(start, start + _CHUNK)
        rows = np.column_stack((matrix[part] - mean, target[part] - target_mean))
        if weights is not None:
            rows *= np.sqrt(weights[part])[:, None]
        factor = np.asarray(np.linalg.qr(np.vstack((factor, rows)), mode="r"))
    return factor


def _check_independent(inner: Floats, names: list[str]) -> None:
    """22023 for a feature that is constant or a combination of those before it."""
    deviations = np.sqrt((inner**2).sum(axis=0))
    for place, (left, whole) in enumerate(zip(np.abs(np.diag(inner)), deviations, strict=True)):
        if left <= _DEPENDENT * whole:
            message = f'column "{names[place]}" is constant or depends linearly on the columns before it'
            hint = "Leave it out, or use gpu_ridge."
            raise SqlError.of("invalid_parameter_value", message, hint=hint)


def ridge(matrix: Floats, target: Floats, alpha: float, scaling: Scaling) -> Floats:
    """Returns the coefficients (1 + features) of a ridge regression, the intercept first, in the columns' units.

    The features are penalised as `scaling` scales them. 22023 unless alpha >= 0 and there are rows.
    """
    if not (alpha >= 0 and np.isfinite(alpha)):
        raise SqlError.of("invalid_parameter_value", "alpha must be at least 0 and finite")
    if not len(matrix):
        raise SqlError.of("invalid_parameter_value", "there are no rows without NULLs")
    model = load_estimators().Ridge(alpha=alpha)
    with quiet():
        model.fit(scaling.apply(matrix), target)
    coefficients: Floats = _in_units(model.coef_, model.intercept_, scaling)[0]
    return coefficients


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic regression.

    `coefficients` has a row (1 + features) for each of `classes`, the intercept first: for the second of two classes,
    or each of several. `converged` is whether it ended before its limit of iterations.
    """

    classes: Integers
    coefficients: Floats
    converged: bool


def logistic(matrix: Floats, codes: Integers, c: float, iterations: int, scaling: Scaling) -> Logistic:
    """Fits classes 0, 1, … (rows) by logistic regression with an L2 penalty of 1 / c, in the columns' units.

    22023 for c <= 0, iterations < 1, and fewer than two classes.
    """
    if not (c > 0 and np.isfinite(c)):
        raise SqlError.of("invalid_parameter_value", "c must be greater than 0 and finite")
    if iterations < 1:
        raise SqlError.of("invalid_parameter_value", "iterations must be at least 1")
    classes = np.unique(codes)
    if len(classes) < 2:
        message = f"a logistic regression needs two classes or more, and there are {len(classes)}"
        raise SqlError.of("invalid_parameter_value", message)
    model = load_estimators().LogisticRegression(C=c, max_iter=iterations)
    with quiet():
        model.fit(scaling.apply(matrix), codes)
    fitted = _in_units(model.coef_, model.intercept_, scaling)
    steps = int(np.max(np.asarray(model.n_iter_)))
    return Logistic(classes[len(classes) - len(fitted) :], fitted, steps < iterations)


def _in_units(slopes: Any, intercepts: Any, scaling: Scaling) -> Floats:
    """Returns coefficients over scaled features as those over the columns (models, 1 + features)."""
    slopes = np.atleast_2d(np.asarray(slopes, dtype=np.float64)) / scaling.deviation
    intercepts = np.atleast_1d(np.asarray(intercepts, dtype=np.float64)) - slopes @ scaling.mean
    return np.column_stack((intercepts, slopes))
