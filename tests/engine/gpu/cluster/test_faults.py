"""Faults in every kind of stage: a clear error or the right answer; other statements continue; all memory is freed."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpudb.config.database import EMBEDDED
from gpudb.engine.admission import Cost, Ticket
from gpudb.engine.gpu.cluster import cluster as cluster_module
from gpudb.engine.gpu.cluster.config import SILENT_SECONDS
from gpudb.engine.gpu.coordinator import coordinator
from gpudb.engine.gpu.planning import request_planner
from gpudb.errors import GpudbError, WorkerLost
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.gpu import faults
from tests.support.gpu.fault_workload import STATEMENTS, cluster_of, fill
from tests.support.sessions import run

WORKERS = 3
pytestmark = pytest.mark.timeout(300)  # starting workers takes long on a busy machine
CASES = [(kind, fault) for kind in faults.STAGES for fault in ("kill", "raise", "disconnect")] + [
    (kind, fault) for kind in ("hash", "result") for fault in ("stop", "memory")
]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    made = Database(None, replace(EMBEDDED, engine="twin", workers=WORKERS, memory_limit=WORKERS * 600 * 2**20))
    faults.install(cluster_of(made))
    with pytest.MonkeyPatch.context() as patch:
        # The next statement is planned as usual: its result is too large to be part of the reply.
        patch.setattr(request_planner, "CHUNKED_SECONDS", 0.0)
        yield made
    made.close()


@pytest.fixture(scope="module")
def session(database: Database) -> Iterator[Session]:
    made = database.session("gpudb")
    fill(made)
    run(made, "SET gpudb.fallback = off")
    yield made
    made.close()


@pytest.mark.parametrize("kind, fault", CASES)
def test_a_fault_while_a_stage_computes(database: Database, session: Session, kind: str, fault: str) -> None:
    _strike(database, session, kind, fault, "compute")


def test_a_worker_that_is_late_is_not_ended(database: Database, session: Session) -> None:
    """A loop that is blocked for some seconds costs neither the process nor its cached columns."""
    cluster = cluster_of(database)
    assert faults.whole(cluster)
    before = [address for _, address, _ in cluster.heartbeats()]
    cluster._client.run(faults.hold_up, 2.5 * SILENT_SECONDS, workers=before[:1])
    time.sleep(2.5 * SILENT_SECONDS)
    assert faults.whole(cluster)
    assert [address for _, address, _ in cluster.heartbeats()] == before
    assert sorted(run(session, STATEMENTS["hash"])) == _embedded(database, "hash")


def test_a_worker_that_takes_its_time_to_start_is_not_ended(database: Database, session: Session) -> None:
    """As a worker that imports its libraries and opens its GPU on a busy host."""
    cluster = cluster_of(database)
    assert faults.whole(cluster)
    cluster._client.register_plugin(faults.Slow(2.5 * SILENT_SECONDS))
    try:
        assert faults.whole(cluster)
        before = {number: address for number, address, _ in cluster.heartbeats()}
        faults.arm(cluster, 0, "kill", "compute", "hash")
        assert sorted(run(session, STATEMENTS["hash"])) == _embedded(database, "hash")
        assert faults.whole(cluster)
        after = {number: address for number, address, _ in cluster.heartbeats()}
        assert after[0] != before[0]
        assert after[1] == before[1]
    finally:
        cluster._client.unregister_worker_plugin(faults.Slow.name)
    assert faults.idle(cluster), cluster.heartbeats()


def test_a_worker_that_cannot_ready_itself_starts_again(database: Database, session: Session, tmp_path: Path) -> None:
    """As a worker whose GPU is full or in use: its process runs, but without handlers."""
    cluster = cluster_of(database)
    assert faults.whole(cluster)
    flag = tmp_path / "unready"
    cluster._client.register_plugin(faults.Unready(str(flag)))
    try:
        flag.touch()
        faults.arm(cluster, 0, "kill", "compute", "hash")
        assert sorted(run(session, STATEMENTS["hash"])) == _embedded(database, "hash")
        assert faults.whole(cluster)
        assert not flag.exists()
    finally:
        cluster._client.unregister_worker_plugin(faults.Unready.name)
    assert faults.idle(cluster), cluster.heartbeats()


def test_a_statement_whose_worker_does_not_come_back_is_told_so(
    database: Database, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a GPU worker, which does not return within two seconds; no other may take its partitions over here."""
    cluster = cluster_of(database)
    assert faults.whole(cluster)
    monkeypatch.setattr(coordinator, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(cluster_module, "_TAKEOVER_SECONDS", float("inf"))
    faults.arm(cluster, 0, "kill", "compute", "hash")
    with pytest.raises(WorkerLost) as lost:
        run(session, STATEMENTS["hash"])
    assert lost.value.sqlstate == "57P01"
    assert faults.whole(cluster)
    assert sorted(run(session, STATEMENTS["hash"])) == _embedded(database, "hash")


@pytest.mark.parametrize("fault", ["kill", "disconnect"])
@pytest.mark.parametrize("kind", ["hash", "broadcast", "result"])
def test_a_fault_while_rows_are_fetched(database: Database, session: Session, kind: str, fault: str) -> None:
    _strike(database, session, kind, fault, "give")


def _strike(database: Database, session: Session, kind: str, fault: str, point: str) -> None:
    cluster = cluster_of(database)
    assert faults.whole(cluster)
    expected = _embedded(database, kind)
    started = time.monotonic()
    assert sorted(run(session, STATEMENTS[kind])) == expected
    calm = time.monotonic() - started
    # Stages of one worker run on the first one.
    faults.arm(cluster, 0, fault, point, kind)
    before = [address for _, address, _ in cluster.heartbeats()]
    started = time.monotonic()
    outcome = _outcome(session, kind)
    # The statement may run twice, on a busy machine; memory has to be filled first.
    assert time.monotonic() - started < 2 * calm + 30
    if fault == "raise":
        assert outcome == "XX000"
    elif fault == "disconnect" or (kind == "result" and point == "give"):
        # A worker that is also cut off from the scheduler ends itself, during the second attempt. Sent rows stay sent.
        assert outcome in ("57P01", expected)
    else:
        assert outcome == expected
    assert sorted(run(session, STATEMENTS[kind])) == expected
    assert faults.whole(cluster)
    if fault in {"kill", "stop", "memory"}:
        assert [address for _, address, _ in cluster.heartbeats()] != before
    assert sorted(run(session, STATEMENTS[kind])) == expected
    assert faults.idle(cluster), cluster.heartbeats()


def _outcome(session: Session, kind: str) -> object:
    try:
        return sorted(run(session, STATEMENTS[kind]))
    except GpudbError as error:
        return error.sqlstate


def _embedded(database: Database, kind: str) -> list[tuple[object, ...]]:
    """The embedded engine's answer."""
    session = database.session("gpudb")
    routed = database.engine
    try:
        database.engine = database.cpu
        return sorted(run(session, STATEMENTS[kind]))
    finally:
        database.engine = routed
        session.close()


@pytest.mark.parametrize("kind", faults.STAGES)
@pytest.mark.parametrize("by", ["cancel", "timeout"])
def test_a_cancel_ends_a_stage_that_goes_on(database: Database, session: Session, kind: str, by: str) -> None:
    """Half a second after the cancel; the limit is wider, for a busy machine.

    The worker's other statement continues.
    """
    cluster = cluster_of(database)
    assert faults.whole(cluster)
    expected = run(session, STATEMENTS["hash"])
    faults.arm(cluster, 0, "hang", "compute", kind)
    other = database.session("gpudb")
    answers: list[object] = []
    timer = threading.Timer(1.0, session.cancel)
    if by == "cancel":
        timer.start()
    else:
        run(session, "SET statement_timeout = 1000")
    started = time.monotonic()
    beside = threading.Timer(0.5, lambda: answers.append(run(other, STATEMENTS["hash"])))
    beside.start()
    try:
        with pytest.raises(GpudbError) as ended:
            run(session, STATEMENTS[kind])
        assert ended.value.sqlstate == "57014"
        assert time.monotonic() - started < 30  # the worker would be busy for a minute
    finally:
        timer.cancel()
        run(session, "RESET statement_timeout")
    beside.join(60)
    other.close()
    assert answers == [expected]
    assert faults.whole(cluster)
    assert faults.idle(cluster), cluster.heartbeats()


def test_a_statement_waits_for_its_turn_and_can_be_cancelled(database: Database, session: Session) -> None:
    places = database.engine._cluster.admission  # type: ignore[attr-defined]
    run(session, STATEMENTS["gather"])  # planned, so that only the wait takes time below
    short = places.queues.short
    bound, short.places = short.places, 1
    taken = Ticket(Cost(), session=0)
    places.queues.enter(taken)
    watcher = database.session("gpudb")
    seen: list[list[tuple[object, ...]]] = []
    over = threading.Event()
    look = f"SELECT wait_event_type, wait_event, state FROM pg_stat_activity WHERE pid = {session.process_id}"

    run(watcher, look)  # the first read of the system catalog takes longer

    def watch() -> None:
        while not over.is_set():
            seen.append(run(watcher, look))

    watching = threading.Thread(target=watch)
    watching.start()
    run(session, "SET statement_timeout = 3000")
    started = time.monotonic()
    try:
        with pytest.raises(GpudbError) as ended:
            run(session, STATEMENTS["gather"])
        assert ended.value.sqlstate == "57014"
        assert "statement timeout" in ended.value.message
        assert time.monotonic() - started < 30
        assert [("Extension", "ClusterAdmission", "active")] in seen
        # the loop that admitted the statement releases its place asynchronously
        while places.counts() != (1, 0) and time.monotonic() - started < 60:
            time.sleep(0.01)
        assert places.counts() == (1, 0)
    finally:
        over.set()
        watching.join(60)
        run(session, "RESET statement_timeout")
        short.places = bound
        places.queues.leave(taken)
        watcher.close()


def test_several_at_once_give_the_right_answers(database: Database, session: Session) -> None:
    expected = {kind: _embedded(database, kind) for kind in STATEMENTS}
    wrong: list[str] = []

    def client(number: int) -> None:
        mine = database.session("gpudb")
        for kind in (*STATEMENTS, *STATEMENTS):
            if sorted(run(mine, STATEMENTS[kind])) != expected[kind]:
                wrong.append(kind)
        mine.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(100)
    assert wrong == []
    assert faults.idle(cluster_of(database))


def test_a_slow_client_holds_bounded_memory_and_closing_frees_it(database: Database, session: Session) -> None:
    cluster = cluster_of(database)
    opened = []
    sessions = [database.session("gpudb") for _ in range(3)]
    sql = STATEMENTS["result"].replace("FROM orders", "FROM orders, kinds").replace(", k,", ", orders.k,")
    for each in sessions:
        results = each.run(sql)
        result = next(results)
        next(result.batches)
        opened.append((results, result))
    time.sleep(1)
    held = [each.heartbeat.results for each in cluster.heartbeats() if each.heartbeat is not None]
    assert 0 < max(held) <= cluster.processes.results
    for _, result in opened:
        result.close()
    for each in sessions:
        each.close()
    assert faults.idle(cluster), cluster.heartbeats()
