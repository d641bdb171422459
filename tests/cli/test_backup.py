"""`gpudb backup` of a running server, `restore` and `verify-backup`, as a user runs them."""

from __future__ import annotations

import contextlib
import random
import threading
from pathlib import Path

import psycopg
import pytest

from gpudb.session.database import Database
from gpudb.storage.recovery.check import check
from tests.support.command_line import run_in_process
from tests.support.data_directory import run_over
from tests.support.server_program import Program
from tests.support.sessions import wait_until
from tests.support.wire_server import serving

ROUNDS, SOAK_ROUNDS = 2, 200


def gpudb(*arguments: object, status: int = 0) -> str:
    done = run_in_process(*map(str, arguments))
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_server_is_backed_up_and_restored(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    with serving(Database(tmp_path / "data")) as server, contextlib.ExitStack() as stack:
        url = "postgresql://{}@{}:{}/gpudb".format
        connection = stack.enter_context(psycopg.connect(url("gpudb", *server.address), autocommit=True))
        connection.execute("CREATE TABLE t AS SELECT g AS a FROM generate_series(1, 1000) g")
        connection.execute("CREATE VIEW v AS SELECT sum(a) AS s FROM t")
        connection.execute("CREATE ROLE reader LOGIN")
        assert "of which" in gpudb("backup", destination, "--url", url("gpudb", *server.address))
        connection.execute("DELETE FROM t WHERE a > 500")
        gpudb("backup", destination, "--url", url("gpudb", *server.address))
        with psycopg.connect(url("reader", *server.address), autocommit=True) as other:
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
        assert run_over(tmp_path / name, "SELECT s FROM v") == [(wanted,)]
        assert run_over(tmp_path / name, "SELECT count(*) FROM pg_roles WHERE rolname = 'reader'") == [(1,)]


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
            wait_until(lambda: len(list((destination / "backups").glob("*.json"))) >= 2, "there are two backups")
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
            acknowledged = count
            backups = threading.Thread(target=_back_up_until_killed, args=(server, destination))
            backups.start()
            if number % 2:  # the others are killed within their first backup
                wait_until(lambda: list(destination.rglob("*.json")), "a backup exists")
            threading.Timer(draws.uniform(0.1, 1.0), server.kill).start()
            with contextlib.suppress(psycopg.Error):
                while True:
                    with connection.transaction():
                        connection.execute("INSERT INTO one VALUES (%s)", (acknowledged,))
                        connection.execute("INSERT INTO two VALUES (%s)", (acknowledged,))
                    acknowledged += 1
            backups.join(60)
            assert not backups.is_alive()
    run_over(tmp_path / "data", f"SELECT gpudb_backup('{destination}')")
    assert not check(tmp_path / "data", deep=True).problems
    for line in gpudb("verify-backup", destination).splitlines()[-3:]:
        id = line.split()[0]
        gpudb("restore", destination, tmp_path / id, "--backup", id)
        assert not check(tmp_path / id, deep=True).problems
        counts = "SELECT (SELECT count(*) FROM one), (SELECT count(*) FROM two), (SELECT max(a) + 1 FROM two)"
        ((one, two, following),) = run_over(tmp_path / id, counts)
        assert one == two == (following or 0)


def _back_up_until_killed(server: Program, destination: Path) -> None:
    with contextlib.suppress(psycopg.Error), psycopg.connect(server.dsn, autocommit=True) as connection:
        while True:
            connection.execute(f"SELECT gpudb_backup('{destination}')")  # type: ignore[arg-type]
