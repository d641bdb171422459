"""Locks on tables and on numbers that applications choose: holders wait for each other, and deadlocks are detected."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from gpudb.errors import SqlError

POLL_SECONDS = 0.05
"""Interval at which a waiter checks for cancellation."""


class Target(NamedTuple):
    """What an advisory lock is on: two halves of a bigint, or two integers, which `kind` (1 or 2) keeps apart.

    `database` is the OID of the database, which has locks of its own.
    """

    database: int
    high: int
    low: int
    kind: int


class LockRow(NamedTuple):
    """A lock that is held or awaited. `target` is a table's OID, or the target of an advisory lock."""

    target: int | Target
    owner: int
    party: int
    is_shared: bool
    is_granted: bool


class _Held:
    """How often an owner holds a lock, by mode."""

    __slots__ = ("exclusive", "party", "shared")

    def __init__(self, party: int) -> None:
        self.party = party
        self.shared = self.exclusive = 0


class Locks:
    """Reentrant locks, shared or exclusive. An owner, a transaction or a session, releases all its locks at once.

    Owners of one party (a session and its transaction) do not wait for each other. Thread-safe.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.holders: dict[int | Target, dict[int, _Held]] = {}
        """Who holds each lock that is held, by owner."""
        self._waits: dict[int, tuple[int | Target, int, bool]] = {}
        """What each waiting party waits for, as which owner, and whether shared."""

    def acquire(
        self,
        target: int | Target,
        owner: int,
        timeout: float | None = None,
        check: Callable[[], None] | None = None,
        *,
        party: int | None = None,
        shared: bool = False,
    ) -> bool:
        """Acquires a lock for `owner`; returns True if it had to wait.

        Raises 55P03 after `timeout` seconds (None waits without limit), 40P01 at once on a deadlock, and whatever
        `check` raises, which is called while waiting. `party` is the owner itself unless it is given.
        """
        party = owner if party is None else party
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            if self._take(target, owner, party, shared):
                return False
            self._waits[party] = target, owner, shared
            try:
                if self._is_deadlocked(party):
                    raise SqlError.of("deadlock_detected", "deadlock detected")
                while not self._take(target, owner, party, shared):
                    remaining = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
                    if remaining <= 0:
                        message = "canceling statement due to lock timeout"
                        raise SqlError.of("lock_not_available", message)
                    self._changed.wait(remaining)
                    if check is not None:
                        check()
                return True
            finally:
                del self._waits[party]

    def try_acquire(self, target: int | Target, owner: int, *, party: int | None = None, shared: bool = False) -> bool:
        """Acquires a lock if nobody has to be waited for; returns whether it did."""
        with self._changed:
            return self._take(target, owner, owner if party is None else party, shared)

    def release_one(self, target: int | Target, owner: int, *, shared: bool = False) -> bool:
        """Releases a lock once, in a mode; returns False if the owner does not hold it so."""
        with self._changed:
            held = self.holders.get(target, {}).get(owner)
            if held is None or not (held.shared if shared else held.exclusive):
                return False
            if shared:
                held.shared -= 1
            else:
                held.exclusive -= 1
            if not (held.shared or held.exclusive):
                self._forget(target, owner)
            self._changed.notify_all()
            return True

    def release(self, owner: int) -> None:
        """Releases all locks of `owner`."""
        with self._changed:
            held = [target for target, owners in self.holders.items() if owner in owners]
            for target in held:
                self._forget(target, owner)
            if held:
                self._changed.notify_all()

    def list_rows(self) -> list[LockRow]:
        """Returns what is held and awaited."""
        with self._changed:
            rows = [
                LockRow(target, owner, held.party, is_shared, is_granted=True)
                for target, owners in self.holders.items()
                for owner, held in owners.items()
                for is_shared, count in ((True, held.shared), (False, held.exclusive))
                if count
            ]
            rows += [
                LockRow(target, owner, party, is_shared, is_granted=False)
                for party, (target, owner, is_shared) in self._waits.items()
            ]
            return rows

    def find_blockers(self, party: int) -> list[int]:
        """Returns the parties that a party waits for; none if it does not wait."""
        with self._changed:
            return sorted(set(self._blockers(party)))

    def _take(self, target: int | Target, owner: int, party: int, shared: bool) -> bool:
        """Takes a lock unless another party holds it in a mode that excludes this one."""
        owners = self.holders.get(target)
        if owners is None:
            owners = self.holders[target] = {}
        elif any(_is_obstacle(held, party, shared) for held in owners.values()):
            return False
        held = owners.get(owner)
        if held is None:
            held = owners[owner] = _Held(party)
        if shared:
            held.shared += 1
        else:
            held.exclusive += 1
        return True

    def _forget(self, target: int | Target, owner: int) -> None:
        owners = self.holders[target]
        del owners[owner]
        if not owners:
            del self.holders[target]

    def _blockers(self, party: int) -> Iterator[int]:
        if party in self._waits:
            target, _, shared = self._waits[party]
            for held in self.holders.get(target, {}).values():
                if _is_obstacle(held, party, shared):
                    yield held.party

    def _is_deadlocked(self, party: int) -> bool:
        seen: set[int] = set()
        pending = [*self._blockers(party)]
        while pending:
            current = pending.pop()
            if current == party:
                return True
            if current not in seen:
                seen.add(current)
                pending += self._blockers(current)
        return False


def _is_obstacle(held: _Held, party: int, shared: bool) -> bool:
    """Whether another party holds a lock in a mode that excludes the wanted one."""
    return held.party != party and (held.exclusive > 0 or not shared)
