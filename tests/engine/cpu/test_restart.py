"""DuckDB refuses all statements after an internal error: the engine starts a new instance, and statements continue."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import duckdb
import pytest

from gpudb.duckdb.errors import EngineRestarted, broke_instance, is_fatal, translate_error
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.errors import GpudbError
from tests.support.lab import Lab, answer


@pytest.fixture
def cpu(lab: Lab) -> Iterator[CpuEngine]:
    made = CpuEngine(spill=lab.database.store.spill)
    yield made
    made.close()


@pytest.fixture(scope="module", autouse=True)
def table(lab: Lab) -> None:
    lab.run("CREATE TABLE nums AS SELECT i AS n FROM generate_series(1, 1000) i")


def test_the_next_statement_runs_on_a_new_instance(cpu: CpuEngine, lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    assert answer(cpu, lab.request("SELECT sum(n) FROM nums")) == [(500500,)]
    broken = cpu.instance
    broken.connection.close()  # as after an internal error: every statement fails
    assert not broken.alive()
    assert answer(cpu, lab.request("SELECT sum(n) FROM nums")) == [(500500,)]
    assert cpu.instance is not broken
    assert "the embedded engine failed" in caplog.text


def test_the_catalog_and_explain_find_the_new_instance(cpu: CpuEngine, lab: Lab) -> None:
    cpu.instance.connection.close()
    assert cpu.system_columns("pg_catalog", "pg_class") is not None
    cpu.instance.connection.close()
    with pytest.raises(EngineRestarted) as caught:
        cpu.explain(lab.request("SELECT sum(n) FROM nums"))
    assert caught.value.sqlstate == "58000"
    assert cpu.explain(lab.request("SELECT sum(n) FROM nums")).operator


def test_many_statements_start_one_instance(cpu: CpuEngine, lab: Lab) -> None:
    requests = [lab.request("SELECT count(*) FROM nums") for _ in range(8)]
    rows: list[list[tuple[object, ...]]] = []
    cpu.instance.connection.close()
    threads = [threading.Thread(target=lambda r=r: rows.append(answer(cpu, r))) for r in requests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert rows == [[(1000,)]] * 8


def test_a_closed_engine_stays_closed(lab: Lab) -> None:
    engine = CpuEngine()
    engine.close()
    with pytest.raises(GpudbError):
        answer(engine, lab.request("SELECT count(*) FROM nums"))
    assert not engine.instance.alive()


def test_what_is_fatal() -> None:
    assert is_fatal(duckdb.FatalException("FATAL Error: database has been invalidated (of a previous fatal error)"))
    assert is_fatal(OSError("INTERNAL Error: x"))
    assert broke_instance(duckdb.InternalException("INTERNAL Error: x"))
    assert not is_fatal(duckdb.ConversionException("Conversion Error: x"))
    invalidated = duckdb.FatalException("FATAL Error: the database has been invalidated because of (x)")
    assert translate_error(invalidated).sqlstate == "XX000"
