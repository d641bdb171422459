"""Executes one stage on one worker: received frames go in, the parts that it produces come out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import polars as pl

from gpudb.engine.figures import NarrowedScan, OperatorFigures
from gpudb.engine.gpu.backend.base import Backend, ComputedFrame, SortOrder
from gpudb.engine.gpu.backend.coded_frame import CodedFrame, decode_rows
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.backend.vector_indexes import Places, VectorIndex
from gpudb.engine.gpu.cache.column_cache import ColumnCache
from gpudb.engine.gpu.cache.host_columns import pruned_files
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.cache.vector_indexes import FileShare, WorkerIndexes, take
from gpudb.engine.gpu.finalize.host import FinalResult, compile_final_stage
from gpudb.engine.gpu.finalize.merge import FrameStates
from gpudb.engine.gpu.limits import HOST_ROWS
from gpudb.engine.gpu.lower.expressions.arrow import to_arrow
from gpudb.engine.gpu.lower.expressions.expressions import ExpressionLowering
from gpudb.engine.gpu.lower.expressions.host_fallback import HostFallback
from gpudb.engine.gpu.lower.expressions.lowered_frame import NO_COLUMNS, Frame, LoweringContext
from gpudb.engine.gpu.lower.nearest_rows import NearestScan, NearestSource, RowSearch
from gpudb.engine.gpu.lower.nodes import StageLowering
from gpudb.engine.gpu.lower.texts.code_uses import find_coded_columns
from gpudb.engine.gpu.lower.values import physical_columns, type_bounds
from gpudb.engine.gpu.stage.batching import MAX_CHUNKS
from gpudb.engine.gpu.stage.dynamic_filters import narrow_scans
from gpudb.engine.gpu.stage.profiling import OperatorProfiler
from gpudb.lru import IdentityKey, LruCache
from gpudb.plan.tree.fused_nodes import BuildSideScan, Fused
from gpudb.plan.tree.nodes import Node, Scan, column
from gpudb.plan.tree.stage_nodes import Partial, Receive
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import columns_read
from gpudb.sql import bound
from gpudb.storage.iceberg.buckets import compute_buckets
from gpudb.storage.iceberg.column_layout import stored_type, to_stored
from gpudb.types import SqlType
from gpudb.vector_indexes.definition import SearchEffort

_LOG = logging.getLogger(__name__)


_NONE: frozenset[int] = frozenset()
_CODED: LruCache[tuple[IdentityKey[Node], tuple[int, ...]], Mapping[int, frozenset[int]]] = LruCache(64)
"""Found columns of repeated statements' stages."""


class TableSource(Protocol):
    """Returns the frames of scans, and caches their columns."""

    columns: ColumnCache[Any, Any]
    """The cached columns."""
    indexes: WorkerIndexes
    """The indexes of vectors."""

    @property
    def bytes(self) -> int:
        """The bytes of the cached columns."""

    def frame(
        self, scan: Scan, partition: Partition, parameters: Sequence[object], coded: frozenset[int] = frozenset()
    ) -> Frame:
        """Returns a scan's columns over a worker's partition of the table's files; those `coded` may be codes."""


BoundPart = Callable[[], pl.DataFrame | ComputedFrame]
"""Runs a bound fused part."""


@dataclass(frozen=True, slots=True)
class StageTask:
    """One stage on one worker, over a partition of the tables, with the statement's parameters.

    `bound_parts` are its bound fused parts, by the ids of their nodes; others are bound under `key`, if there is one.
    `nearest` says how far searches of indexes of vectors look. `narrowed_scans` collects descriptions of narrowed
    scans. `declined` are the fused parts, by the ids of their nodes, for which memory was too small in an earlier chunk
    of the statement. With `measure` each operator is computed alone, and `operator_figures` collects its figures.
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
    nearest: SearchEffort = SearchEffort(enabled=False)  # noqa: RUF009 - it cannot change


Kernels = Callable[
    [Fused, Sequence[ComputedFrame], Partition, Sequence[object], Hashable], pl.DataFrame | ComputedFrame | None
]
"""Computes a fused part from its build sides' rows; None if the data do not allow it."""


def finish_stage(task: StageTask, received: Mapping[int, Sequence[ComputedFrame]]) -> FinalResult | None:
    """Returns the result if a kernel left its input on the host and there is one worker; else None."""
    parts = [part for each in received.values() for part in each]
    if task.measure or task.stage.output != "result" or task.partition.count != 1:
        return None
    if len(parts) != 1 or not isinstance(parts[0], HostFrame):
        return None
    tail = compile_final_stage(task.stage.root)
    return None if tail is None else tail.finalize([FrameStates(parts[0].table)], task.parameters)


def execute_stage(
    task: StageTask,
    tables: TableSource,
    received: Mapping[int, Sequence[ComputedFrame]],
    backend: Backend,
    kernels: Kernels | None = None,
    asked: HostFallback | None = None,
) -> list[ComputedFrame]:
    """Executes a stage; returns a part for each partition if it is partitioned by hash or range, else one.

    `asked`, a host, collects the functions that run there. Raises the statement's errors, or NotSupportedOnWorkers for
    what only the lowering detects.
    """

    backend.set_final_attempt(task.partition.chunks >= MAX_CHUNKS)
    host = asked or HostFallback(task.parameters, task.timezone)
    root = task.stage.root
    if task.stage.dynamic_filters:
        root, narrowed = narrow_scans(task.stage, task.partition, task.parameters, received, backend)
        task.narrowed_scans.extend(narrowed)
    sources = _Sources(task, tables, received, backend, host, kernels, _coded_columns(root, task))
    profiler = OperatorProfiler(root, task.partition, task.parameters, received, backend) if task.measure else None
    lowering = StageLowering(sources.frame, backend, host, task.partition.index, profiler, sources.nearest)
    # Codes are those of this worker: they stay where its own next stage reads them.
    stays = task.partition.count == 1 and task.stage.output != "result"
    frame = lowering.coded_frame(root) if stays else lowering.frame(root)
    task.operator_figures.extend(profiler.figures if profiler is not None else ())
    if sources.stage_rows and (task.partition.count == 1 or task.stage.output in {"gather", "broadcast", "stay"}):
        return sources.stage_rows if stays else [decode_rows(each) for each in sources.stage_rows]
    if frame.texts and stays:
        return [_keep_codes(LoweringContext(backend, host).without_nulls(frame), backend)]
    if task.stage.output == "hash":
        return _partition_by_hash(task, frame, backend, host)
    return (
        _partition_by_range(task, frame, received, backend, host)
        if task.stage.output == "range"
        else [backend.compute(frame.lazy)]
    )


def _coded_columns(root: Node, task: StageTask) -> Mapping[int, frozenset[int]]:
    coded = task.stage.coded if task.partition.count == 1 else ()
    key = IdentityKey(root), coded
    found = _CODED.get(key)
    if found is None:
        found = find_coded_columns(root, coded)
        _CODED.put(key, found)
    return found


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
    coded: Mapping[int, frozenset[int]]
    """The columns that scans, by their ids, return as codes."""
    stage_rows: list[ComputedFrame] = field(default_factory=list)
    """The stage's rows if a fused part is all of it."""

    @property
    def nearest(self) -> NearestSource | None:
        """The indexes of vectors; None for a statement that searches none."""
        task = self.task
        if not task.nearest.enabled or task.partition.chunks > 1:
            return None
        return NearestSource(partial(_open_index, task, self.tables, self.backend), task.nearest)

    def frame(self, node: Node, lowering: StageLowering) -> Frame:
        """Returns the rows of a leaf node."""
        if isinstance(node, Scan):
            coded = self.coded.get(id(node), _NONE)
            return self.tables.frame(node, self.task.partition, self.task.parameters, coded)
        if isinstance(node, Fused):
            return self._fused_frame(node, lowering)
        assert isinstance(node, Receive)
        given = self.received[node.stage]
        parts = [each for each in given if each.rows] or given[:1]
        bounds = tuple(map(type_bounds, node.types))
        if len(parts) == 1 and isinstance(parts[0], CodedFrame):
            return Frame(parts[0].codes.lazy, bounds, None, parts[0].by_place)
        if len(parts) == 1:
            return Frame(parts[0].lazy, bounds, parts[0])
        return Frame(pl.concat([part.lazy for part in parts]) if parts else _empty_frame(node.types), bounds)

    def _fused_frame(self, node: Fused, lowering: StageLowering) -> Frame:
        task, backend = self.task, self.backend
        if id(node) in task.bound_parts:
            return self._to_frame(node, task.bound_parts[id(node)]())
        sides = [lowering.frame(each) for each in node.builds]
        builds = [backend.compute(side.lazy) for side in sides]
        made = self._run_kernel(node, builds)
        if made is not None:
            return self._to_frame(node, made)

        def inside(part: Node, lowering: StageLowering) -> Frame:
            if isinstance(part, BuildSideScan):
                return Frame(builds[part.number].lazy, sides[part.number].bounds)
            return self.frame(part, lowering)

        return StageLowering(inside, backend, self.host, task.partition.index).frame(node.root)

    def _run_kernel(self, node: Fused, builds: Sequence[ComputedFrame]) -> pl.DataFrame | ComputedFrame | None:
        """Returns a kernel's output; None without a kernel, or if memory is too small for its tables even after freeing
        it.

        Smaller chunks do not make those tables smaller.
        """
        task = self.task
        if self.kernels is None or id(node) in task.declined:
            return None
        made = partial(self.kernels, node, builds, task.partition, task.parameters, task.key)
        try:
            return self.backend.retry_with_memory(made)
        except MemoryError as error:
            _LOG.warning("falling back from a fused kernel to the general engine: %s", error)
            task.declined.add(id(node))
            return None

    def _to_frame(self, node: Fused, made: pl.DataFrame | ComputedFrame) -> Frame:
        held: ComputedFrame
        if isinstance(made, pl.DataFrame):
            # Few rows stay on the host, where the remaining steps are cheapest.
            held = HostFrame(made) if made.height <= HOST_ROWS else self.backend.from_host(made)
        else:
            held = made
        if node is self.task.stage.root:
            self.stage_rows.append(held)
        if isinstance(held, CodedFrame):
            return Frame(held.codes.lazy, tuple(map(type_bounds, node.types)), None, held.by_place)
        return Frame(held.lazy, tuple(map(type_bounds, node.types)), held)


def _open_index(task: StageTask, tables: TableSource, backend: Backend, found: NearestScan) -> RowSearch | None:
    """Returns the index of a scan's vectors on this worker, built if need be."""
    scan = found.scan
    table, column = scan.table, scan.table.columns[scan.columns[found.place]]
    ranges = task.partition.row_ranges(table)
    shares = [FileShare(file, ranges[file.id]) for file in pruned_files(scan, task.parameters)]
    shares = [each for each in shares if each.length]

    def build() -> VectorIndex | None:
        alone = replace(scan, columns=(scan.columns[found.place],), filter=None, optional_filter=None)
        whole = replace(alone, table=replace(table, files=tuple(each.file for each in shares)))
        lazy = tables.frame(whole, task.partition, task.parameters).lazy
        return backend.retry_with_memory(lambda: backend.build_vector_index(lazy, found.definition))

    opened = tables.indexes.find(table, column, found.definition, task.partition, shares, build)
    if opened is None:
        return None
    index, located = opened

    def search(query: bytes, count: int, breadth: int) -> Places | None:
        places = index.search(query, count, breadth)
        return None if places is None else take(places, located)

    return RowSearch(search, located.others, sum(each.length for each in shares))


def _keep_codes(frame: Frame, backend: Backend) -> CodedFrame:
    named = {f"c{index}": each for index, each in frame.texts.items()}
    return CodedFrame(
        backend.compute(frame.lazy), named, lambda lazy, texts: backend.compute(backend.decode_texts(lazy, texts))
    )


def _partition_by_hash(task: StageTask, frame: Frame, backend: Backend, host: HostFallback) -> list[ComputedFrame]:
    """Partitions the rows by the hash of their keys."""
    lazy = frame.lazy
    root = task.stage.root.root if isinstance(task.stage.root, Fused) else task.stage.root
    if isinstance(root, Partial):
        kinds = [key.type for key in root.aggregate.keys]
        keys = [pl.col(f"k{number}").cast(physical_columns(kind)[""]) for number, kind in enumerate(kinds)]
    else:
        over = ExpressionLowering(frame.bounds, host)
        if task.stage.hash_name and task.partition.count > 1:
            return _partition_by_buckets(task, lazy, over, backend)
        values = [over.value(key) for key in task.stage.keys]
        keys = [value.expr.cast(physical_columns(value.type)[""]) for value in values]
        if over.deferred.steps:
            parts = backend.partition_by_hash(over.deferred.run(lazy, backend).lazy, keys, task.partition.count)
            return [backend.compute(part.lazy.drop(over.deferred.columns)) for part in parts]
    return backend.partition_by_hash(lazy, keys, task.partition.count, away=_goes_to_files(task, backend))


def _goes_to_files(task: StageTask, backend: Backend) -> bool:
    """Returns whether most parts pass through the host: to files, and from there to other workers."""
    return task.partition.chunks > 1 and not (backend.can_offload and task.partition.worker.count == 1)


def _partition_by_buckets(
    task: StageTask, lazy: pl.LazyFrame, over: ExpressionLowering, backend: Backend
) -> list[ComputedFrame]:
    """Partitions the rows by the buckets of their one key, as a table's files are."""
    (key,) = task.stage.keys
    columns = over.value(key).as_columns("k")
    lazy = over.deferred.run(lazy, backend).lazy if over.deferred.steps else lazy
    held = backend.compute(lazy.with_columns(columns).drop(over.deferred.columns))
    names = [each.meta.output_name() for each in columns]
    values = to_arrow(backend.compute_on_host(held.lazy.select(names), "buckets"), "k", key.type)
    buckets = compute_buckets(to_stored(values, key.type, stored_type(key.type, 0)), key.type)
    placed = held.add_columns(pl.DataFrame({"place": task.partition.assign_buckets(buckets)}))
    return backend.partition_by_number(
        placed.lazy.drop(names), "place", task.partition.count, away=_goes_to_files(task, backend)
    )


def _partition_by_range(
    task: StageTask, frame: Frame, received: Mapping[int, Sequence[ComputedFrame]], backend: Backend, host: HostFallback
) -> list[ComputedFrame]:
    """Partitions the rows by the ranges of a sample, which is the same on all workers."""
    count, keys = task.partition.count, task.stage.keys
    if count == 1:
        return [backend.compute(frame.lazy)]
    order = [SortOrder(key.descending, key.nulls_first) for key in task.stage.order]
    assert task.stage.sample is not None
    kinds = [key.type for key in keys]
    parts = [part.to_polars() for part in received[task.stage.sample]]
    sample = pl.concat(parts) if parts else _empty_frame(kinds).collect()
    sampled = [column(place, kind) for place, kind in enumerate(kinds)]
    sample_keys = _add_sort_keys(sample.lazy(), sampled, HostBackend(), host)
    names = [f"k{place}" for place in range(len(keys))]
    last = [not key.nulls_first for key in order]
    descending = [key.descending for key in order]
    ordered = sample_keys.select(names).sort(names, descending=descending, nulls_last=last).collect()
    places = [ordered.height * number // count for number in range(1, count) if ordered.height]
    ends = ordered.select(pl.all().gather(pl.Series(places, dtype=pl.UInt32)))
    # If all ends differ, no row is equal to several.
    spread = task.partition.chunks > 1 and not task.stage.keep_peers and ends.hash_rows().n_unique() < ends.height
    placed = _add_sort_keys(frame.lazy, keys, backend, host)
    return backend.partition_by_range(placed, ends, order, count, spread=spread, away=_goes_to_files(task, backend))


def _add_sort_keys(
    lazy: pl.LazyFrame, keys: Sequence[bound.Expr], backend: Backend, host: HostFallback
) -> pl.LazyFrame:
    """Returns a frame with its rows' sort keys in k0, k1, …"""
    over = ExpressionLowering((None,) * (max(columns_read(tuple(keys)), default=0) + 1), host)
    values = [over.value(key) for key in keys]
    if over.deferred.steps:
        lazy = over.deferred.run(lazy, backend).lazy
    held = [value.expr.cast(physical_columns(value.type)[""]).alias(f"k{place}") for place, value in enumerate(values)]
    return lazy.with_columns(held).drop(over.deferred.columns)


def _empty_frame(types: Sequence[SqlType]) -> pl.LazyFrame:
    schema = {f"c{n}{suffix}": held for n, kind in enumerate(types) for suffix, held in physical_columns(kind).items()}
    return pl.LazyFrame(schema=schema or {NO_COLUMNS: pl.Boolean()})
