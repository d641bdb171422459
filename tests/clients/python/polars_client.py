"""polars: read_database and write_database, over SQLAlchemy, ADBC and connectorx."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["polars==2.1.0", "adbc-driver-postgresql==1.13.0", "connectorx==0.4.6", "sqlalchemy==2.1.9", "psycopg[binary]==3.3.9", "pyarrow==26.0.0", "pandas==3.0.4"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import polars as pl
import sqlalchemy as sa
from polars.testing import assert_frame_equal
from scenario import check, refused, same, url, version

version(pl.__version__)
uri = url("postgresql")
engine = sa.create_engine(url("postgresql+psycopg"))
frame = pl.DataFrame(
    {"n": list(range(1000)), "f": [n / 8 for n in range(1000)], "s": [f"n{n}" if n % 3 else None for n in range(1000)]}
)
with check("connect", "with a password"):
    same(pl.read_database("SELECT 1 AS a", engine).rows(), [(1,)])
with check("tls", "verify-full"):
    same(pl.read_database_uri("SELECT 1 AS a", uri + "?sslmode=verify-full", engine="adbc").rows(), [(1,)])
with check("copy", "write_database by SQLAlchemy"):
    frame.write_database("by_sqlalchemy", engine)
    same(pl.read_database("SELECT count(*) FROM by_sqlalchemy", engine).item(), 1000)
with check("copy", "write_database by ADBC"):
    frame.write_database("by_adbc", uri, engine="adbc")
    frame.write_database("by_adbc", uri, engine="adbc", if_table_exists="append")
    same(pl.read_database("SELECT count(*) FROM by_adbc", engine).item(), 2000)
for name in ("adbc", "connectorx"):
    with check("queries", f"read_database_uri by {name}"):
        assert_frame_equal(pl.read_database_uri("SELECT * FROM by_sqlalchemy ORDER BY n", uri, engine=name), frame)
with check("queries", "parameters and batches"):
    query = sa.text("SELECT n FROM by_sqlalchemy WHERE n < :most ORDER BY n")
    options = {"parameters": {"most": 100}}
    batches = pl.read_database(query, engine, iter_batches=True, batch_size=30, execute_options=options)
    same([len(batch) for batch in batches], [30, 30, 30, 10])
with check("queries", "errors"):
    refused(lambda: pl.read_database("SELECT * FROM missing", engine), "42P01")
with check("types", "dates, decimals, arrays"):
    found = pl.read_database(
        "SELECT DATE '2024-02-29' AS d, 1.50::numeric(5,2) AS n, ARRAY[1,2] AS a, NULL::int AS z", engine
    )
    same(
        (str(found["d"][0]), str(found["n"][0]), found["a"][0].to_list(), found["z"][0]),
        ("2024-02-29", "1.50", [1, 2], None),
    )
engine.dispose()
