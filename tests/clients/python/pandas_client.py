"""pandas: frames to tables and back through SQLAlchemy."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["pandas==3.0.4", "sqlalchemy==2.1.9", "psycopg[binary]==3.3.9"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import pandas as pd
import sqlalchemy as sa
from scenario import check, refused, same, url, version

version(pd.__version__)
engine = sa.create_engine(url("postgresql+psycopg"))
with check("connect", "with a password"):
    same(pd.read_sql("SELECT 1 AS a", engine)["a"].tolist(), [1])
with check("tls", "verify-full"):
    secure = sa.create_engine(url("postgresql+psycopg"), connect_args={"sslmode": "verify-full"})
    same(pd.read_sql("SELECT 1 AS a", secure)["a"].tolist(), [1])
    secure.dispose()
frame = pd.DataFrame(
    {
        "n": range(1000),
        "f": [n / 8 for n in range(1000)],
        "s": [f"n{n}" if n % 3 else None for n in range(1000)],
        "b": [n % 2 == 0 for n in range(1000)],
        "t": pd.date_range("2024-01-01", periods=1000, freq="h", tz="UTC"),
    }
)
with check("copy", "to_sql, replaced and appended"):
    frame.to_sql("frame", engine, index=False)
    frame.to_sql("frame", engine, index=False, if_exists="replace", chunksize=300)
    frame.to_sql("frame", engine, index=False, if_exists="append", method="multi", chunksize=100)
    same(int(pd.read_sql("SELECT count(*) AS c FROM frame", engine)["c"][0]), 2000)
with check("types", "read_sql_table"):
    found = pd.read_sql_table("frame", engine).head(1000)
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)
with check("types", "dates and numerics"):
    found = pd.read_sql("SELECT DATE '2024-02-29' AS d, 1.50 AS n", engine, parse_dates=["d"], coerce_float=True)
    same(found["d"][0], pd.Timestamp("2024-02-29"))
    same(float(found["n"][0]), 1.5)
with check("queries", "parameters and chunks"):
    query = sa.text("SELECT n FROM frame WHERE n < :most ORDER BY n")
    chunks = pd.read_sql(query, engine, params={"most": 100}, chunksize=50)
    same([len(chunk) for chunk in chunks], [50, 50, 50, 50])
with check("queries", "errors"):
    refused(lambda: pd.read_sql("SELECT * FROM missing", engine), "42P01")
with check("transactions", "rolled back"):
    with engine.connect() as connection:
        connection.begin()
        frame.to_sql("gone", connection, index=False)
        connection.rollback()
    same(sa.inspect(engine).has_table("gone"), False)
with check("metadata", "an index becomes a column with an index"):
    frame.set_index("n").to_sql("indexed", engine)
    same([each["column_names"] for each in sa.inspect(engine).get_indexes("indexed")], [["n"]])
engine.dispose()
