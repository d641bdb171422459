"""Places of resource groups: a group's transactions run at once or wait, in the order of their arrival.

waiting -first in line, and room→ running -ended→ gone
waiting -cancelled→ gone
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable

from gpudb.catalog.resource_groups import ResourceGroup
from gpudb.engine.protocol import Cancel

WAIT_EVENT = "ResourceGroup"
_RECHECK_SECONDS = 0.5


class GroupPlaces:
    """The running and the waiting transactions of all groups, by the groups' names. Thread-safe.

    `admitted` counts those that began, `queued` those that had to wait.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[threading.Event]] = defaultdict(deque)
        self._known: dict[str, ResourceGroup] = {}
        """The groups as they were found last: their limits may have changed since a transaction began."""
        self.admitted: Counter[str] = Counter()
        self.queued: Counter[str] = Counter()

    def enter(self, group: ResourceGroup, find: Callable[[], ResourceGroup], cancel: Cancel) -> ResourceGroup:
        """Returns a group once a transaction has a place in it, which `leave` ends; 57014 if it is cancelled.

        While it waits, the group is found again now and then: its limit may be another one.
        """
        name, turn = group.name, threading.Event()
        with self._lock:
            self._known[name] = group
            self._waiting[name].append(turn)
            self._admit(name)
            if turn.is_set():
                return group
            self.queued[name] += 1
        wake = turn.set
        cancel.waits_for = WAIT_EVENT
        try:
            cancel.attach(wake)
            while not turn.wait(_RECHECK_SECONDS):
                found = find()
                with self._lock:
                    if found.name == name:
                        self._known[name] = found
                    self._admit(name)
            cancel.check()
        except BaseException:
            self._give_up(name, turn)
            raise
        finally:
            cancel.detach(wake)
            cancel.waits_for = None
        return group

    def leave(self, group: ResourceGroup) -> None:
        """Ends a transaction of a group, which it entered as."""
        with self._lock:
            self._running[group.name] -= 1
            self._admit(group.name)

    def count(self, name: str) -> tuple[int, int]:
        """Returns the numbers of a group's running and waiting transactions."""
        with self._lock:
            return self._running[name], len(self._waiting[name])

    def _give_up(self, name: str, turn: threading.Event) -> None:
        """Ends a transaction that was cancelled, whether it still waits or was admitted at the same moment."""
        with self._lock:
            waiting = self._waiting[name]
            if turn in waiting:
                waiting.remove(turn)
            else:
                self._running[name] -= 1
            self._admit(name)

    def _admit(self, name: str) -> None:
        """Admits waiting transactions in order, as far as there is room."""
        most, waiting = self._known[name].concurrency, self._waiting[name]
        while waiting and (most is None or self._running[name] < most):
            self._running[name] += 1
            self.admitted[name] += 1
            waiting.popleft().set()
