"""Statements that others leave too little memory or temporary space: they wait, run again alone, or fail clearly."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from gpudb.engine.admission import Cost, Ticket
from gpudb.engine.cpu import engine as engine_module
from gpudb.engine.cpu.engine import CpuEngine
from gpudb.engine.protocol import Request, Settings
from gpudb.errors import GpudbError
from tests.support.lab import Lab
from tests.support.sessions import wait_until

SORT = (
    "SELECT count(*), max(r) FROM (SELECT row_number() OVER (ORDER BY sin(x)) r, x FROM generate_series(1, {}) g(x)) t"
)

SERIES = "generate_series(1, 400000)"
MANY = (
    SORT.format(400_000),
    f"SELECT count(*), sum(a.x - b.x)::int FROM {SERIES} a(x) JOIN {SERIES} b(x) ON a.x = b.x",
)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[CpuEngine]:
    made = CpuEngine(256 << 20, tmp_path / "spill", threads=2)
    yield made
    made.close()


def rows(engine: CpuEngine, request: Request) -> list[dict[str, object]]:
    stream = engine.run(request)
    return pa.Table.from_batches(list(stream), stream.schema).to_pylist()


def numbered(lab: Lab, sql: str, session: int) -> Request:
    return lab.request(sql, settings=Settings(session=session))


class _Failing:
    """How many statements find no memory."""

    failures = 0


@pytest.fixture
def failing(small: CpuEngine, monkeypatch: pytest.MonkeyPatch) -> CpuEngine:
    """An engine whose statements fail as often as `_Failing.failures` says."""
    run = engine_module.open_arrow_reader

    def run_failing(cursor: duckdb.DuckDBPyConnection, sql: str, count: int) -> pa.RecordBatchReader:
        if _Failing.failures:
            _Failing.failures -= 1
            raise duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate data")
        return run(cursor, sql, count)

    monkeypatch.setattr(engine_module, "open_arrow_reader", run_failing)
    return small


def test_it_runs_again_alone(lab: Lab, failing: CpuEngine) -> None:
    beside = failing.admission.admit(Cost(1000, 5.0), numbered(lab, "SELECT 1", 9))
    _Failing.failures = 1
    found: list[list[dict[str, object]]] = []
    request = numbered(lab, SORT.format(2_000_000), 1)
    runner = threading.Thread(target=lambda: found.append(rows(failing, request)))
    runner.start()
    wait_until(lambda: request.cancel.waits_for is not None, "it waits for the others to end")
    assert _Failing.failures == 0
    assert found == []
    failing.admission.leave(beside)
    runner.join(60)
    assert found == [[{"c1": 2_000_000, "c2": 2_000_000}]]
    assert failing.admission.queues.counts() == (0, 0)


def test_one_that_was_alone_fails(lab: Lab, failing: CpuEngine) -> None:
    _Failing.failures = 1
    with pytest.raises(GpudbError) as raised:
        rows(failing, numbered(lab, SORT.format(2_000_000), 1))
    assert raised.value.sqlstate == "53200"
    assert failing.admission.queues.counts() == (0, 0)


def test_so_many_run_that_memory_suffices(lab: Lab, tmp_path: Path) -> None:
    """Without admission four in five of these fail with 53200."""
    engine = CpuEngine(64 << 20, tmp_path / "spill", threads=2)
    found: dict[int, object] = {}

    def client(number: int) -> None:
        try:
            found[number] = rows(engine, numbered(lab, MANY[number % 2], number))
        except BaseException as error:
            found[number] = error

    threads = [threading.Thread(target=client, args=(number,)) for number in range(1, 25)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    expected = [[{"c1": 400_000, "c2": 400_000}], [{"c1": 400_000, "c2": 0}]]
    assert found == {number: expected[number % 2] for number in range(1, 25)}
    assert engine.admission.queues.counts() == (0, 0)
    engine.close()


def test_temporary_files_are_bounded(lab: Lab, tmp_path: Path) -> None:
    engine = CpuEngine(64 << 20, tmp_path / "spill", threads=2, temp_limit=8 << 20)
    try:
        with pytest.raises(GpudbError) as raised:
            rows(
                engine,
                numbered(
                    lab, "SELECT max(s) FROM (SELECT DISTINCT sin(x) s, x FROM generate_series(1, 6000000) g(x)) t", 1
                ),
            )
        assert (raised.value.sqlstate, raised.value.message) == (
            "53400",
            "temporary file size exceeds temp_file_limit (8192kB)",
        )
        assert rows(engine, numbered(lab, "SELECT count(*) FROM generate_series(1, 1000) g", 1)) == [{"c1": 1000}]
    finally:
        engine.close()


def test_a_stream_that_is_not_read_leaves_its_place(lab: Lab, small: CpuEngine) -> None:
    stream = iter(small.run(numbered(lab, "SELECT x FROM generate_series(1, 60000000) g(x)", 1)))
    next(stream)
    (ticket,) = small.admission.queues.long.running + small.admission.queues.short.running
    assert isinstance(ticket, Ticket)
    assert ticket.paused is not None
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert small.admission.queues.counts() == (0, 0)
