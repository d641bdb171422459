"""Metrics of loads, of spilled rows and of GPUs, the latter by a fake NVML."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpudb.engine import nvml
from tests.support.fake_nvml import pynvml
from tests.support.http_client import read, scrape, wait_for
from tests.support.server_program import Program

FAKE_NVML = Path(pynvml.__file__).parent


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    environment = {"PYTHONPATH": os.pathsep.join([str(FAKE_NVML), os.environ.get("PYTHONPATH", "")])}
    folder = tmp_path_factory.mktemp("work")
    options = ("--http-port", "0", "--engine", "cpu", "--memory-limit", "150MB")
    with Program(folder / "data", *options, environment=environment, executed=True) as program:
        yield program


def test_temporary_files_are_measured_while_they_exist(server: Program) -> None:
    assert read(scrape(server), "gpudb_spill_bytes") < 1_000_000
    with psycopg.connect(server.dsn) as connection:
        # A sort that memory has no room for, held open by a cursor.
        connection.execute(
            "DECLARE c CURSOR FOR SELECT i, md5(i::text) || md5((i + 1)::text) AS x"
            " FROM generate_series(1, 1500000) AS i ORDER BY x"
        )
        assert len(connection.execute("FETCH 1 FROM c").fetchall()) == 1
        peak = read(scrape(server), "gpudb_spill_bytes")
        assert peak > 10_000_000
    wait_for(lambda: read(scrape(server), "gpudb_spill_bytes") < peak)


def test_loads_are_counted(server: Program, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1\n2\n3\n4\n5\n")
    before = scrape(server)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE loaded (a int)")
        with connection.cursor().copy("COPY loaded FROM STDIN") as copy:
            copy.write("1\n2\n3\n")
        connection.execute(f"SELECT load_data('loaded', '{tmp_path / 'rows.csv'}')")  # type: ignore[arg-type]
        with pytest.raises(psycopg.Error), connection.cursor().copy("COPY loaded FROM STDIN") as copy:
            copy.write("7\nx\n")
        connection.execute("INSERT INTO loaded VALUES (9)")  # no load
        assert connection.execute("SELECT count(*) FROM loaded").fetchall() == [(9,)]
    after = scrape(server)
    grown = {name: read(after, name) - read(before, name) for name in ("gpudb_loads_total", "gpudb_loaded_rows_total")}
    assert grown == {"gpudb_loads_total": 2, "gpudb_loaded_rows_total": 8}


def test_gpus_are_measured_by_nvml(server: Program) -> None:
    samples = scrape(server)
    assert read(samples, "gpudb_gpu_memory_used_bytes", gpu="0") == 3 << 30
    assert read(samples, "gpudb_gpu_memory_total_bytes", gpu="0") == 80 << 30
    assert read(samples, "gpudb_gpu_utilization_ratio", gpu="0") == 0.75
    assert read(samples, "gpudb_gpu_memory_bandwidth_utilization_ratio", gpu="0") == 0.4
    # One in MIG mode tells nothing.
    assert not [name for name, labels in samples if name.startswith("gpudb_gpu") and ("gpu", "1") in labels]


def test_the_utilization_of_a_workers_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_load_nvml", lambda: pynvml)
    assert nvml.read_utilization(pynvml.UUID.removeprefix("GPU-").replace("-", "")) == (0.75, 0.4)
    assert nvml.read_utilization("0" * 32) is None
    monkeypatch.setattr(nvml, "_load_nvml", lambda: None)
    assert nvml.read_utilization("0" * 32) is None
