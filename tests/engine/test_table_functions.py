"""Functions in FROM over queries on every engine: the answers are scikit-learn's on the same rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from scipy import stats
from sklearn import cluster, decomposition, linear_model
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from tests.support.lab import ENGINES, client_of_engine

SETUP = """
CREATE TABLE rides AS SELECT i AS id, (i % 3 * 10 + sin(i))::float8 AS x, (i % 3 * 4 + cos(i))::numeric(9, 5) AS y,
    (i % 7)::int2 AS day, i % 2 = 0 AS paid, 'ride ' || i AS name,
    CASE WHEN i % 11 > 0 THEN (i % 5)::float4 END AS tip FROM generate_series(1, 600) AS i;
"""


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines."""
    with client_of_engine(request.param, SETUP) as connection:
        yield connection


def fetch(client: psycopg.Connection, sql: str) -> list[tuple]:
    return client.execute(sql).fetchall()  # type: ignore[call-overload]


def read_matrix(client: psycopg.Connection, columns: str, condition: str = "true") -> np.ndarray:
    """Rows of numbers, in order of id."""
    names = ", ".join(f"{each}::float8" for each in columns.split())
    return np.array(fetch(client, f"SELECT {names} FROM rides WHERE {condition} ORDER BY id"), dtype=float)


def cluster_by_hand(matrix: np.ndarray, k: int, seed: int = 0) -> cluster.KMeans:
    """The steps of gpu_kmeans, by scikit-learn."""
    ordered = matrix[np.lexsort(matrix.T[::-1])]
    centers, _ = cluster.kmeans_plusplus(ordered, k, random_state=seed)
    return cluster.KMeans(k, init=centers, n_init=1).fit(matrix)


@pytest.mark.parametrize("seed", [0, 7])
def test_kmeans(client: psycopg.Connection, seed: int) -> None:
    matrix = read_matrix(client, "x y day paid::int")
    model = cluster_by_hand(matrix, 4, seed)
    call = f"gpu_kmeans('SELECT * FROM rides', k => 4, columns => '{{x,y,day,paid}}', seed => {seed})"
    found = fetch(client, f"SELECT cluster, distance, name FROM {call} ORDER BY id")
    assert [each[0] for each in found] == model.labels_.tolist()
    distances = np.linalg.norm(matrix - model.cluster_centers_[model.labels_], axis=1)
    np.testing.assert_allclose([each[1] for each in found], distances, rtol=1e-9)
    assert found[41][2] == "ride 42"
    counted = fetch(client, f"SELECT cluster, count(*) FROM {call} GROUP BY cluster ORDER BY cluster")
    assert counted == list(enumerate(np.bincount(model.labels_).tolist()))


def test_kmeans_centers(client: psycopg.Connection) -> None:
    model = cluster_by_hand(read_matrix(client, "x y"), 3)
    found = fetch(client, "SELECT * FROM gpu_kmeans_centers('rides', 3, '{x,y}') ORDER BY cluster")
    assert [each[:2] for each in found] == list(enumerate(np.bincount(model.labels_).tolist()))
    np.testing.assert_allclose([each[2:] for each in found], model.cluster_centers_, rtol=1e-9)


def test_rows_with_nulls_are_left_out(client: psycopg.Connection) -> None:
    model = cluster_by_hand(read_matrix(client, "x tip", "tip IS NOT NULL"), 2)
    call = "gpu_kmeans('rides', 2, '{x,tip}')"
    found = fetch(client, f"SELECT cluster FROM {call} WHERE tip IS NOT NULL ORDER BY id")
    assert [each[0] for each in found] == model.labels_.tolist()
    assert fetch(client, f"SELECT DISTINCT cluster, distance FROM {call} WHERE tip IS NULL") == [(None, None)]


def test_scaling_and_weights(client: psycopg.Connection) -> None:
    matrix = read_matrix(client, "x y day")
    scaled = StandardScaler().fit_transform(matrix)
    model = cluster_by_hand(scaled, 3)
    call = "'SELECT x, y, day FROM rides', 3, scale => true"
    found = fetch(client, f"SELECT * FROM gpu_kmeans_centers({call}) ORDER BY cluster")
    centers = model.cluster_centers_ * matrix.std(axis=0) + matrix.mean(axis=0)
    np.testing.assert_allclose([each[2:] for each in found], centers, rtol=1e-9, atol=1e-9)
    ((inertia,),) = fetch(client, f"SELECT inertia FROM gpu_kmeans_metrics({call})")
    assert inertia == pytest.approx(model.inertia_)
    weighted = fetch(client, "SELECT x, y FROM gpu_kmeans_centers('rides', 1, '{x,y}', weights => 'day')")
    np.testing.assert_allclose(weighted, [np.average(matrix[:, :2], axis=0, weights=matrix[:, 2])], rtol=1e-9)


def test_dbscan(client: psycopg.Connection) -> None:
    query = "SELECT id, CASE WHEN id % 40 = 0 THEN id * 10.0 ELSE x END AS x, y FROM rides"
    matrix = np.array(fetch(client, f"SELECT x, y::float8 FROM ({query}) r ORDER BY id"), dtype=float)
    expected = cluster.DBSCAN(eps=1, min_samples=3).fit_predict(matrix)
    call = f"gpu_dbscan($${query}$$, eps => 1, min_samples => 3, columns => '{{x,y}}')"
    found = [each for (each,) in fetch(client, f"SELECT cluster FROM {call} ORDER BY id")]
    assert [each is None for each in found] == (expected == -1).tolist()
    assert 0 < sum(expected == -1) < len(expected)
    pairs = {(one, int(other)) for one, other in zip(found, expected, strict=True) if one is not None}
    assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs}) > 1


def test_pca(client: psycopg.Connection) -> None:
    matrix = read_matrix(client, "x y day")
    model = decomposition.PCA(2).fit(matrix)
    call = "'rides', 2, '{x,y,day}'"
    found = fetch(client, f"SELECT pc1, pc2 FROM gpu_pca({call}) ORDER BY id")
    np.testing.assert_allclose(found, model.transform(matrix), rtol=1e-6, atol=1e-9)
    expected = [
        (place + 1, model.explained_variance_[place], model.explained_variance_ratio_[place], *model.components_[place])
        for place in range(2)
    ]
    components = fetch(client, f"SELECT * FROM gpu_pca_components({call}) ORDER BY component")
    np.testing.assert_allclose(components, expected, rtol=1e-6)


def test_linear_regression(client: psycopg.Connection) -> None:
    matrix = read_matrix(client, "x y")
    expected = stats.linregress(matrix[:, 0], matrix[:, 1])
    found = fetch(client, "SELECT * FROM gpu_linear_regression('rides', 'y', '{x}')")
    assert [each[0] for each in found] == ["intercept", "x"]
    np.testing.assert_allclose(found[0][1:3], [expected.intercept, expected.intercept_stderr])
    np.testing.assert_allclose(found[1][1:], [expected.slope, expected.stderr, expected.slope / expected.stderr, 0])
    matrix = read_matrix(client, "id day paid::int tip y", "tip IS NOT NULL")
    model = linear_model.LinearRegression().fit(matrix[:, :4], matrix[:, 4], sample_weight=matrix[:, 1])
    call = "'SELECT id, day, paid, tip, y FROM rides', target => 'y', columns => '{id,day,paid,tip}', weights => 'day'"
    found = fetch(client, f"SELECT coefficient FROM gpu_linear_regression({call})")
    np.testing.assert_allclose([each for (each,) in found], [model.intercept_, *model.coef_], rtol=1e-6)


def test_ridge(client: psycopg.Connection) -> None:
    matrix = read_matrix(client, "x day y")
    model = linear_model.Ridge(alpha=10).fit(matrix[:, :2], matrix[:, 2])
    found = fetch(client, "SELECT * FROM gpu_ridge('rides', 'y', alpha => 10, columns => '{x,day}')")
    assert [each[0] for each in found] == ["intercept", "x", "day"]
    np.testing.assert_allclose([each[1] for each in found], [model.intercept_, *model.coef_], rtol=1e-9)


def test_logistic_regression(client: psycopg.Connection) -> None:
    matrix = read_matrix(client, "x y day paid::int")
    model = linear_model.LogisticRegression(C=0.3, max_iter=1000).fit(matrix[:, :3], matrix[:, 3])
    found = fetch(client, "SELECT * FROM gpu_logistic_regression('rides', 'paid', 0.3, '{x,y,day}')")
    assert [each[:2] for each in found] == [("true", name) for name in ("intercept", "x", "y", "day")]
    np.testing.assert_allclose([each[2] for each in found], [*model.intercept_, *model.coef_[0]], rtol=1e-4, atol=1e-6)
    query = "'SELECT x, y, CASE WHEN id % 3 > 0 THEN ''zone '' || id % 3 END AS zone FROM rides'"
    found = fetch(client, f"SELECT DISTINCT class FROM gpu_logistic_regression({query}, 'zone')")
    assert found == [("zone 2",)]


def test_nearest_neighbors(client: psycopg.Connection) -> None:
    matrix = read_matrix(client, "x y")
    model = NearestNeighbors(n_neighbors=4).fit(matrix)
    distances, places = model.kneighbors(matrix[:5])
    call = "'SELECT name, x, y FROM rides', 'SELECT id, y, x FROM rides WHERE id <= 5', 4"
    found = fetch(client, f"SELECT * FROM gpu_nearest_neighbors({call}) ORDER BY point, rank")
    assert [each[0] for each in found] == np.repeat([1, 2, 3, 4, 5], 4).tolist()
    np.testing.assert_allclose([each[3] for each in found], distances.ravel(), atol=1e-9)
    names = fetch(client, "SELECT name FROM rides ORDER BY id")
    assert {each[:2] for each in found} == {
        (point + 1, names[place][0]) for point in range(5) for place in places[point]
    }
    with_nulls = "'SELECT id, x, tip FROM rides', 'SELECT id, x, tip FROM rides WHERE id IN (11, 12)', 1"
    assert fetch(client, f"SELECT point, neighbor FROM gpu_nearest_neighbors({with_nulls})") == [(12, 12)]


def test_kmeans_of_a_matrix_in_the_form_of_pg_strom(client: psycopg.Connection) -> None:
    """Its first column are identities; the answer is that of the function over a query."""
    matrix = read_matrix(client, "x y day")
    wanted = cluster_by_hand(matrix, 4, 3).labels_.tolist()
    of_rows = "(SELECT gpu_kmeans(array_matrix(id, x, y, day), 4, 300, 3) FROM rides)"
    sql = f"SELECT r.k FROM matrix_unnest({of_rows}) AS r(id int, k int) ORDER BY r.id"
    assert [number for (number,) in fetch(client, sql)] == wanted
    sql = f"SELECT k, count(*) FROM matrix_unnest({of_rows}) AS r(id int, k int) GROUP BY k ORDER BY k"
    assert fetch(client, sql) == list(enumerate(np.bincount(wanted).tolist()))
    assert fetch(client, "SELECT gpu_kmeans('{{7,1},{9,1}}'::matrix, 1)::text") == [("int8={{7,0},{9,0}}",)]
    assert fetch(client, "SELECT gpu_kmeans(NULL::matrix, 1), gpu_kmeans('{{7,1}}'::matrix, NULL)") == [(None, None)]
    assert fetch(client, "SELECT * FROM gpu_kmeans('{{7,1}}'::matrix, 1)") == [("int8={{7,0}}",)]


WRONG_MATRICES = {
    "gpu_kmeans('{{1},{2}}'::matrix, 1)": "22023",
    "gpu_kmeans('{{1.5,2}}'::matrix, 1)": "22023",
    "gpu_kmeans('{{1,NaN}}'::matrix, 1)": "22023",
    "gpu_kmeans('{{Infinity,1}}'::matrix, 1)": "22023",
    "gpu_kmeans('{{1,2}}'::matrix, 2)": "22023",
    "gpu_kmeans('{{1,2}}'::matrix, 0)": "22023",
    "gpu_kmeans('{{1,2}}'::matrix, 1, 0)": "22023",
    "gpu_kmeans('{{1,2}}'::matrix, 1, 1, -1)": "22023",
    "gpu_kmeans('SELECT 1', 1)": "0A000",
}


@pytest.mark.parametrize("call", WRONG_MATRICES)
def test_matrices_without_clusters(client: psycopg.Connection, call: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(f"SELECT {call}")
    assert caught.value.sqlstate == WRONG_MATRICES[call]
