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
        self.admitted: Counter[str] = Counter()
        self.queued: Counter[str] = Counter()

    def enter(self, find: Callable[[], ResourceGroup], cancel: Cancel) -> ResourceGroup:
        """Returns the group of `find` once a transaction has a place in it, which `leave` ends; 57014 if cancelled.

        While it waits, the group is found again now and then: its limit may be another one.
        """
        group = find()
        name, turn = group.name, threading.Event()
        with self._lock:
            self._waiting[name].append(turn)
            self._admit(group)
            if turn.is_set():
                return group
            self.queued[name] += 1
        wake = turn.set
        cancel.waits_for = WAIT_EVENT
        try:
            cancel.attach(wake)
            while not turn.wait(_RECHECK_SECONDS):
                found = find()
                if found.name == name:
                    group = found
                with self._lock:
                    self._admit(group)
            cancel.check()
        except BaseException:
            self._give_up(group, turn)
            raise
        finally:
            cancel.detach(wake)
            cancel.waits_for = None
        return group

    def leave(self, group: ResourceGroup) -> None:
        """Ends a transaction of a group, which it entered as."""
        with self._lock:
            self._running[group.name] -= 1
            self._admit(group)

    def count(self, name: str) -> tuple[int, int]:
        """Returns the numbers of a group's running and waiting transactions."""
        with self._lock:
            return self._running[name], len(self._waiting[name])

    def _give_up(self, group: ResourceGroup, turn: threading.Event) -> None:
        """Ends a transaction that was cancelled, whether it still waits or was admitted at the same moment."""
        with self._lock:
            waiting = self._waiting[group.name]
            if turn in waiting:
                waiting.remove(turn)
            else:
                self._running[group.name] -= 1
            self._admit(group)

    def _admit(self, group: ResourceGroup) -> None:
        """Admits waiting transactions in order, as far as there is room."""
        name, waiting = group.name, self._waiting[group.name]
        while waiting and (group.concurrency is None or self._running[name] < group.concurrency):
            self._running[name] += 1
            self.admitted[name] += 1
            waiting.popleft().set()
