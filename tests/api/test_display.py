"""Display of tables: byte for byte psql's output, where psql is installed."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from gpudb.api import Connection
from tests.support.connection_urls import to_url
from tests.support.oracle.server import Oracle

QUERIES = [
    "SELECT 1 AS a, 'hello' AS b, NULL AS c",
    "SELECT 'a\nb' AS x, 12 AS y, 'one\ntwo\nthree' AS z",
    "SELECT * FROM (VALUES (1, 'naïve'), (22, '日本語'), (-3, 'e\u0301')) AS v(n, \"a long name\")",
    "SELECT 1 AS x WHERE false",
    "SELECT 1.50::numeric AS n, true AS b, '{1,2}'::int[] AS l, 2.5::float8 AS f",
    "SELECT 'x' AS \"two\nlines\", 1 AS b",
]


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
@pytest.mark.parametrize("query", QUERIES)
def test_as_psql_prints(db: Connection, oracle: Oracle, query: str) -> None:
    command = ["psql", "-X", to_url(oracle.dsn), "-c", query]
    environment = {**os.environ, "PAGER": "", "LC_ALL": "C.UTF-8", "PGCLIENTENCODING": "UTF8"}
    told = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, env=environment)
    assert str(db.execute(query)) + "\n\n" == told.stdout
