"""Cancels beside other clients: their statements neither fail nor err, though a worker that does not stop is ended."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from gpudb.config.database import EMBEDDED
from gpudb.engine.gpu.cluster.cluster import Cluster
from gpudb.engine.gpu.coordinator import coordinator
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.gpu.fault_workload import cluster_of
from tests.support.sessions import fails, run, wait_until

CLIENTS = 8
CANCELS, SOAK_CANCELS = 2, 200
SEED = 20261
LONGEST_S = 1.5
"""The latest drawn moment of a cancel, after its statement began."""
ENDLESS = "SELECT sum(a.id * b.id) FROM orders a, orders b, kinds c WHERE a.id <> b.id"
"""A cross join of 2.4 billion rows, which Polars does not stop."""
ANSWERS = {
    "SELECT count(*), sum(id) FROM orders WHERE k < 7": [(20000, 200010000)],
    "SELECT k, count(*) FROM orders GROUP BY k ORDER BY k LIMIT 2": [(0, 2857), (1, 2858)],
    "SELECT label, count(*) FROM orders JOIN kinds USING (k) GROUP BY label ORDER BY 1 LIMIT 1": [("kind 0", 2857)],
}
pytestmark = pytest.mark.timeout(300)  # starting workers takes long on a busy machine


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    made = Database(None, replace(EMBEDDED, engine="twin", workers=2))
    yield made
    made.close()


@pytest.fixture(scope="module")
def session(database: Database) -> Iterator[Session]:
    made = database.session("gpudb")
    run(made, "CREATE TABLE orders AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 20000) i")
    run(made, "CREATE TABLE kinds AS SELECT i AS k, 'kind ' || i AS label FROM generate_series(0, 5) i")
    yield made
    made.close()


@contextmanager
def _others(database: Database) -> Iterator[list[int]]:
    """Runs other clients meanwhile, and checks their answers; yields how many each has had."""
    had, wrong, stopped = [0] * CLIENTS, list[str](), threading.Event()

    def work(number: int) -> None:
        chance, own = random.Random(number), database.session("gpudb")
        run(own, "SET gpudb.fallback = off")
        while not stopped.is_set():
            sql, wanted = chance.choice(list(ANSWERS.items()))
            try:
                found = run(own, sql)
            except GpudbError as error:
                wrong.append(f"{sql}: {error.sqlstate} {error.message}")
            else:
                wrong.extend([] if found == wanted else [f"{sql}: {found}"])
            had[number] += 1
        own.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield had
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
    assert not wrong, wrong[:5]


def _wait_for_answers(had: list[int]) -> None:
    """Waits until every client has had an answer to a statement that it began from now on."""
    before = list(had)
    wait_until(lambda: all(now >= then + 2 for now, then in zip(had, before)), "every client has answers")


def _wait_for_workers(cluster: Cluster) -> None:
    wait_until(lambda: len(cluster.heartbeats()) == cluster.size, "every worker is ready")


def _cancel_later(session: Session, after: float, ended: threading.Event) -> None:
    ended.wait(after)
    while not ended.wait(0.05):
        session.cancel()  # a cancel that comes before the statement has begun is none


@pytest.mark.parametrize("cancels", [CANCELS, pytest.param(SOAK_CANCELS, marks=pytest.mark.soak)])
@pytest.mark.timeout(3600)
def test_cancels_at_drawn_moments_hurt_nobody(database: Database, session: Session, cancels: int) -> None:
    chance = random.Random(SEED)
    with _others(database) as had:
        for _ in range(cancels):
            ended = threading.Event()
            arguments = session, chance.uniform(0, LONGEST_S), ended
            thread = threading.Thread(target=_cancel_later, args=arguments)
            thread.start()
            try:
                assert fails(session, ENDLESS).sqlstate == "57014"
            finally:
                ended.set()
                thread.join()
        _wait_for_answers(had)


def test_workers_that_are_ended_take_no_statement_with_them(
    database: Database, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both at once: no other one takes their partitions over, and statements wait longer than for other workers."""
    cluster = cluster_of(database)
    monkeypatch.setattr(coordinator, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(coordinator, "RETURN_SECONDS", 0.0)
    _wait_for_workers(cluster)
    before = [address for _, address, _ in cluster.heartbeats()]

    async def end_all() -> None:
        await asyncio.gather(*map(cluster._end, before))

    with _others(database) as had:
        _wait_for_answers(had)
        cluster.run(end_all()).result()
        _wait_for_answers(had)
    _wait_for_workers(cluster)
    assert not set(before) & {address for _, address, _ in cluster.heartbeats()}


def test_statement_timeout_bounds_the_wait_for_workers(database: Database, session: Session) -> None:
    cluster = cluster_of(database)
    _wait_for_workers(cluster)
    sql = next(iter(ANSWERS))

    async def end_all() -> None:
        await asyncio.gather(*(cluster._end(address) for _, address, _ in cluster.heartbeats()))

    run(session, "SET statement_timeout = '100ms'; SET gpudb.fallback = off")
    try:
        cluster.run(end_all()).result()
        assert fails(session, sql).sqlstate == "57014"
    finally:
        run(session, "RESET statement_timeout; RESET gpudb.fallback")
    assert run(session, sql) == ANSWERS[sql]
