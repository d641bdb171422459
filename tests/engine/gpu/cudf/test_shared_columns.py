"""Arrays over the memory of a server's GPU: mapped in this process, equal to those of the host, and held by it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpudb
from gpudb.errors import GpudbError
from tests.support.lab import ON_GPUS
from tests.support.sessions import wait_until

pytestmark = ON_GPUS

MAKE = """CREATE TABLE t AS SELECT i AS a, (i * 0.5)::float8 AS b, (i % 7)::int2 AS c, i::numeric(10, 2) AS d,
    i % 2 = 0 AS e, date '2024-01-01' + i % 100 AS f, nullif(i % 5, 0)::real AS g, i * 7::bigint AS h,
    timestamp '2024-01-01' + i * interval '1 second' AS u, 'x' AS x
FROM generate_series(1, 300000) AS i"""
NUMBERS = ["a", "b", "c", "d", "e", "f", "g", "h", "u"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A server with GPU workers."""
    from gpudb.cli.program import Program

    folder = tmp_path_factory.mktemp("gpu")
    program = Program(folder / "data", folder / "log", engine="gpu")
    try:
        with gpudb.connect(program.url) as db:
            db.execute(MAKE)
        yield program
    finally:
        program.stop()


@pytest.fixture
def db(program: Any) -> Iterator[gpudb.Connection]:
    with gpudb.connect(program.url) as connection:
        yield connection


def _make_wanted(db: gpudb.Connection) -> dict[str, np.ndarray[Any, Any]]:
    found = db.table("t")[NUMBERS].numpy()
    order = np.argsort(found["a"])
    stored = {name: values[order] for name, values in found.items()}
    return {name: values.view(np.int64) if name == "u" else values for name, values in stored.items()}


def _assert_equal(found: dict[str, np.ndarray[Any, Any]], wanted: dict[str, np.ndarray[Any, Any]]) -> None:
    assert list(found) == list(wanted)
    order = np.argsort(found["a"])
    for name, values in wanted.items():
        expected = values.astype("datetime64[D]").astype(np.int32) if name == "f" else values
        assert found[name].dtype == expected.dtype, name
        np.testing.assert_array_equal(found[name][order], expected)


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_arrays_are_a_workers_memory(db: gpudb.Connection, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    wanted = _make_wanted(db)
    mapped = _record_mappings(monkeypatch)
    rows = db.table("t")[NUMBERS]
    arrays = rows.cupy() if library == "cupy" else rows.torch(device="cuda")
    if library == "cupy":
        addresses = {name: array.data.ptr for name, array in arrays.items()}
        host = {name: array.get() for name, array in arrays.items()}
    else:
        addresses = {name: array.data_ptr() for name, array in arrays.items()}
        host = {name: array.cpu().numpy() for name, array in arrays.items()}
    _assert_equal(host, wanted)
    (memory,) = mapped
    assert all(memory.address <= address < memory.address + memory.size for address in addresses.values())


def _record_mappings(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    from gpudb.engine import gpu_memory

    mapped: list[Any] = []
    import_memory = gpu_memory.import_memory

    def record(*given: Any) -> Any:
        mapped.append(import_memory(*given))
        return mapped[-1]

    monkeypatch.setattr(gpu_memory, "import_memory", record)
    return mapped


def test_a_killed_client_leaves_nothing(db: gpudb.Connection, program: Any) -> None:
    import cupy

    query = "SELECT a, b FROM t, generate_series(1, 20) s"
    assert len(db.sql(query).cupy()["a"]) == 6_000_000  # the worker's pool grows
    free = cupy.cuda.runtime.memGetInfo()[0]
    script = f"""import gpudb, time
with gpudb.connect({program.url!r}) as db:
    held = db.sql({query!r}).cupy()
    print(len(held["a"]), flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "6000000\n"
        assert cupy.cuda.runtime.memGetInfo()[0] < free - (64 << 20)
        child.kill()
    wait_until(lambda: cupy.cuda.runtime.memGetInfo()[0] > free - (16 << 20), "the memory is free")


@pytest.mark.parametrize("library", ["cupy", "torch"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_are_those_of_the_host(db: gpudb.Connection, library: str, dtype: str) -> None:
    rows = db.table("t").select("a", "b", "d", "e", "g").order("a")
    block = rows.block(dtype, library=library, device="cuda" if library == "torch" else None)
    found = block.get() if library == "cupy" else block.cpu().numpy()
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, rows.block(dtype))


def test_integer_blocks_check_what_they_hold(db: gpudb.Connection) -> None:
    rows = db.table("t").order("a")
    np.testing.assert_array_equal(
        rows[["a", "c", "e"]].block("int32", library="cupy").get(), rows[["a", "c", "e"]].block("int32")
    )
    for name, dtype in (("b", "int32"), ("h", "int16")):
        with pytest.raises(GpudbError, match=f'column "{name}" holds') as caught:
            rows[["c", name]].block(dtype, library="torch", device="cuda")
        assert caught.value.sqlstate == "22003"
    with pytest.raises(GpudbError, match='column "n" holds NULL') as caught:
        db.sql("SELECT nullif(a, 5) AS n FROM t").cupy()
    assert caught.value.sqlstate == "22004"


def test_frames_of_cudf_have_arrows_types(db: gpudb.Connection) -> None:
    cudf = pytest.importorskip("cudf")
    for names in (["a", "b", "c", "e", "f", "h", "u"], ["a", "g"], ["a", "d", "x"]):
        rows = db.table("t")[names].order("a")
        found, wanted = rows.cudf(), cudf.DataFrame.from_arrow(rows.arrow())
        assert list(found.dtypes) == list(wanted.dtypes)
        assert found.to_arrow().equals(wanted.to_arrow())


def test_loaders_read_the_workers_memory(db: gpudb.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = db.table("t").select("a", "b", "g").order("a")
    host = [(x, y) for x, y in rows.loader(70_000, target="g", shuffle=True, seed=3, library="numpy")]
    mapped = _record_mappings(monkeypatch)
    for number, (x, y) in enumerate(rows.loader(70_000, target="g", shuffle=True, seed=3, device="cuda")):
        np.testing.assert_array_equal(x.cpu().numpy(), host[number][0])
        np.testing.assert_array_equal(y.cpu().numpy(), host[number][1])
    assert len(mapped) == 1


def test_few_rows_and_none(db: gpudb.Connection) -> None:
    assert db.sql("SELECT a FROM t WHERE a < 4 ORDER BY a").cupy()["a"].tolist() == [1, 2, 3]
    assert db.sql("SELECT a, b FROM t WHERE false").torch(device="cuda")["b"].shape == (0,)
    assert db.sql("SELECT 7 AS a").cupy()["a"].tolist() == [7]


def test_matrices_of_xgboost_are_those_of_the_host(db: gpudb.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    xgboost = pytest.importorskip("xgboost")
    monkeypatch.setattr("gpudb.api.training.dmatrix._GPU_BATCH_ROWS", 70_000)
    rows = (
        db.table("t")
        .select("b", "c", "d", "g", "nullif(a, 7) % 11 AS n", "(c > 2)::int AS y", "1 + a % 3 AS w")
        .order("b")
    )
    mapped = _record_mappings(monkeypatch)
    on_gpu, on_host = (rows.dmatrix("y", weight="w", max_bin=64, device=each) for each in ("cuda", None))
    assert len(mapped) == 1
    assert on_gpu.feature_names == on_host.feature_names == ["b", "c", "d", "g", "n"]
    assert (on_gpu.num_row(), on_gpu.num_nonmissing()) == (on_host.num_row(), on_host.num_nonmissing())
    np.testing.assert_array_equal(on_gpu.get_label(), on_host.get_label())
    np.testing.assert_array_equal(on_gpu.get_weight(), on_host.get_weight())
    model = xgboost.train({"device": "cuda", "max_depth": 3, "max_bin": 64}, on_gpu, num_boost_round=5)
    assert np.abs(model.predict(on_gpu) - on_host.get_label()).mean() < 0.2
    with pytest.raises(GpudbError, match='the label "y" holds NULL') as caught:
        db.sql("SELECT b, nullif(a, 7) AS y FROM t").dmatrix("y", device="cuda")
    assert caught.value.sqlstate == "22004"


def test_arrays_outlive_their_statement_and_server(db: gpudb.Connection, program: Any) -> None:
    tensor = db.table("t").select("a").order("a").torch(device="cuda")["a"]
    db.table("t").select("b").torch(device="cuda")
    program.stop()
    assert tensor.sum().item() == 300_000 * 300_001 // 2
    tensor += 1
    assert tensor[:3].tolist() == [2, 3, 4]
