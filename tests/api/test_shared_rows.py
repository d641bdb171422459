"""Arrays of a relation on workers of this host: mapped from their memory, and gone from it afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest

import gpudb
from gpudb.api import Connection
from gpudb.engine.gpu.exchange import shared_rows
from gpudb.errors import GpudbError
from tests.support.connection_urls import to_url
from tests.support.server_program import running_server
from tests.support.sessions import wait_until

MAKE = """CREATE TABLE t AS SELECT i AS a, (i * 0.5)::float8 AS b, (i % 7)::int2 AS c, i::numeric(10, 2) AS d,
    i % 2 = 0 AS e, date '2024-01-01' + i % 100 AS f, nullif(i % 5, 0)::real AS g, i % 3 AS k, 'x' AS x
FROM generate_series(1, 30000) AS i"""
NUMBERS = ["a", "b", "c", "d", "e", "f", "g"]


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with two CPU workers that has the table `t`."""
    with running_server(tmp_path_factory.mktemp("gpudb-data"), "--engine", "twin", "--workers", "2") as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(MAKE)
        yield dsn


@pytest.fixture
def db(dsn: str) -> Iterator[Connection]:
    with gpudb.connect(to_url(dsn)) as connection:
        yield connection


def _list_files() -> set[Path]:
    return set(shared_rows._get_folder().glob("gpudb-rows-*"))


def _assert_freed() -> None:
    """The workers are told to free the rows, and do so soon."""
    wait_until(lambda: not _list_files(), "the rows are freed")


def _assert_equal(found: dict[str, np.ndarray], wanted: dict[str, np.ndarray]) -> None:
    assert list(found) == list(wanted)
    order = np.argsort(found["a"])
    for name, values in wanted.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name][order], values)


def test_arrays_are_those_of_rows_that_were_sent(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = db.table("t")[NUMBERS]
    shared = relation.numpy()
    _assert_freed()  # the mapping holds the memory
    monkeypatch.setattr("gpudb.api.arrays.shared.get_host_name", lambda: "another")
    sent = relation.order("a").numpy()
    _assert_equal(shared, sent)
    assert len(shared["a"]) == 30_000


def test_rows_of_one_worker_are_mapped_without_a_copy(db: Connection) -> None:
    maps = Path("/proc/self/maps")
    found = db.table("t").select("a", "b").order("a").limit(20_000).numpy()
    address = found["b"].__array_interface__["data"][0]
    mapped = [line for line in maps.read_text().splitlines() if "gpudb-rows" in line]
    ranges = [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in mapped]
    assert any(low <= address < high for low, high in ranges)
    np.testing.assert_array_equal(found["a"], np.arange(1, 20_001))


def test_a_tensor_over_mapped_rows_can_be_written_to(db: Connection) -> None:
    torch = pytest.importorskip("torch")
    tensor = db.table("t").select("b").order("b").limit(20_000).torch()["b"]
    tensor += 1
    assert torch.equal(tensor[:3], torch.tensor([1.5, 2.0, 2.5], dtype=torch.float64))


def test_groups_parameters_and_transactions(db: Connection) -> None:
    groups = db.sql("SELECT k, sum(b)::float8 AS s FROM t WHERE a <= $1 GROUP BY k ORDER BY k", [30]).numpy()
    np.testing.assert_array_equal(groups["s"], [82.5, 72.5, 77.5])
    with db.transaction():
        db.execute("CREATE TEMPORARY TABLE inside AS SELECT 5 AS a")
        assert db.sql("SELECT t.a FROM t JOIN inside ON t.a = inside.a").numpy()["a"].tolist() == [5]
        assert db.status == "T"
        with pytest.raises(GpudbError, match='column "a" holds NULL') as caught:
            db.sql("SELECT nullif(a, 1) AS a FROM t").numpy()
        assert caught.value.sqlstate == "22004"
        assert db.status == "T"
    _assert_freed()


def test_what_workers_do_not_have_is_sent(db: Connection) -> None:
    assert db.sql("SELECT 1 AS a").numpy()["a"].tolist() == [1]
    assert db.sql("SELECT count(*) AS n FROM pg_class WHERE relname = 't'").numpy()["n"].tolist() == [1]
    assert len(db.sql("SELECT a FROM t WHERE false").numpy()["a"]) == 0


def test_the_rows_stay_until_the_transaction_ends(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        with connection.cursor().copy("COPY (SELECT a FROM t WHERE a <= 10) TO STDOUT (FORMAT memory)") as copy:
            parts = [json.loads(bytes(line)) for line in copy]
        assert sum(part["rows"] for part in parts) == 10
        for part in parts:
            path = Path(part["path"])
            assert path.stat().st_mode & 0o777 == 0o600
            assert path.stat().st_uid == os.getuid()
        connection.commit()
    _assert_freed()


def test_workers_without_a_gpu_leave_rows_on_the_host(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        with connection.cursor().copy("COPY (SELECT a, g FROM t) TO STDOUT (FORMAT device_memory)") as copy:
            parts = [json.loads(bytes(line)) for line in copy]
        assert all("gpu" not in part for part in parts)
        assert sum(part["columns"][1]["nulls"] for part in parts) == 6000
        connection.rollback()


@pytest.mark.parametrize(
    ("statement", "sqlstate"),
    [
        ("COPY (SELECT x FROM t) TO STDOUT (FORMAT memory)", "0A000"),
        ("COPY (SELECT d FROM t) TO STDOUT (FORMAT memory)", "0A000"),
        ("COPY (SELECT nextval('s') FROM t) TO STDOUT (FORMAT memory)", "0A000"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT memory)", "0A000"),
        ("COPY (SELECT a FROM t) TO '/tmp/rows' (FORMAT memory)", "0A000"),
        ("COPY t FROM STDIN (FORMAT memory)", "0A000"),
        ("COPY t FROM STDIN (FORMAT device_memory)", "0A000"),
        ("COPY (SELECT 1) TO STDOUT (FORMAT device_memory)", "0A000"),
        ("COPY (SELECT a / (a - 7) FROM t) TO STDOUT (FORMAT memory)", "22012"),
    ],
)
def test_errors(dsn: str, statement: str, sqlstate: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE SEQUENCE s")
        with pytest.raises(psycopg.Error) as caught, connection.cursor().copy(statement) as copy:
            list(copy)
        connection.rollback()
    assert caught.value.sqlstate == sqlstate
    _assert_freed()


def test_it_needs_a_transaction_block(dsn: str) -> None:
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        pytest.raises(psycopg.Error) as caught,
        connection.cursor().copy("COPY t (a) TO STDOUT (FORMAT memory)"),
    ):
        pass
    assert caught.value.sqlstate == "25P01"


def test_files_of_killed_workers_are_removed() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stale = shared_rows._get_folder() / f"gpudb-rows-{ended.pid}-x"
    stale.write_bytes(b"rows")
    live = shared_rows.SharedFile()
    live.append(b"rows")
    shared_rows.remove_stale_files()
    assert not stale.exists()
    assert Path(live.path).read_bytes() == b"rows"
    live.close()
    assert not Path(live.path).exists()
