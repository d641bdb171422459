"""Hamming and Jaccard distances of bit strings on every engine, beside NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

ROWS, BITS = 2000, 96
MATRIX = np.random.default_rng(3).integers(0, 2, (ROWS, BITS), dtype=np.uint8)
MATRIX[9] = 0
QUERY = MATRIX[4] ^ (np.arange(BITS) % 17 == 0)
SETUP = f"""
CREATE TABLE prints (id int, b bit({BITS}), w varbit);
CREATE TABLE odd (id int, b varbit);
INSERT INTO odd VALUES (1, B''), (2, B'1'), (3, NULL), (4, B'10');
"""


def digits(row: np.ndarray) -> str:
    return "".join(map(str, row.tolist()))


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    with client_of_engine(request.param, SETUP) as connection:
        with connection.cursor().copy("COPY prints FROM STDIN") as copy:
            for number, row in enumerate(MATRIX):
                copy.write_row((number, digits(row), digits(row[: BITS // 2])))
            copy.write_row((ROWS, None, None))
        yield connection


def hamming(matrix: np.ndarray, query: np.ndarray) -> np.ndarray:
    return np.asarray((matrix ^ query).sum(1, dtype=float))


def jaccard(matrix: np.ndarray, query: np.ndarray) -> np.ndarray:
    both, either = (matrix & query).sum(1, dtype=float), (matrix | query).sum(1, dtype=float)
    return np.where(both == 0, 1.0, 1 - both / np.maximum(either, 1))


@pytest.mark.parametrize(("operator", "expected"), [("<~>", hamming), ("<%>", jaccard)])
def test_distances_are_numpys(client: psycopg.Connection, operator: str, expected: object) -> None:
    assert callable(expected)
    far = expected(MATRIX, QUERY)
    sql = f"SELECT id, b {operator} B'{digits(QUERY)}' FROM prints ORDER BY id"
    rows = client.execute(sql).fetchall()
    assert [value for _, value in rows] == [*far, None]
    nearest = f"SELECT id FROM prints ORDER BY b {operator} '{digits(QUERY)}', id LIMIT 9"
    order = sorted(range(ROWS), key=lambda number: (far[number], number))[:9]
    assert [number for (number,) in client.execute(nearest).fetchall()] == order
    parameter = f"SELECT id FROM prints ORDER BY b {operator.replace(chr(37), chr(37) * 2)} %s::bit({BITS}), id LIMIT 9"
    assert [number for (number,) in client.execute(parameter, (digits(QUERY),)).fetchall()] == order
    pairs = f"SELECT x.b {operator} y.b FROM prints x JOIN prints y ON y.id = x.id + 1 WHERE x.id < 50 ORDER BY x.id"
    made = [float(expected(MATRIX[n : n + 1], MATRIX[n + 1])[0]) for n in range(50)]
    assert [value for (value,) in client.execute(pairs).fetchall()] == made


def test_empty_and_missing_bits(client: psycopg.Connection) -> None:
    sql = "SELECT id, b <~> b, b <%> b, hamming_distance(b, b), jaccard_distance(b, b) FROM odd ORDER BY id"
    assert client.execute(sql).fetchall() == [
        (1, 0, 1, 0, 1), (2, 0, 0, 0, 0), (3, None, None, None, None), (4, 0, 0, 0, 0),
    ]  # fmt: skip
    assert client.execute("SELECT B'' <~> B'', B'' <%> B'', B'0' <%> B'0'").fetchall() == [(0, 1, 1)]


@pytest.mark.parametrize("sql", ["SELECT b <~> w FROM prints", "SELECT B'1' <%> b FROM odd ORDER BY 1"])
def test_lengths_must_agree(client: psycopg.Connection, sql: str) -> None:
    with pytest.raises(psycopg.errors.DataException, match="different bit lengths"):
        client.execute(sql)


def test_similarities_of_fingerprints(client: psycopg.Connection) -> None:
    """PG-Strom's gpu_similarity: of bit strings, of arrays of 32 bits a number, and the mean of the k nearest."""
    far = jaccard(MATRIX, QUERY)
    order = sorted(range(ROWS), key=lambda number: (far[number], number))[:9]
    sql = f"SELECT id FROM prints ORDER BY gpu_similarity(b, B'{digits(QUERY)}') DESC NULLS LAST, id LIMIT 9"
    assert [number for (number,) in client.execute(sql).fetchall()] == order
    words = MATRIX.reshape(ROWS, 3, 32) @ (1 << np.arange(31, -1, -1, dtype=np.int64))
    arrays = [row.astype(np.uint32).view(np.int32).tolist() for row in words[:40]]
    given = (arrays, list(range(40)))
    client.execute("CREATE TABLE IF NOT EXISTS words (id int, w int[])")
    client.execute("DELETE FROM words")
    with client.cursor() as cursor:
        cursor.executemany("INSERT INTO words VALUES (%s, %s)", list(zip(given[1], given[0], strict=True)))
    rows = client.execute("SELECT gpu_similarity(w, %s::int[]) FROM words ORDER BY id", (arrays[7],)).fetchall()
    assert [value for (value,) in rows] == pytest.approx((1 - jaccard(MATRIX[:40], MATRIX[7])).tolist())
    queries = [digits(row) for row in MATRIX[20:26]]
    sql = f"SELECT gpu_similarity(2, b, %s::bit({BITS})[]) FROM prints WHERE id < 12 ORDER BY id"
    similar = np.sort(1 - np.stack([jaccard(MATRIX[:12], row) for row in MATRIX[20:26]]), axis=0)[-2:].mean(0)
    assert [value for (value,) in client.execute(sql, (queries,)).fetchall()] == pytest.approx(similar.tolist())


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("SELECT gpu_similarity(ARRAY[1], ARRAY[1, 2])", "22000"),
        ("SELECT gpu_similarity(ARRAY[1, NULL], ARRAY[1, 2])", "22004"),
        ("SELECT gpu_similarity(0, B'1', ARRAY[B'1'])", "22023"),
        ("SELECT gpu_similarity(B'1', B'11')", "22000"),
    ],
)
def test_similarities_that_are_refused(client: psycopg.Connection, sql: str, sqlstate: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(sql)
    assert caught.value.sqlstate == sqlstate
