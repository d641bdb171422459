"""Commits that wait for each other, and what several of them change together: they are written as one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from gpudb.catalog.tables import Table
from gpudb.errors import InternalError
from gpudb.storage.catalog.merge import Change, MergeResult, has_same_definition
from gpudb.storage.transaction import CommitOutcome, Transaction


@dataclass(slots=True, eq=False)
class WaitingCommit:
    """A transaction that waits to be committed, by its own thread or by that of another which is.

    Once it is `done` either `merged` is what it changed or `error` says why nothing is committed; `outcome` says
    whether it is written.
    """

    transaction: Transaction
    outcome: CommitOutcome
    merged: MergeResult | None = None
    error: BaseException | None = None
    done: bool = False
    woken: threading.Event = field(default_factory=threading.Event)
    """Set once it is done, or its own thread is to commit those that wait."""

    def fail(self, error: BaseException) -> None:
        """Ends it with an error."""
        self.error, self.done = error, True


class CommitQueue:
    """Transactions that wait to be committed: one thread commits all that came while the thread before it did."""

    def __init__(self, commit_all: Callable[[Sequence[WaitingCommit]], None]) -> None:
        """`commit_all` commits transactions in their order, and leaves each of them done."""
        self._commit_all = commit_all
        self._guard = threading.Lock()
        self._waiting: list[WaitingCommit] = []
        self._led = False

    def run(self, own: WaitingCommit) -> None:
        """Returns once a transaction is done, committed by this thread or by another."""
        with self._guard:
            self._waiting.append(own)
            leads, self._led = not self._led, True
        try:
            if not leads:
                own.woken.wait()
        except BaseException:  # an interrupt
            self._leave(own)
            raise
        if not own.done:
            self._lead()

    def _lead(self) -> None:
        with self._guard:
            taken, self._waiting = self._waiting, []
        try:
            self._commit_all(taken)
        finally:
            self._hand_over()
            for each in taken:
                if not each.done:  # this thread was interrupted, which the others have not asked for
                    each.fail(InternalError("the commit was interrupted"))
                each.woken.set()

    def _hand_over(self) -> None:
        with self._guard:
            self._led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].woken.set()

    def _leave(self, own: WaitingCommit) -> None:
        """Returns once no thread commits an interrupted transaction any more: its outcome says how that ended."""
        with self._guard:
            waits = own in self._waiting
            if waits:
                self._waiting.remove(own)
        if not waits:
            while not own.done:
                own.woken.wait()
        elif own.woken.is_set():
            self._hand_over()  # it was to commit the others


def changes_rows_alone(transaction: Transaction, merged: MergeResult) -> bool:
    """Returns whether a commit only changes files of tables, and may be written together with others that do."""
    if transaction.compacting or merged.objects:
        return False
    if not merged.reverted <= {file.path for change in merged.changes for file in change.added}:
        return False  # files that a compaction had replaced come back
    return all(
        isinstance(change.old, Table) and isinstance(change.new, Table) and has_same_definition(change.old, change.new)
        for change in merged.changes
    )


def join_results(results: Sequence[MergeResult]) -> MergeResult:
    """Returns one result for several, of which each was merged into the catalog of the one before."""
    if len(results) == 1:
        return results[0]
    changes: dict[int, Change] = {}
    for change in (change for result in results for change in result.changes):
        first = changes.get(change.oid)
        changes[change.oid] = change if first is None else _join(first, change)
    return replace(results[-1], changes=tuple(changes.values()))


def _join(first: Change, second: Change) -> Change:
    assert isinstance(second.new, Table)
    ids = {file.id for file in second.new.files}
    kept = tuple(file for file in first.added if file.id in ids)  # the second may have removed some
    return replace(second, old=first.old, added=(*kept, *second.added))
