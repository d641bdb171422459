"""COPY TO writes PostgreSQL's bytes in every format; COPY FROM reads PostgreSQL's binary data."""

from __future__ import annotations

import struct

import psycopg
import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.results import CopyOut
from tests.support.copy_outcomes import on_gpudb, on_oracle, run
from tests.support.oracle.server import Oracle

SETUP = """CREATE TABLE t (
    a int, b text, c numeric(10,2), d double precision, e date, f timestamp, g boolean, h varchar(20), i bytea,
    j int[], k timestamptz, l interval, m uuid, n char(4), o smallint, p bigint, q real, r numeric, s json, u jsonb,
    v time, w text[], x numeric(30,12)
)"""
ROWS = [
    "INSERT INTO t VALUES (1, 'x', 1.50, 1.5, '2020-02-29', '2020-02-29 04:05:06.5', true, 'h', '\\x00ff',"
    " '{1,NULL,3}', '2020-02-29 04:05:06+02', '1 mon 2 days 03:04:05', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',"
    " 'ab', -1, 9000000000, 1.25, 12.340, '{\"a\" : 1}', '{\"b\":1, \"a\":2}', '04:05:06', '{\"a b\",NULL,\"\"}',"
    " -12345678901234.5)",
    "INSERT INTO t (a) VALUES (2)",
    "INSERT INTO t (a, b, h, w, d, c, x) VALUES (3, E'tab\\t\"quote\",\\nline\\r\\\\ ''', '', '{}', 'NaN', -0.01, 0)",
    "INSERT INTO t (a, b, h, d, e, f, k) VALUES (4, '\\N', '\\.', '-Infinity', 'infinity', '-infinity',"
    " '0044-03-15 10:00:00 BC')",
    "INSERT INTO t (a, b, h) VALUES (5, 'grün 🚕', 'a;b|c,d')",
    "INSERT INTO t (a, b, h, c) VALUES (6, E'\\b\\f\\x0b\\x01', ' lead', 99999999.99)",
]

STATEMENTS = [
    "COPY t TO STDOUT",
    "COPY t (b, a) TO STDOUT",
    "COPY t TO STDOUT (HEADER)",
    "COPY t TO STDOUT (DELIMITER '|', NULL 'nil')",
    "COPY t TO STDOUT (DELIMITER '-')",
    "COPY t TO STDOUT (FORMAT csv)",
    "COPY t TO STDOUT WITH CSV HEADER QUOTE '''' FORCE QUOTE b, a",
    "COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE *)",
    "COPY t TO STDOUT (FORMAT csv, DELIMITER ';', NULL 'h', ESCAPE '\\')",
    "COPY t (b) TO STDOUT (FORMAT csv)",
    "COPY t (h) TO STDOUT (FORMAT csv)",
    "COPY t (h, b) TO STDOUT (FORMAT csv, DELIMITER ' ')",
    "COPY t TO STDOUT (FORMAT binary)",
    "COPY t (c) TO STDOUT (FORMAT binary)",
    "COPY (SELECT a, b FROM t WHERE a < 3 ORDER BY a) TO STDOUT",
    'COPY (SELECT 1 AS "x y", \'a,b\' AS "q""q") TO STDOUT (FORMAT csv, HEADER)',
    "COPY (SELECT 1 WHERE false) TO STDOUT (FORMAT binary)",
    "COPY (VALUES (1, NULL), (2, 'x')) TO STDOUT",
    "COPY (DELETE FROM t WHERE a = 2 RETURNING a, b) TO STDOUT",
    "COPY (SELECT 1 / 2.0, 1.5::float8, DATE '2020-01-01', true) TO STDOUT (FORMAT binary)",
    "COPY (SELECT 'é' AS a) TO STDOUT (ENCODING 'LATIN1')",
]

FAILING = [
    "COPY t (z) TO STDOUT",
    "COPY t (a, a) TO STDOUT",
    "COPY nowhere TO STDOUT",
    "COPY v TO STDOUT",
    "COPY t TO STDOUT (FORMAT csv, FORCE_QUOTE (z))",
    "COPY t (a) TO STDOUT (FORMAT csv, FORCE_QUOTE (b))",
    "COPY t TO STDOUT (FORMAT xml)",
    "COPY t TO STDOUT (FORMAT csv, FORMAT csv)",
    "COPY t TO STDOUT (FOO 1)",
    "COPY t FROM STDIN (DELIMITER 'ab')",
    "COPY t FROM STDIN (DELIMITER 'a')",
    "COPY t FROM STDIN (DELIMITER E'\\n')",
    "COPY t FROM STDIN (DELIMITER)",
    "COPY t FROM STDIN (NULL E'\\n')",
    "COPY t FROM STDIN (FORMAT csv, NULL ',')",
    "COPY t FROM STDIN (FORMAT csv, NULL '\"')",
    "COPY t FROM STDIN (HEADER maybe)",
    "COPY t FROM STDIN (HEADER 5)",
    "COPY t TO STDOUT (HEADER match)",
    "COPY t FROM STDIN (QUOTE 'x')",
    "COPY t FROM STDIN (ESCAPE 'x')",
    "COPY t FROM STDIN (FORMAT csv, QUOTE 'ab')",
    "COPY t FROM STDIN (FORMAT csv, ESCAPE 'ab')",
    "COPY t FROM STDIN (FORMAT csv, DELIMITER '\"')",
    "COPY t FROM STDIN (FORCE_QUOTE (b))",
    "COPY t FROM STDIN (FORMAT csv, FORCE_QUOTE (b))",
    "COPY t TO STDOUT (FORMAT csv, FORCE_NULL (b))",
    "COPY t FROM STDIN (FORCE_NOT_NULL (b))",
    "COPY t FROM STDIN (FORCE_NULL b)",
    "COPY t FROM STDIN (FORMAT csv, FORCE_NULL (z))",
    "COPY t FROM STDIN (FORMAT binary, DELIMITER ',')",
    "COPY t FROM STDIN (FORMAT binary, NULL 'x')",
    "COPY t FROM STDIN (FORMAT binary, HEADER)",
    "COPY t FROM STDIN (ENCODING 'nope')",
    "COPY t TO STDOUT (DEFAULT 'x')",
    "COPY t FROM STDIN (NULL 'x', DEFAULT 'x')",
    "COPY t FROM STDIN (FORMAT csv, DEFAULT ',')",
    "COPY t TO STDOUT WHERE a > 1",
    "COPY (INSERT INTO t (a) VALUES (1)) TO STDOUT",
    "COPY (SELECT 'é' || chr(8364) AS a) TO STDOUT (ENCODING 'LATIN1')",
    "COPY t TO 'relative'",
]


@pytest.fixture(scope="module")
def filled(database: Database, oracle: Oracle) -> Database:
    session = database.session("gpudb")
    for sql in (SETUP, *ROWS, "CREATE VIEW v AS SELECT a FROM t"):
        run(session, sql)
    session.close()
    return database


def _prepared(connection: psycopg.Connection) -> None:
    for sql in (SETUP, *ROWS, "CREATE VIEW v AS SELECT a FROM t"):
        connection.execute(sql)


def _messages(connection: psycopg.Connection, sql: str) -> list[bytes]:
    with connection.cursor().copy(sql) as pipe:
        return [bytes(part) for part in pipe]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_the_bytes_are_postgresqls(filled: Database, oracle: Oracle, sql: str) -> None:
    with psycopg.connect(oracle.dsn) as connection:
        _prepared(connection)
        expected = _messages(connection, sql)
        connection.rollback()
    session = filled.session("gpudb", {"TimeZone": "UTC"})
    try:
        run(session, "BEGIN")
        for result in session.run(sql):
            assert isinstance(result, CopyOut)
            assert list(result.payloads()) == expected
            assert result.tag == f"COPY {len(expected) - _extra(sql, expected)}"
            assert result.binary == ("binary" in sql)
            result.close()
        run(session, "ROLLBACK")
    finally:
        session.close()


def _extra(sql: str, messages: list[bytes]) -> int:
    """Messages without a row: the header and the trailer of the binary format."""
    return int("HEADER" in sql) + int("binary" in sql)


@pytest.mark.parametrize("sql", FAILING)
def test_what_cannot_be_copied_fails_as_in_postgresql(filled: Database, oracle: Oracle, sql: str) -> None:
    with psycopg.connect(oracle.dsn) as connection:
        _prepared(connection)
        with pytest.raises(psycopg.Error) as expected:
            _messages(connection, sql)
        connection.rollback()
    told = expected.value.diag
    session = filled.session("gpudb")
    try:
        with pytest.raises(GpudbError) as found:
            run(session, sql)
        error = found.value
        position = None if told.statement_position is None else int(told.statement_position)
        assert (error.sqlstate, error.message, error.hint, error.position) == (
            told.sqlstate,
            told.message_primary,
            told.message_hint,
            position,
        )
    finally:
        session.close()


def test_postgresqls_binary_data_are_read(filled: Database, oracle: Oracle) -> None:
    with psycopg.connect(oracle.dsn) as connection:
        _prepared(connection)
        data = b"".join(_messages(connection, "COPY t TO STDOUT (FORMAT binary)"))
        text = b"".join(_messages(connection, "COPY t TO STDOUT"))
        connection.rollback()
    for chunk in (1 << 16, 1):
        session = filled.session("gpudb")
        try:
            run(session, SETUP.replace("TABLE t", "TABLE u"))
            assert run(session, "COPY u FROM STDIN (FORMAT binary)", data, chunk)[0] == "COPY 6"
            assert run(session, "COPY u TO STDOUT")[1] == text
        finally:
            run(session, "DROP TABLE u")
            session.close()


HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
ROW = struct.pack("!hii", 2, 4, 7) + struct.pack("!i", 1) + b"x"
END = struct.pack("!h", -1)
BINARY = {
    "two rows": HEADER + ROW + ROW + END,
    "no trailer": HEADER + ROW,
    "an extension": b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 3) + b"abc" + ROW + END,
    "nulls": HEADER + struct.pack("!hii", 2, -1, -1) + ROW + END,
    "nothing": b"",
    "no signature": b"hello, this is no binary data at all",
    "flags": b"PGCOPY\n\xff\r\n\0" + struct.pack("!Ii", 1 << 17, 0) + END,
    "oids": b"PGCOPY\n\xff\r\n\0" + struct.pack("!Ii", 1 << 16, 0) + END,
    "no flags": b"PGCOPY\n\xff\r\n\0",
    "no length": b"PGCOPY\n\xff\r\n\0" + struct.pack("!i", 0),
    "wrong length": b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 3),
    "too many fields": HEADER + ROW + struct.pack("!hi", 3, 4) + b"abcdabcdabcd" + END,
    "cut in a field": HEADER + ROW + ROW[:-1],
    "cut in a length": HEADER + ROW + ROW[:4],
    "a negative length": HEADER + ROW + struct.pack("!hi", 2, -5) + END,
    "a wrong width": HEADER + ROW + struct.pack("!hi", 2, 2) + b"ab" + struct.pack("!i", 0) + END,
    "too wide": HEADER + ROW + struct.pack("!hi", 2, 5) + b"abcde" + struct.pack("!i", 0) + END,
    "half a count": HEADER + ROW + b"\0",
    "bad utf-8": HEADER + struct.pack("!hii", 2, 4, 7) + struct.pack("!i", 1) + b"\xff" + END,
    "after the trailer": HEADER + ROW + END + ROW,
}


@pytest.mark.parametrize("chunk", [1 << 16, 1], ids=["whole", "bytewise"])
@pytest.mark.parametrize("name", BINARY)
def test_broken_binary_data(database: Database, oracle: Oracle, name: str, chunk: int) -> None:
    setup = "CREATE TABLE w (a int, b text)"
    copy = "COPY w FROM STDIN (FORMAT binary)"
    expected = on_oracle(oracle, setup, copy, BINARY[name], "w")
    assert on_gpudb(database, setup, copy, BINARY[name], chunk, "w") == expected
