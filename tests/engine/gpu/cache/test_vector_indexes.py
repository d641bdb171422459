"""The indexes of vectors of a worker: statements that wait for one which another builds."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from gpudb.engine.gpu.backend.stopping import StatementEnded, stop_once
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.cache.vector_indexes import FileShare, WorkerIndexes
from gpudb.vector_indexes.definition import IndexDefinition


def test_a_statement_that_waits_for_an_index_ends_when_it_is_cancelled() -> None:
    file: Any = SimpleNamespace(path="a", deleted=None)
    table: Any = SimpleNamespace(oid=1)
    column: Any = SimpleNamespace(field_id=1, name="v")
    given = table, column, IndexDefinition("hnsw", "l2", 3), Partition(0, 1), [FileShare(file, (0, 5000))]
    indexes = WorkerIndexes(1 << 20)
    begun, finish = threading.Event(), threading.Event()

    def build() -> None:
        begun.set()
        finish.wait(60)

    first = threading.Thread(target=indexes.find, args=(*given, build))
    first.start()
    try:
        assert begun.wait(60)
        with stop_once(lambda: True), pytest.raises(StatementEnded):
            indexes.find(*given, build)
        built: list[int] = []
        another = IndexDefinition("cagra", "l2", 3)
        with stop_once(lambda: True):  # a statement that searches another index does not wait
            assert indexes.find(*given[:2], another, *given[3:], lambda: built.append(1)) is None
        assert built
    finally:
        finish.set()
        first.join()
    with stop_once(lambda: True):
        assert indexes.find(*given, build) is None
