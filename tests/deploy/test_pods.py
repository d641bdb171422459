"""The chart's pods as processes: what they run, how probes turn, how workers come and go, how the server drains.

`make test-helm` runs them.
"""

from __future__ import annotations

import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpudb.config.program import Settings
from tests.support.deploy.charts import CHART, render
from tests.support.deploy.pods import Pod
from tests.support.deploy.ports import find_port
from tests.support.server_program import Program
from tests.support.sessions import wait_until

pytestmark = [
    pytest.mark.timeout(280),
    pytest.mark.skipif("GPUDB_TEST_KUBERNETES" not in os.environ, reason="make test-helm runs it"),
]

VALUES = (
    "engine=twin",
    "workers.replicas=2",
    "persistence.accessModes={ReadWriteMany}",
    "backup.enabled=true",
    "auth.password=it's secret",
    "coordinator.shutdownTimeout=30",
)
LONG_S = 3


class Release:
    """The pods of a release with two workers."""

    def __init__(self, folder: Path) -> None:
        self.objects = render(CHART / "examples" / "laptop.yaml", *VALUES)
        self.port, self.http_port, scheduler_port = find_port(), find_port(), find_port()
        self.folder = folder
        self._options: dict[str, Any] = {
            "shared": {"data": folder / "data", "backups": folder / "backups"},
            "replaced": {
                "gpudb-scheduler:8786": f"127.0.0.1:{scheduler_port}",
                "--port=8786": f"--port={scheduler_port}",
                "/var/lib/gpudb-backups": str(folder / "backups"),
                "gpudb@gpudb:5432": f"gpudb@127.0.0.1:{self.port}",
                "0.0.0.0": "127.0.0.1",
            },
        }
        self.scheduler = self.make("gpudb-scheduler")
        self.coordinator = self.make("gpudb-coordinator", "gpudb-coordinator-0")
        self.workers = [self.make("gpudb-worker", f"gpudb-worker-{number}") for number in range(2)]
        self.pods = [self.coordinator, *self.workers, self.scheduler]

    def make(self, owner: str, name: str = "") -> Pod:
        return Pod(self.objects, owner, self.folder, name=name, **self._options)

    def make_restore(self, data: Path) -> Pod:
        """The pod of the job that an upgrade with `restore.source` adds, over a volume of tables."""
        objects = render(CHART / "examples" / "laptop.yaml", *VALUES, "restore.source=/var/lib/gpudb-backups")
        assert objects["StatefulSet", "gpudb-coordinator"]["spec"]["replicas"] == 0
        options = {**self._options, "shared": {**self._options["shared"], "data": data}}
        return Pod(objects, "gpudb-restore-1", self.folder, **options)

    def start_coordinator(self) -> None:
        self.coordinator.start(GPUDB_PORT=str(self.port), GPUDB_HTTP_PORT=str(self.http_port))

    def connect(self) -> psycopg.Connection:
        target = f"host=127.0.0.1 port={self.port} user=gpudb dbname=gpudb sslmode=require connect_timeout=60"
        return psycopg.connect(target, password="it's secret", autocommit=True)

    def refuses(self) -> bool:
        """Whether the server ends, and takes no new clients."""
        try:
            self.connect().close()
        except psycopg.OperationalError as error:
            return "the database system is shutting down" in str(error)
        return False

    def is_ready(self) -> bool:
        """The coordinator's readiness, over HTTP where the server has it."""
        if "http_port" not in Settings.model_fields:
            return "listening on" in self.coordinator.read_log()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/readyz", timeout=5) as reply:
                return bool(reply.status == 200)
        except (urllib.error.URLError, OSError):
            return False


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    made = Release(tmp_path_factory.mktemp("release"))
    try:
        # In no order: the coordinator and the workers wait for the scheduler, the coordinator for all workers.
        made.start_coordinator()
        made.workers[0].start()
        made.scheduler.start()
        assert not made.workers[1].probe("startup")
        wait_until(lambda: made.workers[0].probe("startup"), "a healthy worker")
        assert not made.is_ready()
        made.workers[1].start()
        wait_until(made.is_ready, "a ready server")
        yield made
    finally:
        for pod in made.pods:
            if pod.process is not None and pod.process.poll() is None:
                pod.process.kill()
                pod.process.wait(30)


def count(connection: psycopg.Connection) -> list[tuple[Any, ...]]:
    connection.execute("SET gpudb.fallback = off")
    return connection.execute("SELECT k, count(*), sum(v) FROM t GROUP BY k ORDER BY k").fetchall()


def test_statements_run_on_the_workers(release: Release) -> None:
    with release.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT i % 3 AS k, i::bigint AS v FROM generate_series(1, 3000) i")
        assert count(connection) == [(0, 1000, 1501500), (1, 1000, 1499500), (2, 1000, 1500500)]
        plan = connection.execute("EXPLAIN (ANALYZE) SELECT k, count(*) FROM t GROUP BY k").fetchall()
    assert any("Workers" in line or "workers" in line for (line,) in plan), plan
    for pod in release.workers:
        assert pod.probe("readiness")
        assert pod.probe("liveness")


def test_the_charts_own_clients(release: Release) -> None:
    done = release.make("gpudb-test-query").run(60)
    assert done.returncode == 0, done.stderr
    assert "500500" in done.stdout
    done = release.make("gpudb-backup").run(60)
    assert done.returncode == 0, done.stderr
    assert len(list((release.folder / "backups" / "backups").glob("*.json"))) == 1


def test_a_worker_is_replaced(release: Release) -> None:
    leaving = release.workers[0]
    leaving.end(30)
    (leaving.folder / "tmp" / "healthy").unlink(missing_ok=True)  # a new pod has new volumes
    assert not leaving.probe("readiness")
    leaving.start()
    wait_until(lambda: leaving.probe("readiness"), "the worker again")

    def answers() -> bool:
        try:
            with release.connect() as connection:
                return count(connection)[0] == (0, 1000, 1501500)
        except psycopg.OperationalError:
            return False

    wait_until(answers, "an answer of both workers")


def test_the_server_drains(release: Release) -> None:
    rows: list[Any] = []

    def run() -> None:
        with release.connect() as connection:
            rows.append(connection.execute(f"SELECT pg_sleep({LONG_S}), 42").fetchone())

    running = threading.Thread(target=run)
    with release.connect() as idle:
        running.start()
        wait_until(lambda: idle.execute("SELECT 1 FROM pg_stat_activity WHERE query LIKE '%sleep%, 42'").rowcount, "it")
        assert release.coordinator.process is not None
        release.coordinator.process.terminate()
        wait_until(release.refuses, "clients are refused")
        assert not release.is_ready() or "http_port" not in Settings.model_fields
    running.join(30)
    assert rows == [("", 42)]
    assert release.coordinator.process.wait(60) == 0
    # The next server, of an upgrade, finds tables and workers.
    release.start_coordinator()
    wait_until(lambda: release.coordinator.read_log().count("listening on") == 2, "the next server")
    with release.connect() as connection:
        assert count(connection)[2] == (2, 1000, 1500500)
    assert release.coordinator.end(60) == 0


def test_the_cronjobs_backup_is_restored(release: Release) -> None:
    release.start_coordinator()
    wait_until(release.is_ready, "a ready server")
    with release.connect() as connection:
        connection.execute("CREATE TABLE later AS SELECT 1 AS a")
        connection.execute("DELETE FROM t WHERE k > 0")
    # The job's first attempt may meet the server that still ends.
    restore = release.make_restore(release.folder / "data")
    done = restore.run(60)
    assert done.returncode == 1
    assert "is in use by another gpudb" in done.stderr
    assert release.coordinator.end(60) == 0
    done = restore.run(60)
    assert done.returncode == 0, done.stderr
    assert len(list((release.folder / "data").glob("data.before-*"))) == 1
    release.start_coordinator()
    wait_until(release.is_ready, "a ready server")
    with release.connect() as connection:
        assert count(connection) == [(0, 1000, 1501500), (1, 1000, 1499500), (2, 1000, 1500500)]
        assert connection.execute("SELECT to_regclass('later') IS NULL").fetchall() == [(True,)]
    assert release.coordinator.end(60) == 0
    # Into the empty volume of another release.
    done = release.make_restore(release.folder / "fresh").run(60)
    assert done.returncode == 0, done.stderr
    with (
        Program(release.folder / "fresh" / "data", "--engine", "cpu") as server,
        psycopg.connect(server.dsn, password="it's secret") as other,
    ):
        assert other.execute("SELECT count(*), sum(v) FROM t").fetchall() == [(3000, 4501500)]
