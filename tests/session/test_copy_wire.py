"""COPY through a real client and gpudb's server: streams both ways, errors, cancellation, and nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest


@pytest.fixture
def connection(gpudb_server: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(gpudb_server, autocommit=True) as opened:
        opened.execute("DROP TABLE IF EXISTS wire")
        opened.execute("CREATE TABLE wire (a int NOT NULL, b text, c numeric(10,2), d timestamp)")
        yield opened
        opened.execute("DROP TABLE wire")


def _count(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM wire").fetchone()
    assert row is not None
    return int(row[0])


def _send(connection: psycopg.Connection, data: bytes, error: Exception | None = None) -> None:
    with connection.cursor().copy("COPY wire FROM STDIN (FORMAT csv)") as copy:
        for start in range(0, len(data), 50_000):
            copy.write(data[start : start + 50_000])
        if error is not None:
            raise error


def test_rows_written_by_the_client(connection: psycopg.Connection) -> None:
    with connection.cursor() as cursor:
        with cursor.copy("COPY wire FROM STDIN") as copy:
            for number in range(1000):
                copy.write_row((number, None if number % 3 else f"x\t{number}", "1.25", "2020-02-29 04:05:06"))
        assert cursor.statusmessage == "COPY 1000"
    with connection.cursor().copy("COPY (SELECT a, b FROM wire WHERE a < 4 ORDER BY a) TO STDOUT") as copy:
        assert list(copy.rows()) == [("0", "x\t0"), ("1", None), ("2", None), ("3", "x\t3")]


def test_binary_rows_both_ways(connection: psycopg.Connection) -> None:
    types = ["int4", "text", "numeric", "timestamp"]
    with connection.cursor().copy("COPY wire FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(types)
        for number in range(500):
            copy.write_row((number, "x" * number, None, None))
    with connection.cursor().copy("COPY wire (a, b) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(types[:2])
        assert sorted(copy.rows()) == [(number, "x" * number) for number in range(500)]


def test_many_blocks_with_quoted_newlines(connection: psycopg.Connection) -> None:
    rows = 200_000
    data = b"".join(b'%d,"line\n%d",%d.5,2020-02-29 04:05:06\n' % (n, n, n % 1000) for n in range(rows))
    with connection.cursor() as cursor:
        with cursor.copy("COPY wire FROM STDIN (FORMAT csv)") as copy:
            for start in range(0, len(data), 100_000):
                copy.write(data[start : start + 100_000])
        assert cursor.statusmessage == f"COPY {rows}"
    row = connection.execute("SELECT count(*), sum(a), sum(c), max(b) FROM wire").fetchone()
    assert row is not None
    assert (row[0], row[1], row[3]) == (rows, rows * (rows - 1) // 2, "line\n99999")


def test_an_error_far_in_names_its_line_and_leaves_nothing(connection: psycopg.Connection) -> None:
    rows = 300_000
    data = b"".join(b"%d,x,1.5,2020-02-29\n" % n for n in range(rows)).replace(b"\n250000,", b"\nzz,")
    with pytest.raises(psycopg.errors.InvalidTextRepresentation) as failed:
        _send(connection, data)
    assert failed.value.diag.context == 'COPY wire, line 250001, column a: "zz"'
    assert _count(connection) == 0


def test_a_client_that_gives_up_leaves_nothing(connection: psycopg.Connection) -> None:
    with pytest.raises(ZeroDivisionError):
        _send(connection, b"1,x,1,2020-02-29\n" * 300_000, ZeroDivisionError())
    assert _count(connection) == 0


def test_a_transaction_rolls_a_copy_back(connection: psycopg.Connection) -> None:
    connection.execute("BEGIN")
    _send(connection, b"1,x,1,2020-02-29\n")
    assert _count(connection) == 1
    connection.execute("ROLLBACK")
    assert _count(connection) == 0


def test_a_lost_client_leaves_nothing(gpudb_server: str, connection: psycopg.Connection) -> None:
    other = psycopg.connect(gpudb_server, autocommit=True)
    copy = other.cursor().copy("COPY wire FROM STDIN (FORMAT csv)")
    copy.__enter__().write(b"1,x,1,2020-02-29\n" * 100_000)
    other.pgconn.finish()
    with connection.cursor().copy("COPY wire FROM STDIN (FORMAT csv)") as again:
        again.write(b"2,x,1,2020-02-29\n")
    assert _count(connection) == 1


def test_skipped_rows_are_told(connection: psycopg.Connection) -> None:
    told: list[str | None] = []
    connection.add_notice_handler(lambda notice: told.append(notice.message_primary))
    with connection.cursor() as cursor:
        with cursor.copy("COPY wire FROM STDIN (FORMAT csv, ON_ERROR ignore, LOG_VERBOSITY verbose)") as copy:
            copy.write(b"1,x,1,\nz,x,1,\n2,x,y,\n3,x,1,\n")
        assert cursor.statusmessage == "COPY 2"
    assert told == [
        'skipping row due to data type incompatibility at line 2 for column "a": "z"',
        'skipping row due to data type incompatibility at line 3 for column "c": "y"',
        "2 rows were skipped due to data type incompatibility",
    ]
