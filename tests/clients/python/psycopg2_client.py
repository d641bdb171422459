"""psycopg 2: parameters in the client, named cursors, COPY, cancel."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["psycopg2-binary==2.9.13"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import datetime as dt
import decimal
import io
import uuid

import psycopg2
import psycopg2.extras
from scenario import ENDLESS, cancelling, check, refused, same, version

VALUES: list[tuple[str, object]] = [
    ("boolean", True),
    ("bigint", -9223372036854775807),
    ("double precision", 1e-5),
    ("numeric", decimal.Decimal("-1234567890123456789012345678901234.5678")),
    ("text", "né \"x' \\ \n 😀"),
    ("date", dt.date(2024, 2, 29)),
    ("time", dt.time(23, 59, 59, 999999)),
    ("timestamp", dt.datetime(1969, 12, 31, 23, 59, 59, 500000)),
    ("timestamptz", dt.datetime(2024, 7, 1, 12, 30, tzinfo=dt.UTC)),
    ("interval", dt.timedelta(days=-3, hours=4, microseconds=5)),
    ("uuid", uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
    ("integer[]", [1, None, 3]),
    ("text[]", ["a", 'b "c"', None, "", "NULL"]),
    ("int4range", psycopg2.extras.NumericRange(1, 5)),
    ("text", None),
]

psycopg2.extras.register_uuid()
version(psycopg2.__version__.split()[0])
with check("connect", "with a password"):
    psycopg2.connect("").close()
with check("tls", "verify-full"):
    secure = psycopg2.connect("sslmode=verify-full")
    same(secure.info.ssl_in_use, True)
    secure.close()
connection = psycopg2.connect("")
connection.autocommit = True
cursor = connection.cursor()


def rows(query: str, values: object = None) -> list[tuple[object, ...]]:
    """The rows of a query."""
    cursor.execute(query, values)
    return cursor.fetchall()


with check("queries", "rows"):
    same(rows("SELECT g, g::text FROM generate_series(1, 2) g"), [(1, "1"), (2, "2")])
with check("queries", "parameters"):
    same(rows("SELECT %(a)s + 1, %(b)s", {"a": 2, "b": "x'y"}), [(3, "x'y")])
with check("queries", "errors"):
    refused(lambda: rows("SELECT * FROM missing"), "42P01")
with check("queries", "execute_values"):
    cursor.execute("CREATE TABLE v (a int, b text)")
    psycopg2.extras.execute_values(cursor, "INSERT INTO v VALUES %s", [(n, str(n)) for n in range(500)], page_size=100)
    same(rows("SELECT count(*), sum(a) FROM v"), [(500, 124750)])
with check("queries", "rows as dictionaries"), connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as own:
    own.execute("SELECT 1 AS a")
    same(dict(own.fetchone()), {"a": 1})
for type_, value in VALUES:
    with check("types", type_):
        same(rows(f"SELECT %s::{type_}", [value])[0][0], value)
with check("types", "bytea"):
    same(bytes(rows("SELECT %s::bytea", [psycopg2.Binary(b"\x00\xff\\x")])[0][0]), b"\x00\xff\\x")
with check("types", "jsonb"):
    same(rows("SELECT %s::jsonb", [psycopg2.extras.Json({"a": [1, None]})]), [({"a": [1, None]},)])
with check("types", "composite"):
    cursor.execute("CREATE TYPE pair AS (a int, b text)")
    psycopg2.extras.register_composite("pair", cursor)
    found = rows("SELECT (1, 'x')::pair")[0][0]
    same(tuple(found), (1, "x"))
with check("prepared", "PREPARE and EXECUTE"):
    cursor.execute("PREPARE twice AS SELECT $1::int * 2")
    same(rows("EXECUTE twice (%s)", [4]), [(8,)])
cursor.execute("CREATE TABLE t (id int PRIMARY KEY, name text)")
with check("transactions", "rollback and savepoint"):
    connection.autocommit = False
    cursor.execute("INSERT INTO t VALUES (1, 'a')")
    connection.rollback()
    cursor.execute("INSERT INTO t VALUES (2, 'b')")
    cursor.execute("SAVEPOINT s")
    refused(lambda: cursor.execute("INSERT INTO t VALUES (2, 'c')"), "23505")
    cursor.execute("ROLLBACK TO SAVEPOINT s")
    connection.commit()
    same(rows("SELECT * FROM t"), [(2, "b")])
    connection.rollback()
with check("transactions", "isolation levels"):
    connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
    refused(lambda: cursor.execute("INSERT INTO t VALUES (9, 'r')"), "25006")
    connection.rollback()
    connection.set_session(isolation_level="DEFAULT", readonly=False)
with check("transactions", "two-phase commit is refused"):
    connection.tpc_begin(connection.xid(1, "g", "b"))
    cursor.execute("INSERT INTO t VALUES (3, 'c')")
    refused(connection.tpc_prepare, "55000")
connection.close()
connection = psycopg2.connect("")
cursor = connection.cursor()
with check("queries", "named cursor"):
    with connection.cursor("c", scrollable=True) as named:
        named.itersize = 100
        named.execute("SELECT * FROM generate_series(1, 1000)")
        same(sum(row[0] for row in named), 500500)
        named.scroll(0, mode="absolute")
        same(named.fetchone(), (1,))
    connection.commit()
connection.autocommit = True
with check("copy", "in and out"):
    text = "".join(f"{n}\tname {n}\n" for n in range(10, 1000))
    cursor.copy_expert("COPY t FROM STDIN", io.StringIO(text))
    out = io.StringIO()
    cursor.copy_expert("COPY (SELECT * FROM t WHERE id >= 10 ORDER BY id) TO STDOUT", out)
    same(out.getvalue(), text)
with check("types", "large objects"):
    connection.autocommit = False
    made = connection.lobject(0, "wb")
    made.write(b"first \x00\xff" * 5000)
    made.seek(-3, 2)
    made.write(b"end")
    made.close()
    connection.commit()
    again = connection.lobject(made.oid, "rb")
    same((again.read(5), again.seek(0, 2), again.tell()), (b"first", 40000, 40000))
    again.seek(39997)
    same(again.read(), b"end")
    again.close()
    short = connection.lobject(made.oid, "rwb")
    short.truncate(7)
    short.export("exported")
    imported = connection.lobject(0, "b", 0, "exported")
    same(imported.read(), b"first \x00")
    short.unlink()
    connection.rollback()
    same(connection.lobject(made.oid, "rb").read(8), b"first \x00\xff")
    connection.rollback()
    connection.autocommit = True
with check("metadata", "description"):
    cursor.execute("SELECT 1::numeric(5,2) AS a, 'x'::varchar(3) AS b")
    same(
        [(each.name, each.type_code, each.precision, each.scale) for each in cursor.description],
        [("a", 1700, 5, 2), ("b", 1043, None, None)],
    )
with check("cancel", "cancel"):
    other = psycopg2.connect("")
    other.autocommit = True
    looks = other.cursor()

    def runs() -> bool:
        """Whether the first connection runs a statement."""
        looks.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid = %s", [connection.info.backend_pid]
        )
        return looks.fetchone() == (1,)

    with cancelling(runs, connection.cancel):
        refused(lambda: rows(ENDLESS), "57014")
    same(rows("SELECT 1"), [(1,)])
