"""Executes one stage on one worker: received frames go in, the parts that it produces come out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import polars as pl

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame, SortOrder
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.cache.column_cache import ColumnCache
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.figures import NarrowedScan, OperatorFigures
from gpudb.engine.gpu.finalize.host import FinalResult, compile_final_stage
from gpudb.engine.gpu.finalize.merge import FrameStates
from gpudb.engine.gpu.limits import HOST_ROWS
from gpudb.engine.gpu.lower.arrow import to_arrow
from gpudb.engine.gpu.lower.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.host_fallback import HostFallback
from gpudb.engine.gpu.lower.lowered_frame import NO_COLUMNS, Frame
from gpudb.engine.gpu.lower.nodes import StageLowering
from gpudb.engine.gpu.lower.values import physical_columns, type_bounds
from gpudb.engine.gpu.worker.batching import MOST
from gpudb.engine.gpu.worker.dynamic_filters import narrow_scans
from gpudb.engine.gpu.worker.profiling import OperatorProfiler
from gpudb.plan.tree.fused_nodes import Built, Fused
from gpudb.plan.tree.nodes import Node, Scan, column
from gpudb.plan.tree.stage_nodes import Partial, Receive
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import columns_read
from gpudb.sql import bound
from gpudb.storage.iceberg.buckets import compute_buckets
from gpudb.storage.iceberg.column_layout import stored_type, to_stored
from gpudb.types import SqlType

_LOG = logging.getLogger(__name__)


class TableSource(Protocol):
    """Returns the frames of scans, and caches their columns."""

    columns: ColumnCache[Any, Any]
    """The cached columns."""

    @property
    def bytes(self) -> int:
        """The bytes of the cached columns."""

    def frame(self, scan: Scan, partition: Partition, parameters: Sequence[object]) -> Frame:
        """Returns a scan's columns over a worker's partition of the table's files."""


BoundPart = Callable[[], pl.DataFrame | ComputedFrame]
"""Runs a bound fused part."""


@dataclass(frozen=True, slots=True)
class StageTask:
    """One stage on one worker, over a partition of the tables, with the statement's parameters.

    `again` are its bound fused parts, by the ids of their nodes; others are bound under `key`, if there is one.
    `narrowed` collects descriptions of narrowed scans. `declined` are the fused parts, by the ids of their nodes, for
    which memory was too small in an earlier chunk of the statement. With `measure` each operator is computed alone, and
    `observed` collects its figures.
    """

    stage: Stage
    partition: Partition
    parameters: tuple[object, ...] = ()
    timezone: str = "UTC"
    key: Hashable = None
    bound_parts: Mapping[int, BoundPart] = field(default_factory=dict)
    narrowed_scans: list[NarrowedScan] = field(default_factory=list)
    declined: set[int] = field(default_factory=set)
    measure: bool = False
    operator_figures: list[OperatorFigures] = field(default_factory=list)


Kernels = Callable[
    [Fused, Sequence[ComputedFrame], Partition, Sequence[object], Hashable], pl.DataFrame | ComputedFrame | None
]
"""Computes a fused part from its build sides' rows; None if the data do not allow it."""


def finish_stage(work: StageTask, received: Mapping[int, Sequence[ComputedFrame]]) -> FinalResult | None:
    """Returns the result if a kernel left its input on the host and there is one worker; else None."""
    parts = [part for each in received.values() for part in each]
    if work.measure or work.stage.output != "result" or work.partition.count != 1:
        return None
    if len(parts) != 1 or not isinstance(parts[0], HostFrame):
        return None
    tail = compile_final_stage(work.stage.root)
    return None if tail is None else tail.finalize([FrameStates(parts[0].table)], work.parameters)


def execute_stage(
    work: StageTask,
    tables: TableSource,
    received: Mapping[int, Sequence[ComputedFrame]],
    frames: Backend,
    kernels: Kernels | None = None,
    asked: HostFallback | None = None,
) -> list[ComputedFrame]:
    """Executes a stage; returns a part for each partition if it is partitioned by hash or range, else one.

    `asked`, a host, collects the functions that run there. Raises the statement's errors, or NotSupportedOnWorkers for
    what only the lowering detects.
    """

    frames.set_final_attempt(work.partition.chunks >= MOST)
    host = asked or HostFallback(work.parameters, work.timezone)
    sources = _Sources(work, tables, received, frames, host, kernels)
    root = work.stage.root
    if work.stage.dynamic_filters:
        root, told = narrow_scans(work.stage, work.partition, work.parameters, received, frames)
        work.narrowed_scans.extend(told)
    seen = OperatorProfiler(root, work.partition, work.parameters, received, frames) if work.measure else None
    frame = StageLowering(sources.frame, frames, host, work.partition.index, seen).frame(root)
    work.operator_figures.extend(seen.figures if seen is not None else ())
    if sources.stage_rows and (work.partition.count == 1 or work.stage.output in {"gather", "broadcast", "stay"}):
        return sources.stage_rows
    if work.stage.output == "hash":
        return _split(work, frame, frames, host)
    return (
        _ranges(work, frame, received, frames, host) if work.stage.output == "range" else [frames.compute(frame.lazy)]
    )


@dataclass(frozen=True, slots=True)
class _Sources:
    """The inputs of a stage. It has no reference to the lowering: such a cycle would keep GPU memory until a garbage
    collection.
    """

    task: StageTask
    tables: TableSource
    received: Mapping[int, Sequence[ComputedFrame]]
    backend: Backend
    host: HostFallback
    kernels: Kernels | None
    stage_rows: list[ComputedFrame] = field(default_factory=list)
    """The stage's rows if a fused part is all of it."""

    def frame(self, node: Node, lowering: StageLowering) -> Frame:
        """Returns the rows of a leaf node."""
        if isinstance(node, Scan):
            return self.tables.frame(node, self.task.partition, self.task.parameters)
        if isinstance(node, Fused):
            return self._fused(node, lowering)
        assert isinstance(node, Receive)
        given = self.received[node.stage]
        parts = [each for each in given if each.rows] or given[:1]
        bounds = tuple(map(type_bounds, node.types))
        if len(parts) == 1:
            return Frame(parts[0].lazy, bounds, parts[0])
        return Frame(pl.concat([part.lazy for part in parts]) if parts else _nothing(node.types), bounds)

    def _fused(self, node: Fused, lowering: StageLowering) -> Frame:
        work, frames = self.task, self.backend
        if id(node) in work.bound_parts:
            return self._result(node, work.bound_parts[id(node)]())
        sides = [lowering.frame(each) for each in node.builds]
        builds = [frames.compute(side.lazy) for side in sides]
        made = self._by_kernel(node, builds)
        if made is not None:
            return self._result(node, made)

        def inside(part: Node, lowering: StageLowering) -> Frame:
            if isinstance(part, Built):
                return Frame(builds[part.number].lazy, sides[part.number].bounds)
            return self.frame(part, lowering)

        return StageLowering(inside, frames, self.host, work.partition.index).frame(node.root)

    def _by_kernel(self, node: Fused, builds: Sequence[ComputedFrame]) -> pl.DataFrame | ComputedFrame | None:
        """Returns a kernel's output; None without a kernel, or if memory is too small for its tables even after freeing
        it.

        Smaller chunks do not make those tables smaller.
        """
        work = self.task
        if self.kernels is None or id(node) in work.declined:
            return None
        made = partial(self.kernels, node, builds, work.partition, work.parameters, work.key)
        try:
            return self.backend.retry_with_memory(made)
        except MemoryError as error:
            _LOG.warning("a fused part runs as the general engine's: %s", error)
            work.declined.add(id(node))
            return None

    def _result(self, node: Fused, made: pl.DataFrame | ComputedFrame) -> Frame:
        held: ComputedFrame
        if isinstance(made, pl.DataFrame):
            # Few rows stay on the host, where the remaining steps are cheapest.
            held = HostFrame(made) if made.height <= HOST_ROWS else self.backend.from_host(made)
        else:
            held = made
        if node is self.task.stage.root:
            self.stage_rows.append(held)
        return Frame(held.lazy, tuple(map(type_bounds, node.types)), held)


def _split(work: StageTask, frame: Frame, frames: Backend, host: HostFallback) -> list[ComputedFrame]:
    """Partitions the rows by the hash of their keys."""
    lazy = frame.lazy
    root = work.stage.root.root if isinstance(work.stage.root, Fused) else work.stage.root
    if isinstance(root, Partial):
        kinds = [key.type for key in root.aggregate.keys]
        keys = [pl.col(f"k{number}").cast(physical_columns(kind)[""]) for number, kind in enumerate(kinds)]
    else:
        over = ExpressionLowering(frame.bounds, host)
        if work.stage.by and work.partition.count > 1:
            return _to_buckets(work, lazy, over, frames)
        values = [over.value(key) for key in work.stage.keys]
        keys = [value.expr.cast(physical_columns(value.type)[""]) for value in values]
        if over.deferred.steps:
            parts = frames.partition_by_hash(over.deferred.run(lazy, frames).lazy, keys, work.partition.count)
            return [frames.compute(part.lazy.drop(over.deferred.columns)) for part in parts]
    return frames.partition_by_hash(lazy, keys, work.partition.count, away=_to_files(work, frames))


def _to_files(work: StageTask, frames: Backend) -> bool:
    """Returns whether most parts pass through the host: to files, and from there to other workers."""
    return work.partition.chunks > 1 and not (frames.can_offload and work.partition.worker.count == 1)


def _to_buckets(work: StageTask, lazy: pl.LazyFrame, over: ExpressionLowering, frames: Backend) -> list[ComputedFrame]:
    """Partitions the rows by the buckets of their one key, as a table's files are."""
    (key,) = work.stage.keys
    columns = over.value(key).as_columns("k")
    lazy = over.deferred.run(lazy, frames).lazy if over.deferred.steps else lazy
    held = frames.compute(lazy.with_columns(columns).drop(over.deferred.columns))
    names = [each.meta.output_name() for each in columns]
    values = to_arrow(frames.compute_on_host(held.lazy.select(names), "buckets"), "k", key.type)
    buckets = compute_buckets(to_stored(values, key.type, stored_type(key.type, 0)), key.type)
    placed = held.add_columns(pl.DataFrame({"place": work.partition.assign_buckets(buckets)}))
    return frames.partition_by_number(
        placed.lazy.drop(names), "place", work.partition.count, away=_to_files(work, frames)
    )


def _ranges(
    work: StageTask, frame: Frame, received: Mapping[int, Sequence[ComputedFrame]], frames: Backend, host: HostFallback
) -> list[ComputedFrame]:
    """Partitions the rows by the ranges of a sample, which is the same on all workers."""
    count, keys = work.partition.count, work.stage.keys
    if count == 1:
        return [frames.compute(frame.lazy)]
    order = [SortOrder(key.descending, key.nulls_first) for key in work.stage.order]
    assert work.stage.sample is not None
    kinds = [key.type for key in keys]
    parts = [part.to_polars() for part in received[work.stage.sample]]
    sample = pl.concat(parts) if parts else _nothing(kinds).collect()
    seen = _ordered(sample.lazy(), [column(place, kind) for place, kind in enumerate(kinds)], HostBackend(), host)
    names = [f"k{place}" for place in range(len(keys))]
    last = [not key.nulls_first for key in order]
    ordered = seen.select(names).sort(names, descending=[key.descending for key in order], nulls_last=last).collect()
    places = [ordered.height * number // count for number in range(1, count) if ordered.height]
    ends = ordered.select(pl.all().gather(pl.Series(places, dtype=pl.UInt32)))
    # If all ends differ, no row is equal to several.
    spread = work.partition.chunks > 1 and not work.stage.together and ends.hash_rows().n_unique() < ends.height
    placed = _ordered(frame.lazy, keys, frames, host)
    return frames.partition_by_range(placed, ends, order, count, spread=spread, away=_to_files(work, frames))


def _ordered(lazy: pl.LazyFrame, keys: Sequence[bound.Expr], frames: Backend, host: HostFallback) -> pl.LazyFrame:
    """Returns a frame with its rows' sort keys in k0, k1, …"""
    over = ExpressionLowering((None,) * (max(columns_read(tuple(keys)), default=0) + 1), host)
    values = [over.value(key) for key in keys]
    if over.deferred.steps:
        lazy = over.deferred.run(lazy, frames).lazy
    held = [value.expr.cast(physical_columns(value.type)[""]).alias(f"k{place}") for place, value in enumerate(values)]
    return lazy.with_columns(held).drop(over.deferred.columns)


def _nothing(types: Sequence[SqlType]) -> pl.LazyFrame:
    schema = {f"c{n}{suffix}": held for n, kind in enumerate(types) for suffix, held in physical_columns(kind).items()}
    return pl.LazyFrame(schema=schema or {NO_COLUMNS: pl.Boolean()})
