"""Evaluates lazy frames with cudf-polars on one GPU; inputs and results stay in GPU memory.

Polars evaluates on the host, from copies of its inputs, a lazy frame that cudf-polars or libcudf rejects. The same
holds for a frame that does not fit into GPU memory even after cached columns are evicted, once the statement's chunks
cannot be smaller. EXPLAIN ANALYZE reports the reason. A frame that does not fit before that, or on the host either,
raises 53200.
"""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import polars as pl
import pylibcudf as plc
from cudf_polars.dsl.ir import IRExecutionContext
from cudf_polars.utils.timer import Timer

from gpudb.engine.gpu.backend.base import (
    ComputedFrame,
    Offloaded,
    Priority,
    SortOrder,
    held_rows,
)
from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.backend.exact_calls import ExactCall
from gpudb.engine.gpu.backend.host import SEED, HostBackend, HostFrame, collect
from gpudb.engine.gpu.backend.library_errors import is_out_of_memory, raise_if_too_large
from gpudb.engine.gpu.backend.nearest import NearestJoin
from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.backend.vector_indexes import Places, VectorIndex
from gpudb.engine.gpu.cache.buffer_pool import BufferPool
from gpudb.engine.gpu.cudf.algorithms.distinct_rows import encode_rows, take_rows
from gpudb.engine.gpu.cudf.algorithms.exact_kernels import ExactKernels
from gpudb.engine.gpu.cudf.algorithms.integers import (
    INT32,
    INT64,
    SUB,
    apply_operator,
    cast,
    int64_scalar,
    range_positions,
)
from gpudb.engine.gpu.cudf.algorithms.nearest import join_nearest, take_places
from gpudb.engine.gpu.cudf.algorithms.top_rows import find_top
from gpudb.engine.gpu.cudf.algorithms.vector_indexes import build_on_gpu
from gpudb.engine.gpu.cudf.columns.convert import build_frame, data_type, to_device, to_host
from gpudb.engine.gpu.cudf.columns.device_texts import DeviceTexts
from gpudb.engine.gpu.cudf.columns.frame import CudfFrame
from gpudb.engine.gpu.cudf.columns.pinned_memory import PinnedFrame, offload
from gpudb.engine.gpu.cudf.columns.slicing import copy_small_slices, estimate_own_bytes
from gpudb.engine.gpu.cudf.memory.streams import (
    current_stream,
    run_synchronized,
    set_priority,
    synchronize,
    synchronize_all,
)
from gpudb.engine.gpu.cudf.translation import dialect
from gpudb.engine.gpu.cudf.translation.declared_types import cast_to_declared
from gpudb.engine.gpu.cudf.translation.translation import reads_few_rows, translate
from gpudb.engine.gpu.exchange.buffers import concat_on_host
from gpudb.engine.gpu.limits import HOST_BYTES
from gpudb.errors import OutOfMemory
from gpudb.vector_indexes.definition import IndexDefinition

_REJECTIONS = (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError, pl.exceptions.PolarsError)
"""Errors that libcudf raises, at run time, for types and sizes that an operation does not support."""
_FULL = "the GPU's memory is full"
_HOST = HostBackend()
_FEW_PARTS = 8
_T = TypeVar("_T")
_OPTIMIZATIONS = (pl.QueryOptFlags(), pl.QueryOptFlags(predicate_pushdown=False, slice_pushdown=False))
"""Polars' optimizer turns a filtered cross join into a join that libcudf may lack: the second try keeps the filter."""


class _BetweenNodes(Timer):  # type: ignore[misc]
    """Stops an evaluation between two of its nodes: cudf-polars tells a timer of each that it has evaluated."""

    def store(self, start: int, end: int, name: str) -> None:
        """See `Timer`; keeps nothing. Raises StatementEnded."""
        check_stop()


_BETWEEN_NODES = _BetweenNodes(0)


class CudfBackend:
    """The backend on this process's GPU; frames are complete when returned, so that any thread may read them."""

    prefilters_joins = False
    piece_bytes = 1 << 31

    def __init__(self, blocks: BufferPool | None = None, few_rows: int = 0) -> None:
        """`blocks` is the pool of page-locked host memory to which rows are offloaded.

        A frame all of whose sources have at most `few_rows` rows is computed on the host.
        """
        dialect.install()
        self._state = _StatementState()
        self._pool = blocks
        self._exact = ExactKernels()
        self._texts = DeviceTexts()
        self._few_rows = few_rows
        self.shrink: Callable[[], None] = lambda: None
        """Evicts what can be read again."""

    def set_priority(self, priority: Priority) -> None:
        """See `Backend`: each priority has its own stream."""
        set_priority(priority)

    @property
    def evaluates(self) -> bool:
        """Whether the calling thread is evaluating a frame with cudf-polars: then sources are read in place."""
        return self._state.evaluates

    def compute(self, lazy: pl.LazyFrame) -> CudfFrame | HostFrame:
        """See `Backend`; raises 53200 where GPU memory is too small.

        Few rows are computed by Polars: a GPU's operators take milliseconds, however few rows they have.
        """
        return self._compute(lazy, self._few_rows)

    def _compute_on_gpu(self, lazy: pl.LazyFrame) -> CudfFrame:
        """Computes a lazy frame, however few rows it has."""
        made = self._compute(lazy, 0)
        assert isinstance(made, CudfFrame)
        return made

    def _compute(self, lazy: pl.LazyFrame, few_rows: int) -> CudfFrame | HostFrame:
        check_stop()
        held = held_rows(lazy)
        if isinstance(held, CudfFrame):
            return held.on_host if few_rows and held.rows <= few_rows else held
        if isinstance(held, HostFrame) and few_rows and held.rows <= few_rows:
            return held
        refused: list[str] = []
        for flags in _OPTIMIZATIONS:
            node, refused = translate(lazy, flags)
            if refused:
                continue
            if few_rows and reads_few_rows(node, few_rows):
                return HostFrame(collect(lazy))
            try:
                return self._evaluate(node)
            except MemoryError as error:
                if not self._state.last:
                    raise OutOfMemory("out of GPU memory", detail=str(error)[:200]) from error
                refused = [_FULL]
                break
            except (OverflowError, *_REJECTIONS) as error:
                if not self._state.last:
                    raise_if_too_large(error)
                refused = [" ".join(str(error).split())[:200] or type(error).__name__]
                break
        self._state.reasons += refused
        try:
            return self.from_host(collect(lazy))
        except MemoryError as error:
            raise OutOfMemory("out of GPU memory", detail=str(error)[:200]) from error

    def _evaluate(self, node: Any) -> CudfFrame:
        """Evaluates a node; raises MemoryError where GPU memory is too small even after room was made."""
        return CudfFrame(self.retry_with_memory(lambda: self._evaluate_node(node)), self)

    def _evaluate_node(self, node: Any) -> Any:
        """Returns a node's result in the types that it declares."""
        self._state.evaluates = True
        try:
            made = node.evaluate(
                cache={}, timer=_BETWEEN_NODES, context=IRExecutionContext(get_cuda_stream=current_stream)
            )
            return copy_small_slices(cast_to_declared(made, node.schema))
        finally:
            self._state.evaluates = False
            synchronize()  # after a failure, too: its sources may be freed now

    def compute_on_host(self, lazy: pl.LazyFrame, why: str) -> pl.DataFrame:
        """See `Backend`."""
        self._state.reasons.append(why)
        return self.compute(lazy).to_polars()

    def map_distinct(
        self, rows: ComputedFrame, names: Sequence[str], function: Callable[[pl.DataFrame], pl.DataFrame], why: str
    ) -> pl.DataFrame | ComputedFrame:
        """See `Backend`."""
        self._state.reasons.append(why)
        if not isinstance(rows, CudfFrame):
            return _HOST.map_distinct(rows, names, function, why)
        distinct, codes = self.retry_with_memory(lambda: encode_rows(rows.table.select(list(names))))
        made = to_device(function(to_host(distinct)))
        return CudfFrame(self.retry_with_memory(lambda: take_rows(made, codes)), self)

    def decode_texts(self, lazy: pl.LazyFrame, texts: Mapping[str, Dictionary]) -> pl.LazyFrame:
        """See `Backend`."""
        return self.decode_computed(lazy, texts).lazy

    def decode_computed(self, lazy: pl.LazyFrame, texts: Mapping[str, Dictionary]) -> CudfFrame | HostFrame:
        """Computes a lazy frame, and decodes its codes in named columns."""
        rows = self.compute(lazy)
        if isinstance(rows, CudfFrame):
            return self.decode_frame(rows, texts)
        return _HOST.compute(_HOST.decode_texts(rows.lazy, texts))

    def decode_frame(self, rows: CudfFrame, texts: Mapping[str, Dictionary]) -> CudfFrame:
        """Decodes the codes of rows on the GPU in named columns."""
        return CudfFrame(self.retry_with_memory(lambda: self._texts.decode(rows.table, texts)), self)

    def compute_exact(self, lazy: pl.LazyFrame, calls: Sequence[ExactCall]) -> CudfFrame | HostFrame:
        """See `Backend`."""
        computed = self.compute(lazy)
        if isinstance(computed, HostFrame):
            return _HOST.compute_exact(computed.lazy, calls)
        operands = computed.table

        def work() -> Any:
            current_stream()
            try:
                return self._exact.compute(operands, calls)
            finally:
                synchronize()

        return CudfFrame(self.retry_with_memory(work), self)

    def from_host(self, frame: pl.DataFrame) -> CudfFrame:
        """See `Backend`; raises MemoryError where GPU memory is too small even after room was made."""
        return CudfFrame(self.retry_with_memory(lambda: to_device(frame)), self)

    def prefilter_top(
        self, lazy: pl.LazyFrame, key: pl.Expr, order: SortOrder, count: int, *, again: bool
    ) -> pl.LazyFrame:
        """See `Backend`: a GPU sorts integers in less time than two requests to it take, but not many distances."""
        rows = self.compute(lazy) if key.meta.is_column() and not order.nulls_first else None
        if not isinstance(rows, CudfFrame):
            return lazy
        name, table = key.meta.output_name(), rows.table

        def work() -> Any:
            places = find_top(
                self._exact.start_top_rows, table.column_map[name].obj, count, descending=order.descending
            )
            return None if places is None else take_places(table, places)

        top = self.retry_with_memory(lambda: run_synchronized(work))
        return rows.lazy if top is None else self.compute(CudfFrame(top, self).lazy).lazy

    def partition_by_hash(
        self, lazy: pl.LazyFrame, keys: Sequence[pl.Expr], count: int, *, away: bool = False
    ) -> list[ComputedFrame]:
        """See `Backend`."""
        if count == 1:
            return [self.compute(lazy)]
        named = [key.alias(f"key{number}") for number, key in enumerate(keys)]
        table = self._compute_on_gpu(lazy.with_columns(named)).table
        width = table.num_columns - len(keys)
        positions = list(range(width, width + len(keys)))
        moved, starts = plc.partitioning.hash_partition(
            table.table, positions, count, seed=SEED, stream=current_stream()
        )
        return self._split_at(table.columns[:width], moved.columns()[:width], [*starts[:count], table.num_rows], away)

    def partition_by_number(
        self, lazy: pl.LazyFrame, place: str, count: int, *, away: bool = False
    ) -> list[ComputedFrame]:
        """See `Backend`."""
        table = self._compute_on_gpu(lazy).table
        positions = cast(table.column_map[place].obj, INT32)
        return self._partition(table, positions, [place], count, away)

    def partition_by_range(
        self,
        lazy: pl.LazyFrame,
        ends: pl.DataFrame,
        order: Sequence[SortOrder],
        count: int,
        *,
        spread: bool = False,
        away: bool = False,
    ) -> list[ComputedFrame]:
        """See `Backend`."""
        table, names = self._compute_on_gpu(lazy).table, ends.columns
        edges = plc.Table([each.obj for each in to_device(ends).columns])
        keys = plc.Table([table.column_map[name].obj for name in names])
        positions = range_positions(keys, edges, order, spread=spread)
        return self._partition(table, positions, names, count, away)

    def _partition(
        self, table: Any, positions: Any, without: Sequence[str], count: int, away: bool
    ) -> list[ComputedFrame]:
        """Partitions a table's rows by their part numbers, and drops the columns in `without`."""
        kept = [each for each in table.columns if each.name not in without]
        rows = plc.Table([each.obj for each in kept])
        moved, starts = plc.partitioning.partition(rows, positions, count, stream=current_stream())
        return self._split_at(kept, moved.columns(), [*starts[:count], table.num_rows], away)

    def _split_at(
        self, like: Sequence[Any], moved: Sequence[Any], edges: Sequence[int], away: bool
    ) -> list[ComputedFrame]:
        """Splits columns at edges; names and types are those of `like`.

        Parts that go to the host are copied there at once, not one by one; so are many parts of a few bytes.
        """
        names, kinds = [each.name for each in like], [each.dtype for each in like]
        runs = list(itertools.pairwise(edges))
        synchronize()
        small = len(runs) > _FEW_PARTS and sum(map(estimate_own_bytes, moved)) < len(runs) * HOST_BYTES
        if away or small:
            whole = to_host(build_frame(moved, names, kinds, edges[-1]))
            return [HostFrame(whole.slice(first, last - first)) for first, last in runs]
        kept = plc.Table(moved, num_rows=edges[-1])
        cut = plc.copying.slice(kept, [edge for run in runs for edge in run], stream=current_stream())
        return [CudfFrame(build_frame(part.columns(), names, kinds, part.num_rows()), self) for part in cut]

    def repeat_rows(self, rows: ComputedFrame, times: str, number: str) -> CudfFrame | HostFrame:
        """See `Backend`."""
        if isinstance(rows, HostFrame):
            return _HOST.repeat_rows(rows, times, number)
        assert isinstance(rows, CudfFrame)
        table = rows.table
        counts = cast(table.column_map[times].obj, INT64)
        firsts = plc.reduce.scan(counts, plc.aggregation.sum(), plc.reduce.ScanType.EXCLUSIVE, stream=current_stream())
        repeated = plc.filling.repeat(plc.Table([*table.table.columns(), firsts]), counts, stream=current_stream())
        *columns, starts = repeated.columns()
        positions = plc.filling.sequence(repeated.num_rows(), int64_scalar(0), int64_scalar(1), stream=current_stream())
        numbers = apply_operator(positions, starts, SUB)
        synchronize()
        every = [
            *table.columns,
            build_frame([numbers], [number], [data_type(pl.Int64())], repeated.num_rows()).columns[0],
        ]
        names, kinds = [each.name for each in every], [each.dtype for each in every]
        return CudfFrame(build_frame([*columns, numbers], names, kinds, repeated.num_rows()), self)

    def join_nearest(self, left: ComputedFrame, right: ComputedFrame, join: NearestJoin) -> CudfFrame | HostFrame:
        """See `Backend`."""
        if isinstance(left, HostFrame) and isinstance(right, HostFrame):
            return _HOST.join_nearest(left, right, join)
        sides = [each if isinstance(each, CudfFrame) else self.from_host(each.to_polars()) for each in (left, right)]

        def work() -> Any:
            return run_synchronized(join_nearest, *(each.table for each in sides), join)

        return CudfFrame(self.retry_with_memory(work), self)

    def take_rows(self, lazy: pl.LazyFrame, places: Places) -> CudfFrame | HostFrame:
        """See `Backend`."""
        rows = self.compute(lazy)
        if isinstance(rows, HostFrame):
            return _HOST.take_rows(rows.lazy, places)
        return CudfFrame(self.retry_with_memory(lambda: run_synchronized(take_places, rows.table, places)), self)

    def build_vector_index(self, lazy: pl.LazyFrame, definition: IndexDefinition) -> VectorIndex | None:
        """See `Backend`."""
        rows = self.compute(lazy)
        if isinstance(rows, HostFrame):
            return _HOST.build_vector_index(rows.lazy, definition)
        (column,) = (each.obj for each in rows.table.columns)
        return run_synchronized(build_on_gpu, column, definition)

    @property
    def can_offload(self) -> bool:
        """See `Backend`."""
        return self._pool is not None and self._pool.available > 0

    def offload(self, rows: ComputedFrame) -> Offloaded | None:
        """See `Backend`."""
        blocks = self._pool
        if blocks is None or not isinstance(rows, CudfFrame) or not rows.rows or rows.bytes > blocks.available:
            return None
        try:
            return offload(rows.table, blocks)
        except (MemoryError, *_REJECTIONS):
            return None

    def reload(self, parts: Sequence[ComputedFrame | Offloaded]) -> CudfFrame | None:
        """See `Backend`; None as well for what must be concatenated on the host."""
        if not any(isinstance(each, PinnedFrame) for each in parts):
            return None

        def work() -> Any:
            current_stream()
            try:
                return _concatenate([each for each in _to_gpu_tables(parts) if each.num_rows])
            finally:
                synchronize()

        try:
            return CudfFrame(self.retry_with_memory(work), self)
        except (MemoryError, OverflowError, *_REJECTIONS):
            return None

    def free_memory(self) -> None:
        """See `Backend`."""
        self.shrink()
        self._settle()

    def retry_with_memory(self, work: Callable[[], _T]) -> _T:
        """See `Backend`: memory that other threads have freed is available once their streams are complete."""
        for wait in (self._settle, self.free_memory):
            try:
                return work()
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
            # Here the attempt's references are released.
            wait()
        try:
            return work()
        except RuntimeError as error:
            if is_out_of_memory(error):
                raise MemoryError(str(error)[:200]) from error
            raise

    def _settle(self) -> None:
        gc.collect()
        synchronize_all()

    def set_final_attempt(self, last: bool) -> None:
        """See `Backend`."""
        self._state.last = last

    def take_host_steps(self) -> tuple[str, ...]:
        """See `Backend`."""
        reasons, self._state.reasons = tuple(dict.fromkeys(self._state.reasons)), []
        return reasons


def _to_gpu_tables(parts: Sequence[ComputedFrame | Offloaded]) -> Iterator[Any]:
    """Yields tables in GPU memory in order; consecutive host parts are concatenated first."""
    for _, some in itertools.groupby(parts, lambda each: isinstance(each, PinnedFrame)):
        together = list(some)
        away = [each for each in together if isinstance(each, PinnedFrame)]
        yield from [each.frame() for each in away] if away else [to_device(concat_on_host(together))]


def _concatenate(tables: Sequence[Any]) -> Any:
    """Concatenates at least one table; raises TypeError where types differ."""
    first, *more = tables
    if not more:
        return first
    made = plc.concatenate.concatenate([each.table for each in tables], stream=current_stream())
    kinds = [each.dtype for each in first.columns]
    return build_frame(made.columns(), first.column_names, kinds, made.num_rows())


class _StatementState(threading.local):
    """A thread's statement: why it ran on the host, `last` (see `Backend.last`), and whether it `evaluates`."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.last = False
        self.evaluates = False
