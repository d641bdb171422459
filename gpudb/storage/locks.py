"""Locks on tables and on numbers that applications choose: holders wait for each other, and deadlocks are detected.

`Locks` is of one process. `gpudb.storage.catalog.postgres_locks` has those of several coordinators.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
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


class LockTable:
    """Who holds which locks, and who waits for which; not thread-safe."""

    def __init__(self) -> None:
        self.holders: dict[int | Target, dict[int, _Held]] = {}
        """Who holds each lock that is held, by owner."""
        self.waits: dict[int, tuple[int | Target, int, bool]] = {}
        """What each waiting party waits for, as which owner, and whether shared."""

    def is_free(self, target: int | Target, party: int, *, shared: bool) -> bool:
        """Returns whether no other party holds a lock in a mode that excludes this one."""
        return not any(_is_obstacle(held, party, shared) for held in self.holders.get(target, {}).values())

    def add(self, target: int | Target, owner: int, party: int, *, shared: bool) -> None:
        """Notes that an owner holds a lock once more."""
        owners = self.holders.setdefault(target, {})
        held = owners.get(owner)
        if held is None:
            held = owners[owner] = _Held(party)
        if shared:
            held.shared += 1
        else:
            held.exclusive += 1

    def remove_one(self, target: int | Target, owner: int, *, shared: bool) -> int | None:
        """Notes that an owner holds a lock once less; returns its party, None if it does not hold it so."""
        held = self.holders.get(target, {}).get(owner)
        if held is None or not (held.shared if shared else held.exclusive):
            return None
        if shared:
            held.shared -= 1
        else:
            held.exclusive -= 1
        if not (held.shared or held.exclusive):
            self._forget(target, owner)
        return held.party

    def remove(self, owner: int) -> list[tuple[int | Target, int]]:
        """Notes that an owner holds nothing more; returns each lock that it held, with its party."""
        gone = [(target, owners[owner].party) for target, owners in self.holders.items() if owner in owners]
        for target, _ in gone:
            self._forget(target, owner)
        return gone

    def holds(self, target: int | Target, party: int, *, shared: bool) -> bool:
        """Returns whether a party holds a lock in a mode, as whichever owner."""
        owners = self.holders.get(target, {}).values()
        return any(held.party == party and (held.shared if shared else held.exclusive) for held in owners)

    def list_held(self, party: int) -> list[int | Target]:
        """Returns the locks that a party holds."""
        return [
            target for target, owners in self.holders.items() if any(held.party == party for held in owners.values())
        ]

    def list_rows(self) -> list[LockRow]:
        """Returns what is held and awaited."""
        rows = [
            LockRow(target, owner, held.party, is_shared, is_granted=True)
            for target, owners in self.holders.items()
            for owner, held in owners.items()
            for is_shared, count in ((True, held.shared), (False, held.exclusive))
            if count
        ]
        rows += [
            LockRow(target, owner, party, is_shared, is_granted=False)
            for party, (target, owner, is_shared) in self.waits.items()
        ]
        return rows

    def iter_blockers(self, party: int) -> Iterator[int]:
        """Yields the parties that a party waits for."""
        if party in self.waits:
            target, _, shared = self.waits[party]
            for held in self.holders.get(target, {}).values():
                if _is_obstacle(held, party, shared):
                    yield held.party

    def is_deadlocked(self, party: int) -> bool:
        """Returns whether a waiting party waits for itself."""
        seen: set[int] = set()
        pending = [*self.iter_blockers(party)]
        while pending:
            current = pending.pop()
            if current == party:
                return True
            if current not in seen:
                seen.add(current)
                pending += self.iter_blockers(current)
        return False

    def _forget(self, target: int | Target, owner: int) -> None:
        owners = self.holders[target]
        del owners[owner]
        if not owners:
            del self.holders[target]


class LockManager(ABC):
    """Reentrant locks, shared or exclusive. An owner, a transaction or a session, releases all its locks at once.

    Owners of one party (a session and its transaction) do not wait for each other. Thread-safe, but one thread at a
    time speaks for a party.
    """

    def __init__(self, mutex: AbstractContextManager[object]) -> None:
        """`mutex` is held by whoever reads or changes the table of locks."""
        self._mutex = mutex
        self._table = LockTable()
        self.held: Mapping[int | Target, object] = self._table.holders
        """The locks that this process holds: an attribute, since the end of every transaction reads it."""

    @abstractmethod
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

        Raises 55P03 after `timeout` seconds (None waits without limit), 40P01 on a deadlock, and whatever `check`
        raises, which is called while waiting. `party` is the owner itself unless it is given.
        """

    @abstractmethod
    def try_acquire(self, target: int | Target, owner: int, *, party: int | None = None, shared: bool = False) -> bool:
        """Acquires a lock if nobody has to be waited for; returns whether it did."""

    @abstractmethod
    def release_one(self, target: int | Target, owner: int, *, shared: bool = False) -> bool:
        """Releases a lock once, in a mode; returns False if the owner does not hold it so."""

    @abstractmethod
    def release(self, owner: int) -> None:
        """Releases all locks of `owner`."""

    @abstractmethod
    def check_held(self, party: int) -> None:
        """Raises 40001 if locks that a party holds were lost."""

    def list_rows(self) -> list[LockRow]:
        """Returns what this process holds and awaits."""
        with self._mutex:
            return self._table.list_rows()

    def find_blockers(self, party: int) -> list[int]:
        """Returns the parties of this process that a party waits for; none if it does not wait."""
        with self._mutex:
            return sorted(set(self._table.iter_blockers(party)))

    @abstractmethod
    def close(self) -> None:
        """Gives up what it uses; no lock may be held."""


class Locks(LockManager):
    """The locks of one process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        super().__init__(self._changed)

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
        """Acquires a lock as `LockManager.acquire` says; a deadlock raises at once."""
        party = owner if party is None else party
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            if self._take(target, owner, party, shared):
                return False
            self._table.waits[party] = target, owner, shared
            try:
                if self._table.is_deadlocked(party):
                    raise make_deadlock_error()
                while not self._take(target, owner, party, shared):
                    remaining = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
                    if remaining <= 0:
                        raise make_timeout_error()
                    self._changed.wait(remaining)
                    if check is not None:
                        check()
                return True
            finally:
                del self._table.waits[party]

    def try_acquire(self, target: int | Target, owner: int, *, party: int | None = None, shared: bool = False) -> bool:
        """Acquires a lock if nobody has to be waited for; returns whether it did."""
        with self._changed:
            return self._take(target, owner, owner if party is None else party, shared)

    def release_one(self, target: int | Target, owner: int, *, shared: bool = False) -> bool:
        """Releases a lock once, in a mode; returns False if the owner does not hold it so."""
        with self._changed:
            if self._table.remove_one(target, owner, shared=shared) is None:
                return False
            self._changed.notify_all()
            return True

    def release(self, owner: int) -> None:
        """Releases all locks of `owner`."""
        with self._changed:
            if self._table.remove(owner):
                self._changed.notify_all()

    def check_held(self, party: int) -> None:
        """Locks of one process are not lost."""

    def close(self) -> None:
        """Does nothing: locks of one process use nothing."""

    def _take(self, target: int | Target, owner: int, party: int, shared: bool) -> bool:
        if not self._table.is_free(target, party, shared=shared):
            return False
        self._table.add(target, owner, party, shared=shared)
        return True


def make_deadlock_error() -> SqlError:
    """Returns the error of a wait that would never end."""
    return SqlError.of("deadlock_detected", "deadlock detected")


def make_timeout_error() -> SqlError:
    """Returns the error of a wait that lasted for lock_timeout."""
    return SqlError.of("lock_not_available", "canceling statement due to lock timeout")


def _is_obstacle(held: _Held, party: int, shared: bool) -> bool:
    """Whether another party holds a lock in a mode that excludes the wanted one."""
    return held.party != party and (held.exclusive > 0 or not shared)
