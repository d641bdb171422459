"""Statements that several workers answer by the fast path: staged execution's rows, or a fallback to it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.cluster.config import cpu_processes
from gpudb.engine.gpu.engine import ClusterEngine
from gpudb.engine.gpu.fastpath.pool import FastPathPool
from gpudb.engine.gpu.fastpath.server import FastPathRequest, FastPathServer
from gpudb.engine.gpu.planning.request_planner import Planner
from gpudb.engine.protocol import Cancel, Request
from gpudb.engine.routing import RoutedEngine
from gpudb.errors import GpudbError, QueryCanceled
from gpudb.plan.physical.exchange_planning import Costs
from gpudb.server.http.console.statements import describe_work
from tests.support import sessions
from tests.support.fused import corpus
from tests.support.fused.fast_path import Rows, run, until_at_once
from tests.support.gpu.comparison import embedded, outcome, sorted_rows
from tests.support.lab import Lab

pytestmark = pytest.mark.timeout(400)
SEED = 26
JOIN = "SELECT name, count(*), sum(a), avg(v) FROM lines JOIN dims USING (k) WHERE a > 2 GROUP BY name ORDER BY name"
GROUPS = "SELECT k, count(*), sum(a) FROM lines GROUP BY k ORDER BY k"
MORE = (
    "SELECT count(*), sum(k), avg(a) FROM lines",
    "SELECT k * 2 AS m, sum(a) * 2.5 FROM lines GROUP BY m",
    "SELECT k, a FROM lines WHERE k = 3 AND a = 16",
    "SELECT a, k FROM lines ORDER BY a DESC, k LIMIT 4 OFFSET 1",
    "SELECT count(*), sum(v), min(label) FROM copied",
    "SELECT label, count(*) FROM copied GROUP BY label ORDER BY 2 DESC, 1 LIMIT 2",
    "SELECT label, sum(a) FROM lines JOIN copied ON k = v GROUP BY label",
    "SELECT v, count(*), avg(v) FROM spread WHERE v < 100 GROUP BY 1",
    "SELECT k, sum(w) FROM spread JOIN near USING (v) GROUP BY k",
    "SELECT v, sum(w), max(k) FROM spread JOIN near USING (v) GROUP BY v ORDER BY 2 DESC, 1 LIMIT 7",
    "SELECT v, count(*) FROM near GROUP BY v HAVING sum(w) > 900",
    "SELECT count(*), sum(v), max(v) FROM nothing",
    "SELECT v, count(*) FROM nothing GROUP BY v",
    "SELECT sum(x), min(x), max(x), avg(x) FROM reals WHERE x > 1",
    "SELECT sum(x), min(x) + 0, max(x), avg(x), count(x) FROM reals",
)
"""Statements of every kind that several workers answer by the fast path."""
TABLES = """
CREATE TABLE lines AS SELECT i % 50 AS k, i % 17 AS a FROM generate_series(1, 20000) i;
CREATE TABLE dims AS SELECT i AS k, 'n' || i % 3 AS name, i * 10 AS v FROM generate_series(0, 40) i;
CREATE TABLE copied (v int, label text) DISTRIBUTE BY REPLICATION;
INSERT INTO copied SELECT i, 'l' || i % 4 FROM generate_series(1, 30) i;
CREATE TABLE spread (v int) DISTRIBUTE BY HASH (v);
INSERT INTO spread SELECT i FROM generate_series(1, 1000) i;
CREATE TABLE near (v bigint, w int, k int) DISTRIBUTE BY HASH (v);
INSERT INTO near SELECT i % 600, i % 37 * 20, i % 3 FROM generate_series(1, 3000) i;
CREATE TABLE nothing (v int);
CREATE TABLE reals (x float8);
INSERT INTO reals SELECT CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '0' ELSE i::float8 END
    FROM generate_series(1, 400) i
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    corpus.fill(made, SEED)
    made.run(TABLES)
    yield made
    made.close()


@pytest.fixture(scope="module", params=(2, *(pytest.param(more, marks=pytest.mark.soak) for more in (4, 8))))
def engine(lab: Lab, request: pytest.FixtureRequest) -> Iterator[ClusterEngine]:
    """Workers with costs that make kernels worthwhile for every table."""
    cluster = Cluster(cpu_processes(request.param, fuse=True))
    planner = Planner(lab.database.cpu, Costs(workers=request.param, scan=0), fuse=True)
    made = ClusterEngine(cluster, lab.database.cpu, planner=planner)
    yield made
    made.close()


def test_rows_are_the_usual_ways(lab: Lab, engine: ClusterEngine) -> None:
    for sql in (GROUPS, JOIN, *MORE):
        request = lab.request(sql)
        wanted = embedded(lab, request)
        for _ in range(2):
            rows = until_at_once(engine, request)
            assert sorted_rows(rows) == sorted_rows(wanted), sql
            assert rows == wanted or "ORDER" not in sql, sql


def test_bytes_are_those_of_the_usual_way(lab: Lab, engine: ClusterEngine) -> None:
    for sql in ("SELECT count(*), sum(k), avg(a), max(a) FROM lines", "SELECT sum(x), max(x) FROM reals WHERE x > 2"):
        usual = lab.request(sql)
        assert run(engine, usual)[0] is False
        engine_name, size = describe_work(usual.settings.measures)
        assert (engine_name, (size or 0) > 0) == ("fused", True)
        until_at_once(engine, usual)
        fast = lab.request(sql)
        assert run(engine, fast)[0] is True
        assert "stages" not in fast.settings.measures
        assert describe_work(fast.settings.measures) == ("fused", size)


def test_explain_analyze_tells_what_is_answered_at_once(lab: Lab, engine: ClusterEngine) -> None:
    def told(sql: str) -> str:
        request = lab.request(sql)
        for _ in range(2):
            engine.explain(request, analyze=True)
        return dict(engine.explain(request, analyze=True).details)["Fast Path"]

    assert told(JOIN) == "yes"
    assert told("SELECT k, a FROM lines ORDER BY a, k").startswith("no")
    assert "Fast Path" not in dict(engine.explain(lab.request(JOIN)).details)


def test_the_corpus_is_answered_at_once_or_the_usual_way(lab: Lab, engine: ClusterEngine) -> None:
    queries = corpus.QUERIES[:: 1 if engine.members.count == 2 else 5]
    short: set[str] = set()

    def given(request: Request, sql: str) -> Rows:
        at_once, rows = run(engine, request)
        if at_once:
            short.add(sql)
        return rows

    for sql in queries:
        request = lab.request(sql)
        wanted = outcome(lambda r=request: embedded(lab, r))
        for _ in range(3):
            assert outcome(lambda r=request, s=sql: given(r, s)) == wanted, sql
    assert len(short) >= 0.75 * len(queries), sorted(set(queries) - short)


def test_parameters_and_newer_snapshots_are_other_statements(lab: Lab, engine: ClusterEngine) -> None:
    sql = "SELECT count(*), sum(a) FROM lines WHERE k < $1"
    for most in (1, 30, 49):
        request = lab.request(sql, (most,))
        assert until_at_once(engine, request) == embedded(lab, request)
    older = lab.request("SELECT v, count(*) FROM spread WHERE v <= 3 GROUP BY v ORDER BY v")
    before = until_at_once(engine, older)
    lab.run("INSERT INTO spread VALUES (2), (2)")
    newer = replace(older, snapshot=lab.request("SELECT 1").snapshot)
    assert run(engine, newer)[0] is False
    after = until_at_once(engine, newer)
    assert after == embedded(lab, newer) != before
    assert until_at_once(engine, older) == before
    lab.run("DELETE FROM spread WHERE v = 2; INSERT INTO spread VALUES (2)")


def test_transactions_and_prepared_statements_of_sessions(lab: Lab, engine: ClusterEngine) -> None:
    usual, lab.database.engine = lab.database.engine, RoutedEngine(engine, lab.database.cpu)
    one, other = lab.database.session("gpudb"), lab.database.session("gpudb")
    asked = []
    start = engine._fast_path.try_run

    def rows(*given: Any) -> Any:
        asked.append(start(*given))
        return asked[-1]

    engine._fast_path.try_run = rows  # type: ignore[method-assign]
    try:
        for session in (one, other):
            sessions.run(session, "SET gpudb.fallback = off")
            sessions.run(session, "PREPARE p (int) AS SELECT count(*), sum(v) FROM spread WHERE v > $1")
        for _ in range(6):
            assert sessions.run(one, "EXECUTE p (900)") == [(100, 95050)]
        assert any(asked)
        sessions.run(one, "BEGIN; INSERT INTO spread VALUES (5000)")
        for _ in range(3):
            assert sessions.run(one, "EXECUTE p (900)") == [(101, 100050)]
            assert sessions.run(other, "EXECUTE p (900)") == [(100, 95050)]
        sessions.run(one, "ROLLBACK")
        assert sessions.run(one, "EXECUTE p (999)") == [(1, 1000)]
        assert sessions.run(one, "EXECUTE p (900)") == [(100, 95050)]
    finally:
        engine._fast_path.try_run = start  # type: ignore[method-assign]
        lab.database.engine = usual
        one.close()
        other.close()


def test_many_clients_get_their_own_answers(lab: Lab, engine: ClusterEngine) -> None:
    requests = [lab.request("SELECT k, sum(a) FROM lines WHERE a <> $1 GROUP BY k", (n,)) for n in range(6)]
    requests += [lab.request(sql) for sql in MORE[:6]]
    wanted = [sorted_rows(embedded(lab, request)) for request in requests]
    for request in requests:
        until_at_once(engine, request)
    short = 0

    def client(first: int) -> int:
        found = 0
        for step in range(24):
            number = (first + step * 5) % len(requests)
            at_once, rows = run(engine, replace(requests[number], cancel=Cancel()))
            assert sorted_rows(rows) == wanted[number]
            found += at_once
        return found

    with ThreadPoolExecutor(6) as pool:
        short = sum(pool.map(client, range(6)))
    assert short >= 100


def test_a_lost_worker_takes_no_rows_along(lab: Lab, engine: ClusterEngine) -> None:
    request = lab.request(JOIN)
    wanted = until_at_once(engine, request)
    cluster = engine._cluster
    *_, (_, address, _) = cluster.heartbeats()
    process = cluster._client.run(os.getpid, workers=[address])[address]
    os.kill(process, signal.SIGKILL)
    # The cluster does not know yet: nobody answers at the worker's socket.
    answered = 0
    for _ in range(100):
        try:
            at_once, rows = run(engine, request)
        except GpudbError as error:
            if error.sqlstate not in {"57P01", "58000"}:  # it was lost, and lost again while the statement was repeated
                raise
            continue
        assert rows == wanted
        answered += 1
        if at_once:
            break
        time.sleep(0.1)
    assert at_once
    assert answered > 1


def test_a_cancel_before_the_statement(lab: Lab, engine: ClusterEngine) -> None:
    request = lab.request(GROUPS)
    wanted = until_at_once(engine, request)
    stopped = Cancel()
    stopped.stop()
    with pytest.raises(QueryCanceled):
        engine.run(replace(request, cancel=stopped))
    assert run(engine, request)[1] == wanted


def test_errors_are_the_usual_ways(lab: Lab, engine: ClusterEngine) -> None:
    for sql in ("SELECT sum(a * 2147483647) FROM lines", "SELECT 1 / (sum(a) - sum(a)) FROM lines"):
        for _ in range(3):
            with pytest.raises(GpudbError) as caught:
                run(engine, lab.request(sql))
            assert caught.value.sqlstate in {"22003", "22012"}


def test_many_groups_go_the_usual_way(lab: Lab, engine: ClusterEngine) -> None:
    lab.run("CREATE TABLE IF NOT EXISTS many AS SELECT i::bigint * 3 AS k FROM generate_series(1, 130000) i")
    request = lab.request("SELECT k, count(*) FROM many GROUP BY k")
    for _ in range(3):
        at_once, rows = run(engine, request)
        assert not at_once
        assert len(rows) == 130_000


# ------------------------------------------------------------------------------------------ without a cluster


class _Several:
    """Fast-path servers, each of which answers with its letter, declines, or waits for `go_on`."""

    def __init__(self, folder: Path, letters: bytes) -> None:
        self.go_on = threading.Event()
        self.shortcuts = FastPathPool(b"secret")
        self._entries: list[FastPathServer] = []
        for letter in letters:
            (folder / chr(letter)).mkdir(mode=0o700)
            self._entries.append(
                FastPathServer(folder / chr(letter), lambda asked, own=letter: self._answer(asked, own), b"secret")
            )

    def _answer(self, asked: FastPathRequest, letter: int) -> bytes | None:
        if asked.digest == b"lost" and letter == ord("b"):
            raise OSError("lost")
        if asked.digest in {b"lost", b"wait"}:
            assert self.go_on.wait(60)
        return None if asked.digest == b"no" and letter == ord("b") else bytes([letter]) + asked.digest

    def ask(self, digest: bytes, cancel: Cancel | None = None) -> list[bytes] | None:
        entries = [each.endpoints[0] for each in self._entries]
        asked = [FastPathRequest(1, digest, b"", share, len(entries)) for share in range(len(entries))]
        return self.shortcuts.request(entries, asked, cancel or Cancel())

    def close(self) -> None:
        self.go_on.set()
        self.shortcuts.close()
        for each in self._entries:
            each.close()


def test_no_answer_is_made_of_some_workers_and_none_of_another_statements(tmp_path: Path) -> None:
    several = _Several(tmp_path, b"abc")
    try:
        assert several.ask(b"1") == [b"a1", b"b1", b"c1"]
        assert several.ask(b"no") is None
        assert several.ask(b"2") == [b"a2", b"b2", b"c2"]
        timer = threading.Timer(0.1, several.go_on.set)
        timer.start()
        assert several.ask(b"lost") is None
        assert several.ask(b"3") == [b"a3", b"b3", b"c3"]
        timer.join()
        several.go_on.clear()
        cancel = Cancel()
        threading.Timer(0.1, cancel.stop).start()
        begun = time.monotonic()
        assert several.ask(b"wait", cancel) is None
        assert time.monotonic() - begun < 20
        several.go_on.set()
        assert several.ask(b"4") == [b"a4", b"b4", b"c4"]
    finally:
        several.close()
