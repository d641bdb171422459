"""Runs the fused parts of stages on a worker, over its packed columns, with NumPy or a kernel.

A prepared part is cached under the caller's key; run again, it is a launch. It holds its build sides as arrays, but
looks up the table's columns for each run, since they may have been evicted. A part whose kernels are still being
compiled is cached, too, and runs once they are ready.
"""

from __future__ import annotations

import logging
import operator
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import polars as pl

from gpudb.engine.figures import KernelFigures, track_step
from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.backend.coded_frame import CodedFrame
from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.fused.codegen.kernel import generate_kernel
from gpudb.engine.gpu.fused.cuda.compile_pool import CompilePool, Jobs, KernelsCompiling
from gpudb.engine.gpu.fused.cuda.launch import Launcher
from gpudb.engine.gpu.fused.cuda.replay import Replay
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.numpy_backend.executor import specialize
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedSource, PackedTables
from gpudb.engine.gpu.fused.packed_cache.zone_pruning import ZonePruning
from gpudb.engine.gpu.fused.planning.matching import find_scan
from gpudb.engine.gpu.fused.planning.prepare import prepare
from gpudb.engine.gpu.fused.planning.prepared_pipeline import PreparedPipeline
from gpudb.engine.gpu.fused.translate.result_columns import (
    ResultColumn,
    are_on_host,
    dictionaries_of,
    keeps_codes,
    to_coded_frame,
    to_frame,
)
from gpudb.engine.gpu.fused.translate.typed_values import NotFused
from gpudb.lru import IdentityKey, LruCache
from gpudb.plan.tree.fused_nodes import Fused

_LOG = logging.getLogger(__name__)

MAX_PARTS = 256
"""Prepared parts that are cached; their build sides take at most an eighth of the packed columns' budget."""
_Key = tuple[IdentityKey[Fused], Hashable]
"""A fused part, and what its parameters, share and build sides depend on."""


PartColumns = pl.DataFrame | ComputedFrame
"""A part's columns: on the host, or on the GPU where a kernel left many rows there."""
_REPLAY_DIVISOR = 8 * MAX_PARTS
"""Divisor of the packed columns' budget; the quotient is the maximum size of one part's replay buffers."""
CODED_ROWS = 10_000
"""Rows above which the texts of a part's columns on the host stay codes."""
_HOST = HostBackend()
GENERAL_ROWS = 10**8
"""Rough rows per second of the general engine in a first run, which decodes its columns."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadyPart:
    """A prepared part of a plan; it can run once all `jobs` are done.

    `replays` has at most one; a thread takes it out while it uses it.
    """

    node: Fused
    prepared: PreparedPipeline
    source: PackedSource
    table: str
    bytes: int
    jobs: Jobs = ()
    pruning: ZonePruning = field(default_factory=ZonePruning)
    replays: list[Replay] = field(default_factory=list)


class _Reports(threading.local):
    def __init__(self) -> None:
        self.reports: list[KernelFigures] = []


class NumpyRunner:
    """Runs fused parts with NumPy. `declined` is the reason why the last part fell back to the general engine, if it
    did.

    With a `compile_pool`, parts run once it has compiled their kernels.
    """

    def __init__(self, tables: PackedTables, compile_pool: CompilePool | None = None) -> None:
        self.tables = tables
        self._compile_pool = compile_pool
        self._parts: LruCache[_Key, ReadyPart] = LruCache(
            MAX_PARTS, weigh=attrgetter("bytes"), limit=tables.budget // 8
        )
        self._refused: LruCache[_Key, str] = LruCache(MAX_PARTS)
        self._reports = _Reports()
        self.declined: str | None = None
        self.ran = 0

    @property
    def bytes(self) -> int:
        """Bytes of the packed columns, and of the build sides of cached parts."""
        kept = self._parts.values()
        rooms = sum(replay.bytes for each in kept for replay in tuple(each.replays))
        return self.tables.bytes + sum(each.bytes for each in kept) + rooms

    def __call__(
        self,
        node: Fused,
        builds: Sequence[ComputedFrame],
        partition: Partition,
        parameters: Sequence[object],
        key: Hashable = None,
    ) -> PartColumns | None:
        """Runs a fused part over a worker's share and returns its columns; None where the data do not fit a kernel.

        With a `key`, which identifies parameters, share and build sides, the part is cached; or the refusal is, so that
        the part is not tried again.
        """
        scan = find_scan(node.root)
        refused = self._refused.get((IdentityKey(node), key))
        if refused is not None:
            self.declined = refused
            self._reports.reports.append(KernelFigures(scan.table.name, 0, 0, 0, 0.0, declined=self.declined))
            return None
        prepared = source = None
        jobs: Jobs = ()
        made = None
        try:
            tables = self.tables if partition.chunks == 1 else self.tables.uncached()
            source = tables.source(scan, partition, parameters)
            prepared = self._to_device(prepare(node, source, builds, parameters))
            self._await_kernels(prepared)
            made = self._run_reported(prepared, scan.table.name)
            self.declined = None
        except NotFused as reason:
            self.declined = str(reason)
            self._reports.reports.append(KernelFigures(scan.table.name, 0, 0, 0, 0.0, declined=self.declined))
            if not isinstance(reason, KernelsCompiling):
                _LOG.warning("falling back from a fused kernel to the general engine: %s", reason)
                self._refuse(node, key, str(reason))
                return None
            jobs = reason.jobs
        if key is not None and prepared is not None and source is not None:
            size = sum(int(each.nbytes) for made in prepared.lookups for each in made)
            self._keep(key, ReadyPart(node, replace(prepared, segments=()), source, scan.table.name, size, jobs))
        return made

    def get(self, node: Fused, key: Hashable) -> ReadyPart | None:
        """Returns the part that is cached under a key."""
        found = self._parts.get((IdentityKey(node), key))
        if found is not None and not all(job.done() and job.exception() is None for job in found.jobs):
            return None
        return found

    def rerun(self, ready: ReadyPart) -> PartColumns:
        """Runs a cached part."""
        return self._run_reported(_with_current_segments(ready), ready.table, ready.pruning)

    def run_quietly(self, ready: ReadyPart) -> list[ResultColumn] | ComputedFrame:
        """Runs a cached part without reporting it; returns columns, on the host where they are few."""
        self.ran += 1
        prepared = _with_current_segments(ready)

        def run(some: PreparedPipeline) -> executor.Outcome:
            kept = ready.pruning.prune(some.pipeline, some.segments)
            whole = len(kept) == len(some.segments) and all(map(operator.is_, kept, some.segments))
            if whole and some.pipeline is ready.prepared.pipeline:
                return self._run_whole(ready, some)
            return self._run(replace(some, segments=kept))

        return self._to_columns(prepared, prepared.outcome(run))

    def take_reports(self) -> tuple[KernelFigures, ...]:
        """Returns the reports of this thread's runs since the last call."""
        reports, self._reports.reports = tuple(self._reports.reports), []
        return reports

    def _refuse(self, node: Fused, key: Hashable, reason: str) -> None:
        """Remembers that a kernel cannot compute a part: its data do not change under its key."""
        if key is not None:
            self._refused.put((IdentityKey(node), key), reason)

    def _keep(self, key: Hashable, ready: ReadyPart) -> None:
        for each, kept in self._parts.items():
            if kept.source.is_stale:
                self._parts.pop(each)
        self._parts.put((IdentityKey(ready.node), key), ready)

    def _await_kernels(self, prepared: PreparedPipeline) -> None:
        """Waits until a part's kernels can run; raises KernelsCompiling where the general engine answers sooner."""
        if self._compile_pool is not None:
            pairs = [(pipeline, segment) for pipeline in prepared.pipelines for segment in prepared.segments]
            sources = [generate_kernel(each).source for each in {specialize(*pair): None for pair in pairs}]
            with track_step("compiling"):
                self._compile_pool.wait(sources, sum(segment.rows for segment in prepared.segments) / GENERAL_ROWS)

    def _run_reported(self, prepared: PreparedPipeline, table: str, pruning: ZonePruning | None = None) -> PartColumns:
        """Runs a part and reports it; a cached part passes its `pruning` of earlier runs."""
        self.ran += 1
        pruned = pruning or ZonePruning()
        started = time.perf_counter()
        read: list[executor.Segment] = []
        skipped = 0

        def run(some: PreparedPipeline) -> executor.Outcome:
            nonlocal skipped
            kept = pruned.prune(some.pipeline, some.segments)
            skipped += sum(segment.rows for segment in some.segments) - sum(segment.rows for segment in kept)
            read.extend(kept)
            return self._run(replace(some, segments=kept))

        outcome = prepared.outcome(run)
        spent = self._milliseconds(1000 * (time.perf_counter() - started))
        size = sum(column.bytes for segment in read for column in segment.columns)
        report = KernelFigures(
            table,
            size,
            len(read),
            skipped,
            spent,
            self._max_registers(prepared),
            pruning is not None,
            rows=sum(segment.rows for segment in prepared.segments),
            passed=prepared.rows_passed(outcome),
            hashed=sum(int(each.nbytes) for made in prepared.lookups for each in made),
        )
        made = self._to_columns(prepared, outcome)
        self._reports.reports.append(report)
        return _to_rows(made) if isinstance(made, list) else made

    def _to_device(self, prepared: PreparedPipeline) -> PreparedPipeline:
        """Copies a prepared part's build sides to the memory where it runs, for any thread."""
        return prepared

    def _run(self, prepared: PreparedPipeline) -> executor.Outcome:
        return executor.run(prepared.pipeline, prepared.segments, prepared.lookups, prepared.tables)

    def _run_whole(self, ready: ReadyPart, prepared: PreparedPipeline) -> executor.Outcome:
        """Runs a cached part over all of its segments."""
        return self._run(prepared)

    def _to_columns(self, prepared: PreparedPipeline, outcome: executor.Outcome) -> list[ResultColumn] | ComputedFrame:
        """Converts a part's outcome to columns, on the host, or on the GPU where a kernel left many rows there."""
        return prepared.columns(outcome)

    def _milliseconds(self, waited: float) -> float:
        """Returns the milliseconds of the last run, given those waited for it."""
        return waited

    def _max_registers(self, prepared: PreparedPipeline) -> int:
        return 0


def _to_rows(columns: list[ResultColumn]) -> PartColumns:
    """Returns columns on the host as a frame, in which the texts of many rows stay codes."""
    if columns[0].rows <= CODED_ROWS or not keeps_codes(columns):
        return to_frame(columns)
    return CodedFrame(HostFrame(to_coded_frame(columns)), dictionaries_of(columns), _decode)


def _decode(lazy: pl.LazyFrame, texts: Mapping[str, Dictionary]) -> ComputedFrame:
    return _HOST.compute(_HOST.decode_texts(lazy, texts))


def _with_current_segments(ready: ReadyPart) -> PreparedPipeline:
    """Returns a cached part over the current segments."""
    return replace(ready.prepared, segments=ready.source.segments(ready.prepared.fields, ready.prepared.raw_fields))


class KernelRunner(NumpyRunner):
    """Runs fused parts on the current GPU, which holds the packed columns.

    `build_frame` turns columns that stay there into a frame, or returns None for those that must pass through the host.
    """

    def __init__(
        self, tables: PackedTables, build_frame: Callable[[Sequence[ResultColumn]], ComputedFrame | None]
    ) -> None:
        self._launcher = Launcher()
        self._build_frame = build_frame
        super().__init__(tables, self._launcher.compile_pool)

    def _to_device(self, prepared: PreparedPipeline) -> PreparedPipeline:
        copy: Any = self._launcher.to_device
        tables = tuple((copy(made), copy(known)) for made, known in prepared.tables)
        lookups = tuple(tuple(copy(each) for each in made) for made in prepared.lookups)
        self._launcher.synchronize()
        return replace(prepared, lookups=lookups, tables=tables)

    def _run(self, prepared: PreparedPipeline) -> executor.Outcome:
        return self._launcher.run(prepared.pipeline, prepared.segments, prepared.lookups, prepared.tables, keep=True)

    def _run_whole(self, ready: ReadyPart, prepared: PreparedPipeline) -> executor.Outcome:
        pipeline, segments = prepared.pipeline, prepared.segments
        try:
            replay: Replay | None = ready.replays.pop()
        except IndexError:
            replay = None
        if replay is None or not replay.matches(pipeline, segments):
            most = self.tables.budget // _REPLAY_DIVISOR
            replay = self._launcher.replay(pipeline, segments, prepared.lookups, prepared.tables, most)
        outcome = replay.run(keep=True) if replay is not None else None
        if outcome is None or replay is None:
            return self._run(prepared)
        if not ready.replays:
            ready.replays.append(replay)
        return outcome

    def make_room(self) -> None:
        """Frees the buffers of replays, which can be allocated again."""
        for each in self._parts.values():
            each.replays.clear()

    def _to_columns(self, prepared: PreparedPipeline, outcome: executor.Outcome) -> list[ResultColumn] | ComputedFrame:
        columns = prepared.columns(outcome)
        if are_on_host(columns):
            return columns
        held = self._build_frame(columns)
        return held if held is not None else prepared.columns(outcome.to_host())

    def _milliseconds(self, waited: float) -> float:
        return self._launcher.milliseconds

    def _max_registers(self, prepared: PreparedPipeline) -> int:
        return max(
            (self._launcher.kernel_for(prepared.pipeline, each).registers for each in prepared.segments), default=0
        )
