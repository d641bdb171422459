"""Table locks: writers that rewrite files wait for each other instead of failing at commit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from gpudb.errors import SqlError

POLL_SECONDS = 0.05
"""Interval at which a waiter checks for cancellation."""


class TableLocks:
    """One exclusive, reentrant lock per table; an owner releases all its locks at once."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.holders: dict[int, int] = {}
        """The owner of each locked table, by OID."""
        self._waits: dict[int, int] = {}

    def acquire(
        self, oid: int, owner: int, timeout: float | None = None, check: Callable[[], None] | None = None
    ) -> bool:
        """Acquires a table's lock for `owner`; returns True if it had to wait.

        Raises 55P03 after `timeout` seconds (None waits without limit), 40P01 at once on a deadlock, and whatever
        `check` raises, which is called while waiting.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            if self.holders.setdefault(oid, owner) == owner:
                return False
            self._waits[owner] = oid
            try:
                if self._deadlocked(owner):
                    raise SqlError.of("deadlock_detected", "deadlock detected")
                while self.holders.get(oid, owner) != owner:
                    remaining = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
                    if remaining <= 0:
                        message = "canceling statement due to lock timeout"
                        raise SqlError.of("lock_not_available", message)
                    self._changed.wait(remaining)
                    if check is not None:
                        check()
                self.holders[oid] = owner
                return True
            finally:
                del self._waits[owner]

    def try_acquire(self, oid: int, owner: int) -> bool:
        """Acquires the lock if it is free or already held by `owner`; returns whether it did."""
        with self._changed:
            return self.holders.setdefault(oid, owner) == owner

    def release(self, owner: int) -> None:
        """Releases all locks of `owner`; called by the owner's thread."""
        with self._changed:
            held = [oid for oid, holder in self.holders.items() if holder == owner]
            for oid in held:
                del self.holders[oid]
            if held:
                self._changed.notify_all()

    def _deadlocked(self, owner: int) -> bool:
        seen: set[int] = set()
        current = owner
        while (table_oid := self._waits.get(current)) is not None and (
            holder := self.holders.get(table_oid)
        ) is not None:
            if holder == owner:
                return True
            if holder in seen:
                return False
            seen.add(holder)
            current = holder
        return False
