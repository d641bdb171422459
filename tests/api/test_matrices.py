"""Values of type matrix in Python: NumPy arrays as results and parameters, lists in Arrow, Polars and pandas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import gpudb
from gpudb.api import Connection
from tests.support.connection_urls import to_url

ROWS = "SELECT m FROM (VALUES (1, '{{1,2},{3,4}}'::matrix), (2, NULL), (3, '{{5}}')) AS v(i, m) ORDER BY i"


def _rows(relation: Any) -> Any:
    return relation.fetchall()


@pytest.fixture(params=["embedded", "server"])
def own_db(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """Connects to an embedded database, and to a server."""
    url = () if request.param == "embedded" else (to_url(request.getfixturevalue("gpudb_server")),)
    with gpudb.connect(*url) as connection:
        yield connection


def test_results_are_numpy_arrays(own_db: Connection) -> None:
    (first,), (second,), (third,) = _rows(own_db.sql(ROWS))
    assert isinstance(first, np.ndarray)
    assert first.dtype == np.float64
    assert first.tolist() == [[1, 2], [3, 4]]
    first[0, 0] = 7  # a copy of the user's own
    assert second is None
    assert third.tolist() == [[5]]
    ((narrow,),) = _rows(own_db.sql("SELECT 'float4={{1.5}}'::matrix"))
    assert narrow.dtype == np.float32


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_parameters_are_numpy_arrays(own_db: Connection, dtype: str) -> None:
    given: Any = np.arange(12, dtype=dtype).reshape(3, 4)
    ((found, kind),) = _rows(own_db.execute("SELECT transpose($1), matrix_type($1)", [given]))
    assert found.dtype == dtype
    assert found.tolist() == given.T.tolist()
    assert kind == {"int32": "int4", "int64": "int8", "float32": "float4", "float64": "float8"}[dtype]
    large = np.random.default_rng(1).normal(size=(300, 200))
    ((found,),) = _rows(own_db.execute("SELECT $1 * $2", [large, large.T]))
    np.testing.assert_allclose(found, large @ large.T, rtol=1e-12)


def test_arrow_and_frames_have_lists(own_db: Connection) -> None:
    relation = own_db.sql(ROWS)
    column = relation.arrow().column("m")
    assert column.type == pa.list_(pa.list_(pa.float64()))
    assert column.to_pylist() == [[[1, 2], [3, 4]], None, [[5]]]
    assert relation.polars().schema["m"] == pl.List(pl.List(pl.Float64()))
    assert own_db.sql("SELECT 'int4={{1}}'::matrix AS m").arrow().column("m").type == pa.list_(pa.list_(pa.int32()))
    mixed = own_db.sql("SELECT m FROM (VALUES ('int4={{1}}'::matrix), ('{{2}}')) AS v(m)").arrow().column("m")
    assert mixed.type == pa.list_(pa.list_(pa.float64()))
    assert own_db.sql("SELECT '{{1}}'::matrix AS m WHERE false").arrow().num_rows == 0
    nested = own_db.sql("""SELECT '{"{{1,2}}",NULL}'::matrix[] AS m""")
    assert nested.arrow().column("m").to_pylist() == [[[[1, 2]], None]]
    ((found,),) = _rows(nested)
    assert found[0].tolist() == [[1, 2]]
    assert found[1] is None


def test_a_gathered_table_is_its_frame(own_db: Connection) -> None:
    sql = "SELECT array_matrix(i::float8, (i * i)::float8 ORDER BY i) FROM generate_series(1, 1000) AS i"
    ((found,),) = _rows(own_db.sql(sql))
    i = np.arange(1.0, 1001.0)
    np.testing.assert_array_equal(found, np.column_stack([i, i * i]))
