"""Relations as arrays: types, NULLs, shared memory, blocks; those of PyTorch and JAX where these are installed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import gpudb
from gpudb.api import Connection
from gpudb.errors import GpudbError

ROWS = """
SELECT i::int2 AS small, i AS middle, i::bigint * 10000000000 AS big, i / 4.0::float8 AS double,
    nullif(i, 2)::real AS single, i % 2 = 0 AS even, i::numeric(8, 2) / 4 AS exact,
    date '1970-01-01' + i AS day, timestamp '1970-01-01' + i * interval '1 second' AS at,
    timestamptz '1970-01-01 00:00+00' + i * interval '1 hour' AS zoned
FROM generate_series(1, 3) AS i ORDER BY i
"""
STORAGE = {
    "small": ("int16", [1, 2, 3]),
    "middle": ("int32", [1, 2, 3]),
    "big": ("int64", [10**10, 2 * 10**10, 3 * 10**10]),
    "double": ("float64", [0.25, 0.5, 0.75]),
    "single": ("float32", [1.0, np.nan, 3.0]),
    "even": ("bool", [False, True, False]),
    "exact": ("float64", [0.25, 0.5, 0.75]),
    "day": ("int32", [1, 2, 3]),
    "at": ("int64", [1_000_000, 2_000_000, 3_000_000]),
    "zoned": ("int64", [3_600_000_000, 7_200_000_000, 10_800_000_000]),
}


def _assert_stored(name: str, array: np.ndarray) -> None:
    dtype, values = STORAGE[name]
    assert array.dtype == dtype, name
    np.testing.assert_array_equal(array, np.array(values, dtype), name)


def test_numpy(any_db: Connection) -> None:
    found = any_db.sql(ROWS).numpy()
    assert list(found) == list(STORAGE)
    assert found["day"].dtype == "datetime64[D]"
    assert found["at"].dtype == found["zoned"].dtype == "datetime64[us]"
    for name, array in found.items():
        assert not array.flags.writeable
        stored = array.astype("int32" if name == "day" else "int64") if array.dtype.kind == "M" else array
        _assert_stored(name, stored)


def test_no_rows_and_several_batches(db: Connection) -> None:
    empty = db.sql("SELECT 1 AS a, true AS b, 1.5::numeric AS c WHERE false").numpy()
    assert {name: (array.dtype.str, len(array)) for name, array in empty.items()} == {
        "a": ("<i4", 0),
        "b": ("|b1", 0),
        "c": ("<f8", 0),
    }
    many = db.sql("SELECT i FROM generate_series(1, 300000) AS i")
    np.testing.assert_array_equal(np.sort(many.numpy()["i"]), np.arange(1, 300_001))


def test_arrays_share_the_memory_of_the_rows() -> None:
    from gpudb.api.arrays.columns import make_contiguous
    from gpudb.api.arrays.libraries import to_numpy

    table = pa.table({"a": [1.0, 2.0, None][:2], "t": pa.array([1, 2], pa.timestamp("us"))})
    for name, array in to_numpy(make_contiguous(table)).items():
        assert array.__array_interface__["data"][0] == table[name].chunk(0).buffers()[1].address


@pytest.mark.parametrize(
    ("query", "sqlstate", "message"),
    [
        ("SELECT 'x' AS a", "0A000", 'column "a" is of type text, which arrays of numbers cannot hold'),
        ("SELECT ARRAY[1] AS a", "0A000", 'column "a" is of type integer[], which arrays of numbers cannot hold'),
        ("SELECT interval '1 day' AS a", "0A000", 'column "a" is of type interval, which arrays'),
        ("SELECT nullif(1, 1) AS a", "22004", 'column "a" holds NULL, which an array of int32 cannot'),
        ("SELECT 1 AS a, 2 AS a", "42701", 'column "a" specified more than once'),
        ("SELECT missing", "42703", 'column "missing" does not exist'),
    ],
)
def test_errors(db: Connection, query: str, sqlstate: str, message: str) -> None:
    with pytest.raises(GpudbError) as caught:
        db.sql(query).numpy()
    assert caught.value.sqlstate == sqlstate
    assert caught.value.message.startswith(message)


def test_block(any_db: Connection) -> None:
    relation = any_db.sql(ROWS)[["middle", "single", "exact"]]
    block = relation.block()
    assert block.dtype == np.float32
    assert block.flags.c_contiguous
    np.testing.assert_array_equal(block, np.float32([[1, 1, 0.25], [2, np.nan, 0.5], [3, 3, 0.75]]))
    np.testing.assert_array_equal(any_db.sql(ROWS)[["small", "even"]].block("int8"), np.int8([[1, 0], [2, 1], [3, 0]]))


def test_a_block_of_many_rows_has_each_value_in_its_place(db: Connection) -> None:
    block = db.sql("SELECT i, i * 2 AS j FROM generate_series(0, 50000) AS i ORDER BY i").block("int32")
    np.testing.assert_array_equal(block, np.stack([np.arange(50001), 2 * np.arange(50001)], 1))


@pytest.mark.parametrize(
    ("query", "dtype", "library", "sqlstate"),
    [
        ("SELECT 0.5::float8 AS a", "int32", "numpy", "22003"),
        ("SELECT 'Infinity'::float8 AS a", "int32", "numpy", "22003"),
        ("SELECT 300 AS a", "int8", "numpy", "22003"),
        ("SELECT -1 AS a", "uint8", "numpy", "22003"),
        ("SELECT 1 AS a", "datetime64[s]", "numpy", "22023"),
        ("SELECT 1 AS a", "float32", "pandas", "22023"),
    ],
)
def test_errors_of_blocks(db: Connection, query: str, dtype: str, library: str, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as caught:
        db.sql(query).block(dtype, library=library)
    assert caught.value.sqlstate == sqlstate


def test_a_library_that_is_missing_is_named(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cupy", None)
    with pytest.raises(ImportError, match="this needs cupy, which is not installed: pip install cupy-cuda13x"):
        db.sql("SELECT 1 AS a").cupy()


def test_torch(any_db: Connection) -> None:
    torch = pytest.importorskip("torch")
    for name, tensor in any_db.sql(ROWS).torch().items():
        _assert_stored(name, tensor.numpy())
    block = any_db.sql(ROWS)[["small", "double"]].block("float64", library="torch")
    assert torch.equal(block, torch.tensor([[1, 0.25], [2, 0.5], [3, 0.75]], dtype=torch.float64))
    empty = any_db.sql("SELECT 1 AS a, true AS b WHERE false").torch()
    assert [(tensor.dtype, tensor.shape) for tensor in empty.values()] == [(torch.int32, (0,)), (torch.bool, (0,))]


def test_jax(any_db: Connection) -> None:
    jax = pytest.importorskip("jax")
    relation = any_db.sql(ROWS)
    found = relation[["small", "double", "even", "day"]].jax()
    assert {name: str(array.dtype) for name, array in found.items()} == {
        "small": "int16",
        "double": "float32",
        "even": "bool",
        "day": "int32",
    }
    np.testing.assert_array_equal(found["double"], np.float32([0.25, 0.5, 0.75]))
    with pytest.raises(GpudbError, match='column "big" holds integers beyond the range of int32') as caught:
        relation.jax()
    assert caught.value.sqlstate == "22003"
    with jax.enable_x64(True):
        for name, array in relation.jax().items():
            _assert_stored(name, np.asarray(array))


@pytest.mark.gpu
def test_cupy_and_cudf(db: Connection) -> None:
    for name, array in db.sql(ROWS).cupy().items():
        _assert_stored(name, array.get())
    frame = db.sql(ROWS).cudf()
    assert frame["big"].to_arrow().to_pylist() == STORAGE["big"][1]
    assert db.sql("SELECT sum(big) AS total FROM frame").fetchone() == (6 * 10**10,)
    assert gpudb.connect().sql("SELECT count(*) FROM frame").fetchone() == (3,)
