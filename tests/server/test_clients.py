"""psycopg, asyncpg, SQLAlchemy and psql against the wire server with the real database."""

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import json
import shutil
import subprocess
import threading
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
import sqlalchemy as sa
from psycopg.types.json import Json
from psycopg.types.multirange import Multirange
from psycopg.types.range import Range

from gpudb.session.database import Database
from tests.support.oracle.server import Oracle
from tests.support.wire_server import Address, serving

UTC = dt.UTC


@pytest.fixture(scope="module")
def where() -> Iterator[Address]:
    with serving(Database()) as server:
        yield server.address


def dsn(where: Address) -> str:
    return f"host={where[0]} port={where[1]} user=gpudb dbname=gpudb connect_timeout=60"


@pytest.fixture
def pg(where: Address) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(dsn(where), autocommit=True) as connection:
        yield connection


# 10¹⁵ pairs: runs for hours without side effects
ENDLESS = "SELECT sum(a.n % b.n + c.n) FROM {0} a(n), {0} b(n), {0} c(n)".format("generate_series(1, 100000)")

VALUES: list[tuple[str, object]] = [
    ("boolean", True),
    ("smallint", -32768),
    ("integer", 2147483647),
    ("bigint", -9223372036854775808),
    ("real", 0.1),
    ("double precision", 1e-5),
    ("double precision", float("inf")),
    ("numeric", decimal.Decimal("-12345678901234.500")),
    ("numeric(10,2)", decimal.Decimal("0.00")),
    ("numeric(38,4)", decimal.Decimal("-1234567890123456789012345678901234.5678")),
    ("numeric", decimal.Decimal("1234567890123456789012.12")),
    ("numeric", decimal.Decimal("0.0000000000000000000000012")),
    ("numeric[]", [decimal.Decimal("1234567890123456789012.5"), None, decimal.Decimal("1.25")]),
    ("text", "né \"x' \\ \n 😀"),
    ("text", ""),
    ("bytea", b"\x00\xff\\x"),
    ("date", dt.date(2024, 2, 29)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timetz", dt.time(10, 0, 0, 5, dt.timezone(dt.timedelta(hours=-3)))),
    ("timestamp", dt.datetime(1969, 12, 31, 23, 59, 59, 500000)),
    ("timestamptz", dt.datetime(2024, 7, 1, 12, 30, tzinfo=UTC)),
    ("interval", dt.timedelta(days=-3, hours=4, microseconds=5)),
    ("uuid", uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
    ("integer[]", [1, None, 3]),
    ("text[]", ["a", 'b "c"', None, "", "NULL"]),
    ("text", None),
]
# as psycopg has them
RANGES: list[tuple[str, object]] = [
    ("int4range", Range(1, 5)),
    ("numrange", Range(decimal.Decimal("1.50"), None, "(]")),
    ("daterange", Range(empty=True)),
    ("tsrange", Range(dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 2), "[]")),
    ("int8range[]", [Range(1, 5), None]),
    ("int4multirange", Multirange([Range(1, 5), Range(7, None)])),
    ("datemultirange", Multirange([])),
]


# ---- psycopg


def in_transaction(pg: psycopg.Connection[Any], *statements: str) -> None:
    with pg.transaction():
        for sql in statements:
            pg.execute(sql)


def in_pipeline(pg: psycopg.Connection[Any], *statements: str) -> None:
    with pg.pipeline():
        for sql in statements:
            pg.execute(sql)


def copy_in(pg: psycopg.Connection[Any], table: str, data: bytes, error: Exception | None = None) -> None:
    with pg.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        copy.write(data)
        if error is not None:
            raise error


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
@pytest.mark.parametrize(("type_", "value"), VALUES + RANGES, ids=[type_ for type_, _ in VALUES + RANGES])
def test_values_go_in_and_come_back(pg: psycopg.Connection[Any], type_: str, value: object, binary: bool) -> None:
    with pg.cursor(binary=binary) as cursor:
        mark = "%b" if binary else "%s"
        row = cursor.execute(f"SELECT {mark}::{type_} AS v", [value]).fetchone()
    assert row is not None
    if type_ == "real":
        assert row[0] == pytest.approx(value, rel=1e-6)
    else:
        assert row[0] == value
        assert type(row[0]) is type(value)


def test_json_goes_in_and_comes_back(pg: psycopg.Connection[Any]) -> None:
    document = {"a": [1, 2.5, None], "é": "ß"}
    row = pg.execute("SELECT %s::json AS v", [Json(document)]).fetchone()
    assert row == (document,)


def test_the_cursor_describes_its_columns(pg: psycopg.Connection[Any]) -> None:
    cursor = pg.execute("SELECT 1 AS a, 2.50::numeric(5,2) AS b, 'x'::varchar(3) AS c")
    assert cursor.description is not None
    described = [
        (column.name, column.type_code, column.precision, column.scale, column.display_size)
        for column in cursor.description
    ]
    assert described == [("a", 23, None, None, None), ("b", 1700, 5, 2, None), ("c", 1043, None, None, 3)]


def test_names_of_objects_in_binary_are_refused(pg: psycopg.Connection[Any]) -> None:
    assert pg.execute("SELECT 'pg_class'::regclass::oid", binary=True).fetchone() == (1259,)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="type regclass in binary format"):
        pg.execute("SELECT 'pg_class'::regclass", binary=True)
    assert pg.execute("SELECT 'pg_class'::regclass").fetchone() == ("pg_class",)


def test_a_statement_is_prepared_after_a_few_runs(pg: psycopg.Connection[Any]) -> None:
    pg.prepare_threshold = 1
    for number in range(6):
        assert pg.execute("SELECT %s::int * 2 AS n", [number]).fetchone() == (number * 2,)


def test_a_table_is_made_of_a_query_with_parameters(pg: psycopg.Connection[Any]) -> None:
    pg.execute(
        "CREATE TABLE made AS SELECT g, %s AS t, %s::numeric(5,2) AS n FROM generate_series(1, %s) g", ["x", 2.5, 2]
    )
    assert pg.execute("SELECT * FROM made").fetchall() == [(n, "x", decimal.Decimal("2.50")) for n in (1, 2)]


def test_changes_and_transactions(pg: psycopg.Connection[Any]) -> None:
    pg.execute("CREATE TABLE wire_changes (a int, b text)")
    with pg.cursor() as cursor:
        cursor.executemany("INSERT INTO wire_changes VALUES (%s, %s)", [(1, "x"), (2, None), (3, "z")])
        assert cursor.rowcount == 3
    assert pg.execute("UPDATE wire_changes SET b = 'y' WHERE a > 1").rowcount == 2
    with pytest.raises(psycopg.errors.DivisionByZero):
        in_transaction(pg, "DELETE FROM wire_changes", "SELECT 1/0")
    assert pg.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert pg.execute("SELECT a, b FROM wire_changes ORDER BY a").fetchall() == [(1, "x"), (2, "y"), (3, "y")]
    pg.execute("DROP TABLE wire_changes")


def test_errors_come_with_state_and_position(pg: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable) as raised:
        pg.execute("SELECT * FROM no_such_table")
    assert raised.value.diag.statement_position == "15"
    assert raised.value.diag.severity_nonlocalized == "ERROR"
    assert pg.execute("SELECT 1").fetchone() == (1,)


def test_a_failed_transaction_is_refused_until_its_end(where: Address) -> None:
    with psycopg.connect(dsn(where)) as connection:
        with pytest.raises(psycopg.errors.SyntaxError):
            connection.execute("SELEC 1")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("SELECT 1")
        connection.rollback()
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_pipelines(pg: psycopg.Connection[Any]) -> None:
    with pg.pipeline():
        cursors = [pg.execute("SELECT %s::int AS n", [number]) for number in range(20)]
    assert [cursor.fetchone() for cursor in cursors] == [(number,) for number in range(20)]
    with pytest.raises(psycopg.errors.DivisionByZero):
        in_pipeline(pg, "SELECT 1/0", "SELECT 2")
    assert pg.execute("SELECT 3").fetchone() == (3,)


def test_server_side_cursors(where: Address) -> None:
    with psycopg.connect(dsn(where)) as connection, connection.cursor("wired") as cursor:
        cursor.itersize = 400
        cursor.execute("SELECT n FROM generate_series(1, 1000) AS t(n)")
        assert cursor.description is not None
        assert [row[0] for row in cursor] == list(range(1, 1001))


def test_server_side_cursors_take_parameters(where: Address) -> None:
    with psycopg.connect(dsn(where)) as connection, connection.cursor("wired") as cursor:
        cursor.execute("SELECT n, %s::text FROM generate_series(1, %s::int) AS t(n) WHERE n > %s", ["x", 5, 3])
        assert cursor.fetchall() == [(4, "x"), (5, "x")]


def test_streamed_rows(pg: psycopg.Connection[Any]) -> None:
    with pg.cursor() as cursor:
        numbers = (row[0] for row in cursor.stream("SELECT n FROM generate_series(1, 5000) AS t(n)"))
        assert sum(numbers) == 12_502_500


def test_copy_in_and_out(pg: psycopg.Connection[Any]) -> None:
    pg.execute("CREATE TABLE wire_copy (a int, b text)")
    with pg.cursor() as cursor:
        with cursor.copy("COPY wire_copy FROM STDIN") as copy:
            for number in range(1000):
                copy.write_row((number, None if number % 7 == 0 else f"row\t{number}\n"))
        assert cursor.rowcount == 1000
        with cursor.copy("COPY (SELECT a, b FROM wire_copy ORDER BY a LIMIT 3) TO STDOUT") as copy:
            assert b"".join(copy) == b"0\t\\N\n1\trow\\t1\\n\n2\trow\\t2\\n\n"
    with pytest.raises(psycopg.errors.InvalidTextRepresentation) as raised:
        copy_in(pg, "wire_copy", b"1\tx\nnot a number\ty\n")
    assert raised.value.diag.context is not None
    assert "line 2" in raised.value.diag.context
    assert pg.execute("SELECT count(*) FROM wire_copy").fetchone() == (1000,)
    with pytest.raises(KeyError, match="changed my mind"):
        copy_in(pg, "wire_copy", b"1\tx\n", KeyError("changed my mind"))
    assert pg.execute("SELECT count(*) FROM wire_copy").fetchone() == (1000,)
    pg.execute("DROP TABLE wire_copy")


def test_a_running_statement_is_cancelled(pg: psycopg.Connection[Any]) -> None:
    timer = threading.Timer(0.3, pg.cancel_safe)
    timer.start()
    started = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        pg.execute(ENDLESS)
    assert time.monotonic() - started < 20
    timer.join(60)
    assert pg.execute("SELECT 1").fetchone() == (1,)


def test_statement_timeout(pg: psycopg.Connection[Any]) -> None:
    pg.execute("SET statement_timeout = '200ms'")
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        pg.execute(ENDLESS)
    pg.execute("RESET statement_timeout")


def test_the_time_zone_follows_set(pg: psycopg.Connection[Any]) -> None:
    pg.execute("SET TimeZone = 'Asia/Kolkata'")
    assert pg.info.parameter_status("TimeZone") == "Asia/Kolkata"
    row = pg.execute(
        "SELECT '2024-01-01 00:00+00'::timestamptz::text, %s::timestamptz", ["2024-01-01 05:30"]
    ).fetchone()
    assert row is not None
    assert row[0] == "2024-01-01 05:30:00+05:30"
    assert row[1] == dt.datetime(2024, 1, 1, tzinfo=UTC)


def test_passwords_and_roles(where: Address, pg: psycopg.Connection[Any]) -> None:
    pg.execute("CREATE ROLE wired LOGIN PASSWORD 'secret'")
    with psycopg.connect(f"{dsn(where)} user=wired password=secret") as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("wired",)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(f"{dsn(where)} user=wired password=wrong")
    pg.execute("DROP ROLE wired")


def test_another_session_is_terminated(where: Address, pg: psycopg.Connection[Any]) -> None:
    other = psycopg.connect(dsn(where), autocommit=True)
    row = other.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    assert row == (other.info.backend_pid,)
    assert pg.execute(f"SELECT pg_terminate_backend({row[0]})").fetchone() == (True,)
    with pytest.raises(psycopg.OperationalError):
        other.execute("SELECT 1")
    other.close()


# ---- asyncpg


@asynccontextmanager
async def async_connection(where: Address) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(
        host=where[0], port=where[1], user="gpudb", database="gpudb", timeout=10, command_timeout=20
    )
    try:
        yield connection
    finally:
        await connection.close()


def test_asyncpg_values(where: Address) -> None:
    async def run() -> None:
        async with async_connection(where) as connection:
            for type_, value in VALUES:
                if type_ == "real":
                    continue
                got = await connection.fetchval(f"SELECT $1::{type_} AS v", value)
                assert got == value, type_

    asyncio.run(run())


def test_asyncpg_statements_cursors_and_transactions(where: Address) -> None:
    async def run() -> None:
        async with async_connection(where) as connection:
            statement = await connection.prepare("SELECT n, n::text AS t FROM generate_series(1, $1::int) AS s(n)")
            assert [attribute.name for attribute in statement.get_attributes()] == ["n", "t"]
            assert [parameter.name for parameter in statement.get_parameters()] == ["int4"]
            assert len(await statement.fetch(1000)) == 1000
            async with connection.transaction():
                cursor = await statement.cursor(1000)
                assert [row["n"] for row in await cursor.fetch(3)] == [1, 2, 3]
                assert (await cursor.fetchrow())["t"] == "4"
            with pytest.raises(asyncpg.DivisionByZeroError):
                async with connection.transaction():
                    await connection.execute("SELECT 1/0")
            await connection.execute("CREATE TABLE wire_async (a int, b text)")
            await connection.executemany("INSERT INTO wire_async VALUES ($1, $2)", [(1, "x"), (2, None)])
            await connection.copy_records_to_table("wire_async", records=[(3, "z")])
            rows = await connection.fetch("SELECT a, b FROM wire_async ORDER BY a")
            assert [tuple(row) for row in rows] == [(1, "x"), (2, None), (3, "z")]
            await connection.execute("DROP TABLE wire_async")

    asyncio.run(run())


def test_asyncpg_pool(where: Address) -> None:
    """A pool resets each returned connection: locks, cursors, LISTEN channels, settings."""

    async def run() -> None:
        host, port = where
        made = asyncpg.create_pool(
            host=host, port=port, user="gpudb", database="gpudb", min_size=1, max_size=1, timeout=10, command_timeout=20
        )
        async with made as pool:
            async with pool.acquire() as connection:
                await connection.execute("SET TimeZone = 'Asia/Tokyo'")
                process = connection.get_server_pid()
            async with pool.acquire() as connection:
                assert connection.get_server_pid() == process
                assert await connection.fetchval("SELECT current_setting('TimeZone')") == "UTC"

    asyncio.run(run())


def test_asyncpg_prepares_again_after_a_table_has_changed(where: Address) -> None:
    async def run() -> None:
        async with async_connection(where) as connection:
            await connection.execute("CREATE TABLE wire_changed (a int); INSERT INTO wire_changed VALUES (1)")
            assert [tuple(row) for row in await connection.fetch("SELECT * FROM wire_changed")] == [(1,)]
            await connection.execute("ALTER TABLE wire_changed ADD COLUMN b int")
            assert [tuple(row) for row in await connection.fetch("SELECT * FROM wire_changed")] == [(1, None)]
            await connection.execute("DROP TABLE wire_changed")

    asyncio.run(run())


def test_asyncpg_cancels_on_timeout(where: Address) -> None:
    async def run() -> None:
        async with async_connection(where) as connection:
            with pytest.raises(asyncio.TimeoutError):
                await connection.fetchval(
                    ENDLESS,
                    timeout=0.3,
                )
            assert await connection.fetchval("SELECT 1") == 1

    asyncio.run(run())


# ---- SQLAlchemy


@pytest.mark.parametrize("driver", ["psycopg"])
def test_sqlalchemy(where: Address, driver: str) -> None:
    engine = sa.create_engine(f"postgresql+{driver}://gpudb@{where[0]}:{where[1]}/gpudb")
    meta = sa.MetaData()
    table = sa.Table(
        "wire_alchemy", meta,
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.String(20)),
        sa.Column("price", sa.Numeric(10, 2)),
        sa.Column("at", sa.DateTime(timezone=True)),
    )  # fmt: skip
    try:
        meta.create_all(engine)
        with engine.begin() as connection:
            at = dt.datetime(2024, 1, 1, tzinfo=UTC)
            connection.execute(
                table.insert(),
                [
                    {"id": 1, "name": "é", "price": decimal.Decimal("1.50"), "at": at},
                    {"id": 2, "name": None, "price": None, "at": None},
                ],
            )
        with engine.connect() as connection:
            rows = connection.execute(sa.select(table).order_by(table.c.id)).all()
            assert [tuple(row) for row in rows] == [(1, "é", decimal.Decimal("1.50"), at), (2, None, None, None)]
        inspector = sa.inspect(engine)
        assert "wire_alchemy" in inspector.get_table_names()
        columns = {column["name"]: str(column["type"]) for column in inspector.get_columns("wire_alchemy")}
        assert columns == {"id": "INTEGER", "name": "VARCHAR(20)", "price": "NUMERIC(10, 2)", "at": "TIMESTAMP"}
        meta.drop_all(engine)
    finally:
        engine.dispose()


# ---- psql


psql = pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")


def run_psql(where: Address, *commands: str) -> str:
    arguments = [part for command in commands for part in ("-c", command)]
    done = subprocess.run(
        ["psql", "-X", "-A", "-t", "-w", "-h", where[0], "-p", str(where[1]), "-U", "gpudb", "-d", "gpudb", *arguments],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@psql
def test_psql(where: Address) -> None:
    out = run_psql(
        where, "CREATE TABLE wire_psql (a int NOT NULL, b text)", "INSERT INTO wire_psql VALUES (1, 'é')",
        "TABLE wire_psql", r"\dt wire_psql", r"\d wire_psql", r"\conninfo", "SELECT 1/0", "DROP TABLE wire_psql",
    )  # fmt: skip
    assert "1|é\n" in out
    assert "public|wire_psql|table|gpudb" in out
    assert "a|integer||not null|" in out
    assert "ERROR:  division by zero" in out


@psql
def test_psql_copies(where: Address, tmp_path: Path) -> None:
    source = tmp_path / "rows.tsv"
    source.write_text("1\tx\n2\ty\n")
    out = run_psql(
        where, "CREATE TABLE wire_psql_copy (a int, b text)",
        rf"\copy wire_psql_copy from '{source}'",
        r"\copy (select b from wire_psql_copy order by a) to stdout", "DROP TABLE wire_psql_copy",
    )  # fmt: skip
    assert "COPY 2" in out
    assert "x\ny\n" in out


def test_answers_are_json_where_asked(pg: psycopg.Connection[Any]) -> None:
    row = pg.execute("EXPLAIN (FORMAT JSON) SELECT 1").fetchone()
    assert row is not None
    document = row[0] if isinstance(row[0], list) else json.loads(row[0])
    assert isinstance(document, list)


def test_parameters_declared_as_void_are_no_arguments(pg: psycopg.Connection[Any], oracle: Oracle) -> None:
    """pgjdbc sends the OUT parameters of `{? = call f(?)}` so."""
    setup = (
        "DROP FUNCTION IF EXISTS twice(int); DROP PROCEDURE IF EXISTS keep(int, text);"
        "CREATE FUNCTION twice(a int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 2';"
        "CREATE PROCEDURE keep(a int, INOUT b text) LANGUAGE plpgsql AS 'BEGIN b := b || a; END'"
    )
    statements = [
        ("SELECT * FROM twice($1, $2) AS result", (2278, 23), (None, b"4")),
        ("SELECT twice($2, $1)", (2278, 23), (None, b"4")),
        ("SELECT * FROM upper($1, $2) AS result", (2278, 25), (None, b"a")),
        ("SELECT twice(a => $2) + twice($1, 1)", (2278, 23), (None, b"4")),
        ("SELECT * FROM pi($1) AS result", (2278,), (None,)),
        ("SELECT sum($1, a) FROM (VALUES (1), (2)) v(a)", (2278,), (None,)),
        ("CALL keep($1, $2, $3)", (23, 2278, 25), (b"1", None, b"x")),
        ("SELECT twice($1)", (2278,), (None,)),
        ("SELECT $1", (2278,), (None,)),
    ]

    def answers(connection: psycopg.Connection[Any]) -> list[object]:
        connection.execute(setup)
        found: list[object] = []
        for sql, types, values in statements:
            result = connection.pgconn.exec_params(sql.encode(), values, types)
            state = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
            found.append([result.get_value(row, 0) for row in range(result.ntuples)] if state is None else state)
        connection.execute("DROP FUNCTION twice; DROP PROCEDURE keep")
        return found

    with psycopg.connect(oracle.dsn, autocommit=True) as postgresql:
        assert answers(pg) == answers(postgresql)
