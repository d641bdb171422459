"""psycopg 3: parameters in text and binary, pipelines, server-side cursors, COPY, cancel."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["psycopg[binary]==3.3.9"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import datetime as dt
import decimal
import uuid

import psycopg
from psycopg.types.json import Jsonb
from psycopg.types.multirange import Multirange
from psycopg.types.range import Range
from scenario import ENDLESS, cancelling, check, refused, same, version

UTC = dt.UTC
VALUES: list[tuple[str, object]] = [
    ("boolean", True),
    ("smallint", -32768),
    ("bigint", -9223372036854775808),
    ("double precision", 1e-5),
    ("numeric", decimal.Decimal("-12345678901234.500")),
    ("numeric(38,4)", decimal.Decimal("-1234567890123456789012345678901234.5678")),
    ("text", "né \"x' \\ \n 😀"),
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
    ("int4range", Range(1, 5)),
    ("tsrange", Range(dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 2), "[]")),
    ("int4multirange", Multirange([Range(1, 5), Range(7, None)])),
]

version(psycopg.__version__)
with check("connect", "with a password"):
    psycopg.connect().close()
with check("tls", "verify-full"), psycopg.connect(sslmode="verify-full") as connection:
    same(connection.pgconn.ssl_in_use, True)
connection = psycopg.connect(autocommit=True)
with check("queries", "rows"):
    same(
        connection.execute("SELECT g, g::text FROM generate_series(1, 3) g").fetchall(), [(1, "1"), (2, "2"), (3, "3")]
    )
with check("queries", "parameters"):
    same(connection.execute("SELECT %s::int + %s", [1, 2]).fetchone(), (3,))
with check("queries", "errors"):
    refused(lambda: connection.execute("SELECT * FROM missing"), "42P01")
    refused(lambda: connection.execute("SELECT 1 / 0"), "22012")
with check("queries", "pipeline"), connection.pipeline():
    cursors = [connection.execute("SELECT %s::int", [n]) for n in range(10)]
    same([cursor.fetchone() for cursor in cursors], [(n,) for n in range(10)])
with check("queries", "server-side cursor"), connection.transaction(), connection.cursor("c") as cursor:
    cursor.execute("SELECT * FROM generate_series(1, 1000)")
    same(len(cursor.fetchmany(10)), 10)
    cursor.scroll(980)
    same(cursor.fetchall()[-1], (1000,))
for form, mark in (("text", "%t"), ("binary", "%b")):
    for type_, value in VALUES:
        with check("types", f"{type_}, {form}"):
            cursor = connection.cursor(binary=form == "binary")
            found = cursor.execute(f"SELECT {mark}::{type_}", [value]).fetchone()
            assert found is not None
            same(found[0], value)
with check("types", "jsonb"):
    same(connection.execute("SELECT %s", [Jsonb({"a": [1, None]})]).fetchone(), ({"a": [1, None]},))
with check("prepared", "statements on the server"):
    for n in range(10):
        same(connection.execute("SELECT %s::int * 2", [n], prepare=True).fetchone(), (2 * n,))
    found = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
    assert found is not None
    assert found[0] > 0
connection.execute("CREATE TABLE t (id serial PRIMARY KEY, name text UNIQUE)")
with check("transactions", "rollback"):
    with connection.transaction(force_rollback=True):
        connection.execute("INSERT INTO t (name) VALUES ('a')")
    same(connection.execute("SELECT count(*) FROM t").fetchone(), (0,))
with check("transactions", "savepoint after an error"), connection.transaction():
    connection.execute("INSERT INTO t (name) VALUES ('b')")
    name = None
    try:
        with connection.transaction():
            connection.execute("INSERT INTO t (name) VALUES ('b')")
    except psycopg.errors.UniqueViolation as error:
        name = error.diag.constraint_name
    same(name, "t_name_key")
    same(connection.execute("SELECT count(*) FROM t").fetchone(), (1,))
with check("copy", "rows in"):
    with connection.cursor().copy("COPY t (id, name) FROM STDIN") as copy:
        for n in range(1000):
            copy.write_row((n + 10, f"n\t{n}"))
    same(connection.execute("SELECT count(*), max(name) FROM t WHERE id >= 10").fetchone(), (1000, "n\t999"))
with check("copy", "binary in and out"):
    with connection.cursor().copy("COPY t (id, name) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int4", "text"])
        copy.write_row((5000, "binary"))
    with connection.cursor().copy("COPY (SELECT id, name FROM t WHERE id >= 5000) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["int4", "text"])
        same(list(copy.rows()), [(5000, "binary")])
with check("metadata", "description"):
    described = connection.execute("SELECT 1::numeric(5,2) AS a, 'x'::varchar(3) AS b").description
    assert described is not None
    same(
        [(each.name, each.precision, each.scale, each.display_size) for each in described],
        [("a", 5, 2, None), ("b", None, None, 3)],
    )
with check("cancel", "cancel_safe"):
    other = psycopg.connect(autocommit=True)
    query = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid = %s"
    pid = connection.info.backend_pid
    with cancelling(lambda: other.execute(query, [pid]).fetchone() == (1,), connection.cancel_safe):
        refused(lambda: connection.execute(ENDLESS), "57014")
    same(connection.execute("SELECT 1").fetchone(), (1,))
with check("queries", "notifications"):
    connection.execute("LISTEN c")
    other.execute("NOTIFY c, 'hello'")
    same([each.payload for each in connection.notifies(timeout=10, stop_after=1)], ["hello"])
