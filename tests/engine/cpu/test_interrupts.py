"""Statements stop when they are cancelled, also while DuckDB plans them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

import gpudb.engine.cpu.engine as engine_module
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.errors import GpudbError
from tests.support.lab import Lab

LONG = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b WHERE (a * 7 + b) % 13 = 5"


@pytest.fixture
def cpu(lab: Lab) -> Iterator[CpuEngine]:
    engine = CpuEngine(spill=lab.database.store.spill, threads=2)
    yield engine
    engine.close()


def test_a_stop_before_it_runs_is_not_lost(cpu: CpuEngine, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB itself forgets an interrupt that comes while it parses and plans."""
    request = lab.request(LONG)
    run = engine_module.open_arrow_reader

    def stop_and_run(cursor: duckdb.DuckDBPyConnection, sql: str, rows: int) -> pa.RecordBatchReader:
        request.cancel.stop()
        return run(cursor, sql, rows)

    monkeypatch.setattr(engine_module, "open_arrow_reader", stop_and_run)
    with pytest.raises(GpudbError) as raised:
        list(cpu.run(request))
    assert raised.value.sqlstate == "57014"
    monkeypatch.undo()
    assert [batch.column(0).to_pylist() for batch in cpu.run(lab.request("SELECT count(*) FROM generate_series(1, 3)"))]
