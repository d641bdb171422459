"""connectorx: queries to frames, in partitions."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["connectorx==0.4.6", "pandas==2.3.3", "pyarrow==22.0.0"]
# [tool.uv]
# exclude-newer = "2026-11-25T00:00:00Z"
# ///

from __future__ import annotations

import importlib.metadata
import os
import urllib.parse

import connectorx as cx
import pandas as pd
from scenario import check, same, url, version

version(importlib.metadata.version("connectorx"))
uri = url("postgresql")
with check("connect", "with a password"):
    same(cx.read_sql(uri, "SELECT 1 AS a")["a"].tolist(), [1])
with check("tls", "verified"):
    secure = f"{uri}?sslmode=require&sslrootcert={urllib.parse.quote(os.environ['PGSSLROOTCERT'], safe='')}"
    same(cx.read_sql(secure, "SELECT 1 AS a")["a"].tolist(), [1])
numbers = "SELECT g AS n, g::text AS s, g / 8.0::float8 AS f, g % 2 = 0 AS b FROM generate_series(0, 9999) g"
for protocol in ("binary", "csv", "cursor", "simple"):
    with check("copy" if protocol in ("binary", "csv") else "prepared", f"protocol {protocol}"):
        found = cx.read_sql(uri, numbers, protocol=protocol)
        same(
            (len(found), int(found["n"].sum()), found["s"][9999], bool(found["b"][3])), (10000, 49995000, "9999", False)
        )
with check("queries", "in partitions"):
    found = cx.read_sql(uri, f"SELECT * FROM ({numbers}) t", partition_on="n", partition_num=4)
    same(sorted(found["n"].tolist()) == list(range(10000)), True)
with check("queries", "to Arrow"):
    same(cx.read_sql(uri, numbers, return_type="arrow").num_rows, 10000)
with check("queries", "errors"):
    try:
        cx.read_sql(uri, "SELECT * FROM missing")
    except RuntimeError as error:
        same("missing" in str(error) or "42P01" in str(error), True)
    else:
        raise AssertionError("no error")
with check("types", "all in one row"):
    found = cx.read_sql(
        uri,
        "SELECT 1::smallint AS s, 2::bigint AS l, 0.5::real AS r, 1.5::numeric AS n, 'né'::varchar AS t, "
        "DATE '2024-02-29' AS d, TIMESTAMP '2024-01-01 10:00' AS ts, TIMESTAMPTZ '2024-01-01 10:00+00' AS tz, "
        "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS u, '{\"a\": 1}'::jsonb AS j, NULL::int AS z",
    )
    row = found.iloc[0]
    same((int(row["l"]), float(row["n"]), row["t"], row["d"]), (2, 1.5, "né", pd.Timestamp("2024-02-29")))
    same(
        (row["u"], row["j"].replace(" ", ""), pd.isna(row["z"])),
        ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", '{"a":1}', True),
    )
