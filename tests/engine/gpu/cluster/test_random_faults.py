"""Random faults in random stages, under clients of a real server: no wrong answer, no hang, no lost server.

Ten seeded rounds in CI; `--soak` runs all 300. A round ends with the statements that ran or waited when its fault
struck. A statement counts as hung if it takes HANG_SECONDS more than twice the longest one before the first fault: it
may run twice, and the machine may be busy.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import replace

import psycopg
import pytest

from gpudb.config.database import EMBEDDED
from gpudb.config.wire import WireSettings
from gpudb.engine.gpu.planning import request_planner
from gpudb.server.wire.server import PgServer
from gpudb.session.database import Database
from tests.support.gpu import faults
from tests.support.gpu.fault_workload import STATEMENTS, cluster_of, fill

CLIENTS = 8
WORKERS = 3
HANG_SECONDS = 30.0
ALLOWED = {"57P01", "58000", "53200", "57014", "XX000"}
"""A worker lost twice, or after rows were sent; memory; a cancel; the injected exception."""


class Client(threading.Thread):
    """Runs statements over one connection until it is stopped."""

    def __init__(self, dsn: str, seed: int, expected: dict[str, list[tuple[object, ...]]]) -> None:
        super().__init__()
        self._dsn, self._random, self._expected = dsn, random.Random(seed), expected
        self.over = threading.Event()
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.longest = 0.0
        self.pid = 0
        self.running = (0, "")
        """The number and the kind of the running statement."""

    def run(self) -> None:
        try:
            with psycopg.connect(self._dsn, autocommit=True, connect_timeout=20) as connection:
                self.pid = connection.info.backend_pid
                connection.execute("SET gpudb.fallback = off")
                while not self.over.is_set():
                    self._once(connection, self._random.choice(sorted(STATEMENTS)))
        except Exception as error:
            self.wrong.append(f"connection: {type(error).__name__}: {str(error)[:300]}")

    def _once(self, connection: psycopg.Connection[tuple[object, ...]], kind: str) -> None:
        started = time.monotonic()
        self.running = self.running[0] + 1, kind
        try:
            rows = sorted(connection.execute(STATEMENTS[kind]).fetchall())
        except psycopg.Error as error:
            state = error.sqlstate or "none"
            if connection.closed:
                raise
            if state not in ALLOWED or (state == "XX000" and "injected" not in str(error)):
                self.wrong.append(f"{kind}: {state} {str(error)[:300]}")
            self.outcomes[state] += 1
        else:
            self.outcomes["rows"] += 1
            if rows != self._expected[kind]:
                self.wrong.append(f"{kind}: {len(rows)} rows that are not the answer: {rows[:3]}")
        self.longest = max(self.longest, time.monotonic() - started)


def _rounds(count: int, seed: int, limit: float) -> str:
    """Runs rounds for at most `limit` seconds; returns a line of results."""
    chance = random.Random(seed)
    database = Database(None, replace(EMBEDDED, engine="twin", workers=WORKERS, memory_limit=WORKERS * 600 * 2**20))
    server = PgServer(database, WireSettings(port=0))
    listening = threading.Thread(target=server.serve_forever, daemon=True)
    listening.start()
    clients: list[Client] = []
    struck: Counter[str] = Counter()
    try:
        cluster = cluster_of(database)
        faults.install(cluster)
        session = database.session("gpudb")
        fill(session)
        host, port = server.address
        dsn = f"host={host} port={port} user=gpudb dbname=gpudb"
        expected = _answers(dsn)
        clients += [Client(dsn, seed + number, expected) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        calm_ends = time.monotonic() + 60
        while any(client.outcomes["rows"] < 3 for client in clients) and time.monotonic() < calm_ends:
            time.sleep(0.05)
        calm = max(client.longest for client in clients)
        ends = time.monotonic() + limit
        done, slowest = 0, (0.0, "")
        while done < count and time.monotonic() < ends:
            assert faults.whole(cluster, 60), "the workers did not come back"
            fault = chance.choice((*faults.FAULTS, "cancel"))
            point = "give" if fault in {"kill", "stop", "disconnect"} and chance.random() < 0.4 else "compute"
            stage = chance.choice(faults.STAGES)
            if fault == "cancel":
                database.cancel(chance.choice(clients).pid)
                struck[fault] += 1
            else:
                struck[fault] += _strike(cluster, chance.randrange(WORKERS), fault, point, stage)
            waited, kind = _ended(clients, 2 * calm + HANG_SECONDS)
            slowest = max(slowest, (waited, f"{kind} after {fault} in {stage}"))
            assert all(client.is_alive() for client in clients), [client.wrong for client in clients]
            done += 1
        for client in clients:
            client.over.set()
        for client in clients:
            client.join(60)
        assert not any(client.is_alive() for client in clients), f"a client hangs: {sorted(cluster._live)} live"
        assert faults.whole(cluster, 60)
        assert faults.idle(cluster), cluster.heartbeats()
        assert _answers(dsn) == expected
        session.close()
    finally:
        for client in clients:
            client.over.set()
        server.shutdown(1)
        listening.join(60)
        database.close()
    outcomes = sum((client.outcomes for client in clients), Counter[str]())
    told = f"{done} rounds, struck {dict(struck)}, outcomes {dict(outcomes)}, longest {slowest[0]:.1f} s: {slowest[1]}"
    told += f"; {calm:.1f} s before"
    assert [wrong for client in clients for wrong in client.wrong][:5] == [], told
    assert done == count, told
    assert sum(struck.values()) > count / 2, told
    return told


def _ended(clients: list[Client], limit: float) -> tuple[float, str]:
    """Waits for each client's current statement; returns the duration and kind of the last one.

    Fails above the limit.
    """
    begun = time.monotonic()
    waiting = {client: client.running for client in clients}
    last = (0.0, "")
    while waiting:
        waited = time.monotonic() - begun
        assert waited < limit, f"no answer {waited:.1f} s after the fault: {[kind for _, kind in waiting.values()]}"
        for client, (number, kind) in list(waiting.items()):
            if client.running[0] != number or not client.is_alive():
                del waiting[client]
                last = (waited, kind)
        time.sleep(0.01)
    return last


def _answers(dsn: str) -> dict[str, list[tuple[object, ...]]]:
    with psycopg.connect(dsn, autocommit=True, connect_timeout=20) as connection:
        return {kind: sorted(connection.execute(sql).fetchall()) for kind, sql in STATEMENTS.items()}


def _strike(cluster, worker: int, fault: str, point: str, stage: str) -> bool:  # type: ignore[no-untyped-def]
    """Arms a fault; returns whether it struck: one in a stage of the first worker alone never strikes elsewhere."""
    try:
        address = cluster._ready[worker]
        faults.arm(cluster, worker, fault, point, stage)
    except (KeyError, OSError, TimeoutError, AssertionError):
        return False
    ends = time.monotonic() + 2
    while time.monotonic() < ends:
        try:
            if cluster.run(cluster.call(address, faults.Struck())).result(0.5):
                return True
        except (OSError, TimeoutError):
            return True  # it is gone, or stopped
        time.sleep(0.02)
    return False


@pytest.fixture(autouse=True)
def _as_if_memory_had_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The injected memory is not the statement's: the next statement must not run in smaller chunks."""
    monkeypatch.setattr(request_planner, "CHUNKED_SECONDS", 0.0)


@pytest.mark.timeout(400)
def test_five_rounds() -> None:
    print(_rounds(5, seed=4, limit=240))


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_three_hundred_rounds() -> None:
    print(_rounds(300, seed=40, limit=7000))
