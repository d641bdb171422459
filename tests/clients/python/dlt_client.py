"""dlt: loads with schema evolution: append, merge, replace, nested tables, incremental state."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["dlt[postgres]"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import datetime as dt
import decimal
import os
from pathlib import Path

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["RUNTIME__LOG_LEVEL"] = "CRITICAL"
os.environ["DLT_DATA_DIR"] = str(Path("dlt").resolve())
import dlt
from scenario import check, same, url, version

version(dlt.__version__)
os.environ["DESTINATION__POSTGRES__CREDENTIALS"] = url("postgresql")
pipeline = dlt.pipeline("p", destination="postgres", dataset_name="landed", pipelines_dir=str(Path("pipes").resolve()))


def rows(sql: str) -> list[tuple[object, ...]]:
    """Returns the rows of a query."""
    with pipeline.sql_client() as client, client.execute_query(sql) as found:
        return [tuple(row) for row in found.fetchall()]


NEWEST = dlt.sources.incremental("at", initial_value=0)
BOOKS = [
    {
        "id": 1,
        "title": "né",
        "price": decimal.Decimal("1.50"),
        "at": dt.datetime(2024, 1, 2, tzinfo=dt.UTC),
        "tags": ["a", "b"],
    },
    {
        "id": 2,
        "title": "b",
        "price": decimal.Decimal("2"),
        "at": dt.datetime(2024, 1, 3, tzinfo=dt.UTC),
        "tags": [],
        "more": {"x": {"y": 1}},
    },
]
with check("connect", "tables of rows, nested ones too"):
    pipeline.run(BOOKS, table_name="books")
    same(rows("SELECT id, title, more__x__y FROM books ORDER BY id"), [(1, "né", None), (2, "b", 1)])
    same(rows("SELECT value FROM books__tags ORDER BY 1"), [("a",), ("b",)])
with check("migrations", "a column more, and another type of one"):
    pipeline.run([{"id": 3, "title": 5, "extra": b"\0\xff", "day": dt.date(2024, 2, 29)}], table_name="books")
    ((title, extra, day),) = rows("SELECT title, extra, day FROM books WHERE id = 3")
    same((title, bytes(extra), day), ("5", b"\0\xff", dt.date(2024, 2, 29)))
with check("queries", "merge by a key"):
    for price in (1, 2):
        data = [{"id": n, "price": price * n, "lines": [{"n": m} for m in range(n)]} for n in range(1, 4)]
        pipeline.run(data, table_name="orders", write_disposition="merge", primary_key="id")
    same(rows("SELECT id, price FROM orders ORDER BY id"), [(1, 2), (2, 4), (3, 6)])
    same(rows("SELECT count(*) FROM orders__lines"), [(6,)])
with check("queries", "merge as upsert, and history"):
    for name, strategy in (("upserted", "upsert"), ("history", "scd2")):
        for text in ("a", "b"):
            hint = {"disposition": "merge", "strategy": strategy}
            pipeline.run(
                [{"id": 1, "t": text}, {"id": 2, "t": "c"}], table_name=name, write_disposition=hint, primary_key="id"
            )
    same(rows("SELECT id, t FROM upserted ORDER BY id"), [(1, "b"), (2, "c")])
    same(
        rows("SELECT id, t, _dlt_valid_to IS NULL FROM history ORDER BY id, t"),
        [(1, "a", False), (1, "b", True), (2, "c", True)],
    )
with check("queries", "replace, in each way"):
    for strategy in ("truncate-and-insert", "insert-from-staging", "staging-optimized"):
        os.environ["DESTINATION__REPLACE_STRATEGY"] = strategy
        for count in (5, 3):
            pipeline.run([{"n": n} for n in range(count)], table_name="replaced", write_disposition="replace")
        same(rows("SELECT count(*), sum(n) FROM replaced"), [(3, 3)])
with check("queries", "incremental, its state restored"):

    @dlt.resource(primary_key="id")
    def events(at=NEWEST):
        """Yields what is new."""
        yield [{"id": n, "at": n} for n in range(10) if n >= at.last_value]

    pipeline.run(events())
    pipeline.drop()
    again = dlt.pipeline("p", destination="postgres", dataset_name="landed", pipelines_dir=str(Path("pipes").resolve()))
    again.sync_destination()
    again.run(events())
    same(rows("SELECT count(*) FROM events"), [(10,)])
with check("copy", "many rows"):
    pipeline.run(({"n": n, "t": f"text {n}"} for n in range(20_000)), table_name="many", loader_file_format="csv")
    same(rows("SELECT count(*), sum(n) FROM many"), [(20_000, 199_990_000)])
with check("metadata", "loads and versions of the schema"):
    same(rows("SELECT count(DISTINCT status) FROM _dlt_loads"), [(1,)])
    same(rows("SELECT count(*) > 3 FROM _dlt_version"), [(True,)])
