"""Components, regressions and neighbours of NumPy arrays beside NumPy, SciPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn import decomposition as reference
from sklearn import linear_model
from sklearn.neighbors import NearestNeighbors

from gpudb.analytics import decomposition, neighbors, regression
from gpudb.analytics.rows import measure
from gpudb.errors import SqlError

RANDOM = np.random.default_rng(0)
MATRIX = RANDOM.normal(size=(300, 4)) @ RANDOM.normal(size=(4, 4)) + [0, 5, -100, 1e6]
TARGET = MATRIX @ [1.0, -2.0, 0.5, 3.0] + 7 + RANDOM.normal(size=300)
NAMES = ["a", "b", "c", "d"]


@pytest.mark.parametrize("count", [1, 3, 4])
def test_pca(count: int) -> None:
    found = decomposition.pca(MATRIX, count)
    model = reference.PCA(count, svd_solver="full").fit(MATRIX)
    np.testing.assert_allclose(found.axes, model.components_, rtol=1e-6)
    np.testing.assert_allclose(found.variances, model.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(found.ratios, model.explained_variance_ratio_, rtol=1e-6)
    np.testing.assert_allclose(found.scores, model.transform(MATRIX), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found.axes @ found.axes.T, np.eye(count), atol=1e-9)


def test_pca_of_rows_that_are_all_alike() -> None:
    found = decomposition.pca(np.ones((5, 2)), 1)
    assert found.variances.tolist() == [0]
    assert found.ratios.tolist() == [0]


def test_least_squares_by_the_textbook() -> None:
    found = regression.least_squares(MATRIX, TARGET, NAMES)
    design = np.column_stack((np.ones(len(MATRIX)), MATRIX - MATRIX.mean(axis=0)))
    inverse = np.linalg.inv(design.T @ design)
    slopes = (inverse @ design.T @ TARGET)[1:]
    residuals = TARGET - TARGET.mean() - design[:, 1:] @ slopes
    variance = residuals @ residuals / (len(MATRIX) - 5)
    move = np.eye(5)
    move[0, 1:] = -MATRIX.mean(axis=0)  # the intercept of features that are not centred
    errors = np.sqrt(variance * np.diag(move @ inverse @ move.T))
    np.testing.assert_allclose(found.coefficients[1:], slopes, rtol=1e-7)
    model = linear_model.LinearRegression().fit(MATRIX, TARGET)
    np.testing.assert_allclose(found.coefficients, [model.intercept_, *model.coef_], rtol=1e-6)
    np.testing.assert_allclose(found.errors, errors, rtol=1e-6)
    np.testing.assert_allclose(found.t, found.coefficients / errors, rtol=1e-6)
    np.testing.assert_allclose(found.p, 2 * stats.t.sf(np.abs(found.t), len(MATRIX) - 5), rtol=1e-6, atol=1e-300)


def test_one_feature_as_scipy_has_it() -> None:
    x, y = np.arange(20.0), np.sin(np.arange(20.0))
    found, expected = regression.least_squares(x[:, None], y, ["x"]), stats.linregress(x, y)
    np.testing.assert_allclose(found.coefficients, [expected.intercept, expected.slope])
    np.testing.assert_allclose(found.errors, [expected.intercept_stderr, expected.stderr])
    assert found.p[1] == pytest.approx(expected.pvalue)


def test_chunks_of_rows_are_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = regression.least_squares(MATRIX, TARGET, NAMES)
    monkeypatch.setattr(regression, "_CHUNK", 7)
    parts = regression.least_squares(MATRIX, TARGET, NAMES)
    np.testing.assert_allclose(parts.coefficients, whole.coefficients, rtol=1e-8)
    np.testing.assert_allclose(parts.errors, whole.errors, rtol=1e-8)


def test_weights() -> None:
    weights = RANDOM.integers(0, 4, len(MATRIX)).astype(float)
    found = regression.least_squares(MATRIX, TARGET, NAMES, weights)
    model = linear_model.LinearRegression().fit(MATRIX, TARGET, sample_weight=weights)
    np.testing.assert_allclose(found.coefficients, [model.intercept_, *model.coef_], rtol=1e-5)
    kept = weights > 0
    again = regression.least_squares(MATRIX[kept], TARGET[kept], NAMES, weights[kept] * 10)
    np.testing.assert_allclose(again.errors, found.errors, rtol=1e-8)


def test_as_many_rows_as_coefficients_have_no_errors() -> None:
    found = regression.least_squares(np.array([[1.0], [2.0]]), np.array([3.0, 5.0]), ["x"])
    np.testing.assert_allclose(found.coefficients, [1, 2])
    assert np.isnan([found.errors, found.t, found.p]).all()


@pytest.mark.parametrize("alpha", [0.0, 1.5, 1e4])
@pytest.mark.parametrize("scale", [False, True])
def test_ridge(alpha: float, scale: bool) -> None:
    scaling = measure(MATRIX, scale=scale)
    found = regression.ridge(MATRIX, TARGET, alpha, scaling)
    scaled = scaling.apply(MATRIX)
    centred = scaled - scaled.mean(axis=0)
    slopes = np.linalg.solve(centred.T @ centred + alpha * np.eye(4), centred.T @ (TARGET - TARGET.mean()))
    slopes /= scaling.deviation
    np.testing.assert_allclose(found[1:], slopes, rtol=1e-5)
    np.testing.assert_allclose(found[0], TARGET.mean() - MATRIX.mean(axis=0) @ slopes, rtol=1e-5)


@pytest.mark.parametrize("count", [2, 3])
def test_logistic(count: int) -> None:
    matrix = MATRIX[:, :2]
    codes = np.digitize(matrix[:, 0] + RANDOM.normal(size=300), np.linspace(-1, 1, count + 1)[1:-1])
    scaling = measure(matrix, scale=True)
    found = regression.logistic(matrix, codes, 0.5, 1000, scaling)
    model = linear_model.LogisticRegression(C=0.5, max_iter=1000).fit(scaling.apply(matrix), codes)
    slopes = model.coef_ / scaling.deviation
    np.testing.assert_allclose(found.coefficients[:, 1:], slopes, rtol=1e-6)
    np.testing.assert_allclose(found.coefficients[:, 0], model.intercept_ - slopes @ scaling.mean, rtol=1e-6)
    assert found.classes.tolist() == ([1] if count == 2 else [0, 1, 2])
    assert found.converged
    assert not regression.logistic(matrix, codes, 0.5, 1, scaling).converged


@pytest.mark.parametrize("metric", neighbors.METRICS)
def test_nearest_neighbors(metric: str) -> None:
    matrix, points = RANDOM.random((200, 3)), RANDOM.random((20, 3))
    places, distances = neighbors.nearest_neighbors(matrix, points, 5, metric)
    if metric == "cosine":
        norms = np.linalg.norm(points, axis=1)[:, None] * np.linalg.norm(matrix, axis=1)
        every = 1 - points @ matrix.T / norms
    else:
        order = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}[metric]
        every = np.linalg.norm(points[:, None] - matrix, ord=order, axis=2)
    np.testing.assert_allclose(distances, np.sort(every, axis=1)[:, :5], atol=1e-9)
    np.testing.assert_array_equal(places, np.argsort(every, axis=1)[:, :5])
    model = NearestNeighbors(n_neighbors=5, metric=metric).fit(matrix)
    np.testing.assert_array_equal(places, model.kneighbors(points)[1])


ONES, TWO = np.ones((6, 2)), np.arange(12.0).reshape(6, 2)
REFUSED = {
    "no component": lambda: decomposition.pca(MATRIX, 0),
    "more components than features": lambda: decomposition.pca(MATRIX, 5),
    "more components than rows": lambda: decomposition.pca(MATRIX[:2], 3),
    "one row": lambda: decomposition.pca(MATRIX[:1], 1),
    "fewer rows than coefficients": lambda: regression.least_squares(MATRIX[:4], TARGET[:4], NAMES),
    "a constant feature": lambda: regression.least_squares(ONES, np.arange(6.0), ["x", "y"]),
    "features that depend": lambda: regression.least_squares(TWO, np.arange(6.0), ["x", "y"]),
    "negative weights": lambda: regression.least_squares(MATRIX, TARGET, NAMES, -np.ones(300)),
    "all weights zero": lambda: regression.least_squares(MATRIX, TARGET, NAMES, np.zeros(300)),
    "a negative alpha": lambda: regression.ridge(MATRIX, TARGET, -1.0, measure(MATRIX, scale=False)),
    "no rows": lambda: regression.ridge(MATRIX[:0], TARGET[:0], 1.0, measure(MATRIX[:0], scale=True)),
    "c of 0": lambda: regression.logistic(TWO, np.arange(6) % 2, 0.0, 9, measure(TWO, scale=False)),
    "no iteration": lambda: regression.logistic(TWO, np.arange(6) % 2, 1.0, 0, measure(TWO, scale=False)),
    "one class": lambda: regression.logistic(TWO, np.zeros(6, int), 1.0, 9, measure(TWO, scale=False)),
    "no neighbour": lambda: neighbors.nearest_neighbors(TWO, TWO, 0),
    "more neighbours than rows": lambda: neighbors.nearest_neighbors(TWO, TWO, 7),
    "another metric": lambda: neighbors.nearest_neighbors(TWO, TWO, 1, "taxicab"),
    "no direction": lambda: neighbors.nearest_neighbors(TWO, 0 * TWO, 1, "cosine"),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_arguments_out_of_range(call: object) -> None:
    with pytest.raises(SqlError) as caught:
        call()  # type: ignore[operator]
    assert caught.value.sqlstate == "22023"
