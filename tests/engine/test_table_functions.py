"""Functions in FROM over queries on every engine: the answers are scikit-learn's on the same rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from sklearn import cluster

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
