"""ibis: expressions, tables made from frames, introspection."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["ibis-framework[postgres]==12.0.0", "pandas==3.0.4", "pyarrow==26.0.0", "pyarrow-hotfix", "rich", "packaging", "sqlglot>=26.33,<28"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import os

import ibis
import pandas as pd
from scenario import check, refused, same, version


def tables() -> list[str]:
    """The tables but for those of frames, which are temporary."""
    return sorted(each for each in con.list_tables() if not each.startswith("ibis_pandas_memtable_"))


version(ibis.__version__)
target = {
    "host": os.environ["PGHOST"],
    "port": int(os.environ["PGPORT"]),
    "user": os.environ["PGUSER"],
    "password": os.environ["PGPASSWORD"],
    "database": os.environ["PGDATABASE"],
}
with check("connect", "with a password"):
    ibis.postgres.connect(**target).disconnect()
with check("tls", "verify-full"):
    ibis.postgres.connect(**target, sslmode="verify-full").disconnect()
con = ibis.postgres.connect(**target)
frame = pd.DataFrame({"k": ["a", "b", "a", "c"], "n": [1, 2, 3, 4], "f": [0.5, 1.5, None, 2.5]})
with check("copy", "create_table from a frame"):
    same(con.create_table("t", frame).count().execute(), 4)
with check("copy", "insert"):
    con.insert("t", pd.DataFrame({"k": ["d"], "n": [5], "f": [3.5]}))
    same(con.table("t").count().execute(), 5)
t = con.table("t")
with check("queries", "group by, order by"):
    found = t.group_by("k").agg(s=t.n.sum(), m=t.f.mean()).order_by("k").execute()
    same(found["s"].tolist(), [4, 2, 4, 5])
with check("queries", "join and window"):
    other = con.create_table("u", pd.DataFrame({"k": ["a", "b"], "w": [10, 20]}))
    found = t.join(other, "k").mutate(r=ibis.row_number().over(group_by="k", order_by="n")).order_by("n").execute()
    same(found["w"].tolist(), [10, 20, 10])
    same(found["r"].tolist(), [0, 0, 1])
with check("queries", "strings, dates, case"):
    e = t.mutate(u=t.k.upper(), c=ibis.cases((t.n > 2, "many"), else_="few"), y=ibis.date("2024-02-29").year())
    found = e.order_by("n").execute()
    same((found["u"][0], found["c"].tolist(), int(found["y"][0])), ("A", ["few", "few", "many", "many", "many"], 2024))
with check("queries", "sql"):
    same(con.sql("SELECT k, n FROM t WHERE n > 3").count().execute(), 2)
with check("queries", "errors"):
    refused(lambda: con.raw_sql("SELECT * FROM missing"), "42P01")
with check("types", "arrays, JSON, timestamps, decimals"):
    con.raw_sql("CREATE TABLE kinds (a int[], j jsonb, ts timestamptz, d numeric(10,2), u uuid, b boolean)")
    con.raw_sql(
        "INSERT INTO kinds VALUES ('{1,2}', '{\"a\": 1}', '2024-07-01 12:30+00', 1.50, "
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', true)"
    )
    found = con.table("kinds").execute()
    same((list(found["a"][0]), found["j"][0], str(found["d"][0])), ([1, 2], {"a": 1}, "1.50"))
    same(str(con.table("kinds").schema()["a"]), "array<int32>")
with check("types", "to_pyarrow and batches"):
    same(t.order_by("n").to_pyarrow()["n"].to_pylist(), [1, 2, 3, 4, 5])
    same(sum(len(batch) for batch in t.to_pyarrow_batches(chunk_size=2)), 5)
with check("metadata", "tables, schemas, columns"):
    same(tables(), ["kinds", "t", "u"])
    same("public" in con.list_databases(), True)
    same(dict(con.table("t").schema().items())["n"], ibis.dtype("int64"))
with check("migrations", "views, drops, truncate"):
    con.create_view("v", t.filter(t.n > 1))
    same(con.table("v").count().execute(), 4)
    con.drop_view("v")
    con.drop_table("u")
    con.truncate_table("t")
    same(con.table("t").count().execute(), 0)
    same(tables(), ["kinds", "t"])
con.disconnect()
