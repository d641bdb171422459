"""`gpudb top` beside a server's clients."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator

import pexpect
import psycopg
import pytest
from rich.console import Console

import gpudb.api
from gpudb.cli.top import Sample, render, take_sample
from tests.support.command_line import run_in_process
from tests.support.connection_urls import to_url
from tests.support.server_program import Program
from tests.support.sessions import wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with Program(tmp_path_factory.mktemp("top") / "data", "--engine", "cpu") as program:
        yield program


def draw(*samples: object, sort: str = "time") -> str:
    """What is shown at the second sample after the first, or at one since the start."""
    before, now = samples if len(samples) == 2 else (None, *samples)
    console = Console(width=160)
    with console.capture() as captured:
        console.print(render(before, now, sort))  # type: ignore[arg-type]
    return captured.get()


def test_once_prints_statements_and_sessions(server: Program) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute('CREATE TABLE "[t]" (a int)')
        for number in range(3):
            connection.execute(f'SELECT * FROM "[t]" WHERE a = {number}')
        process = connection.info.backend_pid
        done = run_in_process("top", to_url(server.dsn), "--once")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(
        r"^1 session, 0 active, 0 queued; \d+ transactions, 0 changed rows since the start$", done.stdout, re.M
    )
    assert re.search(r'^ *3 .*SELECT \* FROM "\[t\]" WHERE a = \$1', done.stdout, re.M)
    assert re.search(rf"^ *{process} +gpudb +idle", done.stdout, re.M)


def test_statements_are_sorted_and_its_own_are_left_out(server: Program) -> None:
    with gpudb.api.connect(to_url(server.dsn)) as own, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_statements_reset()")
        for _ in range(5):
            connection.execute("SELECT 'often'::text AS often")
        connection.execute("SELECT g AS many FROM generate_series(1, 5000) AS g")
        wait_until(
            lambda: "often" in draw(None, take_sample(own)) and "many" in draw(None, take_sample(own)),
            "both are counted",
        )
        now = take_sample(own)
    by_calls, by_rows = (draw(now, sort=sort).partition("Statements by")[2] for sort in ("calls", "rows"))
    assert by_calls.index("AS often") < by_calls.index("AS many")
    assert by_rows.index("AS many") < by_rows.index("AS often")
    for view in ("pg_stat_database", "pg_stat_activity", "pg_stat_statements ", "gpudb_devices"):
        assert view not in by_calls
    done = run_in_process("top", to_url(server.dsn), "--once", "--sort", "size")
    assert (done.returncode, done.stdout) == (1, "")
    assert "22023" in done.stderr


def test_keys_sort_and_end_it(server: Program) -> None:
    arguments = ["-m", "gpudb.cli", "top", to_url(server.dsn), "--interval", "60"]
    top = pexpect.spawn(sys.executable, arguments, dimensions=(30, 120), timeout=60, encoding="utf-8")
    top.expect("Statements by time")
    top.send("r")
    top.expect("Statements by rows")
    top.send("c")
    top.expect("Statements by calls")
    top.send("q")
    top.expect(pexpect.EOF)
    top.close()
    assert top.exitstatus == 0


def test_the_second_look_shows_what_happened_since(server: Program) -> None:
    with gpudb.api.connect(to_url(server.dsn)) as own, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("SELECT lower('before')")
        own.execute("SELECT pg_advisory_lock(5)")
        before = take_sample(own)
        waiting = threading.Thread(target=lambda: connection.execute("SELECT pg_advisory_lock(5) AS waited"))
        waiting.start()
        waits = "SELECT 1 FROM pg_locks WHERE NOT granted"
        wait_until(lambda: own.execute(waits).fetchall(), "the statement waits")
        drawn = draw(before, take_sample(own))
        own.execute("SELECT pg_advisory_unlock(5)")
        waiting.join()
        assert re.search(r"1 session, 1 active, 0 queued; [\d.]+ transactions/s", drawn)
        assert re.search(r"gpudb +active.*SELECT pg_advisory_lock\(5\) AS waited", drawn)
        assert "lower" not in drawn
        counted = r"1 +[\d.]+ m?s +[\d.]+ m?s +1 +SELECT pg_advisory_lock\(\$1\)"
        wait_until(lambda: re.search(counted, draw(before, take_sample(own))), "the statement is counted")


def test_a_gpus_share_of_time_is_shown_where_nvml_tells_it() -> None:
    now = Sample(time.monotonic(), 1, 0, 0, (), devices=[(0, "gpu", "H100", 80 * 10**9, 10**9, 0.75, 0.4)])
    assert re.search(r"0 +gpu +H100 +80.0 GB +1.0 GB +75% +40% *$", draw(None, now), re.M), draw(None, now)
    now.devices = [(0, "cpu", "x86_64", 8 * 10**9, 10**6, None, None)]
    assert re.search(r"0 +cpu +x86_64 .* - +- *$", draw(None, now), re.M), draw(None, now)
