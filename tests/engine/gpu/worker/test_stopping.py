"""Work of a statement stops between two pieces once the statement has ended, in the threads that read for it too."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.backend.stopping import StatementEnded, check_stop
from gpudb.engine.gpu.cache.host_columns import read_concurrently
from gpudb.engine.gpu.fastpath.server import FastPathRequest
from gpudb.engine.gpu.worker.query_registry import QueryRegistry, RunningQuery
from gpudb.engine.gpu.worker.worker import StageWorker
from gpudb.errors import OutOfMemory


def test_only_the_ended_statement_stops() -> None:
    registry = QueryRegistry()
    one, other = registry.begin(1), registry.begin(2)
    check_stop()
    with one.track_thread():
        check_stop()
        registry.end(1)
        with pytest.raises(StatementEnded):
            check_stop()
        with pytest.raises(StatementEnded):
            HostBackend().compute(pl.LazyFrame({"a": [1]}))
    with other.track_thread():
        check_stop()
    check_stop()


def test_a_statement_that_fails_for_memory_stops_too() -> None:
    running = RunningQuery(1)  # without task, as on the fast path
    with running.track_thread():
        check_stop()
        running.fail(OutOfMemory("out of memory"))
        with pytest.raises(StatementEnded):
            check_stop()


def test_a_request_that_comes_after_its_cancel_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = QueryRegistry()
    queries.end(7)
    begun: list[int] = []
    monkeypatch.setattr(queries, "begin", begun.append)
    worker = cast(StageWorker, SimpleNamespace(_queries=queries))
    assert StageWorker.answer_fast_path(worker, FastPathRequest(7, b"digest", b"", 0, 1)) is None
    assert not begun


def test_no_part_is_read_after_the_end() -> None:
    running, read = RunningQuery(1), list[int]()

    def work(part: int) -> int:
        read.append(part)
        running.close()
        return part

    with running.track_thread(), pytest.raises(StatementEnded):
        list(read_concurrently(work, range(100), 1))
    assert read == [0]


def test_a_thread_that_computes_stops_by_itself() -> None:
    """As a cancel finds it: in the middle of its pieces, in another thread than that which ends the statement."""
    registry = QueryRegistry()
    running, begun = registry.begin(1), threading.Event()

    def work() -> None:
        with running.track_thread():
            while True:
                begun.set()
                check_stop()

    with ThreadPoolExecutor(1) as pool:
        computing = pool.submit(work)
        assert begun.wait(60)
        assert registry.end(1) is running
        assert isinstance(computing.exception(60), StatementEnded)
    assert not running.thread_count
    assert not registry.has_stray()
