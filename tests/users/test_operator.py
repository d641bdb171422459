"""An operator of a server: a look at the host, metrics, a full day's backups, a crash, a restore."""

from __future__ import annotations

import json
from pathlib import Path

import psycopg
import pytest

from tests.support.command_line import run_command
from tests.support.connection_urls import to_url
from tests.support.http_client import get, read, scrape
from tests.support.server_program import Program
from tests.support.sessions import wait_until
from tests.users.public_files import FLIGHTS, write_flights


def test_a_server_from_its_start_over_a_crash_to_a_restore(tmp_path: Path) -> None:
    flights = write_flights(tmp_path)
    data, backups = tmp_path / "data", tmp_path / "backups"
    # The host first: what is there, and what is missing, in a form for programs too
    told = json.loads(run_command("doctor", "--json", "--data-dir", data).stdout)
    assert told
    config = tmp_path / "gpudb.toml"
    config.write_text('memory_limit = "1GB"\nprot = 5433\n')
    refused = run_command("serve", "--config", config, "--data-dir", data)
    assert refused.returncode == 1
    assert '"prot"' in refused.stderr
    assert "HINT:  Perhaps you meant port." in refused.stderr
    config.write_text('memory_limit = "1GB"\nmax_connections = 7\n')

    with Program(data, "--config", str(config), "--http-port", "0") as server:
        assert get(f"{server.http}/healthz")[0] == 200
        wait_until(lambda: get(f"{server.http}/readyz")[0] == 200, "the server is ready")
        url = to_url(server.dsn)
        # Rows come in by a file and a program
        made = run_command("sql", url, "-c", f"CREATE TABLE airports AS SELECT * FROM '{tmp_path}/airports.csv'")
        assert (made.returncode, made.stdout) == (0, "SELECT 8\n"), made.stderr
        loaded = run_command("load", "--create", "--null", "NA", "--url", url, "flights", tmp_path / "flights.csv")
        assert loaded.returncode == 0, loaded.stderr
        with psycopg.connect(server.dsn, autocommit=True) as client:
            assert client.execute("SELECT count(*), count(dep_time) FROM flights").fetchone() == (
                FLIGHTS, int(flights.dep_time.notna().sum()),
            )  # fmt: skip
            assert client.execute("SHOW max_connections").fetchone() == ("7",)
            # Who is there, and what takes the time
            once = run_command("top", url, "--once")
            assert "SELECT count(*), count(dep_time) FROM flights" in once.stdout
            assert read(scrape(server), "gpudb_ready") == 1
            client.execute("ALTER SYSTEM SET log_min_duration_statement = 0")
            with psycopg.connect(server.dsn, autocommit=True) as later:
                later.execute("SELECT max(distance) AS farthest FROM flights")
            wait_until(lambda: "farthest" in server.read_log(), "the log has the statement")
            # A backup while clients write
            assert run_command("backup", backups, "--url", url).returncode == 0
            client.execute("CREATE TABLE later AS SELECT g FROM generate_series(1, 1000) AS g")
            client.execute("DELETE FROM airports WHERE faa = 'HNL'")
            assert run_command("backup", backups, "--url", url).returncode == 0
            # A session that has hung is ended
            with pytest.raises(psycopg.errors.AdminShutdown), psycopg.connect(server.dsn) as hung:
                hung.execute("LOCK TABLE airports IN ACCESS EXCLUSIVE MODE")
                pid = hung.info.backend_pid
                assert client.execute(
                    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
                    " WHERE state = 'idle in transaction' AND pid <> pg_backend_pid()"
                ).fetchall() == [(True,)]
                assert client.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [pid]).fetchone() == (0,)
            client.execute("INSERT INTO airports (faa, name) VALUES ('AAA', 'Before the crash')")
            # An open transaction is in the air when the power goes
            with pytest.raises(psycopg.OperationalError), psycopg.connect(server.dsn) as open_one:
                open_one.execute("INSERT INTO airports (faa, name) VALUES ('BBB', 'Never committed')")
                server.kill()

    with Program(data, "--http-port", "0") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            names = client.execute("SELECT faa FROM airports WHERE faa IN ('AAA', 'BBB', 'HNL')").fetchall()
            assert names == [("AAA",)]
            assert client.execute("SELECT sum(g) FROM later").fetchone() == (500500,)
        assert server.stop() == 0
    checked = run_command("check", "--data-dir", data, "--deep")
    assert checked.returncode == 0, checked.stdout

    # The table that was dropped by mistake is in each backup
    listed = run_command("verify-backup", backups)
    assert listed.returncode == 0
    first = listed.stdout.split()[0]
    assert run_command("restore", backups, tmp_path / "first", "--backup", first).returncode == 0
    assert run_command("restore", backups, tmp_path / "last").returncode == 0
    asked = "SELECT count(*) FILTER (WHERE faa = 'HNL'), to_regclass('later') IS NOT NULL FROM airports"
    assert "1 | f" in run_command("sql", tmp_path / "first", "-c", asked).stdout
    assert "0 | t" in run_command("sql", tmp_path / "last", "-c", asked).stdout
    # One flipped byte in a backup is found
    damaged = max((path for path in backups.rglob("*.parquet")), key=lambda path: path.stat().st_size)
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.chmod(0o600)
    damaged.write_bytes(content)
    assert run_command("verify-backup", backups).returncode == 1
