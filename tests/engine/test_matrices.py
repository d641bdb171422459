"""The type matrix through a client, on every engine: aggregates, columns of tables, linear algebra, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

ROWS = 3_000
SETUP = f"""
CREATE TABLE points AS SELECT i AS id, i % 3 AS site, (i * 37 % 101)::float4 AS x, (i * 53 % 97)::float8 / 7 AS y,
    (i * 11 % 19)::int AS n, CASE WHEN i % 5 > 0 THEN i::float8 END AS gap FROM generate_series(1, {ROWS}) AS i;
CREATE TABLE stored (id int, m matrix);
INSERT INTO stored SELECT site, array_matrix(x, y ORDER BY id) FROM points WHERE id <= 30 GROUP BY site;
INSERT INTO stored VALUES (3, '{{{{2,1}},{{1,3}}}}'), (4, NULL), (5, 'int4={{{{1,2}},{{3,4}}}}');
"""


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines."""
    with client_of_engine(request.param, SETUP) as connection:
        yield connection


def _points() -> dict[str, npt.NDArray[Any]]:
    i = np.arange(1, ROWS + 1)
    return {
        "id": i, "site": i % 3, "x": (i * 37 % 101).astype(np.float32), "y": (i * 53 % 97) / 7, "n": i * 11 % 19,
    }  # fmt: skip


def _value(client: psycopg.Connection, sql: str) -> Any:
    ((found,),) = client.execute(sql).fetchall()
    return found


def test_an_aggregate_gathers_rows_of_groups(client: psycopg.Connection) -> None:
    sql = "SELECT site, array_matrix(x, y, n ORDER BY id)::float8[] FROM points GROUP BY site ORDER BY site"
    points = _points()
    for site, found in client.execute(sql).fetchall():
        chosen = points["site"] == site
        expected = np.column_stack([points[name][chosen] for name in ("x", "y", "n")])
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("columns", "kind"),
    [("x", "float4"), ("x, y", "float8"), ("n", "int4"), ("n::int8, id::int8", "int8"), ("n::smallint", "int4"),
     ("x::numeric", "float8"), ("x, n", "float4"), ("y, n", "float8"), ("n, id::int8", "int8")],
)  # fmt: skip
def test_arguments_give_the_element_type(client: psycopg.Connection, columns: str, kind: str) -> None:
    sql = f"SELECT matrix_type(array_matrix({columns})) || matrix_nrows(array_matrix({columns})) FROM points"
    assert _value(client, sql) == f"{kind}{ROWS}"


def test_aggregates_take_filters_and_no_rows(client: psycopg.Connection) -> None:
    assert _value(client, "SELECT array_matrix(x) FROM points WHERE false") is None
    found = _value(client, "SELECT matrix_nrows(array_matrix(gap, y) FILTER (WHERE gap IS NOT NULL)) FROM points")
    assert found == ROWS * 4 // 5
    with pytest.raises(psycopg.errors.NullValueNotAllowed) as caught:
        client.execute("SELECT array_matrix(gap, y) FROM points")
    assert "FILTER" in str(caught.value.diag.message_hint)


def test_columns_of_tables_hold_matrices(client: psycopg.Connection) -> None:
    found = client.execute("SELECT id, m, matrix_nrows(m), matrix_ncols(m) FROM stored ORDER BY id").fetchall()
    assert [row[0] for row in found] == [0, 1, 2, 3, 4, 5]
    assert [row[2:] for row in found] == [(10, 2), (10, 2), (10, 2), (2, 2), (None, None), (2, 2)]
    assert found[3][1] == "{{2,1},{1,3}}"
    assert found[4][1] is None
    assert found[5][1] == "int4={{1,2},{3,4}}"


def test_the_normal_equations_give_a_regression(client: psycopg.Connection) -> None:
    sql = (
        "WITH d AS (SELECT cbind(1, array_matrix(x::float8, n::float8 ORDER BY id)) AS a,"
        " array_matrix(y ORDER BY id) AS b FROM points)"
        " SELECT matrix_solve(transpose(a) * a, transpose(a) * b)::float8[] FROM d"
    )
    points = _points()
    design = np.column_stack([np.ones(ROWS), points["x"], points["n"]])
    expected = np.linalg.lstsq(design, points["y"].reshape(-1, 1), rcond=None)[0]
    np.testing.assert_allclose(_value(client, sql), expected, rtol=1e-9)


CALLS = {
    "m + m": "{{4,2},{2,6}}",
    "m - m": "{{0,0},{0,0}}",
    "-m": "{{-2,-1},{-1,-3}}",
    "m * m": "{{5,5},{5,10}}",
    "m * 0.5": "{{1,0.5},{0.5,1.5}}",
    "2 * m": "{{4,2},{2,6}}",
    "m * '{1,1}'": "{{3},{4}}",
    "matrix_hadamard(m, m)": "{{4,1},{1,9}}",
    "transpose(cbind(m, 0))": "{{2,1},{1,3},{0,0}}",
    "rbind(m, m)": "{{2,1},{1,3},{2,1},{1,3}}",
    "cbind(m, m)": "{{2,1,2,1},{1,3,1,3}}",
    "rbind(9, m)": "{{9,9},{2,1},{1,3}}",
    "rbind(m, 9)": "{{2,1},{1,3},{9,9}}",
    "cbind(9, m)": "{{9,2,1},{9,1,3}}",
    "matrix_slice(m, 2, 2, 1, 2)": "{{1,3}}",
    "matrix_row(m, 1)": "{{2,1}}",
    "matrix_column(m, 2)": "{{1},{3}}",
    "matrix_row_sums(m)": "{{3},{4}}",
    "matrix_column_sums(m)": "{{3,4}}",
    "matrix_row_means(m)": "{{1.5},{2}}",
    "matrix_column_means(m)": "{{1.5,2}}",
    "matrix_as(m, 'int4')": "int4={{2,1},{1,3}}",
    "matrix_solve(m, m)": "{{1,0},{0,1}}",
    "matrix_identity(2) + matrix_zeros(2, 2) + matrix_fill(2, 2, 3)": "{{4,3},{3,4}}",
    "matrix_identity(1, 'int4')": "int4={{1}}",
    "m::float8[]": "{{2,1},{1,3}}",
    "m::int[]": "{{2,1},{1,3}}",
    "ARRAY[[1,2],[3,4]]::matrix": "int4={{1,2},{3,4}}",
    "ARRAY[1.5,2]::float4[]::matrix": "float4={{1.5},{2}}",
    "matrix_element(m, 2, 2)": "3",
    "matrix_trace(m)": "5",
    "matrix_norm(m, '1')": "4",
    "matrix_norm(m, 'inf')": "4",
    "matrix_norm(m, 'max')": "3",
    "round(matrix_det(m)::numeric, 9)": "5.000000000",
    "array_matrix_height(m) || 'x' || array_matrix_width(m)": "2x2",
    "m = matrix_as(m, 'float4')": "true",
    "m <> m": "false",
    "m = NULL": None,
    "m * NULL::matrix": None,
}


@pytest.mark.parametrize("call", CALLS)
def test_functions_of_a_stored_matrix(client: psycopg.Connection, call: str) -> None:
    assert _value(client, f"SELECT ({call})::text FROM stored WHERE id = 3") == CALLS[call]


def test_aggregates_join_matrices(client: psycopg.Connection) -> None:
    sql = "SELECT {}(m ORDER BY id)::text FROM stored WHERE id > 2"
    assert _value(client, sql.format("rbind")) == "{{2,1},{1,3},{1,2},{3,4}}"
    assert _value(client, sql.format("cbind")) == "{{2,1,1,2},{1,3,3,4}}"
    assert _value(client, sql.format("matrix_sum")) == "{{3,3},{4,7}}"
    assert _value(client, "SELECT rbind(m) FROM stored WHERE id = 4") is None


def test_rows_are_records_or_arrays(client: psycopg.Connection) -> None:
    sql = "SELECT id, a, b FROM stored, matrix_unnest(m) AS r(a real, b int) WHERE id > 2 ORDER BY id, a, b"
    assert client.execute(sql).fetchall() == [(3, 1.0, 3), (3, 2.0, 1), (5, 1.0, 2), (5, 3.0, 4)]
    sql = "SELECT id, r FROM stored, matrix_rows(m) AS r WHERE id > 2 ORDER BY id, r"
    assert client.execute(sql).fetchall() == [(3, [1.0, 3.0]), (3, [2.0, 1.0]), (5, [1.0, 2.0]), (5, [3.0, 4.0])]
    sql = "SELECT sum(a), count(*) FROM (SELECT array_matrix(x, y) AS m FROM points) AS s, matrix_unnest(m) AS r(a float8, b float8)"
    ((total, count),) = client.execute(sql).fetchall()
    assert (total, count) == (float(_points()["x"].sum(dtype=np.float64)), ROWS)


def test_rows_keep_the_digits_of_integers(client: psycopg.Connection) -> None:
    big, least = 2**53 + 1, -(9 * 10**17 + 1)
    client.execute("CREATE TABLE wide (id int, m matrix)")
    client.execute(
        f"INSERT INTO wide VALUES (1, 'int8={{{{{big},{least}}}}}'), (2, '{{{{1.5,2.5}}}}'), (3, NULL),"
        " (4, 'int4={{7,8}}'), (5, 'float4={{0.5,3}}')"
    )
    try:
        for columns, expected in {
            "a numeric, b numeric": [(1, big, least), (2, 1.5, 2.5), (4, 7, 8), (5, 0.5, 3)],
            "a numeric(20,1), b bigint": [(1, big, least), (2, 1.5, 2), (4, 7, 8), (5, 0.5, 3)],
            "a bigint, b float8": [(1, big, float(least)), (2, 2, 2.5), (4, 7, 8), (5, 0, 3)],
            "a bigint, b bigint": [(1, big, least), (2, 2, 2), (4, 7, 8), (5, 0, 3)],
            "a float8, b real": [(1, float(big), float(least)), (2, 1.5, 2.5), (4, 7, 8), (5, 0.5, 3)],
        }.items():
            sql = f"SELECT id, a, b FROM wide, matrix_unnest(m) AS r({columns}) ORDER BY id"
            assert client.execute(sql).fetchall() == expected, columns
        huge = "SELECT a, b FROM matrix_unnest('{{1e300,3}}') AS r(a float8, b bigint)"
        assert client.execute(huge).fetchall() == [(1e300, 3)]
        with pytest.raises(psycopg.errors.NumericValueOutOfRange):
            client.execute("SELECT a FROM matrix_unnest('{{3,1e300}}') AS r(a float8, b bigint)")
    finally:
        client.execute("DROP TABLE wide")


def test_plans_show_constants_as_text(client: psycopg.Connection) -> None:
    plan = "\n".join(row[0] for row in client.execute("EXPLAIN SELECT m * '{{1},{2}}'::matrix FROM stored").fetchall())
    assert "\\x01" not in plan
    assert "Engine: cpu" in plan or "'{{1},{2}}'" in plan


def test_a_large_matrix_is_unnested_from_a_subquery(client: psycopg.Connection) -> None:
    sql = (
        "SELECT count(*), sum(a), max(b) FROM matrix_unnest((SELECT array_matrix(i::float8, i % 7)"
        " FROM generate_series(1, 200000) AS i)) AS r(a float8, b int)"
    )
    assert client.execute(sql).fetchall() == [(200_000, 20_000_100_000.0, 6)]


def test_chunks_of_rows_are_joined_and_multiplied(client: psycopg.Connection) -> None:
    sql = "SELECT id, c::text FROM stored, matrix_chunks(m, 1) AS c WHERE id > 2 ORDER BY id, matrix_element(c, 1, 1)"
    assert client.execute(sql).fetchall() == [
        (3, "{{1,3}}"), (3, "{{2,1}}"), (5, "int4={{1,2}}"), (5, "int4={{3,4}}"),
    ]  # fmt: skip
    chunked = (
        "WITH chunks AS (SELECT id / 700 AS n, array_matrix(x::float8, y ORDER BY id) AS m FROM points GROUP BY 1)"
    )
    points = _points()
    whole = np.column_stack([points["x"].astype(np.float64), points["y"]])
    found = _value(client, f"{chunked} SELECT matrix_sum(transpose(m) * m)::float8[] FROM chunks")
    np.testing.assert_allclose(found, whole.T @ whole, rtol=1e-12)
    found = _value(client, chunked + " SELECT rbind(m * '{{2},{-1}}' ORDER BY n)::float8[] FROM chunks")
    np.testing.assert_allclose(found, whole @ [[2], [-1]], rtol=1e-12)


ERRORS = {
    "matrix_nrows((SELECT c FROM matrix_chunks(m, 0) AS c))": "22023",
    "m + matrix_zeros(3, 3)": "2202E",
    "m * matrix_zeros(3, 3)": "2202E",
    "rbind(m, matrix_zeros(1, 3))": "2202E",
    "matrix_det(matrix_zeros(2, 3))": "2202E",
    "matrix_solve(m, matrix_zeros(3, 1))": "2202E",
    "matrix_element(m, 0, 1)": "2202E",
    "matrix_slice(m, 2, 1, 1, 1)": "2202E",
    "matrix_inverse(matrix_fill(2, 2, 1))": "22023",
    "matrix_solve(matrix_zeros(2, 2), m)": "22023",
    "matrix_norm(m, '3')": "22023",
    "matrix_zeros(0, 1)": "22023",
    "matrix_as(m, 'numeric')": "22023",
    "matrix_zeros(20000, 20000)": "54000",
    "matrix_identity(20000)": "54000",
    "matrix_as(matrix_fill(1, 1, 1e10), 'int4')": "22003",
    "m * 1e308 * 1e308": "22003",
    "ARRAY[]::int[]::matrix": "22023",
    "ARRAY[1, NULL]::matrix": "22004",
    "'{{1},{2,3}}'::matrix": "22P02",
    "m::text[]": "42846",
    "m::numeric": "42846",
    "m + 1": "42883",
    "m < m": "42883",
    "count(DISTINCT m)": "42883",
    "max(m)": "42883",
    "matrix_unnest(m)": "0A000",
}


@pytest.mark.parametrize("call", ERRORS)
def test_errors_have_their_state(client: psycopg.Connection, call: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(f"SELECT {call} FROM stored WHERE id = 3")
    assert caught.value.sqlstate == ERRORS[call], caught.value


def test_rows_without_equality_are_not_grouped(client: psycopg.Connection) -> None:
    for sql in (
        "SELECT DISTINCT m FROM stored", "SELECT m FROM stored GROUP BY m", "SELECT m FROM stored ORDER BY m",
        "SELECT m FROM stored UNION SELECT m FROM stored",
    ):  # fmt: skip
        with pytest.raises(psycopg.errors.UndefinedFunction):
            client.execute(sql)
    sql = "SELECT count(*) FROM stored AS a JOIN stored AS b ON a.m = b.m"
    assert _value(client, sql) == 5


def test_column_definition_lists_are_checked(client: psycopg.Connection) -> None:
    source = "SELECT * FROM stored, matrix_unnest(m) AS r"
    for sql, sqlstate in (
        (source, "42601"), (f"{source}(a text)", "42804"), (f"{source}(a int)", "42804"),
        ("SELECT * FROM matrix_rows('{{1}}') AS r(a int)", "42601"),
    ):  # fmt: skip
        with pytest.raises(psycopg.Error) as caught:
            client.execute(sql)
        assert caught.value.sqlstate == sqlstate, sql
