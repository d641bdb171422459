"""Statistics of successful statements by role and query, as the view pg_stat_statements shows them."""

from __future__ import annotations

import datetime as dt
import math
import threading
from dataclasses import dataclass, field

import numpy as np

from gpudb.lru import LruCache
from gpudb.observe.batches import Batch, StatementGroup
from gpudb.observe.query_texts import identify
from gpudb.observe.statement import SUCCESSFUL

MAX_ENTRIES = 5000
"""Kept queries; beyond it those that ran longest ago are discarded. PostgreSQL's pg_stat_statements.max."""

_Key = tuple[int, int, int]


@dataclass(slots=True)
class Times:
    """Count, sum, least, greatest and deviation of times, in milliseconds."""

    count: int = 0
    total: float = 0.0
    least: float = 0.0
    greatest: float = 0.0
    _squares: float = 0.0
    """Sum of the squared differences from the mean."""

    def add(self, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
        """Adds times by their own mean and deviation, which is faster than one by one (Chan's)."""
        count = len(values)
        if not count:
            return
        total = float(values.sum())
        mean = total / count
        differences = values - mean
        squares = float(differences.dot(differences))
        if self.count:
            squares += (mean - self.mean) ** 2 * self.count * count / (self.count + count)
        least, greatest = float(values.min()), float(values.max())
        self.least = min(self.least, least) if self.count else least
        self.greatest = max(self.greatest, greatest)
        self.count += count
        self.total += total
        self._squares += squares

    @property
    def mean(self) -> float:
        """The mean; 0 without times."""
        return self.total / self.count if self.count else 0.0

    @property
    def deviation(self) -> float:
        """The standard deviation of the population."""
        return math.sqrt(self._squares / self.count) if self.count else 0.0


@dataclass(slots=True)
class Entry:
    """The statistics of a query that a role ran in a database; both are OIDs."""

    database: int
    role: int
    query_id: int
    text: str
    planning: Times = field(default_factory=Times)
    execution: Times = field(default_factory=Times)
    rows: int = 0


class StatementStatistics:
    """The entries. A consumer of finished statements; thread-safe."""

    def __init__(self, entries: int = MAX_ENTRIES) -> None:
        self._lock = threading.Lock()
        self._entries: LruCache[_Key, Entry] = LruCache(entries, on_evict=self._count_discarded)
        self.discarded = 0
        self.reset_at = dt.datetime.now(dt.UTC)

    def consume(self, batch: Batch) -> None:
        """Adds a batch."""
        for (sql, role, sqlstate, database), group in batch.items():
            if sqlstate == SUCCESSFUL and sql.strip():
                query_id, text = identify(sql)
                key = database, getattr(role, "oid", 0), query_id
                with self._lock:
                    entry = self._entries.get(key)
                    if entry is None:
                        entry = Entry(*key, text)
                        self._entries.put(key, entry)
                    _add(entry, group)

    def _count_discarded(self, key: _Key, entry: Entry) -> None:
        self.discarded += 1

    def list_entries(self) -> list[Entry]:
        """Returns the entries; their figures may grow."""
        with self._lock:
            return self._entries.values()

    def reset(self, role: int = 0, query_id: int = 0, database: int = 0) -> None:
        """Discards the entries of a role, of a query and of a database; 0 is any."""
        with self._lock:
            for key in [key for key, _ in self._entries.items()]:
                if database in (0, key[0]) and role in (0, key[1]) and query_id in (0, key[2]):
                    self._entries.pop(key)
            if not role and not query_id and not database:
                self.discarded, self.reset_at = 0, dt.datetime.now(dt.UTC)


def _add(entry: Entry, group: StatementGroup) -> None:
    """Adds statements. To execute is all that is not parsing, binding or planning, the sending of rows included."""
    seconds = group.seconds
    if group.measures:
        entry.planning.add(1000 * np.array([each["plan"] for each in group.measures if "plan" in each], dtype=float))
        before = [each.get("parse", 0.0) + each.get("bind", 0.0) + each.get("plan", 0.0) for each in group.measures]
        seconds = np.maximum(seconds - np.array(before), 0.0)
    entry.execution.add(1000 * seconds)
    entry.rows += group.rows
