from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.support.command_line import run_command, run_in_process
from tests.support.data_directory import run_over
from tests.support.forked.process import ForkedProgram
from tests.support.server_program import START_S
from tests.support.sessions import wait_until


@contextlib.contextmanager
def serving(*options: str | Path, env: dict[str, str] | None = None) -> Iterator[tuple[ForkedProgram, int]]:
    """A server process and its port; killed at the end if it still runs."""
    process = ForkedProgram("gpudb.cli", "serve", *options, text=True, env=env)
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], START_S)[0], "it says nothing"
        line = process.stdout.readline()
        found = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", line)
        assert found is not None, line + (process.stderr.read() if process.stderr and not line else "")
        yield process, int(found[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=60)


def dsn(port: int) -> str:
    return f"host=127.0.0.1 port={port} user=gpudb dbname=gpudb connect_timeout=60"


def ended(process: ForkedProgram) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.wait(), out, err


def wait_for_statement(port: int) -> None:
    """Waits until another session runs the long statement."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT sum%' AND state = 'active'"
    with psycopg.connect(dsn(port), autocommit=True) as connection:
        wait_until(lambda: connection.execute(query).fetchone() == (1,), "it runs")


def test_a_running_statement_is_given_a_moment_then_cancelled(tmp_path: Path) -> None:
    found: list[str | None] = []

    def run(port: int) -> None:
        try:
            with psycopg.connect(dsn(port)) as connection:
                connection.execute(
                    "CREATE TABLE ten AS SELECT * FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS v(x)"
                )
                ten = ", ".join(f"ten AS t{i}" for i in range(12))
                total = " + ".join(f"t{i}.x" for i in range(12))
                connection.execute(f"SELECT sum({total}) FROM {ten} WHERE {total} > 5")
        except psycopg.Error as error:
            found.append(error.sqlstate)

    with serving("--port", "0", "--data-dir", tmp_path / "data") as (process, port):
        thread = threading.Thread(target=run, args=(port,))
        thread.start()
        wait_for_statement(port)
        process.terminate()
        started = time.monotonic()
        code, _, _ = ended(process)
        thread.join(60)
        assert code == 0
        assert 1 < time.monotonic() - started < 60
        assert found in (["57P01"], ["57014"])


LAZY = "BEGIN; CREATE TABLE IF NOT EXISTS lazy (a int)"


@contextlib.contextmanager
def connected(folder: Path, *options: str | Path) -> Iterator[tuple[ForkedProgram, int, psycopg.Connection[Any]]]:
    """A server over a folder, its port, and a connection with autocommit."""
    with (
        serving("--port", "0", "--data-dir", folder / "data", *options) as (process, port),
        psycopg.connect(dsn(port), autocommit=True) as connection,
    ):
        yield process, port, connection


def connect_until_refused(port: int) -> None:
    """Connects again and again; a connection that the shutdown meets before or in its TLS handshake is told otherwise."""
    while True:
        try:
            psycopg.connect(dsn(port)).close()
        except psycopg.OperationalError as error:
            if "unexpected eof" not in str(error) and "during SSL exchange" not in str(error):
                raise


def test_a_transaction_has_the_time_that_is_configured(tmp_path: Path) -> None:
    with connected(tmp_path, "--shutdown-timeout", "60") as (process, port, lazy):
        lazy.execute(LAZY)
        process.terminate()
        with pytest.raises(psycopg.OperationalError, match="the database system is shutting down"):
            connect_until_refused(port)
        lazy.execute("INSERT INTO lazy VALUES (1)")
        lazy.execute("COMMIT")
        assert ended(process) == (0, "", "")
    assert run_over(tmp_path / "data", "SELECT a FROM lazy") == [(1,)]


@pytest.mark.parametrize("signals", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGINT), (signal.SIGTERM,) * 2])
def test_fast_waits_for_no_transaction(tmp_path: Path, signals: tuple[signal.Signals, ...]) -> None:
    with connected(tmp_path, "--shutdown-timeout", "600") as (process, port, lazy):
        lazy.execute(LAZY)
        for number in signals:
            process.send_signal(number)
            with pytest.raises(psycopg.OperationalError):  # once the signal is taken
                connect_until_refused(port)
        assert ended(process) == (0, "", "")
        with pytest.raises(psycopg.OperationalError):
            lazy.execute("COMMIT")


def test_immediate_ends_as_it_is(tmp_path: Path) -> None:
    with connected(tmp_path, "--shutdown-timeout", "600") as (process, _, lazy):
        lazy.execute("CREATE TABLE kept AS SELECT 1 AS a")
        lazy.execute("BEGIN; INSERT INTO kept VALUES (2)")
        process.send_signal(signal.SIGQUIT)
        assert ended(process) == (0, "", "")
        lazy.close()
    assert run_over(tmp_path / "data", "SELECT a FROM kept") == [(1,)]


def test_it_ends_in_order_by_either_signal_and_starts_again(tmp_path: Path) -> None:
    """With what was committed; limits come from the file, and what was set by ALTER SYSTEM is kept over it."""
    file = tmp_path / "gpudb.toml"
    file.write_text('max_statement_timeout = "2min"\nmax_running_statements = 7\ntemp_file_limit = "1GB"\n')
    with serving("--port", "0", "--data-dir", tmp_path / "data", "--config", file) as (process, port):
        with psycopg.connect(dsn(port), autocommit=True) as connection:
            names = ("gpudb.max_statement_timeout", "gpudb.max_running_statements", "temp_file_limit")
            found = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in names]
            assert found == [("2min",), ("7",), ("1GB",)]
            connection.execute("ALTER SYSTEM SET gpudb.max_running_statements = 3")
            with psycopg.connect(dsn(port)) as later:
                assert later.execute("SHOW gpudb.max_running_statements").fetchone() == ("3",)
            connection.execute("CREATE TABLE kept AS SELECT 1 AS a")
        process.send_signal(signal.SIGTERM)
        assert ended(process) == (0, "", "")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(dsn(port))
    with serving("--port", "0", "--data-dir", tmp_path / "data", "--config", file) as (process, port):
        with psycopg.connect(dsn(port)) as connection:
            assert connection.execute("SELECT a FROM kept").fetchall() == [(1,)]
            assert connection.execute("SHOW gpudb.max_running_statements").fetchone() == ("3",)
        process.send_signal(signal.SIGINT)
        assert ended(process) == (0, "", "")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(dsn(port))


def test_settings_come_from_options_then_variables_then_the_file(tmp_path: Path) -> None:
    file = tmp_path / "gpudb.toml"
    log = tmp_path / "statements.log"
    file.write_text(f'port = 1\nmax_connections = 2\nstatement_log = "{log}"\ndata_dir = "{tmp_path}/not this"\n')
    environment = {**os.environ, "GPUDB_DATA_DIR": str(tmp_path / "data"), "GPUDB_PORT": "2"}
    with serving("--config", file, "--port", "0", env=environment) as (process, port):
        with contextlib.ExitStack() as stack:
            for _ in range(2):
                stack.enter_context(psycopg.connect(dsn(port), autocommit=True)).execute("SELECT 42")
            with pytest.raises(psycopg.OperationalError, match="too many clients"):
                psycopg.connect(dsn(port))
        process.terminate()
        assert ended(process)[0] == 0
    assert (tmp_path / "data" / "catalog.db").exists()
    statements = [json.loads(line)["statement"] for line in log.read_text().splitlines()]
    assert statements.count("SELECT 42") == 2


def test_tls_is_there_without_being_asked(gpudb_server: str) -> None:
    with psycopg.connect(f"{gpudb_server} sslmode=require") as connection:
        assert connection.pgconn.ssl_in_use
        facts = "SELECT s.ssl, s.version, s.cipher LIKE 'TLS%', s.bits >= 128 FROM pg_stat_ssl s"
        facts += " WHERE pid = pg_backend_pid()"
        assert connection.execute(facts).fetchall() == [(True, "TLSv1.3", True, True)]
        ports = connection.execute(
            "SELECT client_port = inet_client_port(), inet_server_port() FROM pg_stat_activity WHERE pid = pg_backend_pid()"
        )
        assert ports.fetchall() == [(True, connection.info.port)]
        assert connection.execute("SELECT host(inet_server_addr())").fetchone() == ("127.0.0.1",)


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    data = ("--data-dir", tmp_path / "data")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        cases = [
            (("--port", port, *data), "in use"),
            (("--host", "0.0.0.0", "--port", "0", *data), "password"),
            (("--engine", "gpu", *data), "GPU engine cannot run here: no GPU found"),
            (("--engine", "tpu", *data), "engine"),
            (("--port", "70000", *data), "port"),
            (("--memory-limit", "lots", *data), "memory_limit"),
            (("--tls-cert", tmp_path / "x", *data), "tls_key"),
            (
                ("--engine", "twin", "--scheduler", f"tcp://127.0.0.1:{port}", "--port", "0", *data),
                "without certificates",
            ),
            (("--config", tmp_path / "none.toml"), "does not exist"),
            (("--data-dir", Path(__file__)), "could not create data directory"),
        ]
        for options, expected in cases:
            # Only these get as far as setting signal handlers.
            run = (
                run_command
                if expected in {"in use", "password", "could not create data directory"} or {"gpu", "twin"} & {*options}
                else run_in_process
            )
            done = run("serve", *options)
            assert done.returncode == 1, options
            assert expected in done.stderr
            assert "Traceback" not in done.stderr
            assert done.stdout == "" or "--scheduler" in options, "a scheduler is asked while the server listens"


def test_a_data_directory_has_one_server(tmp_path: Path) -> None:
    with serving("--port", "0", "--data-dir", tmp_path / "data"):
        done = run_command("serve", "--port", "0", "--data-dir", tmp_path / "data")
        assert (done.returncode, "in use" in done.stderr) == (1, True)
        done = run_in_process("sql", tmp_path / "data", "-c", "SELECT 1")
        assert (done.returncode, "55006" in done.stderr) == (1, True)
