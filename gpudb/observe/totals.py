"""Totals of finished statements since the server started, for metrics."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from gpudb.engine.protocol import Measures
from gpudb.observe.batches import Batch, Seconds
from gpudb.observe.fallbacks import classify_construct

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Upper bounds of durations in seconds, by which they are counted."""
NO_ENGINE = "none"
PHASES = ("parse", "bind", "plan", "execute", "encode")


class Histogram:
    """Counts of durations by BUCKETS, and their sum in seconds."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(BUCKETS) + 1, dtype=np.int64)
        self.sum = 0.0

    def add(self, seconds: Seconds) -> None:
        """Counts durations."""
        places = np.searchsorted(BUCKETS, seconds)
        self._counts += np.bincount(places, minlength=len(BUCKETS) + 1)
        self.sum += float(seconds.sum())

    def cumulate(self) -> list[int]:
        """Returns how many durations are at most each bound, and at last their number."""
        return list(accumulate(self._counts.tolist()))


class StatementTotals:
    """Numbers, durations, rows and bytes of statements by engine and SQLSTATE class. A consumer; thread-safe."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.statements: Counter[tuple[str, str]] = Counter()
        """By engine and class, the first two characters of the SQLSTATE."""
        self.durations: dict[str, Histogram] = {}
        self.phases: dict[str, float] = dict.fromkeys(PHASES, 0.0)
        self.fallbacks: Counter[str] = Counter()
        self.seconds: defaultdict[int, float] = defaultdict(float)
        """By the OID of the database."""
        self.rows = self.bytes = self.spilled = 0

    def consume(self, batch: Batch) -> None:
        """Adds a batch; statements of which nothing was measured, which are the most, are added together."""
        with self.lock:
            for (_, _, sqlstate, database), group in batch.items():
                total = float(group.seconds.sum())
                self.phases["encode"] += group.encode_seconds
                self.phases["execute"] += total - group.encode_seconds
                self.seconds[database] += total
                self.rows += group.rows
                self.bytes += group.bytes
                state = sqlstate[:2]
                if group.measures:
                    for engine, spent in self._add_measures(group.seconds, group.measures).items():
                        self._add_durations(engine, state, np.array(spent))
                else:
                    self._add_durations(NO_ENGINE, state, group.seconds)

    def _add_measures(self, seconds: Seconds, measures: Sequence[Measures]) -> Mapping[str, Sequence[float]]:
        """Adds phases and fallbacks; returns the statements' seconds by engine."""
        by_engine: dict[str, list[float]] = {}
        for duration, each in zip(seconds.tolist(), measures, strict=True):
            by_engine.setdefault(each.get("engine", NO_ENGINE), []).append(duration)
            parse, bind, plan = each.get("parse", 0.0), each.get("bind", 0.0), each.get("plan", 0.0)
            self.phases["parse"] += parse
            self.phases["bind"] += bind
            self.phases["plan"] += plan
            self.phases["execute"] -= parse + bind + plan
            self.spilled += each.get("spilled", 0)
            if "fallback" in each:
                self.fallbacks[classify_construct(each["fallback"])] += 1
        return by_engine

    def _add_durations(self, engine: str, state: str, seconds: Seconds) -> None:
        self.statements[engine, state] += len(seconds)
        histogram = self.durations.get(engine)
        if histogram is None:
            histogram = self.durations[engine] = Histogram()
        histogram.add(seconds)
