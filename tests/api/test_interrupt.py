"""Ctrl-C in a program of its own: KeyboardInterrupt, soon, and the connection lives on."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import gpudb
from gpudb.api import Connection
from tests.support.connection_urls import to_url
from tests.support.oracle.server import Oracle

TRIES = 20

PROGRAM = """
import signal, sys, time
import gpudb

HEAVY = "SELECT count(*) FROM generate_series(1, 400000) a(x), generate_series(1, 400000) b(y) WHERE (x * y) % 7 = 3"
db = gpudb.connect(sys.argv[1]) if sys.argv[1] else gpudb.connect()
db.execute("SELECT n FROM generate_series(1, 2) AS g(n)")

def tell(*words):
    print(*words, flush=True)

def run(action):
    tell("running")
    try:
        action()
    except KeyboardInterrupt as error:
        tell("interrupted", time.monotonic(), error.__cause__, db.status, db.execute("SELECT 1").fetchone()[0])

def rows():
    for row in db.sql("SELECT x FROM generate_series(1, 2000000000) g(x)"):
        pass

def transaction():
    with db.transaction():
        db.execute("CREATE TABLE interrupted (a int)")
        db.execute(HEAVY)

def frame():
    kept = {"n": [1, 2]}
    db.sql("SELECT count(*) FROM kept, (" + HEAVY + ") AS h").fetchall()

def sleep():
    time.sleep(60)

"""


@contextmanager
def child(url: str, code: str) -> Iterator[subprocess.Popen[str]]:
    """A program that connects and runs the code."""
    command = [sys.executable, "-c", PROGRAM + code, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def interrupt(process: subprocess.Popen[str]) -> tuple[float, list[str]]:
    """Sends SIGINT to a program that has begun; returns the seconds to KeyboardInterrupt, and what it then tells."""
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    time.sleep(0.4)  # the statement is bound, and computes
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    words = process.stdout.readline().split()
    assert words[:1] == ["interrupted"], words + process.stdout.readlines()
    return float(words[1]) - sent, words[2:]


@pytest.fixture(params=["embedded", "server", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """Where the program connects to."""
    match request.param:
        case "embedded":
            return ""
        case "server":
            return to_url(request.getfixturevalue("gpudb_server"))
    oracle: Oracle = request.getfixturevalue("oracle")
    return to_url(oracle.dsn)


def test_ctrl_c_ends_a_statement_and_the_connection_lives_on(url: str) -> None:
    code = """
run(lambda: db.execute(HEAVY)); run(lambda: db.sql(HEAVY).fetchall()); run(transaction); run(frame)
while True:
    run(lambda: db.execute(HEAVY))
"""
    with child(url, code) as process:
        results = [interrupt(process) for _ in range(4)]
        while min(results)[0] >= 0.1 and len(results) < TRIES:  # other processes may have the processors
            results.append(interrupt(process))
    assert all(told == ["None", "I", "1"] for _, told in results), results
    assert min(results)[0] < 0.1, results
    assert max(results)[0] < 5, results


def test_ctrl_c_while_rows_are_read_and_between_statements() -> None:
    with child("", "run(rows); run(sleep); run(lambda: db.execute(HEAVY))") as process:
        results = [interrupt(process) for _ in range(3)]
        assert process.wait(timeout=30) == 0
    assert [told for _, told in results] == [["None", "I", "1"]] * 3
    assert max(seconds for seconds, _ in results) < 5, results


def test_another_handler_of_the_signal_is_called_as_before() -> None:
    code = """
signal.signal(signal.SIGINT, lambda number, frame: tell("handled", signal.Signals(number).name))
tell("running")
try:
    db.execute(HEAVY)
except gpudb.errors.GpudbError as error:
    tell(error.sqlstate, db.execute("SELECT 1").fetchone())
signal.signal(signal.SIGINT, signal.SIG_DFL)
"""
    with child("", code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(0.4)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "handled SIGINT\n57014 (1,)\n"


def test_the_handler_and_the_descriptor_are_as_before(db: Connection) -> None:
    before = signal.getsignal(signal.SIGINT)
    db.execute("SELECT 1")
    with pytest.raises(gpudb.errors.GpudbError):
        db.execute("SELECT 1 / 0")
    iterator = iter(db.sql("SELECT 1"))
    next(iterator)
    assert signal.getsignal(signal.SIGINT) is before
    descriptor = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(descriptor)
    assert descriptor == -1
