"""psqlODBC: PostgreSQL's ODBC driver, through pyodbc: parameters, catalog functions, large objects' lo type."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["pyodbc"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import datetime as dt
import decimal
import os
from pathlib import Path

import pyodbc
from scenario import check, refused, same, skip, version

DRIVERS = list(Path("/usr/lib").glob("*/odbc/psqlodbcw.so"))
if not DRIVERS:
    skip("psqlODBC is not installed")


def connect(**options: object) -> pyodbc.Connection:
    """Opens a connection with options of the driver."""
    known = {
        "DRIVER": DRIVERS[0], "SERVER": os.environ["PGHOST"], "PORT": os.environ["PGPORT"], "UID": os.environ["PGUSER"],
        "PWD": os.environ["PGPASSWORD"], "DATABASE": os.environ["PGDATABASE"], "BoolsAsChar": 0, **options,
    }  # fmt: skip
    return pyodbc.connect(";".join(f"{name}={value}" for name, value in known.items()), autocommit=True)


class Refused(Exception):
    """An error with its SQLSTATE where the checks look for it."""

    def __init__(self, sqlstate: str) -> None:
        self.sqlstate = sqlstate


def failing(cursor: pyodbc.Cursor, sql: str) -> None:
    """Runs a statement, whose error has ODBC's form."""
    try:
        cursor.execute(sql)
    except pyodbc.Error as error:
        raise Refused(error.args[0]) from error


connection = connect()
version(connection.getinfo(pyodbc.SQL_DRIVER_VER))
cursor = connection.cursor()


def one(sql: str, *values: object) -> object:
    """Returns the only value of a query."""
    return cursor.execute(sql, *values).fetchone()[0]


with check("connect", "what the driver says of the server"):
    same(connection.getinfo(pyodbc.SQL_DBMS_NAME), "PostgreSQL")
    same(connection.getinfo(pyodbc.SQL_DBMS_VER).startswith("16."), True)
with check("tls", "verify-full"):
    same(
        connect(SSLmode="verify-full", pqopt=f"{{sslrootcert={os.environ['PGSSLROOTCERT']}}}")
        .cursor()
        .execute("SELECT 1")
        .fetchone()[0],
        1,
    )
with check("queries", "rows and parameters"):
    same(
        [tuple(row) for row in cursor.execute("SELECT g, g::text FROM generate_series(1, ?) g", 2)],
        [(1, "1"), (2, "2")],
    )
with check("queries", "errors"):
    refused(lambda: failing(cursor, "SELECT * FROM missing"), "42P01")
VALUES: list[tuple[str, object]] = [
    ("boolean", True), ("integer", -5), ("bigint", -9223372036854775808), ("double precision", 1e-5),
    ("numeric(20,3)", decimal.Decimal("-12345678901234567.125")), ("text", "né \"x' \\ 😀"), ("varchar(9)", "a" * 9),
    ("date", dt.date(2024, 2, 29)), ("time", dt.time(23, 59, 59)), ("timestamp", dt.datetime(1969, 12, 31, 23, 59, 59, 500000)),
    ("bytea", b"\x00\xff\\x"), ("uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"), ("text", None),
]  # fmt: skip
for kind, value in VALUES:
    with check("types", kind if value is not None else "NULL"):
        same(one(f"SELECT CAST(? AS {kind})", value), value)
with check("queries", "many rows at once"):
    cursor.execute("CREATE TABLE t (id serial PRIMARY KEY, n int, name varchar(20) NOT NULL DEFAULT 'x')")
    cursor.fast_executemany = True
    cursor.executemany("INSERT INTO t (n, name) VALUES (?, ?)", [(n, f"name {n}") for n in range(500)])
    same(tuple(cursor.execute("SELECT count(*), sum(n) FROM t").fetchone()), (500, 124750))
    same(cursor.execute("UPDATE t SET n = n + 1 WHERE id <= 10").rowcount, 10)
with check("transactions", "rollback and savepoint"):
    connection.autocommit = False
    cursor.execute("DELETE FROM t")
    connection.rollback()
    cursor.execute("SAVEPOINT s")
    cursor.execute("DELETE FROM t")
    cursor.execute("ROLLBACK TO SAVEPOINT s")
    connection.commit()
    connection.autocommit = True
    same(one("SELECT count(*) FROM t"), 500)
with check("transactions", "a failed statement is undone alone"):
    own = connect(Protocol="7.4-2")
    own.autocommit = False
    mine = own.cursor()
    mine.execute("INSERT INTO t (n) VALUES (1000)")
    refused(lambda: failing(mine, "INSERT INTO t (id) VALUES (1)"), "23505")
    own.commit()
    own.close()
    same(one("SELECT count(*) FROM t WHERE n = 1000"), 1)
with check("queries", "server cursors"):
    own = connect(UseDeclareFetch=1, Fetch=50)
    same(sum(row[0] for row in own.cursor().execute("SELECT g FROM generate_series(1, 1000) g")), 500500)
    own.close()
with check("metadata", "tables, columns, keys, statistics"):
    cursor.execute("CREATE TABLE child (id int PRIMARY KEY, t_id int REFERENCES t (id), UNIQUE (t_id))")
    same([row.table_name for row in cursor.tables(schema="public", tableType="TABLE")], ["child", "t"])
    same(
        [(row.column_name, row.type_name, row.nullable) for row in cursor.columns(table="t")],
        [("id", "int4", 0), ("n", "int4", 1), ("name", "varchar", 0)],
    )
    same([row.column_name for row in cursor.primaryKeys("t", schema="public")], ["id"])
    same(
        [
            (row.pktable_name, row.fkcolumn_name)
            for row in cursor.foreignKeys(foreignTable="child", foreignSchema="public")
        ],
        [("t", "t_id")],
    )
    same(
        sorted({row.index_name for row in cursor.statistics("child") if row.index_name}),
        ["child_pkey", "child_t_id_key"],
    )
with check("metadata", "types, procedures, privileges"):
    same(bool(cursor.getTypeInfo(pyodbc.SQL_INTEGER).fetchall()), True)
    cursor.execute("CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2'")
    same([row.procedure_name for row in cursor.procedures(schema="public")], ["twice"])
    same([row.column_name for row in cursor.procedureColumns("twice", schema="public")][-1], "n")
with check("queries", "calls by ODBC's escapes"):
    same(one("SELECT {fn UCASE('a')}, {d '2024-01-02'}"), "A")
    same(one("{call twice(?)}", 4), 8)
with check("types", "large objects are read by type lo"):
    cursor.execute("CREATE DOMAIN lo AS oid")
    own = connect(LFConversion=0)
    own.autocommit = False
    mine = own.cursor()
    mine.execute("CREATE TABLE files (id int, content lo)")
    data = bytes(range(256)) * 100
    mine.execute(f"INSERT INTO files VALUES (1, lo_from_bytea(0, '\\x{data.hex()}'))")
    own.commit()
    same(bytes(mine.execute("SELECT content FROM files").fetchone()[0]), data)
    own.commit()
    own.close()
