"""`gpudb backup` of a running server, `restore` and `verify-backup`, as a user runs them."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import psycopg
import pytest

from gpudb.storage.recovery.check import check
from tests.support.server_program import Program

ROUNDS, SOAK_ROUNDS = 2, 200


def gpudb(*arguments: object, status: int = 0) -> str:
    command = [sys.executable, "-m", "gpudb.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def url(server: Program) -> str:
    return f"postgresql://gpudb@{server.host}:{server.port}/gpudb"


def test_a_server_is_backed_up_and_restored(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    with Program(tmp_path / "data") as server, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE t AS SELECT g AS a FROM generate_series(1, 1000) g")
        connection.execute("CREATE VIEW v AS SELECT sum(a) AS s FROM t")
        connection.execute("CREATE ROLE reader LOGIN")
        assert "of which" in gpudb("backup", destination, "--url", url(server))
        connection.execute("DELETE FROM t WHERE a > 500")
        gpudb("backup", destination, "--url", url(server))
        with psycopg.connect(server.dsn.replace("user=gpudb", "user=reader"), autocommit=True) as other:
            with pytest.raises(psycopg.Error) as raised:
                other.execute(f"SELECT gpudb_backup('{tmp_path / 'stolen'}')")
            assert raised.value.sqlstate == "42501"
        for wrong in ("SELECT gpudb_backup('relative')", "SELECT gpudb_backup('/a', '/b')"):
            with pytest.raises(psycopg.Error):
                connection.execute(wrong)  # type: ignore[arg-type]
    first, second = (line.split()[0] for line in gpudb("verify-backup", destination).splitlines())
    gpudb("restore", destination, tmp_path / "last")
    gpudb("restore", destination, tmp_path / "first", "--backup", first)
    assert "not empty" in gpudb("restore", destination, tmp_path / "first", status=1)
    assert first < second
    for name, wanted in (("first", 500_500), ("last", 125_250)):
        assert not check(tmp_path / name, deep=True).problems
        with Program(tmp_path / name) as server, psycopg.connect(server.dsn) as connection:
            assert connection.execute("SELECT s FROM v").fetchall() == [(wanted,)]
            assert connection.execute("SELECT count(*) FROM pg_roles WHERE rolname = 'reader'").fetchall() == [(1,)]


def test_a_server_backs_itself_up(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    environment = {
        "GPUDB_BACKUP_DIR": str(destination),
        "GPUDB_BACKUP_INTERVAL": "1",
        "GPUDB_BACKUP_KEEP": "2",
    }
    with Program(tmp_path / "data", environment=environment) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("CREATE TABLE t AS SELECT 1 AS a")
            deadline = time.monotonic() + 60
            while len(list((destination / "backups").glob("*.json"))) < 2 and time.monotonic() < deadline:
                time.sleep(0.2)
        server.stop()
    assert len(gpudb("verify-backup", destination).splitlines()) == 2


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(SOAK_ROUNDS, marks=pytest.mark.soak)])
@pytest.mark.timeout(7200)
def test_killed_while_a_backup_runs(tmp_path: Path, rounds: int) -> None:
    """Nothing is lost, and each backup that exists can be restored."""
    destination, draws = tmp_path / "backups", random.Random(5)
    acknowledged = 0
    for number in range(rounds):
        with Program(tmp_path / "data") as server, psycopg.connect(server.dsn, autocommit=True) as connection:
            if number == 0:
                connection.execute("CREATE TABLE one (a int PRIMARY KEY)")
                connection.execute("CREATE TABLE two (a int PRIMARY KEY)")
            (count,) = connection.execute("SELECT count(*) FROM one").fetchone() or (0,)
            assert count >= acknowledged
            assert connection.execute("SELECT count(*) FROM two").fetchall() == [(count,)]
            command = [sys.executable, "-m", "gpudb.cli", "backup", str(destination), "--url", url(server)]
            backup = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            threading.Timer(draws.uniform(0.5, 2.5), server.kill).start()
            acknowledged = count
            try:
                while True:
                    with connection.transaction():
                        connection.execute("INSERT INTO one VALUES (%s)", (acknowledged,))
                        connection.execute("INSERT INTO two VALUES (%s)", (acknowledged,))
                    acknowledged += 1
            except psycopg.Error:
                pass
            backup.wait(timeout=60)
    with Program(tmp_path / "data") as server:
        gpudb("backup", destination, "--url", url(server))
        server.stop()
    assert not check(tmp_path / "data", deep=True).problems
    for line in gpudb("verify-backup", destination).splitlines()[-3:]:
        id = line.split()[0]
        gpudb("restore", destination, tmp_path / id, "--backup", id)
        assert not check(tmp_path / id, deep=True).problems
        with Program(tmp_path / id) as server, psycopg.connect(server.dsn) as connection:
            counts = "SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two), (SELECT max(a) + 1 FROM two)"
            ((one, two, following),) = connection.execute(counts).fetchall()
            assert one == two == (following or 0)
