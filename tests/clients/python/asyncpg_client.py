"""asyncpg: all in binary, prepared statements, COPY, introspection of types, cancel."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["asyncpg==0.32.0"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import asyncio
import datetime as dt
import decimal
import json
import os
import ssl
import uuid

import asyncpg
from scenario import ENDLESS, check, same, version

VALUES: list[tuple[str, object]] = [
    ("boolean", True),
    ("smallint", -32768),
    ("bigint", -9223372036854775808),
    ("double precision", 1e-5),
    ("numeric", decimal.Decimal("-12345678901234.500")),
    ("text", "né \"x' \\ \n 😀"),
    ("bytea", b"\x00\xff\\x"),
    ("date", dt.date(2024, 2, 29)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timetz", dt.time(10, 0, 0, 5, dt.timezone(dt.timedelta(hours=-3)))),
    ("timestamp", dt.datetime(1969, 12, 31, 23, 59, 59, 500000)),
    ("timestamptz", dt.datetime(2024, 7, 1, 12, 30, tzinfo=dt.UTC)),
    ("interval", dt.timedelta(days=-3, hours=4, microseconds=5)),
    ("integer[]", [1, None, 3]),
    ("text[]", ["a", 'b "c"', None, "", "NULL"]),
    ("int4range", asyncpg.Range(1, 5)),
    ("jsonb", '{"a": [1, null]}'),
    ("text", None),
]


async def main() -> None:
    """All checks."""
    version(asyncpg.__version__)
    with check("connect", "with a password"):
        await (await asyncpg.connect()).close()
    with check("tls", "verified"):
        context = ssl.create_default_context(cafile=os.environ["PGSSLROOTCERT"])
        secure = await asyncpg.connect(ssl=context)
        same(await secure.fetchval("SELECT 1"), 1)
        await secure.close()
    connection = await asyncpg.connect()
    with check("queries", "rows"):
        found = await connection.fetch("SELECT g, g::text AS t FROM generate_series(1, 2) g")
        same([dict(row) for row in found], [{"g": 1, "t": "1"}, {"g": 2, "t": "2"}])
    with check("queries", "parameters"):
        same(await connection.fetchval("SELECT $1::int + $2", 1, 2), 3)
    with check("queries", "errors"):
        code = None
        try:
            await connection.fetch("SELECT * FROM missing")
        except asyncpg.UndefinedTableError as error:
            code = error.sqlstate
        same(code, "42P01")
    with check("queries", "script"):
        await connection.execute("CREATE TABLE t (id int PRIMARY KEY, name text); INSERT INTO t VALUES (1, 'a')")
        same(await connection.fetchval("SELECT name FROM t"), "a")
    with check("queries", "executemany"):
        await connection.executemany("INSERT INTO t VALUES ($1, $2)", [(n, str(n)) for n in range(2, 100)])
        same(await connection.fetchval("SELECT count(*) FROM t"), 99)
    with check("queries", "pool"):
        async with asyncpg.create_pool(min_size=2, max_size=5) as pool:
            found = await asyncio.gather(*(pool.fetchval("SELECT $1::int", n) for n in range(20)))
            same(found, list(range(20)))
    for type_, value in VALUES:
        with check("types", type_):
            same(await connection.fetchval(f"SELECT $1::{type_}", value), value)
    with check("types", "uuid"):
        value = uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
        assert await connection.fetchval("SELECT $1::uuid", value) == value
    with check("types", "enum, domain and composite, by introspection"):
        await connection.execute(
            "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN small AS int CHECK (VALUE < 10); "
            "CREATE TYPE pair AS (a int, b mood)"
        )
        same(await connection.fetchval("SELECT $1::mood", "ok"), "ok")
        same(await connection.fetchval("SELECT $1::mood[]", ["ok", "sad"]), ["ok", "sad"])
        same(await connection.fetchval("SELECT $1::small", 3), 3)
        same(tuple(await connection.fetchval("SELECT $1::pair", (1, "sad"))), (1, "sad"))
    with check("types", "codec of jsonb"):
        await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")
        same(await connection.fetchval("SELECT $1::jsonb", {"a": 1}), {"a": 1})
    with check("prepared", "statement and its attributes"):
        statement = await connection.prepare("SELECT $1::int AS a, $2::text AS b")
        same([each.type.name for each in statement.get_attributes()], ["int4", "text"])
        same([each.name for each in statement.get_parameters()], ["int4", "text"])
        for n in range(3):
            same(tuple(await statement.fetchrow(n, str(n))), (n, str(n)))
    with check("prepared", "cursor"):
        async with connection.transaction():
            seen = [row["g"] async for row in connection.cursor("SELECT * FROM generate_series(1, 500) g", prefetch=50)]
        same(seen, list(range(1, 501)))
    with check("transactions", "nested, rolled back"):
        async with connection.transaction():
            await connection.execute("DELETE FROM t WHERE id > 50")
            name = None
            try:
                async with connection.transaction():
                    await connection.execute("INSERT INTO t VALUES (1, 'again')")
            except asyncpg.UniqueViolationError as error:
                name = error.constraint_name
            same(name, "t_pkey")
        same(await connection.fetchval("SELECT count(*) FROM t"), 50)
    with check("transactions", "isolation levels"):
        code = None
        try:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                await connection.execute("DELETE FROM t")
        except asyncpg.ReadOnlySQLTransactionError as error:
            code = error.sqlstate
        same(code, "25006")
    with check("copy", "records and text"):
        await connection.copy_records_to_table(
            "t", records=[(n, f"n{n}") for n in range(1000, 2000)], columns=["id", "name"]
        )
        same(await connection.fetchval("SELECT count(*) FROM t WHERE id >= 1000"), 1000)
        seen = []

        async def keep(data: bytes) -> None:
            seen.append(data)

        await connection.copy_from_query("SELECT * FROM t WHERE id >= $1 ORDER BY id", 1998, output=keep, format="csv")
        same(b"".join(seen), b"1998,n1998\n1999,n1999\n")
    with check("metadata", "version and settings"):
        same(connection.get_server_version().major, 16)
        same(connection.get_settings().server_encoding, "UTF8")
    with check("cancel", "timeout"):
        try:
            await connection.fetch(ENDLESS, timeout=0.5)
        except TimeoutError:
            same(await connection.fetchval("SELECT 1"), 1)
        else:
            raise AssertionError("no timeout")
    with check("queries", "notifications"):
        heard: asyncio.Queue[str] = asyncio.Queue()
        await connection.add_listener("c", lambda *said: heard.put_nowait(said[-1]))
        other = await asyncpg.connect()
        await other.execute("NOTIFY c, 'hello'")
        same(await asyncio.wait_for(heard.get(), 10), "hello")
        await other.close()
        await connection.reset()
    await connection.close()


asyncio.run(main())
