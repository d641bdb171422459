"""The host backend: computes lazy frames with Polars, in this process's memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.base import (
    TURN,
    TURNS,
    ComputedFrame,
    DeviceColumn,
    DictionaryColumn,
    Offloaded,
    Priority,
    SortOrder,
    attach_rows,
    held_rows,
)
from gpudb.engine.gpu.backend.dictionary import Dictionary, take
from gpudb.engine.gpu.backend.exact_calls import ExactCall, compute_exact
from gpudb.engine.gpu.backend.library_errors import raise_if_too_large
from gpudb.engine.gpu.backend.nearest import Array, NearestJoin, find_nearest, order_integers
from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.backend.vector_indexes import Places, VectorIndex, build_on_host
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.vector_indexes.definition import IndexDefinition

_T = TypeVar("_T")
_WORTH = 10
"""Minimum ratio of all rows to the requested first ones for which a search for the first ones pays before a sort."""
SEED = 20261
"""Seed of the hash that partitions rows over workers; all workers must use the same one."""
_FEW = 8
_NUMBER = "number"


@dataclass(frozen=True, slots=True)
class HostFrame:
    """A computed frame in this process's memory."""

    table: pl.DataFrame

    @property
    def lazy(self) -> pl.LazyFrame:
        """See `ComputedFrame`."""
        return attach_rows(self.table.lazy(), lambda: self)

    @property
    def rows(self) -> int:
        """See `ComputedFrame`."""
        return self.table.height

    @property
    def bytes(self) -> int:
        """See `ComputedFrame`."""
        return int(self.table.estimated_size())

    def to_polars(self) -> pl.DataFrame:
        """See `ComputedFrame`."""
        return self.table

    def column(self, name: str) -> pl.Series:
        """See `ComputedFrame`."""
        return self.table[name]

    def device_column(self, name: str) -> DeviceColumn | None:
        """See `ComputedFrame`."""
        return None

    def dictionary_column(self, name: str) -> DictionaryColumn | None:
        """See `ComputedFrame`."""
        return None

    def count_distinct(self, name: str) -> int:
        """See `ComputedFrame`."""
        return self.table[name].n_unique()

    def add_columns(self, columns: pl.DataFrame | ComputedFrame) -> HostFrame:
        """See `ComputedFrame`."""
        more = columns if isinstance(columns, pl.DataFrame) else columns.to_polars()
        return HostFrame(self.table.with_columns(more.get_columns()))

    def dtype(self, name: str) -> pl.DataType:
        """See `ComputedFrame`."""
        return self.table[name].dtype

    def select(self, names: Mapping[str, str]) -> HostFrame:
        """See `ComputedFrame`."""
        return HostFrame(pl.DataFrame([self.table[source].alias(name) for name, source in names.items()]))

    def max_integer(self, name: str) -> int | None:
        """See `ComputedFrame`."""
        found: int | None = self.table[name].max()  # type: ignore[assignment]
        return found

    def min_integer(self, name: str) -> int | None:
        """See `ComputedFrame`."""
        found: int | None = self.table[name].min()  # type: ignore[assignment]
        return found

    def fits_int64(self, name: str) -> bool:
        """See `ComputedFrame`."""
        least, largest = self.min_integer(name), self.max_integer(name)
        return least is None or largest is None or (least >= -(2**63) and largest < 2**63)

    def null_count(self, name: str) -> int:
        """See `ComputedFrame`."""
        return self.table[name].null_count()


class HostBackend:
    """The backend that computes with Polars on this process's processors."""

    prefilters_joins = True
    piece_bytes = 1 << 28
    can_offload = False

    def set_priority(self, priority: Priority) -> None:
        """See `Backend`. No-op: processors have no priorities."""

    def compute(self, lazy: pl.LazyFrame) -> HostFrame:
        """See `Backend`."""
        held = held_rows(lazy)
        return held if isinstance(held, HostFrame) else HostFrame(collect(lazy))

    def compute_on_host(self, lazy: pl.LazyFrame, why: str) -> pl.DataFrame:
        """See `Backend`."""
        return collect(lazy)

    def map_distinct(
        self, rows: ComputedFrame, names: Sequence[str], function: Callable[[pl.DataFrame], pl.DataFrame], why: str
    ) -> pl.DataFrame:
        """See `Backend`: rows that are estimated to be mostly distinct are evaluated one by one."""
        frame = rows.to_polars().select(names)
        distinct = frame.hash_rows().approx_n_unique()
        if not isinstance(distinct, int) or 2 * distinct > frame.height:
            return function(frame)
        keys = frame.unique(maintain_order=True)
        made = function(keys)
        places = frame.join(
            keys.with_row_index(_NUMBER), on=list(names), how="left", nulls_equal=True, maintain_order="left"
        )
        return made[places[_NUMBER]]

    def decode_texts(self, lazy: pl.LazyFrame, texts: Mapping[str, Dictionary]) -> pl.LazyFrame:
        """See `Backend`."""
        return lazy.with_columns(take(each.padded, pl.col(name)).alias(name) for name, each in texts.items())

    def compute_exact(self, lazy: pl.LazyFrame, calls: Sequence[ExactCall]) -> HostFrame:
        """See `Backend`."""
        operands = self.compute(lazy).table
        return HostFrame(pl.DataFrame([column for call in calls for column in compute_exact(operands, call)]))

    def from_host(self, frame: pl.DataFrame) -> HostFrame:
        """See `Backend`."""
        return HostFrame(frame)

    def prefilter_top(
        self, lazy: pl.LazyFrame, key: pl.Expr, order: SortOrder, count: int, *, again: bool
    ) -> pl.LazyFrame:
        """See `Backend`."""
        lazy = lazy if again else self.compute(lazy).lazy
        keys = collect(lazy.select(key.alias("key")))["key"]
        if not (keys.dtype.is_numeric() or keys.dtype.is_temporal() or keys.dtype == pl.String):
            return lazy
        nulls = keys.null_count()
        known = keys.drop_nulls() if nulls else keys
        left = count - nulls if order.nulls_first else count
        if left <= 0:
            return lazy.filter(key.is_null())
        if len(known) <= left * _WORTH:
            return lazy
        best = known.top_k(left) if order.descending else known.bottom_k(left)
        # Python's calendar ends before Polars', so the physical values are compared.
        last = best.to_physical()
        end = pl.lit(last.min() if order.descending else last.max(), last.dtype).cast(keys.dtype)
        wanted = key >= end if order.descending else key <= end
        return lazy.filter(key.is_null() | wanted if order.nulls_first else wanted)

    def partition_by_hash(
        self, lazy: pl.LazyFrame, keys: Sequence[pl.Expr], count: int, *, away: bool = False
    ) -> list[ComputedFrame]:
        """See `Backend`."""
        table = collect(lazy)
        if count == 1:
            return [HostFrame(table)]
        # Keys become columns, constants too: Polars hashes a constant once per chunk of a frame, not once per row.
        held = table.with_columns(key.alias(f"key{number}") for number, key in enumerate(keys))
        place = held.select(place=_hash_keys([held[f"key{number}"] for number in range(len(keys))]) % count)["place"]
        return _partition(table, place, count)

    def partition_by_number(
        self, lazy: pl.LazyFrame, place: str, count: int, *, away: bool = False
    ) -> list[ComputedFrame]:
        """See `Backend`."""
        table = collect(lazy)
        return _partition(table.drop(place), table[place], count)

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
        table = collect(lazy)
        keys = table.select(ends.columns)
        first = _count_before(ends, keys, order)
        if spread:
            last = _count_before(ends, keys, order, equal=True)
            turns = pl.int_range(len(first), dtype=pl.Int64, eager=True) * TURN % TURNS
            first = first + turns % (last - first + 1)
        return _partition(table.drop(ends.columns), first, count)

    def repeat_rows(self, rows: ComputedFrame, times: str, number: str) -> HostFrame:
        """See `Backend`."""
        frame = rows.to_polars()
        counts = frame[times].to_numpy()
        places = np.repeat(np.arange(frame.height), counts)
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        numbers = pl.Series(number, np.arange(len(places)) - firsts, pl.Int64)
        return HostFrame(frame[places].with_columns(numbers))

    def join_nearest(self, left: ComputedFrame, right: ComputedFrame, join: NearestJoin) -> HostFrame:
        """See `Backend`."""
        one, other = left.to_polars(), right.to_polars()
        groups = join.group or (None, None)
        sides = [
            (_group_numbers(side, group, time), _times(side[time]))
            for side, group, time in zip((one, other), groups, join.time, strict=True)
        ]
        places = find_nearest(np, join, sides, lambda keys: np.lexsort(tuple(reversed(keys))))
        kept = pl.Series(places >= 0)
        if not join.columns:
            return HostFrame(one.filter(kept) if join.inner else one)
        if join.inner:
            one, places = one.filter(kept), places[kept.to_numpy()]
        # A negative place is NULL
        at = pl.Series(places).set(pl.Series(places < 0), None)
        return HostFrame(one.hstack(other.select(pl.col(join.columns).gather(at))))

    def take_rows(self, lazy: pl.LazyFrame, places: Places) -> HostFrame:
        """See `Backend`."""
        return HostFrame(self.compute(lazy).table[places])

    def build_vector_index(self, lazy: pl.LazyFrame, definition: IndexDefinition) -> VectorIndex | None:
        """See `Backend`."""
        return build_on_host(collect(lazy).to_series(), definition)

    def offload(self, rows: ComputedFrame) -> Offloaded | None:
        """See `Backend`. No-op on the host."""
        return None

    def reload(self, parts: Sequence[ComputedFrame | Offloaded]) -> ComputedFrame | None:
        """See `Backend`."""
        return None

    def free_memory(self) -> None:
        """See `Backend`. No-op: the memory watchdog of the process frees memory."""

    def retry_with_memory(self, work: Callable[[], _T]) -> _T:
        """See `Backend`."""
        try:
            return work()
        except MemoryError:
            pass
        # Outside the handler, so that nothing of the first attempt is still referenced.
        self.free_memory()
        return work()

    def set_final_attempt(self, last: bool) -> None:
        """See `Backend`. No-op: the host has no other memory."""

    def take_host_steps(self) -> tuple[str, ...]:
        """See `Backend`. Empty: every step runs on the host."""
        return ()


def _group_numbers(side: pl.DataFrame, group: str | None, time: str) -> Array:
    """Returns the rows' groups; -1 for rows without a group or a time."""
    number = pl.lit(0, pl.Int64) if group is None else pl.col(group).cast(pl.Int64).fill_null(-1)
    known = pl.when(pl.col(time).is_not_null()).then(number).otherwise(-1)
    return side.select(known.alias("group"))["group"].to_numpy()


def _times(values: pl.Series) -> Array:
    return order_integers(np, values.to_physical().fill_null(0).to_numpy())


def _partition(table: pl.DataFrame, place: pl.Series, count: int) -> list[ComputedFrame]:
    """Partitions rows by their part numbers: many parts in one pass, few by one filter each, which is cheaper."""
    if count <= _FEW:
        return [HostFrame(table.filter(place == number)) for number in range(count)]
    name = "place"
    parts = table.with_columns(place.alias(name)).partition_by(name, as_dict=True, include_key=False)
    return [HostFrame(parts.get((number,), table.clear())) for number in range(count)]


def _count_before(
    ends: pl.DataFrame, rows: pl.DataFrame, order: Sequence[SortOrder], *, equal: bool = False
) -> pl.Series:
    """Returns for each row how many ends sort before it, or with `equal` not after it."""
    both = pl.concat([ends, rows]).with_columns(end=pl.int_range(pl.len()) < ends.height, row=pl.int_range(pl.len()))
    down, last = [key.descending for key in order], [not key.nulls_first for key in order]
    placed = both.sort([*rows.columns, "end"], descending=[*down, equal], nulls_last=[*last, False])
    placed = placed.with_columns(before=pl.col("end").cast(pl.Int64).cum_sum())
    return placed.filter(~pl.col("end")).sort("row")["before"]


def collect(lazy: pl.LazyFrame) -> pl.DataFrame:
    """Computes a lazy frame with Polars' own engine."""
    check_stop()
    try:
        return lazy.collect()
    except (pl.exceptions.PanicException, pl.exceptions.PolarsError, MemoryError) as error:
        raise_if_too_large(error)
        if isinstance(error, pl.exceptions.PanicException):
            raise beyond_calendar() from error
        raise


def beyond_calendar() -> NotSupportedOnWorkers:
    """Returns the error for a Polars panic: its calendar ends in 262142, PostgreSQL's in 294276, with infinities
    beyond.
    """
    return NotSupportedOnWorkers("a date or timestamp beyond Polars' calendar")


def _hash_keys(keys: Sequence[pl.Series]) -> pl.Expr:
    made = pl.lit(SEED, pl.UInt64)
    for series in keys:
        # -0 and 0 are one value, and the hash of Int128 differs between platforms.
        key, kind = pl.col(series.name), series.dtype
        key = key + 0.0 if kind.is_float() else key.cast(pl.Float64) if kind == pl.Int128 else key
        made = made * pl.lit(31, pl.UInt64) + key.hash(SEED)
    return made
