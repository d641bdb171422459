"""Matrices in statements: columns, COPY in all formats, parameters of clients, privileges, the catalog, cancel."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from gpudb.session.session import Session
from tests.support.session_fixtures import Connect
from tests.support.sessions import run, state, value, wait_until

Connection = psycopg.Connection[tuple[Any, ...]]
TEXTS = ["{{1,2},{3,4}}", None, "float4={{0.1},{NaN}}", "int8={{9223372036854775807}}"]


@pytest.fixture
def client(connect: Connect) -> Iterator[Connection]:
    with connect() as connection:
        connection.execute("CREATE TABLE kept (id int, m matrix)")
        for number, text in enumerate(TEXTS):
            connection.execute("INSERT INTO kept VALUES (%s, %s)", [number, text])
        yield connection
        connection.execute("DROP TABLE kept")


def _texts(client: Connection, table: str = "kept") -> list[str | None]:
    return [row[0] for row in client.execute(f"SELECT m::text FROM {table} ORDER BY id").fetchall()]


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy_keeps_every_element_type(client: Connection, form: str) -> None:
    with client.cursor().copy(f"COPY kept TO STDOUT (FORMAT {form})") as copy:
        content = b"".join(map(bytes, copy))
    client.execute("CREATE TABLE again (id int, m matrix)")
    try:
        with client.cursor().copy(f"COPY again FROM STDIN (FORMAT {form})") as copy:
            copy.write(content)
        assert _texts(client, "again") == TEXTS
    finally:
        client.execute("DROP TABLE again")


def test_parquet_has_texts(client: Connection, tmp_path: Path) -> None:
    path = tmp_path / "matrices.parquet"
    client.execute(f"COPY kept TO '{path}' (FORMAT parquet)")
    assert pq.read_table(path).column("m").to_pylist() == TEXTS


@pytest.mark.parametrize("binary", [False, True])
def test_clients_receive_text_and_binary(client: Connection, binary: bool) -> None:
    cursor = client.cursor(binary=binary)
    found = [row[0] for row in cursor.execute("SELECT m FROM kept ORDER BY id").fetchall()]
    assert cursor.description is not None
    assert cursor.description[0].type_code == 11200
    if not binary:
        assert found == TEXTS
        return
    assert found[0][:12].hex() == "000002bd" + "00000002" * 2  # float8, 2 x 2
    assert found[1] is None
    bound = client.execute("SELECT %b::matrix::text", [_Raw(found[0])]).fetchall()
    assert bound == [(TEXTS[0],)]


class _Raw(bytes):
    """A value in the binary form of matrices."""


class _RawDumper(psycopg.adapt.Dumper):
    format = psycopg.pq.Format.BINARY
    oid = 11200

    def dump(self, obj: bytes) -> bytes:
        return bytes(obj)


psycopg.adapters.register_dumper(_Raw, _RawDumper)


def test_changes_of_rows(session: Session) -> None:
    run(session, "CREATE TABLE grown (id int, m matrix DEFAULT '{{0}}' CHECK (matrix_ncols(m) < 3))")
    run(session, "INSERT INTO grown (id) VALUES (1)")
    run(session, "INSERT INTO grown SELECT 2, array_matrix(i, i * i) FROM generate_series(1, 3) AS i")
    assert state(session, "INSERT INTO grown VALUES (3, '{{1,2,3}}')") == "23514"
    run(session, "UPDATE grown SET m = rbind(m, 5) WHERE id = 2")
    assert value(session, "SELECT m::text FROM grown WHERE id = 2") == "int4={{1,1},{2,4},{3,9},{5,5}}"
    run(session, "DELETE FROM grown WHERE m = '{{0}}'")
    assert value(session, "SELECT count(*) FROM grown") == 1
    assert (
        value(session, "UPDATE grown SET m = m + m WHERE id = 2 RETURNING m::text")
        == "int4={{2,2},{4,8},{6,18},{10,10}}"
    )
    assert state(session, "INSERT INTO grown VALUES (4, ARRAY['a'])") == "42804"
    run(session, "ALTER TABLE grown ADD COLUMN a float8[]")
    assert state(session, "UPDATE grown SET a = m") == "0A000"  # an array of two dimensions
    run(session, "DROP TABLE grown")


def test_expressions_of_every_kind(session: Session) -> None:
    for sql, expected in {
        "SELECT coalesce(NULL, '{{1}}'::matrix)::text": "{{1}}",
        "SELECT (CASE WHEN true THEN '{{1}}'::matrix ELSE '{{2}}' END)::text": "{{1}}",
        "SELECT to_json('int4={{1,2}}'::matrix)": '"int4={{1,2}}"',
        "SELECT (array_agg('{{1}}'::matrix))[1]::text": "{{1}}",
        "SELECT pg_typeof('{{1}}'::matrix)::text": "matrix",
        "SELECT format_type('matrix[]'::regtype, -1)": "matrix[]",
        "SELECT '{{1,2}}'::matrix IN ('{{1}}', '{{1,2}}')": True,
        "SELECT ROW('{{1}}'::matrix, 2)::text": "({{1}},2)",
        "SELECT ('{{1}}'::matrix IS NULL)": False,
        "SELECT matrix_nrows(array_matrix(a ORDER BY a)) FROM (VALUES (1), (1), (2)) AS v(a)": 3,
        "SELECT array_matrix(DISTINCT a ORDER BY a)::text FROM (VALUES (2), (1), (2)) AS v(a)": "int4={{1},{2}}",
    }.items():
        assert value(session, sql) == expected, sql


def test_functions_are_in_the_catalog(session: Session) -> None:
    sql = "SELECT count(*) FROM pg_proc WHERE prorettype = 'matrix'::regtype"
    assert value(session, sql) > 30
    assert run(session, "SELECT typarray::regtype::text FROM pg_type WHERE typname = 'matrix'") == [("matrix[]",)]
    sql = "SELECT count(*) FROM pg_operator WHERE oprleft = 'matrix'::regtype"
    assert value(session, sql) == 6
    run(session, "CREATE VIEW shown AS SELECT '{{1,2}}'::matrix * transpose('{{1,2}}') AS m")
    assert value(session, "SELECT m::text FROM shown") == "{{5}}"
    run(session, "DROP VIEW shown")


def test_columns_need_their_privilege(session: Session) -> None:
    run(session, "CREATE TABLE secret (id int, m matrix); INSERT INTO secret VALUES (1, '{{1}}'); CREATE ROLE reader")
    run(session, "GRANT SELECT (id) ON secret TO reader; SET ROLE reader")
    assert state(session, "SELECT matrix_nrows(m) FROM secret") == "42501"
    assert state(session, "SELECT rbind(m) FROM secret") == "42501"
    run(session, "RESET ROLE; GRANT SELECT ON secret TO reader; SET ROLE reader")
    assert value(session, "SELECT matrix_nrows(m) FROM secret") == 1
    assert state(session, "UPDATE secret SET m = m") == "42501"
    run(session, "RESET ROLE; DROP TABLE secret; DROP ROLE reader")


def test_a_long_product_is_cancelled(client: Connection) -> None:
    """4000 x 4000 products follow each other: the statement ends in one of them."""
    failed: list[psycopg.Error] = []
    started = threading.Event()

    def compute() -> None:
        power = "matrix_fill(4000, 4000, 1e-4)"
        for _ in range(6):
            power = f"({power} * m)"
        started.set()
        try:
            client.execute(f"SELECT matrix_norm({power}) FROM (SELECT matrix_fill(4000, 4000, 1e-4) AS m) AS s")
        except psycopg.Error as error:
            failed.append(error)

    thread = threading.Thread(target=compute)
    thread.start()
    started.wait(60)

    def is_cancelled() -> bool:
        client.cancel_safe(timeout=10)
        return not thread.is_alive()

    wait_until(is_cancelled, "the statement ends")
    assert [error.sqlstate for error in failed] == ["57014"]
