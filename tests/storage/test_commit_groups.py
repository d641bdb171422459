"""Commits that come while another is written are written together, each with its own outcome."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gpudb.errors import GpudbError
from gpudb.storage.commit import Committer
from gpudb.storage.commit_group import CommitQueue, WaitingCommit
from gpudb.storage.commit_log import CommitLog, LoggedCommit
from gpudb.storage.store import Store
from gpudb.storage.transaction import CommitOutcome, Transaction
from tests.support.sessions import wait_until
from tests.support.store_tables import ab, create, created, insert, rows, table_of


@contextmanager
def _held(store: Store, monkeypatch: pytest.MonkeyPatch, oid: int) -> Iterator[list[list[WaitingCommit]]]:
    """Holds one commit of a table while others come; yields the lists of transactions that were committed at once."""
    taken: list[list[WaitingCommit]] = []
    begun, go_on = threading.Event(), threading.Event()
    queue = store._committer._queue
    commit_all = queue._commit_all

    def hold(waiting: list[WaitingCommit]) -> None:
        taken.append(list(waiting))
        if len(taken) == 1:
            begun.set()
            assert go_on.wait(60)
        commit_all(waiting)

    monkeypatch.setattr(queue, "_commit_all", hold)
    first = threading.Thread(target=insert, args=(store, oid, (0, "first")))
    first.start()
    assert begun.wait(60)
    try:
        yield taken
    finally:
        go_on.set()
        first.join()


def _commit_together(
    store: Store, monkeypatch: pytest.MonkeyPatch, oid: int, transactions: list[Transaction]
) -> tuple[list[BaseException | None], list[list[WaitingCommit]]]:
    """Commits transactions in their order, all while another commit is written; returns their errors, and who went."""
    errors: list[BaseException | None] = [None] * len(transactions)

    def commit(place: int) -> None:
        try:
            transactions[place].commit()
        except BaseException as error:
            errors[place] = error

    threads = [threading.Thread(target=commit, args=(place,)) for place in range(len(transactions))]
    with _held(store, monkeypatch, oid) as taken:
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until(lambda: len(store._committer._queue._waiting) == number, "the commit waits")  # noqa: B023
    for thread in threads:
        thread.join()
    return errors, taken


def test_rows_of_several_are_one_snapshot(durable: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    oid, other = created(durable, "t", primary_key=("a",)), created(durable, "u")
    before = durable.catalog_store.last_commit
    transactions = [durable.begin() for _ in range(6)]
    for number, transaction in enumerate(transactions, 1):
        transaction.append(oid, [ab((number, "x"))])
        if number % 2:
            transaction.append(other, [ab((number, "y"))])
    errors, taken = _commit_together(durable, monkeypatch, oid, transactions)
    assert errors == [None] * 6
    assert [len(each) for each in taken] == [1, 6]
    assert durable.catalog_store.last_commit == before + 2
    assert rows(durable, oid) == [(0, "first"), *((number, "x") for number in range(1, 7))]
    assert rows(durable, other) == [(1, "y"), (3, "y"), (5, "y")]
    directory = durable.directory
    durable.close()
    with Store(directory, compaction=False) as again:
        assert len(rows(again, oid)) == 7
        assert len(rows(again, other)) == 3


def test_one_that_fails_fails_alone(durable: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    oid = created(durable, "t", primary_key=("a",))
    transactions = [durable.begin() for _ in range(4)]
    for transaction, key in zip(transactions, (1, 2, 1, 3), strict=True):
        transaction.append(oid, [ab((key, "x"))])
    errors, _ = _commit_together(durable, monkeypatch, oid, transactions)
    failed = errors.pop(2)
    assert isinstance(failed, GpudbError)
    assert failed.sqlstate == "23505"
    assert errors == [None] * 3
    assert rows(durable, oid) == [(0, "first"), (1, "x"), (2, "x"), (3, "x")]
    assert len(table_of(durable, oid).files) == 2


def test_definitions_among_rows(durable: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    oid = created(durable, "t")
    transactions = [durable.begin() for _ in range(3)]
    transactions[0].append(oid, [ab((1, "x"))])
    made = create(transactions[1], "made")
    transactions[1].append(made, [ab((5, "m"))])
    transactions[2].append(oid, [ab((2, "y"))])
    errors, _ = _commit_together(durable, monkeypatch, oid, transactions)
    assert errors == [None] * 3
    assert rows(durable, oid) == [(0, "first"), (1, "x"), (2, "y")]
    assert rows(durable, made) == [(5, "m")]


def test_a_failure_to_write_metadata_is_everybodys(durable: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    durable.takes_few_rows = False
    oid = created(durable, "t")
    transactions = [durable.begin() for _ in range(3)]
    for number, transaction in enumerate(transactions, 1):
        transaction.append(oid, [ab((number, "x"))])
    publish, calls = Committer._publish, []

    def fail_second(self: Committer, *args: object, **more: object) -> None:
        calls.append(args)
        if len(calls) == 2:
            raise GpudbError("no space", condition="disk_full")
        publish(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Committer, "_publish", fail_second)
    errors, _ = _commit_together(durable, monkeypatch, oid, transactions)
    assert [error.sqlstate for error in errors if isinstance(error, GpudbError)] == ["53100"] * 3
    assert rows(durable, oid) == [(0, "first")]
    insert(durable, oid, (9, "later"))
    assert rows(durable, oid) == [(0, "first"), (9, "later")]


def test_a_failure_to_write_is_everybodys(durable: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    oid = created(durable, "t")
    transactions = [durable.begin() for _ in range(3)]
    for number, transaction in enumerate(transactions, 1):
        transaction.append(oid, [ab((number, "x"))])
    append, calls = CommitLog.append, []

    def fail_second(self: CommitLog, commit: LoggedCommit) -> None:
        calls.append(commit)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, commit)

    monkeypatch.setattr(CommitLog, "append", fail_second)
    errors, _ = _commit_together(durable, monkeypatch, oid, transactions)
    assert [error.sqlstate for error in errors if isinstance(error, GpudbError)] == ["53100"] * 3
    assert rows(durable, oid) == [(0, "first")]
    insert(durable, oid, (9, "later"))
    assert rows(durable, oid) == [(0, "first"), (9, "later")]


def test_whoever_is_interrupted_leaves_the_queue() -> None:
    committed: list[WaitingCommit] = []
    begun, go_on = threading.Event(), threading.Event()

    def commit_all(waiting: list[WaitingCommit]) -> None:
        if not committed:
            begun.set()
            assert go_on.wait(60)
        for each in waiting:
            each.done = True
            committed.append(each)

    queue = CommitQueue(commit_all)  # type: ignore[arg-type]
    leader, interrupted, last = (WaitingCommit(None, CommitOutcome()) for _ in range(3))  # type: ignore[arg-type]

    class Interrupt(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    interrupted.woken = Interrupt()
    first = threading.Thread(target=queue.run, args=(leader,))
    first.start()
    assert begun.wait(60)
    with pytest.raises(KeyboardInterrupt):
        queue.run(interrupted)
    then = threading.Thread(target=queue.run, args=(last,))
    then.start()
    wait_until(lambda: queue._waiting == [last], "the last one waits")
    go_on.set()
    first.join()
    then.join()
    assert committed == [leader, last]
    assert not interrupted.done
