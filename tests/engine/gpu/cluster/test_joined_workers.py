"""Joined workers, under another scheduler: found, numbered, restarted, and left to other servers again."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, versions

from gpudb.certificates import CertificateFiles, create_cluster_certificates, locate_member
from gpudb.cli.cluster_certificates import MEMBERS
from gpudb.engine.gpu.cluster import joined, scheduler_client
from gpudb.engine.gpu.cluster.security import load_security
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from tests.support.gpu.dask_programs import START_S, Scheduler, are_workers_left, joining
from tests.support.http_client import wait_for
from tests.support.sessions import run

pytestmark = pytest.mark.timeout(300)

WORKERS = 2


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the certificates of scheduler, workers and server."""
    made = tmp_path_factory.mktemp("certificates")
    create_cluster_certificates(made, MEMBERS, keep_authority_key=True)
    return made


@pytest.fixture
def server(certificates: Path) -> CertificateFiles:
    return locate_member(certificates, "server")


def _client(scheduler: Scheduler, server: CertificateFiles) -> Client:
    security = load_security(scheduler.address, server, insecure=False)
    return Client(scheduler.address, set_as_default=False, security=security)  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory, certificates: Path) -> Iterator[Scheduler]:
    made = Scheduler(tmp_path_factory.mktemp("dask"), certificates)
    try:
        for number in range(WORKERS):
            made.worker(f"w{number}")
        yield made
    finally:
        made.close()


SUM = "SELECT k % 3, count(*), sum(v) FROM t GROUP BY 1 ORDER BY 1"
ANSWER = [(0, 3334, 16668333), (1, 3333, 16661667), (2, 3333, 16665000)]


def _settled(session: Any) -> list[tuple[Any, ...]]:
    """Returns the answer once the workers have returned."""
    ends = time.monotonic() + START_S
    while True:
        try:
            return run(session, SUM)
        except GpudbError as error:
            if error.sqlstate not in {"57P01", "58000"} or time.monotonic() > ends:
                raise
        time.sleep(0.1)


def _processes(session: Any) -> dict[int, int]:
    """Returns each worker's process once all exist."""
    ends = time.monotonic() + START_S
    asked = "SELECT gpu_id, att_value::int FROM pgstrom_device_info() WHERE att_name = 'PROCESS_ID'"
    while len(found := dict(run(session, asked))) < WORKERS and time.monotonic() < ends:
        time.sleep(0.1)
    return found


def test_the_workers_of_a_scheduler_answer_heal_and_are_left(scheduler: Scheduler, server: CertificateFiles) -> None:
    database = Database(None, joining(scheduler.address, server, workers=WORKERS))
    try:
        session = database.session("gpudb")
        run(session, "SET gpudb.fallback = off")
        run(session, "CREATE TABLE t (k int, v bigint); INSERT INTO t SELECT i, i FROM generate_series(0, 9999) i")
        assert run(session, SUM) == ANSWER
        run(session, "SELECT gpudb_pin('t')")
        before = _processes(session)
        os.kill(before[1], signal.SIGKILL)
        assert _settled(session) == ANSWER
        again = _processes(session)
        assert again[0] == before[0]
        assert again[1] != before[1]
        assert _settled(session) == ANSWER
        # Another server finds them in use.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(joined, "CLAIM_SECONDS", 0.5)
            with pytest.raises(GpudbError, match="another server has the workers") as taken:
                Database(None, joining(scheduler.address, server))
        assert taken.value.sqlstate == "55006"
    finally:
        database.close()
    # Their processes are new, and know nothing of the server that has left them.
    with _client(scheduler, server) as client:
        wait_for(lambda: are_workers_left(client, WORKERS), START_S)


def test_a_server_without_its_claim_leaves_the_workers_to_the_one_that_has_it(
    scheduler: Scheduler, server: CertificateFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_client, "_RENEWAL_SECONDS", 0.1)
    security = load_security(scheduler.address, server, insecure=False)

    def put_claim(owner: str, dask_scheduler: Any) -> None:
        leases = dask_scheduler.extensions["semaphores"].leases["gpudb"]
        leases.clear()
        if owner:
            leases[owner] = time.time()

    def list_claims(dask_scheduler: Any) -> list[str]:
        return list(dask_scheduler.extensions["semaphores"].leases["gpudb"])

    with _client(scheduler, server) as client:
        client.wait_for_workers(WORKERS, timeout=START_S)
        launcher = joined.JoinedLauncher(scheduler.address, WORKERS, security)
        try:

            def refreshed() -> int:
                asyncio.run_coroutine_threadsafe(launcher.refresh(), launcher.loop).result(START_S)
                return len(launcher.workers)

            assert refreshed() == WORKERS
            client.run_on_scheduler(put_claim, "another server")
            wait_for(lambda: not refreshed(), START_S)
            assert client.run_on_scheduler(list_claims) == ["another server"]
            client.run_on_scheduler(put_claim, "")
            wait_for(lambda: refreshed() == WORKERS, START_S)
            assert len(client.run_on_scheduler(list_claims)) == 1
        finally:
            launcher.close()
        assert not client.run_on_scheduler(list_claims)


def test_what_is_wrong_with_a_scheduler_is_told(
    scheduler: Scheduler, server: CertificateFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _client(scheduler, server) as client:
        client.wait_for_workers(WORKERS, timeout=START_S)
    monkeypatch.setattr(joined, "START_SECONDS", 2)
    monkeypatch.setattr(joined, "CONNECT_SECONDS", 2)
    cases = [
        ("tcp://127.0.0.1:1", None, "08001", "no scheduler answers"),
        ("tls://127.0.0.1:1", None, "08001", "no scheduler answers"),
        ("nonsense://127.0.0.1:1", None, "08001", "no scheduler answers"),
        (scheduler.address, WORKERS + 1, "58000", f"{WORKERS} of {WORKERS + 1} workers have come"),
    ]
    for address, count, state, said in cases:
        with pytest.raises(GpudbError, match=said) as refused:
            secure = address.startswith("tls")
            options: Any = {"workers": count, "cluster_insecure": not secure}
            Database(None, joining(address, server if secure else None, **options))
        assert refused.value.sqlstate == state
        # What a failed connection leaves to the garbage collector may wait for ever for a lock of its thread.
        assert not [each for each in gc.get_objects() if isinstance(each, Client) and each.status != "closed"]
    monkeypatch.setattr(joined, "CONNECT_SECONDS", 10)
    monkeypatch.setattr(scheduler_client, "PACKAGES", ("gpudb", "no-such-package"))
    real = versions.get_versions

    def ours(packages: Any = None) -> Any:
        found = real(packages)
        if packages is None:
            return found
        return {**found, "packages": {**found["packages"], "no-such-package": "1.0"}}

    monkeypatch.setattr(versions, "get_versions", ours)
    with pytest.raises(GpudbError, match="lacks no-such-package") as refused:
        Database(None, joining(scheduler.address, server))
    assert refused.value.sqlstate == "58000"


def test_a_server_waits_for_a_scheduler_as_long_as_it_is_told(
    scheduler: Scheduler, server: CertificateFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joined, "START_SECONDS", 0.1)
    with pytest.raises(GpudbError, match="no scheduler answers"):
        Database(None, joining("tls://127.0.0.1:1", server, scheduler_timeout=1.5))
    began = time.monotonic()
    with pytest.raises(GpudbError, match="of 3 workers have come"):
        Database(None, joining(scheduler.address, server, workers=WORKERS + 1, scheduler_timeout=3.0))
    assert time.monotonic() - began >= 3.0
