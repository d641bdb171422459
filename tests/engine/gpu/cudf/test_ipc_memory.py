"""Rows read from the memory of another worker's GPU through IPC handles: two worker processes on one GPU."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import joined_processes
from gpudb.engine.gpu.engine import ClusterEngine
from tests.engine.gpu.compare_on_cluster import engine_of, prepare
from tests.support.gpu import faults, host_transfers, local_stages
from tests.support.gpu.dask_programs import Scheduler
from tests.support.lab import ON_GPUS, Lab

pytestmark = ON_GPUS

MEMORY = 6 << 30
"""GPU memory of each worker."""
ROWS = 200_000
STATEMENTS = (
    "SELECT k, count(*), sum(a), max(t) FROM f GROUP BY k ORDER BY k",
    "SELECT f.a, g.name FROM f JOIN g ON f.a = g.a WHERE f.k < 40 ORDER BY f.a",
    "SELECT t, count(DISTINCT a) FROM f GROUP BY t ORDER BY t",
    "SELECT a, row_number() OVER (PARTITION BY k ORDER BY a) FROM f ORDER BY a LIMIT 100",
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, ClusterEngine, Cluster]]:
    folder = tmp_path_factory.mktemp("dask")
    scheduler = Scheduler(folder)
    lab = Lab()
    try:
        lab.run(
            f"CREATE TABLE f AS SELECT i AS a, i % 9973 AS k, 't' || i % 30000 AS t FROM generate_series(1, {ROWS}) i"
        )
        lab.run(f"CREATE TABLE g AS SELECT i * 3 AS a, 'n' || i AS name FROM generate_series(1, {ROWS // 4}) i")
        for name in ("first", "second"):
            (folder / name).mkdir()
            # A lock file prevents two workers on one GPU.
            scheduler.worker(name, TMPDIR=str(folder / name))
        cluster = Cluster(replace(joined_processes(scheduler.address, 2, gpu=True, insecure=True), device=MEMORY))
        assert host_transfers.told(cluster)
        cluster._client.run(prepare, gpu=True)
        made = engine_of(cluster, lab, True)
        try:
            yield lab, made, cluster
        finally:
            made.close()
    finally:
        scheduler.close()
        lab.close()


def _far(dask_worker: Any) -> None:
    """On a worker: treats other workers as remote from now on."""
    dask_worker.plugins["gpudb"]._exchange._is_near = lambda address: False


def _read(dask_worker: Any) -> set[str]:
    """On a worker: the peers whose memory it has mapped."""
    transfers = dask_worker.plugins["gpudb"]._exchange
    assert not transfers._unmappable
    return set(transfers._packer.copy_from.__self__._peers)


def _answers(lab: Lab, engine: ClusterEngine, sql: str) -> tuple[list[Any], list[Any]]:
    request = lab.request(sql)
    kinds = [column.type for column in request.query.columns]
    return local_stages.as_text(engine.run(request), kinds), local_stages.as_text(lab.database.cpu.run(request), kinds)


def _right(lab: Lab, engine: ClusterEngine, cluster: Cluster) -> None:
    for sql in STATEMENTS * 3:
        given, wanted = _answers(lab, engine, sql)
        assert given == wanted
    assert faults.idle(cluster)


def test_rows_are_read_where_they_lie(engine: tuple[Lab, ClusterEngine, Cluster]) -> None:
    lab, workers, cluster = engine
    _right(lab, workers, cluster)
    first, second = (address for _, address, _ in cluster.heartbeats())
    assert cluster._client.run(_read) == {first: {second}, second: {first}}


def test_the_memory_of_one_that_is_gone_is_let_go_of(engine: tuple[Lab, ClusterEngine, Cluster]) -> None:
    lab, workers, cluster = engine
    _right(lab, workers, cluster)
    before = cluster._client.run(os.getpid)
    first, second = (address for _, address, _ in cluster.heartbeats())
    os.kill(before[first], signal.SIGKILL)
    ends = time.monotonic() + 120
    while first in {address for _, address, _ in cluster.heartbeats()} or not host_transfers.told(cluster):
        assert time.monotonic() < ends
        time.sleep(0.1)
    # It would have been ended if it kept the memory that the new worker needs.
    assert cluster._client.run(os.getpid, workers=[second]) == {second: before[second]}
    assert cluster._client.run(_read, workers=[second]) == {second: set()}
    cluster._client.run(prepare, gpu=True)
    _right(lab, workers, cluster)


def test_workers_of_other_hosts_fetch_them(engine: tuple[Lab, ClusterEngine, Cluster]) -> None:
    lab, workers, cluster = engine
    cluster._client.run(_far)
    _right(lab, workers, cluster)
