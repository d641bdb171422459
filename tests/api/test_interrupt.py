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
IN_TIME_S = 60.0
"""Far above the usual delay, on any machine; each statement would run for hours."""

PROGRAM = """
import signal, sys, threading, time
import gpudb

# A background job of a shell ignores the signal, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

HEAVY = (
    "SELECT count(*) FROM generate_series(1::bigint, 400000) a(x), generate_series(1::bigint, 400000) b(y)"
    " WHERE (x * y) % 7 = 3"
)
SMALL = HEAVY.replace("400000", "2")
db = gpudb.connect(sys.argv[1]) if sys.argv[1] else gpudb.connect()
looks = gpudb.connect(sys.argv[1]) if sys.argv[1] else None
ACTIVE = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%(1::bigint, 400000)%'"

def tell(*words):
    print(*words, flush=True)

def computes():
    if looks is not None:
        return looks.execute(ACTIVE + " AND pid <> pg_backend_pid()").fetchone()[0] == 1
    progress = db.progress()
    return progress.fraction is not None or progress.rows > 1000

def tell_that_it_computes():
    while not computes():
        time.sleep(0.01)
    tell("running")

def run(action, sql=HEAVY):
    action(SMALL)  # what it imports at first cannot be cancelled
    db.execute("SELECT 1")  # the rows read are none again
    try:
        threading.Thread(target=tell_that_it_computes).start()
        action(sql)
    except KeyboardInterrupt as error:
        tell("interrupted", time.monotonic(), error.__cause__, db.status, db.execute("SELECT 1").fetchone()[0])

def execute(sql):
    db.execute(sql)

def fetch(sql):
    db.sql(sql).fetchall()

def read(sql):
    for row in db.sql(sql):
        pass

def transaction(sql):
    with db.transaction():
        db.execute("CREATE TABLE interrupted (a int)")
        db.execute(sql)
        db.execute("DROP TABLE interrupted")

def frame(sql):
    kept = {"n": [1, 2]}
    db.sql("SELECT count(*) FROM kept, (" + sql + ") AS h").fetchall()

def sleep():
    try:
        tell("running")
        time.sleep(600)
    except KeyboardInterrupt as error:
        tell("interrupted", time.monotonic(), error.__cause__, db.status, db.execute("SELECT 1").fetchone()[0])

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
    """Sends SIGINT to a program once it runs; returns the seconds to KeyboardInterrupt, and what it then tells."""
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
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
    with child(url, "run(execute); run(fetch); run(transaction); run(frame)") as process:
        results = [interrupt(process) for _ in range(4)]
    assert all(told == ["None", "I", "1"] for _, told in results), results
    assert max(results)[0] < IN_TIME_S, results


@pytest.mark.soak
def test_ctrl_c_ends_a_statement_at_once(url: str) -> None:
    """The quickest of some, since other processes may have the processors."""
    with child(url, "while True: run(execute)") as process:
        results = [interrupt(process)]
        while min(results)[0] >= 0.1 and len(results) < TRIES:
            results.append(interrupt(process))
    assert min(results)[0] < 0.1, results


def test_ctrl_c_while_rows_are_read_and_between_statements() -> None:
    rows = "SELECT x FROM generate_series(1, 2000000000) g(x)"
    with child("", f"run(read, {rows!r}); sleep(); run(execute)") as process:
        results = [interrupt(process) for _ in range(3)]
        assert process.wait(timeout=IN_TIME_S) == 0
    assert [told for _, told in results] == [["None", "I", "1"]] * 3
    assert max(seconds for seconds, _ in results) < IN_TIME_S, results


def test_another_handler_of_the_signal_is_called_as_before() -> None:
    code = """
signal.signal(signal.SIGINT, lambda number, frame: tell("handled", signal.Signals(number).name))
db.execute(SMALL)
threading.Thread(target=tell_that_it_computes).start()
try:
    db.execute(HEAVY)
except gpudb.errors.GpudbError as error:
    tell(error.sqlstate, db.execute("SELECT 1").fetchone())
signal.signal(signal.SIGINT, signal.SIG_DFL)
"""
    with child("", code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        assert [process.stdout.readline() for _ in range(2)] == ["handled SIGINT\n", "57014 (1,)\n"]


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
