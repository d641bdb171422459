"""A closed cluster: who has no certificate and no secret runs nothing there and reads nothing, also as another user."""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import dask
import pytest
from distributed import Client

from gpudb.certificates import CertificateFiles, create_cluster_certificates, locate_member
from gpudb.config.database import EMBEDDED
from gpudb.engine.gpu.cluster import joined
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from tests.support.gpu import host_transfers
from tests.support.gpu.dask_programs import Scheduler, joining
from tests.support.gpu.intruder import NOBODY, intrude
from tests.support.sessions import run

pytestmark = pytest.mark.timeout(300)

WORKERS = 2
SUM = "SELECT k, count(*), sum(v) FROM t GROUP BY k ORDER BY k"
ANSWER = [(0, 334, 166833), (1, 333, 166167), (2, 333, 166500)]
USERS = [
    pytest.param(None, id="same user"),
    pytest.param(
        NOBODY, id="another user", marks=pytest.mark.skipif(os.getuid() != 0, reason="only root becomes another user")
    ),
]


@pytest.fixture(scope="module")
def open_parent() -> Iterator[Path]:
    """A directory that every user may enter: what is in it is protected by its own mode alone."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made, dask.config.set({"temporary-directory": made}):
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.fixture(scope="module")
def database(open_parent: Path) -> Iterator[Database]:
    made = Database(None, replace(EMBEDDED, engine="twin", workers=WORKERS))
    try:
        assert _directory(made).parent == open_parent
        session = made.session("gpudb")
        run(session, "CREATE TABLE t AS SELECT i % 3 AS k, i::bigint AS v FROM generate_series(0, 999) i")
        made.engine._cluster._cluster._client.run(host_transfers.opened, near=False)  # type: ignore[attr-defined]
        yield made
    finally:
        made.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in which every user may write."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:
        Path(made).chmod(0o777)
        yield Path(made)


def _processes(database: Database) -> dict[str, int]:
    """The process of each worker, by its address."""
    found: dict[str, int] = database.engine._cluster._cluster._client.run(os.getpid)  # type: ignore[attr-defined]
    return found


def _sockets(pid: int) -> set[str]:
    """The inodes of a process's sockets."""
    found = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink()))
        except OSError:
            continue
        if match:
            found.add(match[1])
    return found


def _listening(pids: list[int]) -> tuple[list[int], list[str]]:
    """The TCP ports and the paths on which processes listen."""
    sockets = set().union(*map(_sockets, pids))
    ports, paths = set(), set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in sockets:
            ports.add(int(fields[1].rpartition(":")[2], 16))
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[6] in sockets and len(fields) > 7 and int(fields[3], 16) & 0x10000:
            paths.add(fields[7])
    return sorted(ports), sorted(paths)


def _directory(database: Database) -> Path:
    found: Path = database.engine._cluster._cluster._launcher._directory.path  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("uid", USERS)
def test_nobody_without_a_certificate_gets_anything(database: Database, folder: Path, uid: int | None) -> None:
    session = database.session("gpudb")
    assert run(session, SUM) == ANSWER
    workers = _processes(database)
    ports, paths = _listening([os.getpid(), *workers.values()])
    # At least the scheduler's, and those of each nanny, worker and buffer server; each worker's fast path.
    assert len(ports) >= 1 + 3 * WORKERS
    assert {int(address.rpartition(":")[2]) for address in workers} <= set(ports)
    assert sum(path.endswith("/entry") for path in paths) == WORKERS
    files = [str(path) for path in _directory(database).rglob("*")]
    assert sum(path.endswith(".key") for path in files) == 1
    assert intrude(folder, ports, sorted({*paths, *files}) if uid is not None else [], uid) == {}
    assert not list(folder.iterdir())
    # Nothing has stopped.
    assert run(session, SUM) == ANSWER
    assert _processes(database) == workers
    session.close()


def test_the_directory_is_private_and_goes_with_the_cluster(database: Database) -> None:
    directory = _directory(database)
    assert all(path.stat().st_uid == os.getuid() for path in (directory, *directory.rglob("*")))
    (key,) = directory.rglob("*.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    entry = Path(forkserver._forkserver._forkserver_address)  # type: ignore[attr-defined]
    assert entry.is_socket()
    for private in (directory, key.parent, entry.parent, *(path.parent for path in directory.rglob("entry"))):
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
    made = Database(None, replace(EMBEDDED, engine="twin", workers=1))
    other = _directory(made)
    assert other != directory
    made.close()
    assert not other.exists()
    assert directory.exists()


@pytest.mark.parametrize("uid", USERS)
def test_an_intruder_runs_code_in_an_open_cluster(tmp_path: Path, folder: Path, uid: int | None) -> None:
    """Shows that the attempts of the other tests would succeed where nothing stops them."""
    scheduler = Scheduler(tmp_path)
    try:
        scheduler.worker("w")
        port = int(scheduler.address.rpartition(":")[2])
        with Client(scheduler.address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=200)
            (address,) = client.run(os.getpid)
        ports = [port, int(address.rpartition(":")[2])]
        got = intrude(folder, ports, ["/etc/passwd", "/tmp"], uid)
        assert {f"scheduler {ports[0]}", f"worker {ports[1]}", "/etc/passwd", "/tmp"} <= got.keys()
        marks = {path.name for path in folder.iterdir()}
        assert marks == {f"scheduler-{ports[0]}", f"worker-{ports[1]}"}
        # gpudb uses it only when it is told to.
        for certificates in (None, _certificates(tmp_path / "certificates")):
            with pytest.raises(GpudbError, match="cannot be used without certificates") as refused:
                Database(None, joining(scheduler.address, certificates))
            assert refused.value.sqlstate == "F0000"
        database = Database(None, joining(scheduler.address, cluster_insecure=True))
        try:
            session = database.session("gpudb")
            run(session, "CREATE TABLE t AS SELECT i % 3 AS k, i::bigint AS v FROM generate_series(0, 999) i")
            assert run(session, SUM) == ANSWER
        finally:
            database.close()
    finally:
        scheduler.close()


def _certificates(directory: Path, member: str = "server") -> CertificateFiles:
    create_cluster_certificates(directory, ["scheduler", "worker", member], keep_authority_key=False)
    return locate_member(directory, member)


def test_a_scheduler_with_certificates_wants_one_of_its_authority(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, others = _certificates(tmp_path / "ours"), _certificates(tmp_path / "others")
    scheduler = Scheduler(tmp_path, tmp_path / "ours")
    try:
        assert scheduler.address.startswith("tls://")
        scheduler.worker("w")
        with monkeypatch.context() as patch:
            patch.setattr(joined, "CONNECT_SECONDS", 2)
            began = time.monotonic()
            with pytest.raises(GpudbError, match="no scheduler answers") as refused:
                Database(None, joining(scheduler.address, others))
            assert refused.value.sqlstate == "08001"
            assert "cluster_tls_ca" in (refused.value.hint or "")
            assert time.monotonic() - began < 30
        database = Database(None, joining(scheduler.address, ours))
        try:
            session = database.session("gpudb")
            run(session, "SET gpudb.fallback = off")
            run(session, "CREATE TABLE t AS SELECT i % 3 AS k, i::bigint AS v FROM generate_series(0, 999) i")
            assert run(session, SUM) == ANSWER
            pids = [program.pid for program in scheduler.programs]
            workers = _processes(database)
            ports, paths = _listening([*pids, *workers.values()])
            got = intrude(folder, ports, [], NOBODY if os.getuid() == 0 else None)
            # Dask's own status pages are the business of who starts it.
            assert not {attempt for attempt in got if not attempt.startswith("pages")}
            assert not list(folder.iterdir())
            assert any(path.endswith("/entry") for path in paths)
            assert run(session, SUM) == ANSWER
            assert _processes(database) == workers
        finally:
            database.close()
    finally:
        scheduler.close()


def test_files_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    files = _certificates(tmp_path / "certificates")

    def refuse(certificates: CertificateFiles, message: str) -> None:
        with pytest.raises(GpudbError, match=message) as refused:
            Database(None, joining("tls://127.0.0.1:1", certificates))
        assert refused.value.sqlstate == "F0000"

    missing: Any = tmp_path / "missing"
    refuse(CertificateFiles(missing, files.certificate, files.key), "could not load the cluster's certificate")
    refuse(CertificateFiles(files.authority, files.certificate, missing), "could not load the cluster's certificate")
    other = _certificates(tmp_path / "other")
    refuse(CertificateFiles(files.authority, files.certificate, other.key), "could not load the cluster's certificate")
    files.key.chmod(0o644)
    refuse(files, "has group or world access")


def test_a_tls_address_is_never_used_without_certificates() -> None:
    for insecure in (False, True):
        with pytest.raises(GpudbError, match="cannot be used without certificates") as refused:
            Database(None, joining("tls://127.0.0.1:1", cluster_insecure=insecure))
        assert refused.value.sqlstate == "F0000"
