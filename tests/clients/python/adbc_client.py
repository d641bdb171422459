"""ADBC: results and loads as Arrow, through binary COPY."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["adbc-driver-postgresql==1.13.0", "pyarrow==26.0.0"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import adbc_driver_postgresql
import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
from scenario import check, refused, same, url, version

version(adbc_driver_postgresql.__version__)
with check("connect", "with a password"):
    adbc.connect(url("postgresql")).close()
with check("tls", "verify-full"):
    adbc.connect(url("postgresql") + "?sslmode=verify-full").close()
connection = adbc.connect(url("postgresql"), autocommit=True)
cursor = connection.cursor()


def read(query: str, *values: object) -> pa.Table:
    """The result of a query."""
    cursor.execute(query, list(values) or None)
    return cursor.fetch_arrow_table()


with check("queries", "rows"):
    same(
        read("SELECT g::bigint AS g, g::text AS t FROM generate_series(1, 2) g").to_pydict(),
        {"g": [1, 2], "t": ["1", "2"]},
    )
with check("queries", "parameters"):
    same(read("SELECT $1::bigint + 1 AS a", 4).to_pydict(), {"a": [5]})
with check("queries", "errors"):
    refused(lambda: read("SELECT * FROM missing"), "42P01")
with check("types", "all in one row"):
    found = read(
        "SELECT true AS b, 1::smallint AS s, 2 AS i, 3::bigint AS l, 0.5::real AS r, 1.5::float8 AS d, 1.50::numeric AS n, "
        "'né'::text AS t, '\\x00ff'::bytea AS y, DATE '2024-02-29' AS day, TIME '10:00' AS clock, "
        "TIMESTAMP '2024-01-01 10:00' AS ts, ARRAY[1, 2] AS a, NULL::int AS z"
    ).to_pydict()
    same(
        (found["b"], found["n"], found["t"], found["y"], found["a"], found["z"]),
        ([True], ["1.50"], ["né"], [b"\x00\xff"], [[1, 2]], [None]),
    )
rows = pa.table({"n": list(range(10000)), "s": [f"n{n}" for n in range(10000)], "f": [n / 4 for n in range(10000)]})
with check("copy", "ingest: create, append, replace"):
    same(cursor.adbc_ingest("rows", rows, mode="create"), 10000)
    cursor.adbc_ingest("rows", rows, mode="append")
    same(read("SELECT count(*) AS c FROM rows").to_pydict(), {"c": [20000]})
    cursor.adbc_ingest("rows", rows, mode="replace")
    same(read("SELECT count(*) AS c, max(f) AS f FROM rows").to_pydict(), {"c": [10000], "f": [9999 / 4]})
with check("copy", "results as a stream"):
    cursor.execute("SELECT * FROM rows ORDER BY n")
    same(sum(batch.num_rows for batch in cursor.fetch_record_batch()), 10000)
with check("prepared", "executemany"):
    cursor.execute("CREATE TABLE t (id int PRIMARY KEY, name text)")
    cursor.executemany("INSERT INTO t VALUES ($1, $2)", [(n, str(n)) for n in range(100)])
    same(read("SELECT count(*) AS c FROM t").to_pydict(), {"c": [100]})
with check("prepared", "parameters of a statement"):
    handle = cursor.adbc_prepare("SELECT * FROM t WHERE id = $1")
    same([str(each.type) for each in handle], ["int32"])
with check("transactions", "rollback"):
    with adbc.connect(url("postgresql")) as other, other.cursor() as own:
        own.execute("DELETE FROM t")
        other.rollback()
    same(read("SELECT count(*) AS c FROM t").to_pydict(), {"c": [100]})
with check("metadata", "get_table_schema"):
    same(connection.adbc_get_table_schema("t").names, ["id", "name"])
with check("metadata", "get_objects"):
    found = connection.adbc_get_objects(depth="all", table_name_filter="t").read_all().to_pylist()
    tables = [
        (
            table["table_name"],
            [column["column_name"] for column in table["table_columns"]],
            [each["constraint_type"] for each in table["table_constraints"]],
        )
        for catalog in found
        for schema in catalog["catalog_db_schemas"] or []
        for table in schema["db_schema_tables"] or []
    ]
    same(tables, [("t", ["id", "name"], ["PRIMARY KEY"])])
with check("metadata", "statistics and info"):
    same(connection.adbc_get_info()["vendor_name"], "PostgreSQL")
cursor.close()
connection.close()
