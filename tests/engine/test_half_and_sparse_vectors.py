"""Vectors of half precision and sparse ones on every engine, through a client: distances beside NumPy, and all of SQL."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

ROWS, DIMENSIONS = 2000, 24
_DRAWN = np.random.default_rng(11)
MATRIX = _DRAWN.standard_normal((ROWS, DIMENSIONS)).astype(np.float16)
MATRIX[17] = 0
SPARSE = np.where(_DRAWN.random((ROWS, DIMENSIONS)) < 0.3, MATRIX, 0).astype(np.float32)
QUERY = (MATRIX[5] + np.float16(0.25)).astype(np.float16)
SPARSE_QUERY = np.where(np.arange(DIMENSIONS) % 3, 0, QUERY).astype(np.float32)
SETUP = f"""
CREATE TABLE items (id int, kind int, v halfvec({DIMENSIONS}), s sparsevec({DIMENSIONS}));
CREATE TABLE small (id int, v halfvec(3) DEFAULT '[0,0,0]', w halfvec, s sparsevec(4), d vector(3));
INSERT INTO small VALUES (1, '[1,2,3]', '[1]', '{{1:2,3:-1}}/4', '[1,2,3]'),
    (2, ARRAY[4,5,6], '[1,2]', ARRAY[0,0,0.5,1], '[4,5,6.5]'), (3, NULL, NULL, NULL, NULL);
INSERT INTO small (id, s) VALUES (4, '{{}}/4');
CREATE TABLE nothing (id int, v halfvec(3), s sparsevec(3));
"""


def text_of(vector: np.ndarray) -> str:
    return "[" + ",".join(map(str, vector.tolist())) + "]"


def sparse_text(vector: np.ndarray) -> str:
    pairs = ",".join(f"{place + 1}:{number}" for place, number in enumerate(vector.tolist()) if number)
    return f"{{{pairs}}}/{len(vector)}"


def binary_row(number: int) -> bytes:
    """A row of `items` in COPY's binary format."""
    places = np.flatnonzero(SPARSE[number])
    fields = [
        struct.pack(">i", number),
        struct.pack(">i", number % 7),
        struct.pack(f">hh{DIMENSIONS}e", DIMENSIONS, 0, *MATRIX[number]),
        struct.pack(f">iii{len(places)}i{len(places)}f", DIMENSIONS, len(places), 0, *places, *SPARSE[number][places]),
    ]
    return struct.pack(">h", 4) + b"".join(struct.pack(">i", len(field)) + field for field in fields)


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines; half of the items come as text, half as binary rows."""
    with client_of_engine(request.param, SETUP) as connection:
        with connection.cursor().copy("COPY items FROM STDIN") as copy:
            for number in range(ROWS // 2):
                copy.write_row((number, number % 7, text_of(MATRIX[number]), sparse_text(SPARSE[number])))
        with connection.cursor().copy("COPY items FROM STDIN (FORMAT binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            for number in range(ROWS // 2, ROWS):
                copy.write(binary_row(number))
            copy.write(b"\xff\xff")
        connection.execute(f"INSERT INTO items VALUES ({ROWS})")
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


CASES_OF_DISTANCE = {
    "v": (text_of(QUERY), MATRIX, QUERY),
    "s": (sparse_text(SPARSE_QUERY), SPARSE, SPARSE_QUERY),
}


@pytest.mark.parametrize("metric", ["<->", "<#>", "<=>", "<+>"])
@pytest.mark.parametrize("column", CASES_OF_DISTANCE)
def test_distances_are_numpys(client: psycopg.Connection, column: str, metric: str) -> None:
    text, matrix, query = CASES_OF_DISTANCE[column]
    rows = client.execute(f"SELECT id, {column} {metric} '{text}' FROM items ORDER BY id").fetchall()
    assert [number for number, _ in rows] == list(range(ROWS + 1))
    assert rows[-1][1] is None
    wanted = distances(metric, matrix, query)
    np.testing.assert_allclose([found for _, found in rows[:-1]], wanted, rtol=1e-6, atol=1e-9)
    for number, (_, found) in enumerate(rows[:-1]):
        assert (found != found) == (wanted[number] != wanted[number])


@pytest.mark.parametrize("metric", ["<->", "<#>", "<=>", "<+>"])
@pytest.mark.parametrize("column", CASES_OF_DISTANCE)
def test_nearest_rows_are_numpys(client: psycopg.Connection, column: str, metric: str) -> None:
    text, matrix, query = CASES_OF_DISTANCE[column]
    expected = np.argsort(distances(metric, matrix, query), kind="stable")[:10].tolist()
    sql = f"SELECT id FROM items ORDER BY {column} {metric} '{text}', id LIMIT 10"
    assert [number for (number,) in client.execute(sql).fetchall()] == expected
    with psycopg.RawCursor(client) as cursor:
        cursor.execute(f"SELECT id FROM items ORDER BY {column} {metric} $1, id LIMIT $2", (text, 10))
        assert [number for (number,) in cursor.fetchall()] == expected


def test_workers_compute_distances_of_half_precision_themselves(client: psycopg.Connection) -> None:
    for sql in (
        f"SELECT id FROM items WHERE kind > 2 ORDER BY v <-> '{text_of(QUERY)}' LIMIT 5",
        "SELECT max(a.v <#> b.v) FROM items a JOIN items b USING (id)",
    ):
        plan = "\n".join(line for (line,) in client.execute("EXPLAIN " + sql).fetchall())
        assert "On Host" not in plan
        assert "Exchange" in plan or "Engine: cpu" in plan


def test_distances_of_two_columns(client: psycopg.Connection) -> None:
    sql = (
        "SELECT a.id, a.v <-> b.v, a.s <-> b.s FROM items a JOIN items b ON b.id = a.id + 1 WHERE a.id < 100 ORDER BY 1"
    )
    rows = client.execute(sql).fetchall()
    for place, matrix in ((1, MATRIX), (2, SPARSE)):
        expected = np.sqrt(((matrix[:100].astype(float) - matrix[1:101]) ** 2).sum(1))
        np.testing.assert_allclose([row[place] for row in rows], expected, rtol=1e-9)


def test_sums_and_averages(client: psycopg.Connection) -> None:
    rows = client.execute("SELECT kind, sum(v)::real[], avg(v)::real[], count(v) FROM items GROUP BY kind").fetchall()
    assert len(rows) == 8
    for kind, total, mean, count in rows:
        if kind is None:
            assert (total, mean, count) == (None, None, 0)
            continue
        group = MATRIX[kind::7].astype(np.float64)
        assert count == len(group)
        np.testing.assert_allclose(total, group.sum(0), rtol=1e-3, atol=2e-3)
        np.testing.assert_allclose(mean, group.mean(0), rtol=1e-3, atol=1e-5)
    assert client.execute("SELECT sum(v), avg(v), count(v) FROM nothing").fetchall() == [(None, None, 0)]
    assert client.execute("SELECT sum(v), avg(v) FROM small WHERE id < 3").fetchall() == [("[5,7,9]", "[2.5,3.5,4.5]")]
    numbers = "(VALUES ('[60000]'::halfvec), ('[60000]'), ('[-3]')) AS n(v)"
    assert client.execute(f"SELECT avg(v) FROM {numbers}").fetchall() == [("[40000]",)]


CASES = {
    "SELECT id, v, w, s FROM small ORDER BY id": [
        (1, "[1,2,3]", "[1]", "{1:2,3:-1}/4"), (2, "[4,5,6]", "[1,2]", "{3:0.5,4:1}/4"),
        (3, None, None, None), (4, "[0,0,0]", None, "{}/4"),
    ],
    "SELECT id, v + v, v - '[1,1,1]', v * '[2,-1,0]', v || w FROM small WHERE id < 4 ORDER BY id": [
        (1, "[2,4,6]", "[0,1,2]", "[2,-2,0]", "[1,2,3,1]"),
        (2, "[8,10,12]", "[3,4,5]", "[8,-5,0]", "[4,5,6,1,2]"),
        (3, None, None, None, None),
    ],
    "SELECT id FROM small WHERE v > '[0,9,9]' ORDER BY v DESC": [(2,), (1,)],
    "SELECT id FROM small ORDER BY s NULLS FIRST": [(3,), (4,), (2,), (1,)],
    "SELECT id FROM small WHERE s > '{2:-1}/4' AND s <= '{3:0.5,4:1}/4' ORDER BY id": [(2,), (4,)],
    "SELECT id FROM small WHERE v IN ('[1,2,3]', '[0,0,0]') ORDER BY id": [(1,), (4,)],
    "SELECT v, s, count(*) FROM (SELECT v, s FROM small UNION ALL SELECT v, s FROM small) AS t GROUP BY v, s ORDER BY v": [
        ("[0,0,0]", "{}/4", 2), ("[1,2,3]", "{1:2,3:-1}/4", 2), ("[4,5,6]", "{3:0.5,4:1}/4", 2), (None, None, 2),
    ],
    "SELECT DISTINCT w FROM small ORDER BY w NULLS FIRST": [(None,), ("[1]",), ("[1,2]",)],
    "SELECT a.id, b.id FROM small a JOIN small b ON a.v = b.v AND a.s = b.s ORDER BY 1": [(1, 1), (2, 2), (4, 4)],
    "SELECT vector_dims(v), l2_norm(v), l2_normalize(v), subvector(v, 2, 9), binary_quantize(v)::text FROM small"
    " WHERE id IN (1, 4) ORDER BY id": [
        (3, 14**0.5, "[0.26733398,0.53466797,0.8017578]", "[2,3]", "111"), (3, 0.0, "[0,0,0]", "[0,0]", "000"),
    ],
    "SELECT l2_norm(s), l2_normalize(s) FROM small WHERE id IN (1, 4) ORDER BY id": [
        (5**0.5, "{1:0.8944272,3:-0.4472136}/4"), (0.0, "{}/4"),
    ],
    "SELECT v::real[], v::text, v::halfvec(3), v::vector(3), v::sparsevec FROM small WHERE id = 1": [
        ([1.0, 2.0, 3.0], "[1,2,3]", "[1,2,3]", "[1,2,3]", "{1:1,2:2,3:3}/3"),
    ],
    "SELECT s::text, s::vector, s::halfvec(4), s::sparsevec(4), s::vector::real[] FROM small WHERE id = 1": [
        ("{1:2,3:-1}/4", "[2,0,-1,0]", "[2,0,-1,0]", "{1:2,3:-1}/4", [2.0, 0.0, -1.0, 0.0]),
    ],
    "SELECT d::halfvec, d::sparsevec(3), v <-> d, v - d FROM small WHERE id = 2": [
        ("[4,5,6.5]", "{1:4,2:5,3:6.5}/3", 0.5, "[0,0,-0.5]"),
    ],
    "SELECT l2_distance('[1,2,3]'::halfvec, '[4,5,7]'), inner_product('[1,2]'::halfvec, '[3,4]'),"
    " l1_distance('[1]'::halfvec, '[3]'), cosine_distance('[1,0]'::halfvec, '[-1,0]'), '[1,2]'::halfvec <#> '[3,4]'": [
        (34**0.5, 11.0, 2.0, 2.0, -11.0),
    ],
    "SELECT l2_distance('{1:1,2:2,3:3}/3'::sparsevec, '[4,5,7]'::vector), inner_product('{1:1,2:2}/2'::sparsevec, '{2:4}/2'),"
    " l1_distance('{}/1'::sparsevec, '{1:3}/1'), cosine_distance('{1:1}/2'::sparsevec, '{1:-1}/2')": [
        (34**0.5, 8.0, 3.0, 2.0),
    ],
    "SELECT id, CASE WHEN id = 1 THEN v <-> '[1,2,3]' ELSE v <-> '[0,0,0]' END FROM small WHERE id < 3 ORDER BY id": [
        (1, 0.0), (2, 77**0.5),
    ],
    "SELECT array_agg(v ORDER BY id), array_agg(s ORDER BY id) FROM small": [
        ('{"[1,2,3]","[4,5,6]",NULL,"[0,0,0]"}', '{"{1:2,3:-1}/4","{3:0.5,4:1}/4",NULL,"{}/4"}'),
    ],
    "SELECT min(v <-> '[0,0,0]'), max(s <+> '{}/4') FROM small": [(0.0, 3.0)],
    "SELECT id, rank() OVER (ORDER BY v <-> '[0,0,0]') FROM small ORDER BY id": [(1, 2), (2, 3), (3, 4), (4, 1)],
    "SELECT id FROM nothing ORDER BY v <-> '[1,2,3]' LIMIT 5": [],
    "SELECT unnest('{\"[1,2]\", \"[3]\"}'::halfvec[])": [("[1,2]",), ("[3]",)],
    "SELECT format_type('halfvec'::regtype, 3), pg_typeof(v), format_type('sparsevec'::regtype, 9) FROM small LIMIT 1": [
        ("halfvec(3)", "halfvec", "sparsevec(9)"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("sql", CASES)
def test_rows(client: psycopg.Connection, sql: str) -> None:
    rows = client.execute(sql).fetchall()
    assert [tuple(round(c, 12) if isinstance(c, float) else c for c in row) for row in rows] == [
        tuple(round(c, 12) if isinstance(c, float) else c for c in row) for row in CASES[sql]
    ]


ERRORS = {
    "SELECT v <-> '[1,2]' FROM small": ("22000", "different halfvec dimensions 3 and 2"),
    "SELECT v <+> '[1,2]' FROM small": ("22000", "different halfvec dimensions 3 and 2"),
    "SELECT v <-> w FROM small ORDER BY 1": ("22000", "different halfvec dimensions 3 and "),
    "SELECT v + '[1,2]' FROM small": ("22000", "different halfvec dimensions 3 and 2"),
    "SELECT s <-> '{}/3' FROM small": ("22000", "different sparsevec dimensions 4 and 3"),
    "SELECT sum(w) FROM small": ("22000", "different halfvec dimensions "),
    "SELECT avg(w) FROM small": ("22000", "expected "),
    "SELECT v::halfvec(2) FROM small": ("22000", "expected 2 dimensions, not 3"),
    "SELECT v::vector(2) FROM small": ("22000", "expected 2 dimensions, not 3"),
    "SELECT s::sparsevec(2) FROM small": ("22000", "expected 2 dimensions, not 4"),
    "INSERT INTO small VALUES (5, '[1,2]')": ("22000", "expected 3 dimensions, not 2"),
    "INSERT INTO small VALUES (5, ARRAY[1,2])": ("22000", "expected 3 dimensions, not 2"),
    "INSERT INTO small (s) VALUES (ARRAY[1,2])": ("22000", "expected 4 dimensions, not 2"),
    "INSERT INTO small VALUES (5, '[1,NaN,2]')": ("22000", "NaN not allowed in halfvec"),
    "SELECT ARRAY[1,NULL]::halfvec": ("22004", "array must not contain nulls"),
    "SELECT ARRAY[1,NULL]::sparsevec": ("22004", "array must not contain nulls"),
    "SELECT ARRAY[[1,2],[3,4]]::halfvec": ("22000", "array must be 1-D"),
    "SELECT ARRAY[65520]::halfvec": ("22003", '"65520" is out of range for type halfvec'),
    "SELECT ARRAY[id, -1e6]::halfvec FROM small": ("22003", '"-1e+06" is out of range for type halfvec'),
    "SELECT '[7e4]'::vector::halfvec": ("22003", '"70000" is out of range for type halfvec'),
    "SELECT '{1:7e4}/2'::sparsevec::halfvec": ("22003", '"70000" is out of range for type halfvec'),
    "SELECT '{}/16001'::sparsevec::vector": ("54000", "vector cannot have more than 16000 dimensions"),
    "SELECT '{}/16001'::sparsevec::halfvec": ("54000", "halfvec cannot have more than 16000 dimensions"),
    "SELECT sum(n.v) FROM (VALUES ('[6e4]'::halfvec), ('[6e4]')) AS n(v)": ("22003", "value out of range: overflow"),
    "SELECT '[6e4]'::halfvec + '[6e4]'": ("22003", "value out of range: overflow"),
    "SELECT '[6e-5]'::halfvec * '[6e-5]'": ("22003", "value out of range: underflow"),
    "SELECT subvector(v, 4, 1) FROM small": ("22000", "halfvec must have at least 1 dimension"),
    "CREATE TABLE wrong (v halfvec(0))": ("22023", "dimensions for type halfvec must be at least 1"),
    "CREATE TABLE wrong (v halfvec(16001))": ("22023", "dimensions for type halfvec cannot exceed 16000"),
    "CREATE TABLE wrong (v sparsevec(1000000001))": ("22023", "dimensions for type sparsevec cannot exceed 1000000000"),
    "CREATE TABLE wrong (v sparsevec(1, 2))": ("22023", "invalid type modifier"),
    "SELECT v <-> ARRAY[1,2,3] FROM small": ("42883", "operator does not exist: halfvec <-> integer[]"),
    "SELECT s + s FROM small": ("42883", "operator does not exist: sparsevec + sparsevec"),
    "SELECT sum(s) FROM small": ("42883", "function sum(sparsevec) does not exist"),
    "SELECT l2_distance('[1]', '[2]')": ("42725", "function l2_distance(unknown, unknown) is not unique"),
}  # fmt: skip


@pytest.mark.parametrize("sql", ERRORS)
def test_errors(client: psycopg.Connection, sql: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(sql)
    sqlstate, message = ERRORS[sql]
    assert caught.value.sqlstate == sqlstate
    assert caught.value.diag.message_primary is not None
    assert caught.value.diag.message_primary.startswith(message)


def test_copy_writes_both_forms(client: psycopg.Connection) -> None:
    with client.cursor().copy("COPY (SELECT v, s FROM small WHERE id < 4 ORDER BY id) TO STDOUT") as copy:
        written = b"".join(bytes(part) for part in copy)
    assert written == b"[1,2,3]\t{1:2,3:-1}/4\n[4,5,6]\t{3:0.5,4:1}/4\n\\N\t\\N\n"
    with client.cursor().copy("COPY (SELECT v, s FROM small WHERE id = 1) TO STDOUT (FORMAT binary)") as copy:
        written = b"".join(bytes(part) for part in copy)
    assert struct.pack(">hihheeeiiiiiiff", 2, 10, 3, 0, 1, 2, 3, 28, 4, 2, 0, 0, 2, 2, -1) in written
