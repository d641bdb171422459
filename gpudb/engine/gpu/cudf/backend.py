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
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar

import polars as pl
import pylibcudf as plc
from cudf_polars.dsl.ir import IRExecutionContext
from cudf_polars.dsl.translate import Translator
from cudf_polars.utils.sorting import sort_order
from polars.io.plugins import register_io_source

from gpudb.engine.gpu.backend.base import (
    FEW,
    SEED,
    TURN,
    TURNS,
    ComputedFrame,
    DeviceColumn,
    DictionaryColumn,
    HostFrame,
    Offloaded,
    SortOrder,
    beyond_calendar,
    collect,
)
from gpudb.engine.gpu.backend.priority import Priority
from gpudb.engine.gpu.cache.buffer_pool import BufferPool
from gpudb.engine.gpu.cudf import dialect
from gpudb.engine.gpu.cudf.arrays import KINDS, are_narrow, coded, narrowed, valid_of, values_of
from gpudb.engine.gpu.cudf.convert import data_type, of, to_device, to_host
from gpudb.engine.gpu.cudf.declared_types import declared
from gpudb.engine.gpu.cudf.device_memory import is_full
from gpudb.engine.gpu.cudf.pinned_memory import Locked, put
from gpudb.engine.gpu.cudf.slicing import apart, own_bytes
from gpudb.engine.gpu.cudf.streams import complete, complete_all, current, enter, taken
from gpudb.engine.gpu.exchange.buffers import concat_on_host
from gpudb.engine.gpu.limits import FEW_BYTES
from gpudb.errors import OutOfMemory

_ENGINE = pl.GPUEngine(executor="in-memory", raise_on_fail=True)
_REFUSED = (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError, pl.exceptions.PolarsError)
"""Errors that libcudf raises, at run time, for types and sizes that an operation does not support."""
_FULL = "the GPU's memory is full"
_FEW_PARTS = 8
_T = TypeVar("_T")
_TRIES = (pl.QueryOptFlags(), pl.QueryOptFlags(predicate_pushdown=False, slice_pushdown=False))
"""Polars' optimizer turns a filtered cross join into a join that libcudf may lack: the second try keeps the filter."""


_PLACE, _SMALL = plc.DataType(plc.TypeId.INT64), plc.DataType(plc.TypeId.INT32)
_ADD, _SUB, _MOD = (getattr(plc.binaryop.BinaryOperator, name) for name in ("ADD", "SUB", "MOD"))


class CudfHeld:
    """A frame in the GPU's memory."""

    def __init__(self, table: Any, frames: CudfFrames) -> None:
        self.table = table
        self._frames = frames

    @cached_property
    def lazy(self) -> pl.LazyFrame:
        """See `ComputedFrame`."""
        schema = {column.name: column.dtype.polars_type for column in self.table.columns}
        return register_io_source(_Source(self.table, self._frames), schema=schema, is_pure=True)

    @property
    def rows(self) -> int:
        """See `ComputedFrame`."""
        return int(self.table.num_rows)

    @property
    def bytes(self) -> int:
        """See `ComputedFrame`."""
        return sum(own_bytes(column) for column in self.table.table.columns())

    def to_polars(self) -> pl.DataFrame:
        """See `ComputedFrame`."""
        return to_host(self.table)

    @cached_property
    def _few(self) -> pl.DataFrame:
        return self.to_polars()

    def column(self, name: str) -> pl.Series:
        """See `ComputedFrame`."""
        return self._few[name] if self.rows <= FEW else to_host(self.table.select([name]))[name]

    def device_column(self, name: str) -> DeviceColumn | None:
        """See `ComputedFrame`."""
        if self.rows <= FEW:
            return None
        held = self.table.column_map[name].obj
        current()
        valid = valid_of(held)
        if held.type().id() in KINDS:
            return values_of(held), valid
        if held.type().id() == plc.TypeId.DECIMAL128 and (narrow := narrowed(held, valid)) is not None:
            return narrow, valid
        return None

    def dictionary_column(self, name: str) -> DictionaryColumn | None:
        """See `ComputedFrame`."""
        if self.rows <= FEW:
            return None
        return coded(self.table.column_map[name].obj)

    def count_distinct(self, name: str) -> int:
        """See `ComputedFrame`."""
        if self.rows <= FEW:
            return self._few[name].n_unique()
        column = self.table.column_map[name].obj
        nulls, nans = plc.types.NullPolicy.INCLUDE, plc.types.NanPolicy.NAN_IS_VALID
        return int(plc.reduce.distinct_count(column, nulls, nans, stream=current()))

    def add_columns(self, columns: pl.DataFrame | ComputedFrame) -> CudfHeld:
        """See `ComputedFrame`."""
        if isinstance(columns, CudfHeld):
            more = columns.table
        else:
            more = to_device(columns if isinstance(columns, pl.DataFrame) else columns.to_polars())
        names = set(more.column_names)
        every = [*(each for each in self.table.columns if each.name not in names), *more.columns]
        made = of([c.obj for c in every], [c.name for c in every], [c.dtype for c in every], self.rows)
        return CudfHeld(made, self._frames)

    def max_integer(self, name: str) -> int | None:
        """See `ComputedFrame`."""
        return self._reduced(name, plc.aggregation.max())

    def min_integer(self, name: str) -> int | None:
        """See `ComputedFrame`."""
        return self._reduced(name, plc.aggregation.min())

    def _reduced(self, name: str, how: Any) -> int | None:
        if not self.rows:
            return None
        column = self.table.column_map[name].obj
        found = plc.reduce.reduce(column, how, column.type(), stream=current()).to_py(stream=current())
        return None if found is None else int(found)

    def fits_int64(self, name: str) -> bool:
        """See `ComputedFrame`."""
        if not self.rows:
            return True
        column = self.table.column_map[name].obj
        if column.type().id() != plc.TypeId.DECIMAL128:
            return True
        current()
        return are_narrow(column)

    def null_count(self, name: str) -> int:
        """See `ComputedFrame`."""
        return int(self.table.column_map[name].obj.null_count())


class _Source:
    """A frame on the GPU as a source of lazy frames: read in place by cudf-polars, copied for Polars."""

    def __init__(self, table: Any, frames: CudfFrames) -> None:
        self._table = table
        self._frames = frames

    def __call__(
        self, columns: list[str] | None, predicate: pl.Expr | None, limit: int | None, batch: int | None
    ) -> Iterator[Any]:
        table = self._table if columns is None else self._table.select(columns)
        if columns is not None and not columns:
            table = of([], [], [], self._table.num_rows)
        if self._frames.evaluates:
            yield taken(table)
            return
        frame = to_host(table)
        frame = frame if predicate is None else frame.filter(predicate)
        yield frame if limit is None else frame.head(limit)


class CudfFrames:
    """The backend on this process's GPU; frames are complete when returned, so that any thread may read them."""

    prefilters_joins = False

    def __init__(self, blocks: BufferPool | None = None) -> None:
        """`blocks` is the pool of page-locked host memory to which rows are offloaded."""
        dialect.install()
        self._told = _Told()
        self._blocks = blocks
        self.shrink: Callable[[], None] = lambda: None
        """Evicts what can be read again."""

    def set_priority(self, lane: Priority) -> None:
        """See `Backend`: each priority has its own stream."""
        enter(lane)

    @property
    def evaluates(self) -> bool:
        """Whether the calling thread is evaluating a frame with cudf-polars: then sources are read in place."""
        return self._told.evaluates

    def compute(self, lazy: pl.LazyFrame) -> CudfHeld:
        """See `Backend`; raises 53200 where GPU memory is too small."""
        refused: list[str] = []
        for flags in _TRIES:
            node, refused = _translated(lazy, flags)
            if refused:
                continue
            try:
                return self._evaluated(node)
            except MemoryError as error:
                if not self._told.last:
                    raise OutOfMemory("out of GPU memory", detail=str(error)[:200]) from error
                refused = [_FULL]
                break
            except _REFUSED as error:
                refused = [" ".join(str(error).split())[:200] or type(error).__name__]
                break
        self._told.reasons += refused
        try:
            return self.from_host(collect(lazy))
        except MemoryError as error:
            raise OutOfMemory("out of GPU memory", detail=str(error)[:200]) from error

    def _evaluated(self, node: Any) -> CudfHeld:
        """Evaluates a node; raises MemoryError where GPU memory is too small even after room was made."""
        return CudfHeld(self.retry_with_memory(lambda: self._rows_of(node)), self)

    def _rows_of(self, node: Any) -> Any:
        """Returns a node's result in the types that it declares."""
        self._told.evaluates = True
        try:
            made = node.evaluate(cache={}, timer=None, context=IRExecutionContext(get_cuda_stream=current))
            return apart(declared(made, node.schema))
        finally:
            self._told.evaluates = False
            complete()  # after a failure, too: its sources may be freed now

    def compute_on_host(self, lazy: pl.LazyFrame, why: str) -> pl.DataFrame:
        """See `Backend`."""
        self._told.reasons.append(why)
        return self.compute(lazy).to_polars()

    def from_host(self, frame: pl.DataFrame) -> CudfHeld:
        """See `Backend`; raises MemoryError where GPU memory is too small even after room was made."""
        return CudfHeld(self.retry_with_memory(lambda: to_device(frame)), self)

    def prefilter_top(
        self, lazy: pl.LazyFrame, key: pl.Expr, order: SortOrder, count: int, *, again: bool
    ) -> pl.LazyFrame:
        """See `Backend`: a GPU sorts all rows in less time than two requests to it take."""
        return lazy

    def partition_by_hash(
        self, lazy: pl.LazyFrame, keys: Sequence[pl.Expr], count: int, *, away: bool = False
    ) -> list[ComputedFrame]:
        """See `Backend`."""
        if count == 1:
            return [self.compute(lazy)]
        named = [key.alias(f"key{number}") for number, key in enumerate(keys)]
        table = self.compute(lazy.with_columns(named)).table
        width = table.num_columns - len(keys)
        places = list(range(width, width + len(keys)))
        moved, starts = plc.partitioning.hash_partition(table.table, places, count, seed=SEED, stream=current())
        return self._parts(table.columns[:width], moved.columns()[:width], [*starts[:count], table.num_rows], away)

    def partition_by_number(
        self, lazy: pl.LazyFrame, place: str, count: int, *, away: bool = False
    ) -> list[ComputedFrame]:
        """See `Backend`."""
        table = self.compute(lazy).table
        places = _cast(table.column_map[place].obj, _SMALL)
        return self._by_place(table, places, [place], count, away)

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
        table, names = self.compute(lazy).table, ends.columns
        edges = plc.Table([each.obj for each in to_device(ends).columns])
        keys = plc.Table([table.column_map[name].obj for name in names])
        nulls_last = [not key.nulls_first for key in order]
        by = sort_order([key.descending for key in order], nulls_last=nulls_last, num_keys=len(names))
        places = plc.search.lower_bound(edges, keys, *by, stream=current())
        if spread:
            first = _cast(places, _PLACE)
            last = _cast(plc.search.upper_bound(edges, keys, *by, stream=current()), _PLACE)
            zero, one, turn, turns = map(_place, (0, 1, TURN, TURNS))
            turned = _of(plc.filling.sequence(table.num_rows, zero, turn, stream=current()), turns, _MOD)
            turns = _of(turned, _of(_of(last, first, _SUB), one, _ADD), _MOD)
            places = _cast(_of(first, turns, _ADD), _SMALL)
        return self._by_place(table, places, names, count, away)

    def _by_place(self, table: Any, places: Any, without: Sequence[str], count: int, away: bool) -> list[ComputedFrame]:
        """Partitions a table's rows by their part numbers, and drops the columns in `without`."""
        kept = [each for each in table.columns if each.name not in without]
        rows = plc.Table([each.obj for each in kept])
        moved, starts = plc.partitioning.partition(rows, places, count, stream=current())
        return self._parts(kept, moved.columns(), [*starts[:count], table.num_rows], away)

    def _parts(
        self, like: Sequence[Any], moved: Sequence[Any], edges: Sequence[int], away: bool
    ) -> list[ComputedFrame]:
        """Splits columns at edges; names and types are those of `like`.

        Parts that go to the host are copied there at once, not one by one; so are many parts of a few bytes.
        """
        names, kinds = [each.name for each in like], [each.dtype for each in like]
        runs = list(itertools.pairwise(edges))
        complete()
        small = len(runs) > _FEW_PARTS and sum(map(own_bytes, moved)) < len(runs) * FEW_BYTES
        if away or small:
            whole = to_host(of(moved, names, kinds, edges[-1]))
            return [HostFrame(whole.slice(first, last - first)) for first, last in runs]
        kept = plc.Table(moved, num_rows=edges[-1])
        cut = plc.copying.slice(kept, [edge for run in runs for edge in run], stream=current())
        return [CudfHeld(of(part.columns(), names, kinds, part.num_rows()), self) for part in cut]

    def repeat_rows(self, rows: ComputedFrame, times: str, number: str) -> CudfHeld:
        """See `Backend`."""
        assert isinstance(rows, CudfHeld)
        table = rows.table
        counts = _cast(table.column_map[times].obj, _PLACE)
        firsts = plc.reduce.scan(counts, plc.aggregation.sum(), plc.reduce.ScanType.EXCLUSIVE, stream=current())
        repeated = plc.filling.repeat(plc.Table([*table.table.columns(), firsts]), counts, stream=current())
        *columns, starts = repeated.columns()
        places = plc.filling.sequence(repeated.num_rows(), _place(0), _place(1), stream=current())
        numbers = _of(places, starts, _SUB)
        complete()
        every = [*table.columns, of([numbers], [number], [data_type(pl.Int64())], repeated.num_rows()).columns[0]]
        names, kinds = [each.name for each in every], [each.dtype for each in every]
        return CudfHeld(of([*columns, numbers], names, kinds, repeated.num_rows()), self)

    @property
    def can_offload(self) -> bool:
        """See `Backend`."""
        return self._blocks is not None and self._blocks.available > 0

    def offload(self, rows: ComputedFrame) -> Offloaded | None:
        """See `Backend`."""
        blocks = self._blocks
        if blocks is None or not isinstance(rows, CudfHeld) or not rows.rows or rows.bytes > blocks.available:
            return None
        try:
            return put(rows.table, blocks)
        except (MemoryError, *_REFUSED):
            return None

    def reload(self, parts: Sequence[ComputedFrame | Offloaded]) -> CudfHeld | None:
        """See `Backend`; None as well for what must be concatenated on the host."""
        if not any(isinstance(each, Locked) for each in parts):
            return None

        def work() -> Any:
            current()
            try:
                return _joined([each for each in _there(parts) if each.num_rows])
            finally:
                complete()

        try:
            return CudfHeld(self.retry_with_memory(work), self)
        except (MemoryError, OverflowError, *_REFUSED):
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
                if not is_full(error):
                    raise
            # Here the attempt's references are released.
            wait()
        try:
            return work()
        except RuntimeError as error:
            if is_full(error):
                raise MemoryError(str(error)[:200]) from error
            raise

    def _settle(self) -> None:
        gc.collect()
        complete_all()

    def set_final_attempt(self, last: bool) -> None:
        """See `Backend`."""
        self._told.last = last

    def take_host_steps(self) -> tuple[str, ...]:
        """See `Backend`."""
        told, self._told.reasons = tuple(dict.fromkeys(self._told.reasons)), []
        return told


def _there(parts: Sequence[ComputedFrame | Offloaded]) -> Iterator[Any]:
    """Yields tables in GPU memory in order; consecutive host parts are concatenated first."""
    for _, some in itertools.groupby(parts, lambda each: isinstance(each, Locked)):
        together = list(some)
        away = [each for each in together if isinstance(each, Locked)]
        yield from [each.frame() for each in away] if away else [to_device(concat_on_host(together))]


def _joined(tables: Sequence[Any]) -> Any:
    """Concatenates at least one table; raises TypeError where types differ."""
    first, *more = tables
    if not more:
        return first
    made = plc.concatenate.concatenate([each.table for each in tables], stream=current())
    kinds = [each.dtype for each in first.columns]
    return of(made.columns(), first.column_names, kinds, made.num_rows())


def _of(left: Any, right: Any, operator: Any) -> Any:
    """Applies an operator to two int64 columns, or to a column and a scalar."""
    return plc.binaryop.binary_operation(left, right, operator, _PLACE, stream=current())


def _cast(column: Any, kind: Any) -> Any:
    return plc.unary.cast(column, kind, stream=current())


def _place(value: int) -> Any:
    return plc.Scalar.from_py(value, _PLACE, stream=current())


class _Told(threading.local):
    """A thread's statement: why it ran on the host, `last` (see `Backend.last`), and whether it `evaluates`."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.last = False
        self.evaluates = False


def _translated(lazy: pl.LazyFrame, flags: pl.QueryOptFlags) -> tuple[Any, list[str]]:
    """Translates a lazy frame, optimized by Polars, to a cudf-polars node; returns the translator's errors, too."""
    found: list[tuple[Any, list[str]]] = []

    def after(plan: Any, duration: int | None) -> None:
        translator = Translator(plan, _ENGINE)
        node = translator.translate_ir()
        found.append((node, list(dict.fromkeys(f"{error}"[:200] for error in translator.errors))))
        # Polars itself computes nothing.
        plan.set_udf(lambda *_: pl.DataFrame())

    try:
        lazy.collect(engine="in-memory", optimizations=flags, post_opt_callback=after)  # type: ignore[call-overload]
    except pl.exceptions.PanicException as panic:
        raise beyond_calendar() from panic
    return found[0]
