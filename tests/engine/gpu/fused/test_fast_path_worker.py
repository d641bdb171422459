"""Statements that a worker answers by the fast path: staged execution's rows and errors, or a fallback to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpudb.engine import admission
from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import cpu_processes
from gpudb.engine.gpu.engine import ClusterEngine
from gpudb.engine.gpu.fastpath.pool import FastPathPool
from gpudb.engine.gpu.fastpath.server import FastPathRequest, FastPathServer
from gpudb.engine.protocol import Cancel
from gpudb.errors import GpudbError, QueryCanceled
from tests.support.fused.fast_path import JOIN, run, until_at_once
from tests.support.gpu import local_stages
from tests.support.lab import Lab

MANY = "SELECT k * 17 + a AS c, count(*) FROM f GROUP BY c ORDER BY c DESC"
PLAIN = (
    "SELECT sum(length(n.name) + v) FROM g n WHERE name LIKE 'n1' OR EXISTS (SELECT 1 FROM g WHERE v = n.k + 1000000)"
)
NEAREST = "SELECT k FROM points ORDER BY v <-> $1::vector, k LIMIT 3"


@pytest.fixture(scope="module")
def engine(lab: Lab) -> Iterator[ClusterEngine]:
    made = ClusterEngine(Cluster(cpu_processes(1, fuse=True)), lab.database.cpu)
    yield made
    made.close()


@pytest.mark.timeout(300)
def test_rows_are_the_usual_ways(lab: Lab, engine: ClusterEngine) -> None:
    for sql in (JOIN, MANY):
        request = lab.request(sql)
        wanted = local_stages.as_text(lab.database.cpu.run(request), [column.type for column in request.query.columns])
        assert until_at_once(engine, request) == wanted
    # Other tables' files, or other parameters, are another statement.
    lab.run("INSERT INTO f VALUES (1, 3)")
    newer = replace(request, snapshot=lab.request("SELECT 1").snapshot)
    short, rows = run(engine, newer)
    assert not short
    assert [int(count or 0) for _, count in rows] != [int(count or 0) for _, count in wanted]
    assert sum(int(count or 0) for _, count in rows) == 20001


@pytest.mark.timeout(300)
def test_what_was_thought_to_be_long_and_is_not(
    lab: Lab, engine: ClusterEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "SHORT_SECONDS", 0.0)
    request = lab.request("SELECT k, count(*), max(a) FROM f GROUP BY k ORDER BY k")
    wanted = local_stages.as_text(lab.database.cpu.run(request), [column.type for column in request.query.columns])
    assert until_at_once(engine, request) == wanted


@pytest.mark.timeout(300)
def test_short_statements_take_the_fast_path_with_any_parameters(lab: Lab, engine: ClusterEngine) -> None:
    """Parameters that no run has had: nothing is bound for them."""
    for sql, given in (
        (PLAIN, [()]),
        ("SELECT k, v FROM g WHERE name = $1 ORDER BY v DESC", [("n0",), ("n1",), ("n2",), ("none",)]),
        ("SELECT count(*), sum(a) FROM f WHERE k < $1", [(most,) for most in (7, 20, 33)]),
        (NEAREST, [(f"[{n},{n % 7},-1]",) for n in range(5)]),
        (NEAREST.replace("ORDER", "WHERE k > 5 ORDER"), [("[0,0,0]",), ("[9,9,9]",)]),
    ):
        until_at_once(engine, lab.request(sql, given[0]))
        for values in given:
            request = lab.request(sql, values)
            kinds = [column.type for column in request.query.columns]
            wanted = local_stages.as_text(lab.database.cpu.run(request), kinds)
            assert run(engine, request) == (True, wanted), (sql, values)


@pytest.mark.timeout(300)
def test_parameters_that_fail_go_the_usual_way(lab: Lab, engine: ClusterEngine) -> None:
    sql = "SELECT v / $1 FROM g WHERE k = 3"
    assert until_at_once(engine, lab.request(sql, (5,))) == [("6",)]
    with pytest.raises(GpudbError) as caught:
        run(engine, lab.request(sql, (0,)))
    assert caught.value.sqlstate == "22012"
    assert until_at_once(engine, lab.request(sql, (3,))) == [("10",)]


@pytest.mark.timeout(300)
def test_what_takes_long_goes_the_usual_way(lab: Lab, engine: ClusterEngine) -> None:
    pairs = "SELECT sqrt(a.a * 1000.0 + b.a) AS x FROM f a JOIN f b ON a.k = b.k AND a.k < 10"
    request = lab.request(f"SELECT count(DISTINCT x) FROM ({pairs}) AS pairs")
    assert [run(engine, request) for _ in range(2)] == [(False, [("289",)])] * 2


@pytest.mark.timeout(300)
def test_errors_are_the_usual_ways(lab: Lab, engine: ClusterEngine) -> None:
    failing = lab.request("SELECT sum(a * 2147483647) FROM f")
    for _ in range(3):
        with pytest.raises(GpudbError) as caught:
            run(engine, failing)
        assert caught.value.sqlstate == "22003"


@pytest.mark.timeout(300)
def test_a_lost_worker_and_a_cancel_are_met(lab: Lab, engine: ClusterEngine) -> None:
    request = lab.request(JOIN)
    wanted = until_at_once(engine, request)
    stopped = Cancel()
    stopped.stop()
    with pytest.raises(QueryCanceled):
        engine.run(replace(request, cancel=stopped))
    cluster = engine._cluster
    ((_, address, _),) = cluster.heartbeats()
    cluster.run(cluster.restart(address)).result(30)
    assert run(engine, request) == (False, wanted)
    assert until_at_once(engine, request) == wanted


@pytest.mark.timeout(300)
def test_a_cancel_ends_the_wait_and_the_entry_stays_open(tmp_path: Path) -> None:
    go_on = threading.Event()

    def answer(asked: FastPathRequest) -> bytes | None:
        assert asked.statement < 9 or go_on.wait(60)
        return None if asked.digest == b"no" else asked.digest * 300_000

    def ask(shortcuts: FastPathPool, number: int, digest: bytes, cancel: Cancel | None = None) -> list[bytes] | None:
        return shortcuts.request([entry.endpoints[0]], [FastPathRequest(number, digest, b"")], cancel or Cancel())

    entry, shortcuts = FastPathServer(tmp_path, answer, b"secret"), FastPathPool(b"secret")
    try:
        assert ask(shortcuts, 1, b"no") is None
        assert ask(shortcuts, 2, b"some") == [b"some" * 300_000]
        cancel = Cancel()
        threading.Timer(0.1, cancel.stop).start()
        assert ask(shortcuts, 9, b"some", cancel) is None
        assert cancel.reason is not None
        go_on.set()
        assert ask(shortcuts, 3, b"some") == [b"some" * 300_000]
        entry.close()
        assert ask(FastPathPool(b"secret"), 4, b"some") is None
        assert shortcuts.request([str(tmp_path / ("x" * 200))], [FastPathRequest(4, b"some", b"")], Cancel()) is None
    finally:
        go_on.set()
        entry.close()
        shortcuts.close()
    long = tmp_path / ("x" * 200)
    long.mkdir(mode=0o700)
    assert FastPathServer(long, answer, b"secret").endpoints == ("",)
