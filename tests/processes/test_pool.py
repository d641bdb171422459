"""Calls of functions in child processes: results, errors, questions, and what ends a child."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from gpudb.errors import QueryCanceled, SqlError
from gpudb.processes.child import ChildProcess
from gpudb.processes.pool import ProcessPool
from tests.support.sessions import wait_until

MODULE = "tests.processes.served"


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessPool]:
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    pool = ProcessPool(MODULE, most=1)
    yield pool
    pool.close()


def is_wanted() -> None:
    """Somebody waits for as long as it takes."""


def is_running(pid: int) -> bool:
    """Whether a process exists that has not ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_calls_share_a_child(pool: ProcessPool) -> None:
    """A result, what the function prints notwithstanding; the next call meets the same process."""
    assert pool.call("add", (1, 2), is_wanted) == 3
    assert pool.call("get_pid", (), is_wanted) == pool.call("get_pid", (), is_wanted) != os.getpid()


def test_large_values(pool: ProcessPool) -> None:
    """Messages longer than a pipe holds, in both directions; arrays and tables as they are."""
    data = np.random.default_rng(1).bytes(5_000_000)
    assert pool.call("repeat", (data, 3), is_wanted) == data * 3
    table = pa.table({"a": np.arange(300_000)})
    assert pool.call("add", (np.arange(300_000), 1), is_wanted).sum() == np.arange(1, 300_001).sum()
    assert pool.call("repeat", ([table], 2), is_wanted) == [table, table]


def test_errors_leave_the_child(pool: ProcessPool) -> None:
    """An SQL error as it is, any other as 38000; the child goes on."""
    before = pool.call("get_pid", (), is_wanted)
    with pytest.raises(SqlError, match="refused") as caught:
        pool.call("fail", ("sql",), is_wanted)
    assert caught.value.sqlstate == "22023"
    with pytest.raises(SqlError, match="KeyError: 'other'") as caught:
        pool.call("fail", ("other",), is_wanted)
    assert caught.value.sqlstate == "38000"
    assert pool.call("get_pid", (), is_wanted) == before


def test_questions(pool: ProcessPool) -> None:
    """A child asks its parent amid a call; the parent's error is the child's."""
    assert pool.call("sum_answers", (5,), is_wanted, lambda question: question * 10) == 100

    def refuse(question: Any) -> Any:
        raise SqlError.of("insufficient_privilege", str(question))

    assert pool.call("catch_answer", (), is_wanted, refuse) == "42501"


@pytest.mark.parametrize(("name", "arguments"), [("wait", ()), ("sum_answers", (1,))])
def test_cancel_kills_the_child(pool: ProcessPool, name: str, arguments: tuple[Any, ...]) -> None:
    """What is raised while a call runs ends its process, and the next call has another."""
    before = pool.call("get_pid", (), is_wanted)

    def cancelled(*_: object) -> None:
        raise QueryCanceled("canceled")

    with pytest.raises(QueryCanceled):
        pool.call(name, arguments, cancelled, cancelled)
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)
    assert pool.call("add", (1, 1), is_wanted) == 2


def test_cancel_while_the_child_does_not_read(pool: ProcessPool) -> None:
    """A request that a stopped process does not read is given up too."""
    child = pool.call("get_pid", (), is_wanted)
    os.kill(child, signal.SIGSTOP)

    def cancelled() -> None:
        raise QueryCanceled("canceled")

    with pytest.raises(QueryCanceled):
        pool.call("repeat", (bytes(10_000_000), 1), cancelled)


def test_cancel_while_all_children_are_busy(pool: ProcessPool) -> None:
    """A call that waits for a child ends with its statement."""
    first = threading.Event()
    over = threading.Event()

    def wanted() -> None:
        first.set()
        if over.is_set():
            raise QueryCanceled("canceled")

    def call() -> None:
        with pytest.raises(QueryCanceled):
            pool.call("wait", (), wanted)

    busy = threading.Thread(target=call)
    busy.start()
    assert first.wait(60)

    def cancelled() -> None:
        raise QueryCanceled("canceled")

    with pytest.raises(QueryCanceled):
        pool.call("add", (1, 1), cancelled)
    over.set()
    busy.join()


def test_a_child_that_ends_within_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outer call ends as the inner one does, and writes to no descriptor that is another's by then."""
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    child = ChildProcess(MODULE)
    opened: list[int] = []

    def answer(question: Any) -> Any:
        try:
            return child.call("end", (), is_wanted)
        finally:
            opened.extend(os.pipe())

    try:
        with pytest.raises(SqlError) as caught:
            child.call("sum_answers", (1,), is_wanted, answer)
        assert caught.value.sqlstate == "53200"
        assert child.has_ended
        os.set_blocking(opened[0], False)
        with pytest.raises(BlockingIOError):
            os.read(opened[0], 1)
    finally:
        for each in opened:
            os.close(each)


def test_what_a_child_started_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    child = ChildProcess(MODULE)
    started = child.call("start_sleep", (), is_wanted)
    os.kill(started, 0)
    child.kill()
    wait_until(lambda: not is_running(started), "the grandchild has ended")


def test_a_child_that_ends(pool: ProcessPool) -> None:
    """53200 for the call; the next one has a new process."""
    with pytest.raises(SqlError) as caught:
        pool.call("end", (), is_wanted)
    assert caught.value.sqlstate == "53200"
    assert pool.call("add", (1, 1), is_wanted) == 2


def test_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """53200 beyond the limit of a child's memory; it goes on."""
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    pool = ProcessPool(MODULE, memory_bytes=500_000_000, most=1)
    with pytest.raises(SqlError) as caught:
        pool.call("repeat", (b"x", 1_000_000_000), is_wanted)
    assert caught.value.sqlstate == "53200"
    assert pool.call("add", (1, 1), is_wanted) == 2
    pool.close()
