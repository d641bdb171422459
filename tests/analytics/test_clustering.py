"""Clusters of NumPy arrays beside scikit-learn's, in any order of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import cluster
from sklearn.metrics import adjusted_rand_score

from gpudb.analytics import backend, clustering, libraries, rows
from gpudb.errors import SqlError


def make_blobs(count: int, k: int, width: int = 2, seed: int = 0) -> np.ndarray:
    """Rows around k centres that are far apart."""
    random = np.random.default_rng(seed)
    centers = random.permutation(k)[:, None] * 100.0 + random.random((k, width))
    return centers[random.integers(0, k, count)] + random.normal(size=(count, width))


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("width", [1, 4])
def test_kmeans_finds_what_scikit_learn_finds(k: int, width: int) -> None:
    matrix = make_blobs(500, k, width)
    found = clustering.kmeans(matrix, k, seed=3)
    model = cluster.KMeans(k, n_init=10, random_state=0).fit(matrix)
    assert adjusted_rand_score(found.labels, model.labels_) == 1
    assert found.inertia == pytest.approx(model.inertia_)
    by_hand = [matrix[found.labels == each].mean(axis=0) for each in range(k)]
    np.testing.assert_allclose(found.centers, by_hand)
    np.testing.assert_array_equal(found.sizes, np.bincount(found.labels))
    np.testing.assert_allclose(found.distances, np.linalg.norm(matrix - found.centers[found.labels], axis=1))


def test_kmeans_takes_the_steps_of_scikit_learn() -> None:
    matrix = np.random.default_rng(1).random((400, 3))
    ordered = matrix[np.lexsort(matrix.T[::-1])]
    centers, _ = cluster.kmeans_plusplus(ordered, 6, random_state=5)
    model = cluster.KMeans(6, init=centers, n_init=1).fit(matrix)
    found = clustering.kmeans(matrix, 6, seed=5)
    np.testing.assert_array_equal(found.labels, model.labels_)
    np.testing.assert_allclose(found.centers, model.cluster_centers_)
    assert found.iterations == model.n_iter_
    assert clustering.kmeans(matrix, 6, seed=5, iterations=1).iterations == 1


def test_weights_count_as_repeated_rows() -> None:
    matrix = np.random.default_rng(2).random((60, 2)).round(2)
    weights = np.random.default_rng(3).integers(0, 4, 60).astype(float)
    found = clustering.kmeans(matrix, 4, weights=weights)
    repeated = np.repeat(matrix, weights.astype(int), axis=0)
    labels = np.repeat(found.labels, weights.astype(int))
    for each in range(4):
        np.testing.assert_allclose(found.centers[each], repeated[labels == each].mean(axis=0))
    assert found.inertia == pytest.approx(float(np.square(repeated - found.centers[labels]).sum()))


@given(
    matrix=arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=st.integers(-5, 5)),
    k=st.integers(1, 30),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=50, deadline=None)
def test_any_rows_in_any_order(matrix: np.ndarray, k: int, seed: int) -> None:
    if k > len(matrix):
        with pytest.raises(SqlError) as caught:
            clustering.kmeans(matrix, k, seed=seed)
        assert caught.value.sqlstate == "22023"
        return
    found = clustering.kmeans(matrix, k, seed=seed)
    assert found.labels.min() >= 0
    assert found.labels.max() < k
    assert found.sizes.sum() == len(matrix)
    order = np.random.default_rng(seed).permutation(len(matrix))
    again = clustering.kmeans(matrix[order], k, seed=seed)
    np.testing.assert_allclose(again.inertia, found.inertia, atol=1e-9)
    distances = np.linalg.norm(matrix[:, None] - found.centers, axis=2)
    np.testing.assert_allclose(found.distances, distances.min(axis=1), atol=1e-9)


def test_first_centres_come_from_a_sample_of_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clustering, "_DRAWN", 200)
    matrix = make_blobs(5000, 5)
    found = clustering.kmeans(matrix, 5)
    order = np.random.default_rng(0).permutation(len(matrix))
    np.testing.assert_array_equal(clustering.kmeans(matrix[order], 5).labels, found.labels[order])
    model = cluster.KMeans(5, n_init=10, random_state=0).fit(matrix)
    assert adjusted_rand_score(found.labels, model.labels_) == 1


def test_a_sample_has_rows_as_often_as_they_occur() -> None:
    matrix = np.repeat([[1.0, 0.0], [2.0, -0.0], [3.0, 7.0]], [6000, 3000, 1000], axis=0)
    sample = rows.sample_rows(matrix, 100)
    np.testing.assert_allclose([np.mean(sample[:, 0] == each) for each in (1, 2, 3)], [0.6, 0.3, 0.1], atol=0.011)
    assert len(sample) == 100
    np.testing.assert_array_equal(rows.sample_rows(matrix[:50], 100), matrix[:50])


def test_dbscan_finds_what_scikit_learn_finds() -> None:
    random = np.random.default_rng(4)
    matrix = np.vstack((make_blobs(300, 3), random.random((10, 2)) * 1000 + 500))
    found = clustering.dbscan(matrix, 2.0, 4)
    expected = cluster.DBSCAN(eps=2.0, min_samples=4).fit_predict(matrix)
    assert adjusted_rand_score(found, expected) == 1
    np.testing.assert_array_equal(found == clustering.NOISE, expected == -1)
    order = random.permutation(len(matrix))
    np.testing.assert_array_equal(clustering.dbscan(matrix[order], 2.0, 4), found[order])
    assert clustering.dbscan(np.empty((0, 2)), 1.0).tolist() == []


@pytest.mark.parametrize(
    "call",
    [
        lambda m: clustering.kmeans(m, 0),
        lambda m: clustering.kmeans(m, 11),
        lambda m: clustering.kmeans(m, 2, iterations=0),
        lambda m: clustering.kmeans(m, 2, seed=-1),
        lambda m: clustering.kmeans(m, 2, seed=1 << 32),
        lambda m: clustering.kmeans(m, 2, weights=np.full(10, -1.0)),
        lambda m: clustering.kmeans(m, 2, weights=np.zeros(10)),
        lambda m: clustering.dbscan(m, 0.0),
        lambda m: clustering.dbscan(m, float("nan")),
        lambda m: clustering.dbscan(m, float("inf")),
        lambda m: clustering.dbscan(m, 1.0, 0),
    ],
)
def test_arguments_out_of_range(call: object) -> None:
    with pytest.raises(SqlError) as caught:
        call(np.arange(10.0)[:, None])  # type: ignore[operator]
    assert caught.value.sqlstate == "22023"


def test_scaling() -> None:
    matrix = np.column_stack((np.arange(5.0), np.full(5, 0.1), np.arange(5.0) * 1e6 + 3))
    scaling = rows.measure(matrix, scale=True)
    scaled = scaling.apply(matrix)
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), [1, 0, 1], atol=1e-12)
    np.testing.assert_allclose(scaling.undo(scaled), matrix)
    np.testing.assert_array_equal(rows.measure(matrix, scale=False).apply(matrix), matrix)


def test_without_a_library_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError(f"no {name}")

    monkeypatch.setattr(libraries, "import_module", refuse)
    backend.load_estimators.cache_clear()
    with pytest.raises(SqlError) as caught:
        clustering.dbscan(np.ones((3, 1)), 1.0)
    assert (caught.value.sqlstate, caught.value.hint) == ("0A000", "Install gpudb-sql[analytics].")
