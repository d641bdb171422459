"""A server whose Dask scheduler is killed and started again: it is not ready meanwhile, and joins the next one."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from distributed import Client

from gpudb.certificates import create_cluster_certificates, locate_member
from gpudb.cli.cluster_certificates import MEMBERS
from gpudb.engine.gpu.cluster.security import load_security
from tests.support.deploy.ports import find_port
from tests.support.gpu.dask_programs import START_S, Scheduler, are_workers_left
from tests.support.http_client import wait_for
from tests.support.server_program import Program

pytestmark = pytest.mark.timeout(400)

WORKERS = 2
QUERY = "SELECT k % 3, count(*), sum(v) FROM t GROUP BY 1 ORDER BY 1"
ANSWER = [(0, 3334, 16668333), (1, 3333, 16661667), (2, 3333, 16665000)]


@pytest.fixture
def ports() -> tuple[str, ...]:
    """Options for a worker that comes back under the same address, as pods may."""
    return "--worker-port", str(find_port()), "--nanny-port", str(find_port())


@pytest.fixture
def scheduler(tmp_path: Path, ports: tuple[str, ...]) -> Iterator[Scheduler]:
    create_cluster_certificates(tmp_path / "certificates", MEMBERS, keep_authority_key=True)
    made = Scheduler(tmp_path, tmp_path / "certificates")
    try:
        made.worker("w0", *ports)
        made.worker("w1")
        yield made
    finally:
        made.close()


@pytest.fixture
def server(tmp_path: Path, scheduler: Scheduler) -> Iterator[Program]:
    files = locate_member(tmp_path / "certificates", "server")
    options = ["--engine", "twin", "--scheduler", scheduler.address, "--workers", str(WORKERS), "--http-port", "0"]
    options += ["--cluster-tls-ca", str(files.authority), "--cluster-tls-cert", str(files.certificate)]
    options += ["--cluster-tls-key", str(files.key)]
    program = Program(tmp_path / "data", *options)
    try:
        yield program
    finally:
        program.end()


def _readiness(server: Program) -> str:
    """Returns why the server is not ready; empty if it is."""
    try:
        with urllib.request.urlopen(f"{server.http}/readyz", timeout=20):
            return ""
    except urllib.error.HTTPError as error:
        return error.read().decode()


def _metric(server: Program, name: str) -> float:
    with urllib.request.urlopen(f"{server.http}/metrics", timeout=20) as reply:
        lines = reply.read().decode().splitlines()
    return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])


def _processes(connection: psycopg.Connection) -> set[int]:
    asked = "SELECT att_value::int FROM pgstrom_device_info() WHERE att_name = 'PROCESS_ID'"
    return {pid for (pid,) in connection.execute(asked)}


def _prepare(connection: psycopg.Connection) -> None:
    connection.execute("SET gpudb.fallback = off")
    connection.execute("CREATE TABLE t (k int, v bigint)")
    connection.execute("INSERT INTO t SELECT i, i FROM generate_series(0, 9999) i")
    assert connection.execute(QUERY).fetchall() == ANSWER
    connection.execute("SELECT gpudb_pin('t')")


def test_the_server_joins_the_scheduler_that_is_started_again(
    scheduler: Scheduler, server: Program, ports: tuple[str, ...]
) -> None:
    wait_for(lambda: not _readiness(server), START_S)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        _prepare(connection)
        before = _processes(connection)
        scheduler.kill_scheduler()
        wait_for(lambda: f"0 of {WORKERS} workers" in _readiness(server), START_S)
        wait_for(lambda: _metric(server, "gpudb_scheduler_connected") == 0, START_S)
        # Without workers a statement that needs them fails, and its connection goes on.
        with pytest.raises(psycopg.errors.SystemError, match="are starting again"):
            connection.execute(QUERY)
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
        scheduler.start_again()
        scheduler.worker("w0", *ports)
        scheduler.worker("another")
        wait_for(lambda: not _readiness(server), START_S)
        assert connection.execute(QUERY).fetchall() == ANSWER
        assert _metric(server, "gpudb_scheduler_connected") == 1
        after = _processes(connection)
        assert len(after) == WORKERS
        assert not after & before
        connection.execute("UPDATE t SET v = v + 1")
        assert connection.execute("SELECT sum(v) FROM t").fetchall() == [(49_995_000 + 10_000,)]
    assert server.stop() == 0
    assert server.read_log().count("this server joins it") == 1
    _expect_workers_of_their_own(scheduler)


def _expect_workers_of_their_own(scheduler: Scheduler) -> None:
    """The server has left the claim and its plugins at the scheduler that it joined last."""
    assert scheduler.certificates is not None
    files = locate_member(scheduler.certificates, "server")
    security = load_security(scheduler.address, files, insecure=False)
    with Client(scheduler.address, set_as_default=False, security=security) as client:  # type: ignore[no-untyped-call]
        wait_for(lambda: are_workers_left(client, WORKERS), START_S)
        claims = client.run_on_scheduler(lambda dask_scheduler: dict(dask_scheduler.extensions["semaphores"].leases))
        assert not any(claims.values())
