"""The seam of finished statements: conversations append records, a thread hands them to the consumers in batches.

To append a record costs a statement less than a microsecond; all else happens later, for many statements at once.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import repeat
from typing import Protocol

from gpudb.observe.batches import Batch, make_batch
from gpudb.observe.statement import FinishedTuple, RepeatedRuns, RepeatedStatement

DRAIN_SECONDS = 0.5
"""Time between two batches."""
RETIRED_SECONDS = 5.0
"""Time in which what a session adds to a repeated statement that it saw is still taken."""
_LOG = logging.getLogger(__name__)


class Consumer(Protocol):
    """What reads finished statements. It is called by one thread at a time."""

    def consume(self, batch: Batch) -> None:
        """Reads a batch."""


class StatementRecorder:
    """The records of statements that have ended, and their consumers. Thread-safe.

    `record` appends one: that of a statement, or a repeated one, to which its session goes on adding. Statements that
    take `repeats_below` seconds or more are not to be recorded as repeated ones: a consumer needs each. `drain` hands
    over all that were appended before it, so that who reads a consumer after it sees them.
    """

    def __init__(self, *consumers: Consumer, repeats_below: float = math.inf) -> None:
        self._pending: deque[FinishedTuple | RepeatedStatement] = deque()
        self.record: Callable[[FinishedTuple | RepeatedStatement], None] = self._pending.append
        self.repeats_below = repeats_below
        self._consumers = list(consumers)
        self._repeated: list[RepeatedStatement] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def add_consumer(self, consumer: Consumer) -> None:
        """Adds a consumer, before `start`."""
        self._consumers.append(consumer)

    def start(self) -> None:
        """Starts the thread that drains."""
        self._thread = threading.Thread(target=self._drain_periodically, name="statement recorder", daemon=True)
        self._thread.start()

    def _drain_periodically(self) -> None:
        while not self._stop.wait(DRAIN_SECONDS):
            self.drain()

    def drain(self) -> None:
        """Hands the pending records to the consumers."""
        with self._lock:
            records: list[FinishedTuple] = []
            take = self._pending.popleft
            for each in [take() for _ in repeat(None, len(self._pending))]:
                if type(each) is RepeatedStatement:
                    self._repeated.append(each)
                else:
                    records.append(each)  # type: ignore[arg-type]
            repeated = self._take_repeated()
            if not records and not repeated:
                return
            batch = make_batch(records, repeated)
            for consumer in self._consumers:
                try:
                    consumer.consume(batch)
                except Exception:  # a consumer must not end the others, nor the thread
                    _LOG.exception("finished statements could not be recorded")

    def _take_repeated(self) -> list[RepeatedRuns]:
        """Takes what was added to repeated statements. One that was not repeated lately is retired, and left out once
        its session, which may have looked before, has had RETIRED_SECONDS to add to it.
        """
        found: list[RepeatedRuns] = []
        kept: list[RepeatedStatement] = []
        now = time.monotonic()
        for each in self._repeated:
            retired_at, runs = each.retired_at, each.take()
            if runs:
                found.append(RepeatedRuns(each.sql, each.role, each.database, each.process_id, runs))
            elif retired_at is None:
                each.retire(now)
            if runs or retired_at is None or now - retired_at < RETIRED_SECONDS:
                kept.append(each)
        self._repeated = kept
        return found

    def close(self) -> None:
        """Drains a last time and stops the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.drain()
