"""Vectors on every engine, through a client: distances beside NumPy, operators, aggregates, columns, COPY and errors."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

ROWS, DIMENSIONS = 3000, 24
MATRIX = np.random.default_rng(7).standard_normal((ROWS, DIMENSIONS)).astype(np.float32)
MATRIX[17] = 0
QUERY = MATRIX[5] + np.float32(0.25)
SETUP = f"""
CREATE TABLE items (id int, kind int, v vector({DIMENSIONS}));
CREATE TABLE kinds (kind int, name text);
INSERT INTO kinds SELECT i, 'kind ' || i FROM generate_series(0, 6) AS i;
CREATE TABLE small (id int, v vector(3) DEFAULT '[0,0,0]', w vector);
INSERT INTO small VALUES (1, '[1,2,3]', '[1]'), (2, ARRAY[4,5,6], '[1,2]'), (3, NULL, NULL);
INSERT INTO small (id) VALUES (4);
CREATE TABLE nothing (id int, v vector(3));
"""


def text_of(vector: np.ndarray) -> str:
    return "[" + ",".join(map(str, vector.tolist())) + "]"


def binary_row(number: int, vector: np.ndarray | None) -> bytes:
    """A row of `items` in COPY's binary format."""
    fields = [struct.pack(">i", number), struct.pack(">i", number % 7)]
    if vector is not None:
        fields.append(struct.pack(f">hh{len(vector)}f", len(vector), 0, *vector))
    packed = b"".join(struct.pack(">i", len(field)) + field for field in fields)
    return struct.pack(">h", 3) + packed + (b"\xff\xff\xff\xff" if vector is None else b"")


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines; half of the items come as text, half as binary rows."""
    with client_of_engine(request.param, SETUP) as connection:
        with connection.cursor().copy("COPY items FROM STDIN") as copy:
            for number in range(ROWS // 2):
                copy.write_row((number, number % 7, text_of(MATRIX[number])))
        with connection.cursor().copy("COPY items FROM STDIN (FORMAT binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for number in range(ROWS // 2, ROWS):
                copy.write(binary_row(number, MATRIX[number]))
            copy.write(binary_row(ROWS, None) + b"\xff\xff")
        yield connection


def distances(metric: str, matrix: np.ndarray, query: np.ndarray) -> np.ndarray:
    """The distances of a matrix's rows to a vector, in double precision."""
    rows, one = matrix.astype(np.float64), query.astype(np.float64)
    if metric == "<->":
        return np.asarray(np.sqrt(((rows - one) ** 2).sum(1)))
    if metric == "<#>":
        return np.asarray(-(rows @ one))
    if metric == "<+>":
        return np.asarray(np.abs(rows - one).sum(1))
    with np.errstate(invalid="ignore"):
        return np.asarray(1 - (rows @ one) / np.sqrt((rows * rows).sum(1) * (one @ one)))


@pytest.mark.parametrize("metric", ["<->", "<#>", "<=>", "<+>"])
def test_distances_are_numpys(client: psycopg.Connection, metric: str) -> None:
    rows = client.execute(f"SELECT id, v {metric} %s::vector FROM items ORDER BY id", (text_of(QUERY),)).fetchall()
    assert [number for number, _ in rows] == list(range(ROWS + 1))
    assert rows[-1][1] is None
    precision = 1e-6 if metric == "<+>" else 1e-9  # differences of one number are of single precision there
    np.testing.assert_allclose([found for _, found in rows[:-1]], distances(metric, MATRIX, QUERY), rtol=precision)


@pytest.mark.parametrize("metric", ["<->", "<#>", "<=>", "<+>"])
def test_nearest_rows_are_numpys(client: psycopg.Connection, metric: str) -> None:
    """NaN, of a vector of zeros, sorts above every number; NULL after it."""
    sql = f"SELECT id FROM items ORDER BY v {metric} '{text_of(QUERY)}' LIMIT 10"
    expected = np.argsort(distances(metric, MATRIX, QUERY))[:10]
    assert [number for (number,) in client.execute(sql).fetchall()] == expected.tolist()
    sql = f"SELECT id FROM items ORDER BY v {metric} $1 LIMIT $2"
    with psycopg.RawCursor(client) as cursor:
        assert [number for (number,) in cursor.execute(sql, (text_of(QUERY), 10)).fetchall()] == expected.tolist()


def test_nearest_rows_of_a_filtered_join(client: psycopg.Connection) -> None:
    sql = (
        f"SELECT id, name, v <-> '{text_of(QUERY)}' AS far FROM items JOIN kinds USING (kind)"
        f" WHERE name <> 'kind 3' AND v <-> '{text_of(QUERY)}' > 3 ORDER BY far LIMIT 7"
    )
    found = client.execute(sql).fetchall()
    far = distances("<->", MATRIX, QUERY)
    order = [n for n in np.argsort(far) if n % 7 != 3 and far[n] > 3][:7]
    assert [(number, name) for number, name, _ in found] == [(n, f"kind {n % 7}") for n in order]
    np.testing.assert_allclose([value for *_, value in found], far[order], rtol=1e-9)


def test_distances_of_two_columns(client: psycopg.Connection) -> None:
    sql = "SELECT a.id, a.v <-> b.v FROM items a JOIN items b ON b.id = a.id + 1 WHERE a.id < 100 ORDER BY 1"
    rows = client.execute(sql).fetchall()
    expected = np.sqrt(((MATRIX[:100].astype(float) - MATRIX[1:101]) ** 2).sum(1))
    np.testing.assert_allclose([value for _, value in rows], expected, rtol=1e-9)


def test_sums_and_averages(client: psycopg.Connection) -> None:
    rows = client.execute("SELECT kind, sum(v)::real[], avg(v)::real[], count(v) FROM items GROUP BY kind").fetchall()
    assert len(rows) == 7
    for kind, total, mean, count in rows:
        group = MATRIX[kind::7]
        assert count == len(group)
        np.testing.assert_allclose(total, group.astype(np.float64).sum(0), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(mean, group.astype(np.float64).mean(0), rtol=1e-5, atol=1e-6)
    assert client.execute("SELECT sum(v), avg(v), count(v) FROM nothing").fetchall() == [(None, None, 0)]
    assert client.execute("SELECT sum(v), avg(v) FROM small WHERE id < 3").fetchall() == [("[5,7,9]", "[2.5,3.5,4.5]")]
    numbers = "(VALUES ('[3e38]'::vector), ('[3e38]'), ('[-3e38]'), ('[-3e38]'), ('[5]')) AS n(v)"
    assert client.execute(f"SELECT avg(v) FROM {numbers}").fetchall() == [("[1]",)]
    many = "generate_series(1, 64) AS i, LATERAL (SELECT ARRAY[CASE WHEN i % 3 = 0 THEN '-2e38' ELSE '1e38'::real END]::vector AS v)"
    ((total,),) = client.execute(f"SELECT sum(v)::real[] FROM {many} AS s").fetchall()
    assert total == pytest.approx([1e38])
    assert client.execute("SELECT avg(v) FROM small WHERE id = 1").fetchall() == [("[1,2,3]",)]
    assert client.execute("SELECT avg(v) FROM small WHERE v IS NULL").fetchall() == [(None,)]


CASES = {
    "SELECT id, v, w FROM small ORDER BY id": [
        (1, "[1,2,3]", "[1]"), (2, "[4,5,6]", "[1,2]"), (3, None, None), (4, "[0,0,0]", None),
    ],
    "SELECT id, v + v, v - '[1,1,1]', v * '[2,-1,0]', v || w FROM small WHERE id < 4 ORDER BY id": [
        (1, "[2,4,6]", "[0,1,2]", "[2,-2,0]", "[1,2,3,1]"),
        (2, "[8,10,12]", "[3,4,5]", "[8,-5,0]", "[4,5,6,1,2]"),
        (3, None, None, None, None),
    ],
    "SELECT id FROM small WHERE v > '[0,9,9]' ORDER BY v DESC": [(2,), (1,)],
    "SELECT id FROM small WHERE v IN ('[1,2,3]', '[0,0,0]') ORDER BY id": [(1,), (4,)],
    "SELECT v, count(*) FROM (SELECT v FROM small UNION ALL SELECT v FROM small) AS s GROUP BY v ORDER BY v": [
        ("[0,0,0]", 2), ("[1,2,3]", 2), ("[4,5,6]", 2), (None, 2),
    ],
    "SELECT DISTINCT w FROM small ORDER BY w NULLS FIRST": [(None,), ("[1]",), ("[1,2]",)],
    "SELECT a.id, b.id FROM small a JOIN small b ON a.v = b.v ORDER BY 1": [(1, 1), (2, 2), (4, 4)],
    "SELECT vector_dims(v), vector_norm(v), l2_normalize(v), subvector(v, 2, 9), binary_quantize(v)::text FROM small"
    " WHERE id IN (1, 4) ORDER BY id": [
        (3, 14**0.5, "[0.26726124,0.5345225,0.80178374]", "[2,3]", "111"), (3, 0.0, "[0,0,0]", "[0,0]", "000"),
    ],
    "SELECT v::real[], v::text, v::vector(3) FROM small WHERE id = 1": [([1.0, 2.0, 3.0], "[1,2,3]", "[1,2,3]")],
    "SELECT l2_distance('[1,2,3]'::vector, '[4,5,7]'), inner_product('[1,2]', '[3,4]'::vector),"
    " l1_distance('[1]'::vector, '[3]'), cosine_distance('[1,0]'::vector, '[-1,0]'), '[1,2]'::vector <#> '[3,4]'": [(34**0.5, 11.0, 2.0, 2.0, -11.0)],
    "SELECT id, CASE WHEN id = 1 THEN v <-> '[1,2,3]' ELSE v <-> '[0,0,0]' END FROM small WHERE id < 3 ORDER BY id": [
        (1, 0.0), (2, 77**0.5),
    ],
    "SELECT array_agg(v ORDER BY id) FROM small": [('{"[1,2,3]","[4,5,6]",NULL,"[0,0,0]"}',)],
    "SELECT max(id), min(v <-> '[0,0,0]') FROM small WHERE v IS NOT NULL": [(4, 0.0)],
    "SELECT id, v <-> (SELECT v FROM small WHERE id = 1) FROM small ORDER BY 2, 1 LIMIT 2": [(1, 0.0), (4, 14**0.5)],
    "SELECT id, rank() OVER (ORDER BY v <-> '[0,0,0]') FROM small ORDER BY id": [(1, 2), (2, 3), (3, 4), (4, 1)],
    "SELECT id FROM nothing ORDER BY v <-> '[1,2,3]' LIMIT 5": [],
    "SELECT unnest('{\"[1,2]\", \"[3]\"}'::vector[])": [("[1,2]",), ("[3]",)],
    "SELECT format_type('vector'::regtype, 3), pg_typeof(v) FROM small LIMIT 1": [("vector(3)", "vector")],
}  # fmt: skip


@pytest.mark.parametrize("sql", CASES)
def test_rows(client: psycopg.Connection, sql: str) -> None:
    rows = client.execute(sql).fetchall()
    assert [tuple(round(c, 12) if isinstance(c, float) else c for c in row) for row in rows] == [
        tuple(round(c, 12) if isinstance(c, float) else c for c in row) for row in CASES[sql]
    ]


ERRORS = {
    "SELECT v <-> '[1,2]' FROM small": ("22000", "different vector dimensions 3 and 2"),
    "SELECT v <+> '[1,2]' FROM small": ("22000", "different vector dimensions 3 and 2"),
    "SELECT v <-> w FROM small ORDER BY 1": ("22000", "different vector dimensions 3 and "),
    "SELECT v + '[1,2]' FROM small": ("22000", "different vector dimensions 3 and 2"),
    "SELECT sum(w) FROM small": ("22000", "different vector dimensions "),
    "SELECT avg(w) FROM small": ("22000", "expected "),
    "SELECT v::vector(2) FROM small": ("22000", "expected 2 dimensions, not 3"),
    "INSERT INTO small VALUES (5, '[1,2]')": ("22000", "expected 3 dimensions, not 2"),
    "INSERT INTO small VALUES (5, ARRAY[1,2])": ("22000", "expected 3 dimensions, not 2"),
    "INSERT INTO small VALUES (5, '[1,NaN,2]')": ("22000", "NaN not allowed in vector"),
    "SELECT ARRAY[1,NULL]::vector": ("22004", "array must not contain nulls"),
    "SELECT ARRAY[[1,2],[3,4]]::vector": ("22000", "array must be 1-D"),
    "SELECT ARRAY[[1,2],[3,4]]::real[]::vector(2)": ("22000", "array must be 1-D"),
    "SELECT ARRAY[[1.5,id]]::vector FROM small": ("22000", "array must be 1-D"),
    "SELECT sum(n.v) FROM (VALUES ('[3e38]'::vector), ('[3e38]')) AS n(v)": ("22003", "value out of range: overflow"),
    "SELECT '{1e39}'::float8[]::vector": ("22000", "infinite value not allowed in vector"),
    "SELECT '[3e38]'::vector + '[3e38]'": ("22003", "value out of range: overflow"),
    "SELECT '[1e-37]'::vector * '[1e-37]'": ("22003", "value out of range: underflow"),
    "SELECT subvector(v, 4, 1) FROM small": ("22000", "vector must have at least 1 dimension"),
    "CREATE TABLE wrong (v vector(0))": ("22023", "dimensions for type vector must be at least 1"),
    "CREATE TABLE wrong (v vector(16001))": ("22023", "dimensions for type vector cannot exceed 16000"),
    "CREATE TABLE wrong (v vector(1, 2))": ("22023", "invalid type modifier"),
    "SELECT v <-> ARRAY[1,2,3] FROM small": ("42883", "operator does not exist: vector <-> integer[]"),
}


@pytest.mark.parametrize("sql", ERRORS)
def test_errors(client: psycopg.Connection, sql: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(sql)
    sqlstate, message = ERRORS[sql]
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_primary is not None
    assert caught.value.diag.message_primary.startswith(message)


def test_copy_writes_both_forms(client: psycopg.Connection) -> None:
    with client.cursor().copy("COPY (SELECT v FROM small WHERE id < 4 ORDER BY id) TO STDOUT") as copy:
        assert b"".join(bytes(part) for part in copy) == b"[1,2,3]\n[4,5,6]\n\\N\n"
    with client.cursor().copy("COPY (SELECT v FROM small WHERE id = 1) TO STDOUT (FORMAT binary)") as copy:
        assert struct.pack(">hihhfff", 1, 16, 3, 0, 1, 2, 3) in b"".join(bytes(part) for part in copy)
    with client.cursor().copy("COPY (SELECT v FROM small WHERE id = 1) TO STDOUT (FORMAT csv)") as copy:
        assert b"".join(bytes(part) for part in copy) == b'"[1,2,3]"\n'


def test_an_extension_gives_the_names_a_schema(client: psycopg.Connection) -> None:
    client.execute("CREATE SCHEMA ext; CREATE EXTENSION vector WITH SCHEMA ext")
    try:
        sql = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        assert client.execute(sql).fetchall() == [("0.8.0",)]
        sql = "SELECT ext.l2_distance('[1]'::ext.vector(1), '[3]'), '[1]'::ext.vector OPERATOR(ext.<->) '[2]'"
        assert client.execute(sql).fetchall() == [(2.0, 1.0)]
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            client.execute("DROP EXTENSION vector")
    finally:
        client.execute("DELETE FROM small WHERE id > 4")
    with pytest.raises(psycopg.errors.DuplicateObject):
        client.execute("CREATE EXTENSION vector")


def test_workers_compute_distances_themselves(client: psycopg.Connection) -> None:
    for sql in (
        f"SELECT id FROM items WHERE kind > 2 ORDER BY v <-> '{text_of(QUERY)}' LIMIT 5",
        f"SELECT id FROM items WHERE v <=> '{text_of(QUERY)}' < 0.5 ORDER BY v <+> '{text_of(MATRIX[3])}' LIMIT 5",
        "SELECT max(a.v <#> b.v) FROM items a JOIN items b USING (id)",
    ):
        plan = "\n".join(line for (line,) in client.execute("EXPLAIN " + sql).fetchall())
        assert "On Host" not in plan
        assert "Exchange" in plan or "Engine: cpu" in plan
