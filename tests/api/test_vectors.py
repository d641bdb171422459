"""Vectors in the Python API: values, Arrow and parameters, from an embedded database and from gpudb's server."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import gpudb
from gpudb.api import Connection
from tests.support.connection_urls import to_url


@pytest.fixture(params=["embedded", "server"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    url = to_url(request.getfixturevalue("gpudb_server")) if request.param == "server" else None
    with gpudb.connect(url) if url is not None else gpudb.connect() as made:
        yield made


def test_vectors_are_lists(connection: Connection) -> None:
    relation = connection.sql("SELECT v FROM (VALUES ('[0.6,2,-3]'::vector(3)), (NULL)) AS t (v)")
    assert relation.fetchall() == [([0.6, 2.0, -3.0],), (None,)]
    table = relation.arrow()
    assert table.schema.field("v").type == pa.list_(pa.float32())
    assert table["v"].null_count == 1
    nested = connection.sql("SELECT array_agg(v) AS a FROM (VALUES ('[1,2]'::vector), ('[3]')) AS t (v)")
    assert nested.fetchall() == [([[1.0, 2.0], [3.0]],)]


def test_lists_are_parameters(connection: Connection) -> None:
    sql = "SELECT '[1,2,2]'::vector <-> $1::vector"
    assert connection.sql(sql, params=([1, 2, 5],)).fetchall() == [(3.0,)]
    assert connection.sql(sql, params=("[1,2,4]",)).fetchall() == [(2.0,)]
