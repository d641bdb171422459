"""DuckDB: its postgres extension attaches a gpudb, reads its tables in ranges of blocks, and changes them by ctid."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["duckdb==1.5.5", "duckdb-extension-postgres-scanner==1.5.5"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import duckdb_extension_postgres_scanner
from scenario import check, same, version

version(importlib.metadata.version("duckdb"))
extension = next(Path(duckdb_extension_postgres_scanner.__file__).parent.glob("extensions/*/*.duckdb_extension"))
db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
db.execute(f"LOAD '{extension}'")


def ask(sql: str) -> list[Any]:
    """The rows of a query in DuckDB."""
    return db.execute(sql).fetchall()


with check("connect", "with a password"):
    db.execute("ATTACH '' AS pg (TYPE postgres)")  # libpq reads the environment
with check("tls", "verified"):
    db.execute(f"ATTACH 'sslmode=verify-full sslrootcert={os.environ['PGSSLROOTCERT']}' AS secure (TYPE postgres)")
    same(ask("FROM postgres_query('secure', 'SELECT 1 AS a')"), [(1,)])
with check("copy", "CREATE TABLE AS, in binary"):
    db.execute(
        "CREATE TABLE pg.public.book AS SELECT i::INTEGER AS id, 'T' || i AS title, (i / 4)::DECIMAL(8,2) AS price,"
        " DATE '2024-01-01' + i::INTEGER AS day, i % 3 = 0 AS kept, TIMESTAMPTZ '2024-01-01 10:00:00+00' AS moment"
        " FROM range(1, 100001) AS r(i)"
    )
with check("metadata", "tables and columns"):
    found = ask(
        "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = 'pg' AND table_name = 'book'"
    )
    same(dict(found)["price"], "DECIMAL(8,2)")
with check("queries", "a whole table in ranges of blocks"):
    same(ask("SELECT count(*), sum(id), count(DISTINCT title) FROM pg.book"), [(100000, 5000050000, 100000)])
with check("queries", "conditions"):
    same(ask("SELECT title FROM pg.book WHERE id BETWEEN 7 AND 8 ORDER BY id"), [("T7",), ("T8",)])
with check("queries", "joins with tables of DuckDB"):
    db.execute("CREATE TABLE local AS SELECT i AS id FROM range(1, 1000, 100) AS r(i)")
    same(ask("SELECT count(*), sum(price) FROM local JOIN pg.book USING (id)"), [(10, Decimal("1127.50"))])
with check("types", "there and back"):
    wanted = (1, "T1", Decimal("0.25"), dt.date(2024, 1, 2), False)
    same(ask("SELECT * EXCLUDE (moment) FROM pg.book WHERE id = 1"), [wanted])
with check("queries", "UPDATE and DELETE by ctid"):
    same(ask("UPDATE pg.book SET title = 'new' WHERE id <= 5"), [(5,)])
    same(ask("DELETE FROM pg.book WHERE id BETWEEN 4 AND 9"), [(6,)])
    same(ask("SELECT count(*) FILTER (title = 'new'), count(*) FROM pg.book"), [(3, 99994)])
with check("transactions", "a rollback"):
    db.execute("BEGIN; INSERT INTO pg.book (id) VALUES (-1)")
    same(ask("SELECT count(*) FROM pg.book WHERE id = -1"), [(1,)])
    db.execute("ROLLBACK")
    same(ask("SELECT count(*) FROM pg.book WHERE id = -1"), [(0,)])
with check("queries", "definitions"):
    db.execute("ALTER TABLE pg.book ADD COLUMN extra INTEGER; CREATE INDEX i ON pg.book (id)")
    same(ask("SELECT extra FROM pg.book WHERE id = 1"), [(None,)])
    db.execute("DROP TABLE pg.book")
with check("queries", "errors"):
    try:
        db.execute("FROM postgres_query('pg', 'SELECT 1 FROM missing')")
    except duckdb.Error as error:
        same('relation "missing" does not exist' in str(error), True)
    else:
        raise AssertionError("no error")
