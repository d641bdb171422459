"""The UCX server: real workers without GPUs exchange rows over servers that listen on TCP; and idle servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import cpu_processes
from gpudb.engine.gpu.engine import ClusterEngine
from tests.engine.gpu.compare_on_cluster import engine_of
from tests.support.gpu import faults, host_transfers, local_stages
from tests.support.lab import Lab

pytestmark = pytest.mark.timeout(300)
STATEMENTS = (
    "SELECT k, count(*), sum(a), max(t) FROM f GROUP BY k ORDER BY k",
    "SELECT f.a, g.name FROM f JOIN g ON f.a = g.a WHERE f.k < 40 ORDER BY f.a",
    "SELECT t, count(DISTINCT a) FROM f GROUP BY t ORDER BY t",
    "SELECT a, row_number() OVER (PARTITION BY k ORDER BY a) FROM f ORDER BY a",
    "SELECT max(a) FROM f",
)


@pytest.fixture(scope="module", params=[True, False], ids=["near", "far"])
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[Lab, ClusterEngine, Cluster, bool]]:
    lab = Lab()
    lab.run("CREATE TABLE f AS SELECT i AS a, i % 97 AS k, 't' || i % 300 AS t FROM generate_series(1, 6000) i")
    lab.run("CREATE TABLE g AS SELECT i * 3 AS a, 'n' || i AS name FROM generate_series(1, 1500) i")
    cluster = Cluster(cpu_processes(2))
    cluster._client.run(host_transfers.opened, near=request.param)
    made = engine_of(cluster, lab, True)
    try:
        yield lab, made, cluster, request.param
    finally:
        made.close()
        lab.close()


@pytest.mark.parametrize("sql", STATEMENTS)
def test_statements_fetch_many_rows_there_and_few_by_message(
    engine: tuple[Lab, ClusterEngine, Cluster, bool], sql: str
) -> None:
    lab, workers, cluster, near = engine
    assert host_transfers.told(cluster)
    request = lab.request(sql)
    kinds = [column.type for column in request.query.columns]
    wanted = local_stages.as_text(lab.database.cpu.run(request), kinds)
    before = _seen(cluster)
    for _ in range(3):
        assert local_stages.as_text(workers.run(request), kinds) == wanted
    came, read = (after - known for after, known in zip(_seen(cluster), before, strict=True))
    assert (came > 0) == ("max(a) FROM f" not in sql or "GROUP" in sql)
    assert read == (came if near else 0)
    # Buffers are freed with their statement.
    assert faults.idle(cluster)


def _seen(cluster: Cluster) -> tuple[int, int]:
    """Returns the numbers of fetched and of mapped buffers on all workers."""
    every = cluster._client.run(host_transfers.seen).values()
    return sum(each[0] for each in every), sum(each[1] for each in every)


def test_memory_of_a_worker_that_is_gone_is_let_go_of(engine: tuple[Lab, ClusterEngine, Cluster, bool]) -> None:
    lab, workers, cluster, near = engine
    request = lab.request(STATEMENTS[0])
    for _ in workers.run(request):
        pass
    (_, first, _), (_, second, _) = cluster.heartbeats()
    run = cluster._client.run
    kept = run(host_transfers.seen, workers=[second])[second][2]
    assert kept == ({first} if near else set())
    os.kill(run(os.getpid, workers=[first])[first], signal.SIGKILL)
    ends = time.monotonic() + 60
    while kept and time.monotonic() < ends:
        time.sleep(0.1)
        kept = run(host_transfers.seen, workers=[second])[second][2]
    assert not kept


@pytest.mark.parametrize("protocol", ["tcp", "ucx"])
def test_a_door_that_waits_takes_no_processor(protocol: str) -> None:
    if protocol == "ucx" and find_spec("distributed_ucxx") is None:
        pytest.skip("UCX comes with RAPIDS")
    command = [sys.executable, "-m", "tests.support.gpu.idle_server", protocol]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    # Processor seconds, which other processes do not slow down; a server that polls uses a whole processor.
    assert float(told.stdout.split()[-1]) < 0.1
