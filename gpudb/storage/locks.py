"""Locks on tables, their rows and keys, and on numbers that applications choose: holders wait for each other.

Whoever locks rows holds their table's lock shared, so that one who holds it alone holds all rows. Deadlocks are
detected.

`Locks` is of one process. `gpudb.storage.catalog.postgres_locks` has those of several coordinators.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
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


class Item(NamedTuple):
    """What a lock within a table is on: a row, a key that is unique, or a key to which others refer.

    `kind` is row, key or reference; `number` is a hash of the row's position or of the key's values. Two items with the
    same hash wait for each other, which harms nobody. Of the kind write, it is on the addition of rows, which those
    who add some share; of the kind comment, on the comments of the table, or by a hash of another object.
    """

    table: int
    kind: str
    number: int


Lockable = int | Target | Item
"""What a lock is on: a table's OID, the target of an advisory lock, or an item of a table."""


class LockRow(NamedTuple):
    """A lock that is held or awaited."""

    target: Lockable
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
        self.holders: dict[Lockable, dict[int, _Held]] = {}
        """Who holds each lock that is held, by owner."""
        self._of_owners: dict[int, dict[Lockable, _Held]] = {}
        """The same, by owner first."""
        self._taken: dict[int, dict[tuple[Lockable, bool], None]] = {}
        """What each owner took, in that order: a lock anew, or one alone that it had shared (true)."""
        self.waits: dict[int, tuple[Lockable, int, bool]] = {}
        """What each waiting party waits for, as which owner, and whether shared."""

    def is_free(self, target: Lockable, party: int, *, shared: bool) -> bool:
        """Returns whether no other party holds a lock in a mode that excludes this one."""
        return not any(_is_obstacle(held, party, shared) for held in self.holders.get(target, {}).values())

    def add(self, target: Lockable, owner: int, party: int, *, shared: bool) -> None:
        """Notes that an owner holds a lock once more."""
        owners = self.holders.setdefault(target, {})
        held = owners.get(owner)
        if held is None:
            held = owners[owner] = _Held(party)
            self._of_owners.setdefault(owner, {})[target] = held
            self._taken.setdefault(owner, {})[target, False] = None
        elif not shared and not held.exclusive:
            self._taken[owner][target, True] = None
        if shared:
            held.shared += 1
        else:
            held.exclusive += 1

    def remove_one(self, target: Lockable, owner: int, *, shared: bool) -> int | None:
        """Notes that an owner holds a lock once less; returns its party, None if it does not hold it so."""
        held = self.holders.get(target, {}).get(owner)
        if held is None or not (held.shared if shared else held.exclusive):
            return None
        if shared:
            held.shared -= 1
        else:
            held.exclusive -= 1
            if not held.exclusive:
                self._taken[owner].pop((target, True), None)
        if not (held.shared or held.exclusive):
            self._forget(target, owner)
        return held.party

    def remove(self, owner: int, kept: int = 0) -> list[tuple[Lockable, int]]:
        """Notes that an owner holds nothing more than what it took first; returns the others, each with its party.

        One that it had shared by then is shared again.
        """
        taken = list(islice(self._taken.get(owner, ()), kept, None))
        gone = [(target, self.holders[target][owner].party) for target, _ in taken]
        for target, is_raised in reversed(taken):
            if is_raised:
                self.holders[target][owner].exclusive = 0
                del self._taken[owner][target, True]
            else:
                self._forget(target, owner)
        return gone

    def holds(self, target: Lockable, party: int, *, shared: bool) -> bool:
        """Returns whether a party holds a lock in a mode, as whichever owner."""
        owners = self.holders.get(target, {}).values()
        return any(held.party == party and (held.shared if shared else held.exclusive) for held in owners)

    def list_held(self, party: int) -> list[Lockable]:
        """Returns the locks that a party holds."""
        return [target for owned in self._of_owners.values() for target, held in owned.items() if held.party == party]

    def count_held(self, owner: int) -> int:
        """Returns how many locks an owner took, those counted twice that it first took shared and then alone."""
        return len(self._taken.get(owner, ()))

    def list_modes(self, owner: int, kept: int = 0) -> Iterator[tuple[Lockable, int, bool]]:
        """Yields the locks that an owner took, but the first ones, with its party, and whether shared.

        One that is held in both modes comes twice.
        """
        for target, is_raised in islice(self._taken.get(owner, ()), kept, None):
            held = self.holders[target][owner]
            if held.shared and not is_raised:
                yield target, held.party, True
            if held.exclusive:
                yield target, held.party, False

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

    def _forget(self, target: Lockable, owner: int) -> None:
        owners, owned = self.holders[target], self._of_owners[owner]
        del owners[owner], owned[target]
        for is_raised in (False, True):
            self._taken[owner].pop((target, is_raised), None)
        if not owners:
            del self.holders[target]
        if not owned:
            del self._of_owners[owner], self._taken[owner]


class LockManager(ABC):
    """Reentrant locks, shared or exclusive. An owner, a transaction or a session, releases all its locks at once.

    Owners of one party (a session and its transaction) do not wait for each other. Thread-safe, but one thread at a
    time speaks for a party. An owner should hold at most `max_items` locks on items.
    """

    max_items = 100_000

    def __init__(self, mutex: AbstractContextManager[object]) -> None:
        """`mutex` is held by whoever reads or changes the table of locks."""
        self._mutex = mutex
        self._table = LockTable()
        self.held: Mapping[Lockable, object] = self._table.holders
        """The locks that this process holds: an attribute, since the end of every transaction reads it."""

    @abstractmethod
    def acquire(
        self,
        target: Lockable,
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

    def acquire_all(
        self,
        wanted: Sequence[tuple[Lockable, bool]],
        owner: int,
        timeout: float | None = None,
        check: Callable[[], None] | None = None,
        *,
        party: int | None = None,
    ) -> bool:
        """Acquires locks, each shared or not, one after the other; returns True if it had to wait for one.

        Raises as `acquire` does; those that it has by then stay.
        """
        waited = False
        for target, shared in wanted:
            waited |= self.acquire(target, owner, timeout, check, party=party, shared=shared)
        return waited

    @abstractmethod
    def try_acquire(self, target: Lockable, owner: int, *, party: int | None = None, shared: bool = False) -> bool:
        """Acquires a lock if nobody has to be waited for; returns whether it did."""

    @abstractmethod
    def release_one(self, target: Lockable, owner: int, *, shared: bool = False) -> bool:
        """Releases a lock once, in a mode; returns False if the owner does not hold it so."""

    @abstractmethod
    def release(self, owner: int) -> None:
        """Releases all locks of `owner`."""

    @abstractmethod
    def release_last(self, owner: int, kept: int) -> None:
        """Releases the locks of `owner` but the `kept` ones that it took first."""

    @abstractmethod
    def check_held(self, party: int) -> None:
        """Raises 40001 if locks that a party holds were lost."""

    def holds(self, target: Lockable, party: int) -> bool:
        """Returns whether a party holds a lock that is not shared."""
        with self._mutex:
            return self._table.holds(target, party, shared=False)

    def count_held(self, owner: int) -> int:
        """Returns how many locks an owner took (see `LockTable.count_held`)."""
        return self._table.count_held(owner)

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
        target: Lockable,
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

    def try_acquire(self, target: Lockable, owner: int, *, party: int | None = None, shared: bool = False) -> bool:
        """Acquires a lock if nobody has to be waited for; returns whether it did."""
        with self._changed:
            return self._take(target, owner, owner if party is None else party, shared)

    def release_one(self, target: Lockable, owner: int, *, shared: bool = False) -> bool:
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

    def release_last(self, owner: int, kept: int) -> None:
        """Releases the locks of `owner` but the `kept` ones that it took first."""
        if self._table.count_held(owner) > kept:
            with self._changed:
                self._table.remove(owner, kept)
                self._changed.notify_all()

    def check_held(self, party: int) -> None:
        """Locks of one process are not lost."""

    def close(self) -> None:
        """Does nothing: locks of one process use nothing."""

    def _take(self, target: Lockable, owner: int, party: int, shared: bool) -> bool:
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
