"""Runs the fused parts of stages on a worker: bound to its packed columns, by NumPy or by a kernel.

A part that has been bound is kept under a key of its caller's: run again, it is a launch. It holds its build sides as
arrays; the table's columns are asked for anew, since what was not used for long may have gone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from gpudb.engine.gpu.fused import twin
from gpudb.engine.gpu.fused.launch import Launcher
from gpudb.engine.gpu.fused.match import scan_of
from gpudb.engine.gpu.fused.prepare import Prepared, prepare
from gpudb.engine.gpu.fused.resident import PackedSource, PackedTables
from gpudb.engine.gpu.fused.skip import parts
from gpudb.engine.gpu.fused.values import NotFused
from gpudb.engine.gpu.share import Share
from gpudb.plan.fused import Fused

_LOG = logging.getLogger(__name__)

KEPT = 256
"""So many bound parts are kept, and an eighth of the packed columns' room of their build sides."""


@dataclass(frozen=True, slots=True)
class Launched:
    """What EXPLAIN ANALYZE tells of a fused part: its table, the bytes that were read, in how many launches, how many
    rows were left out by their zones, milliseconds, registers."""

    table: str
    bytes: int
    segments: int
    skipped: int
    milliseconds: float
    registers: int = 0
    reused: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """A part of a plan that is bound."""

    node: Fused
    prepared: Prepared
    source: PackedSource
    table: str
    bytes: int


class _Told(threading.local):
    def __init__(self) -> None:
        self.launched: list[Launched] = []


class Twin:
    """Runs fused parts with NumPy. `declined` tells why the last part ran as the general engine's, if it did."""

    def __init__(self, tables: PackedTables) -> None:
        self.tables = tables
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, Hashable], Ready] = OrderedDict()
        self._told = _Told()
        self.declined: str | None = None
        self.ran = 0

    @property
    def bytes(self) -> int:
        """What is held: packed columns, and build sides of parts that are kept."""
        with self._lock:
            return self.tables.bytes + sum(each.bytes for each in self._kept.values())

    def __call__(
        self,
        node: Fused,
        builds: Sequence[pl.DataFrame],
        share: Share,
        parameters: Sequence[object],
        key: Hashable = None,
    ) -> pl.DataFrame | None:
        """A fused part's columns over a worker's share; None where the data keep it from a kernel.

        With a `key`, which stands for parameters, share and all that build sides depend on, the part is kept.
        """
        scan = scan_of(node.root)
        try:
            tables = self.tables if share.chunks == 1 else self.tables.apart()
            source = tables.source(scan, share, parameters)
            prepared = self._placed(prepare(node, source, builds, parameters))
            made = self._frame(prepared, scan.table.name)
        except NotFused as reason:
            self.declined = str(reason)
            _LOG.warning("a fused part runs as the general engine's: %s", reason)
            return None
        self.declined = None
        if key is not None:
            size = sum(int(each.nbytes) for made in prepared.lookups for each in made)
            self._keep(key, Ready(node, replace(prepared, segments=()), source, scan.table.name, size))
        return made

    def kept(self, node: Fused, key: Hashable) -> Ready | None:
        """A part that was bound before under a key."""
        with self._lock:
            found = self._kept.get((id(node), key))
            if found is not None:
                self._kept.move_to_end((id(node), key))
        return found

    def again(self, ready: Ready) -> pl.DataFrame:
        """Runs a part that was kept."""
        segments = ready.source.segments(ready.prepared.fields)
        return self._frame(replace(ready.prepared, segments=segments), ready.table, reused=True)

    def launched(self) -> tuple[Launched, ...]:
        """What this thread has run since it asked last."""
        told, self._told.launched = tuple(self._told.launched), []
        return told

    def _keep(self, key: Hashable, ready: Ready) -> None:
        with self._lock:
            self._kept[id(ready.node), key] = ready
            size = sum(each.bytes for each in self._kept.values())
            while len(self._kept) > KEPT or (size > self.tables.budget // 8 and len(self._kept) > 1):
                size -= self._kept.popitem(last=False)[1].bytes

    def _frame(self, prepared: Prepared, table: str, *, reused: bool = False) -> pl.DataFrame:
        self.ran += 1
        started = time.perf_counter()
        read: list[twin.Segment] = []
        skipped = 0

        def run(some: Prepared) -> twin.Outcome:
            nonlocal skipped
            left = [part for segment in some.segments for part in parts(some.pipeline, segment)]
            skipped += sum(segment.rows for segment in some.segments) - sum(segment.rows for segment in left)
            read.extend(left)
            return self._run(replace(some, segments=left))

        outcome = prepared.outcome(run)
        spent = self._spent(1000 * (time.perf_counter() - started))
        size = sum(column.bytes for segment in read for column in segment.columns)
        told = Launched(table, size, len(read), skipped, spent, self._registers(prepared), reused)
        self._told.launched.append(told)
        return prepared.frame(outcome)

    def _placed(self, prepared: Prepared) -> Prepared:
        """A bound part with its build sides where it runs."""
        return prepared

    def _run(self, prepared: Prepared) -> twin.Outcome:
        return twin.run(prepared.pipeline, prepared.segments, prepared.lookups, prepared.tables)

    def _spent(self, waited: float) -> float:
        """The milliseconds of what ran last, of those that were waited for it."""
        return waited

    def _registers(self, prepared: Prepared) -> int:
        return 0


class Kernels(Twin):
    """Runs fused parts on the current GPU, where the packed columns lie."""

    def __init__(self, tables: PackedTables) -> None:
        super().__init__(tables)
        self._launcher = Launcher()

    def _placed(self, prepared: Prepared) -> Prepared:
        place: Any = self._launcher.placed
        tables = tuple((place(made), place(known)) for made, known in prepared.tables)
        lookups = tuple(tuple(place(each) for each in made) for made in prepared.lookups)
        return replace(prepared, lookups=lookups, tables=tables)

    def _run(self, prepared: Prepared) -> twin.Outcome:
        return self._launcher.run(prepared.pipeline, prepared.segments, prepared.lookups, prepared.tables)

    def _spent(self, waited: float) -> float:
        return self._launcher.milliseconds

    def _registers(self, prepared: Prepared) -> int:
        return max((self._launcher.over(prepared.pipeline, each).registers for each in prepared.segments), default=0)
