"""Sparse matrices on every engine, through a client: beside SciPy over random ones, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

scipy_sparse: Any = pytest.importorskip("scipy.sparse")
DRAWN = np.random.default_rng(3)
SHAPES = {1: (7, 5), 2: (5, 7), 3: (7, 5), 4: (1, 1), 5: (40, 30)}
MATRICES = {
    number: np.where(DRAWN.random(shape) < 0.3, DRAWN.integers(-9, 9, shape) + 0.5, 0)
    for number, shape in SHAPES.items()
}
SETUP = """
CREATE TABLE cells (id int, row int, col int, value float8, height int, width int);
CREATE TABLE dense (id int, m matrix);
"""


def text_of(matrix: np.ndarray) -> str:
    return "{" + ",".join("{" + ",".join(map(str, row)) + "}" for row in matrix.tolist()) + "}"


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    with client_of_engine(request.param, SETUP) as connection:
        with connection.cursor().copy("COPY cells FROM STDIN") as copy:
            for number, matrix in MATRICES.items():
                rows, columns = np.nonzero(matrix)
                for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
                    half = matrix[row, column] / 2  # elements in the same place are added
                    for _ in range(2):
                        copy.write_row((number, row + 1, column + 1, half, *matrix.shape))
        for number, matrix in MATRICES.items():
            connection.execute("INSERT INTO dense VALUES (%s, %s::matrix)", (number, text_of(matrix)))
        connection.execute(
            "CREATE TABLE sparse AS SELECT id, matrix_from_triples(row, col, value, height, width) AS m FROM cells"
            " GROUP BY id"
        )
        connection.execute("INSERT INTO sparse VALUES (4, matrix_sparse('{{0}}')), (9, NULL)")
        connection.execute("DELETE FROM sparse WHERE id = 4 AND matrix_nonzero(m) > 0")
        connection.execute("UPDATE dense SET m = '{{0}}' WHERE id = 4")
        yield connection


EXPRESSIONS = [
    "{}", "transpose({})", "-{}", "{} * 2.5", "{} + {}", "{} - {}", "matrix_hadamard({}, {})", "{} * transpose({})",
    "transpose({}) * {}", "rbind({}, {})", "cbind({}, {})", "matrix_row_sums({})", "matrix_column_sums({})",
    "matrix_row_means({})", "matrix_column_means({})", "matrix_slice({}, 1, 1, 1, 1)", "matrix_row({}, 1)",
    "matrix_column({}, 1)", "matrix_as({}, 'int4')", "matrix_as({}, 'float4') * 3", "matrix_as({}, 'int8') - {}",
    "matrix_as({}, 'int8') * transpose(matrix_as({}, 'int4'))", "matrix_dense({})", "matrix_sparse({})",
    "{} * transpose(matrix_dense({}))", "transpose(matrix_dense({})) * {}", "{} + matrix_dense({})",
    "matrix_hadamard(matrix_dense({}), {})", "rbind(matrix_dense({}), {})",
]  # fmt: skip
NUMBERS = [
    "matrix_nrows({})", "matrix_ncols({})", "matrix_type({})", "matrix_norm({})", "matrix_norm({}, '1')",
    "matrix_norm({}, 'inf')", "matrix_norm({}, 'max')", "matrix_element({}, 1, 1)", "{} = matrix_dense({})",
    "matrix_dense({}) = {}", "{} = {} + {}", "matrix_trace({} * transpose({}))", "matrix_nonzero({})",
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_matrices_are_those_of_dense_ones(client: psycopg.Connection, expression: str) -> None:
    """Dense matrices are computed by NumPy, sparse ones by SciPy."""
    sql = f"SELECT id, ({expression.replace('{}', 'm')})::float8[] FROM {{}} WHERE m IS NOT NULL ORDER BY id"
    found, wanted = (client.execute(sql.format(table)).fetchall() for table in ("sparse", "dense"))
    assert [number for number, _ in found] == list(MATRICES)
    for (_, one), (_, other) in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.array(one), np.array(other), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("expression", NUMBERS)
def test_numbers_are_those_of_dense_ones(client: psycopg.Connection, expression: str) -> None:
    sql = f"SELECT id, {expression.replace('{}', 'm')} FROM {{}} WHERE m IS NOT NULL ORDER BY id"
    found, wanted = (client.execute(sql.format(table)).fetchall() for table in ("sparse", "dense"))
    for (_, one), (_, other) in zip(found, wanted, strict=True):
        assert one == (pytest.approx(other) if isinstance(other, float) else other)


def test_triples_come_back(client: psycopg.Connection) -> None:
    sql = "SELECT id, t.row, t.column, t.value FROM sparse, matrix_triples(m) AS t WHERE id <> 4 ORDER BY 1, 2, 3"
    wanted = []
    for number, matrix in MATRICES.items():
        held = scipy_sparse.coo_array(matrix)
        places = zip(held.coords[0].tolist(), held.coords[1].tolist(), held.data.tolist(), strict=True)
        wanted += [(number, row + 1, column + 1, value) for row, column, value in places if number != 4]
    assert client.execute(sql).fetchall() == sorted(wanted)
    of_dense = client.execute(sql.replace("sparse", "dense")).fetchall()
    assert of_dense == sorted(wanted)


def test_rows_and_aggregates(client: psycopg.Connection) -> None:
    rows = client.execute(
        "SELECT t.a, t.e FROM sparse, matrix_unnest(m) AS t(a float8, b int, c int, d int, e float8) WHERE id = 1"
    )
    assert sorted(rows.fetchall()) == sorted((row[0], row[4]) for row in MATRICES[1].tolist())
    ((count,),) = client.execute("SELECT count(*) FROM sparse, matrix_rows(m)").fetchall()
    assert count == sum(rows for rows, _ in SHAPES.values())
    sql = "SELECT matrix_sum(m)::float8[], rbind(m ORDER BY id)::float8[], bool_and(matrix_is_sparse(m)) FROM sparse WHERE id IN (1, 3, 9)"
    ((total, below, are_sparse),) = client.execute(sql).fetchall()
    np.testing.assert_allclose(total, MATRICES[1] + MATRICES[3])
    np.testing.assert_allclose(below, np.vstack([MATRICES[1], MATRICES[3]]))
    assert are_sparse
    ((nothing,),) = client.execute("SELECT matrix_from_triples(row, col, value) FROM cells WHERE id < 0").fetchall()
    assert nothing is None
    sql = "SELECT matrix_is_sparse(m * m), matrix_is_sparse(m + m), matrix_is_sparse(m * matrix_dense(m)) FROM sparse WHERE id = 4"
    assert client.execute(sql).fetchall() == [(True, True, False)]


def test_text_and_binary_forms_come_back(client: psycopg.Connection) -> None:
    assert client.execute("SELECT m::text FROM sparse WHERE id = 4").fetchall() == [("sparse(1,1)={}",)]
    assert client.execute("SELECT bool_and(m::text::matrix = m) FROM sparse").fetchall() == [(True,)]
    client.execute("CREATE TABLE again (id int, m matrix)")
    try:
        for form in ("text", "binary", "csv"):
            with client.cursor().copy(f"COPY sparse TO STDOUT (FORMAT {form})") as copy:
                written = b"".join(bytes(part) for part in copy)
            with client.cursor().copy(f"COPY again FROM STDIN (FORMAT {form})") as copy:
                copy.write(written)
        sql = "SELECT count(*), bool_and(a.m = s.m), bool_and(matrix_is_sparse(a.m)) FROM again a JOIN sparse s USING (id)"
        assert client.execute(sql).fetchall() == [(18, True, True)]
    finally:
        client.execute("DROP TABLE again")


ERRORS = {
    "SELECT matrix_solve(m, m) FROM sparse": "0A000",
    "SELECT matrix_inverse(m) FROM sparse": "0A000",
    "SELECT matrix_det(m) FROM sparse": "0A000",
    "SELECT matrix_norm(m, '2') FROM sparse": "0A000",
    "SELECT rbind(1, m) FROM sparse": "0A000",
    "SELECT m * 'Infinity'::float8 FROM sparse": "0A000",
    "SELECT m * '{{NaN},{0},{0},{0},{0}}' FROM sparse WHERE id = 1": "0A000",
    "SELECT matrix_norm(m, 'none') FROM sparse": "22023",
    "SELECT m * m FROM sparse WHERE id = 1": "2202E",
    "SELECT m + transpose(m) FROM sparse WHERE id = 1": "2202E",
    "SELECT matrix_trace(m) FROM sparse WHERE id = 1": "2202E",
    "SELECT matrix_row(m, 8) FROM sparse WHERE id = 1": "2202E",
    "SELECT rbind(m) FROM sparse WHERE id < 3": "2202E",
    "SELECT matrix_from_triples(row, col, value, 2, 2) FROM cells WHERE id = 5": "2202E",
    "SELECT matrix_from_triples(row - 1, col, value) FROM cells": "2202E",
    "SELECT matrix_from_triples(row, col, nullif(value, value)) FROM cells": "22004",
    "SELECT matrix_from_triples(row, col, value, row + 9, 90) FROM cells": "22023",
    "SELECT matrix_from_triples(1, 1, 9223372036854775807) FROM cells": "22003",
    "SELECT matrix_from_triples(1, 1, 2147483647) FROM cells": "22003",
    "SELECT 'int8 sparse(1,1)={1,1:9223372036854775807}'::matrix * '{{2}}'::int8[]::matrix": "22003",
    "SELECT matrix_dense(matrix_from_triples(1, 2147483647, 1.0::float8)) FROM cells": "54000",
    "SELECT matrix_from_triples(2147483647, 1, 1.0::float8) FROM cells": "54000",
    "SELECT 'sparse(2,2)={1,1:1;1,1:2}'::matrix": "22P02",
    "SELECT 'sparse(2,2)={1,1}'::matrix": "22P02",
    "SELECT 'sparse(0,2)={}'::matrix": "22023",
    "SELECT 'sparse(2,2)={1,3:1}'::matrix": "2202E",
    "SELECT 'float4 sparse(2,2)={1,1:1e99}'::matrix": "22003",
    "SELECT DISTINCT m FROM sparse": "42883",
}


@pytest.mark.parametrize("sql", ERRORS)
def test_errors(client: psycopg.Connection, sql: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(sql)
    assert caught.value.sqlstate == ERRORS[sql]
