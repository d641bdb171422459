"""The compute backend's protocol: the seam between the lowering and Polars or cudf-polars.

The lowering only builds Polars lazy frames. A `Backend` computes them. A `ComputedFrame` is the result, in this
process's memory (`backend.host`) or in a GPU's (`cudf.backend`); later lazy frames read it without a copy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol, TypeVar

import polars as pl

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.backend.exact_calls import ExactCall
from gpudb.engine.gpu.backend.nearest import NearestJoin
from gpudb.engine.gpu.backend.vector_indexes import Places, VectorIndex
from gpudb.vector_indexes.definition import IndexDefinition

_T = TypeVar("_T")
_ROWS = "_gpudb_rows"
"""The attribute of a lazy frame with the rows that it reads unchanged; what Polars makes of the frame lacks it."""
TURN, TURNS = 648_056, 1_048_573
"""Multiplier and prime modulus that map a row's number to a turn, so that equal rows alternate between parts."""


class Priority(IntEnum):
    """Priority of a worker's thread. Work that waits for the device starts in descending order."""

    LONG = 0
    SHORT = 1
    FAST_PATH = 2


@dataclass(frozen=True, slots=True)
class SortOrder:
    """Sort order of a key."""

    descending: bool
    nulls_first: bool


DeviceColumn = tuple[Any, Any | None]
"""A numeric column in GPU memory: its values, and its validity (None: no NULLs)."""


DictionaryColumn = tuple[Any, Any | None, pl.Series]
"""A dictionary-encoded text column: codes and validity (None: no NULLs) in GPU memory, and the dictionary
on the host.
"""


class ComputedFrame(Protocol):
    """Rows that a backend has computed."""

    @property
    def lazy(self) -> pl.LazyFrame:
        """A lazy frame over the rows."""

    @property
    def rows(self) -> int:
        """The number of rows."""

    @property
    def bytes(self) -> int:
        """The size of the rows, in bytes."""

    def to_polars(self) -> pl.DataFrame:
        """Returns the rows as a frame on the host."""

    def column(self, name: str) -> pl.Series:
        """Returns a column as a series on the host."""

    def device_column(self, name: str) -> DeviceColumn | None:
        """Returns a numeric column in GPU memory.

        None on the host, for other types, and for rows so few that the host is the better place.
        """

    def dictionary_column(self, name: str) -> DictionaryColumn | None:
        """Returns a text column in GPU memory, dictionary-encoded.

        None on the host, and for rows so few that the host is the better place.
        """

    def count_distinct(self, name: str) -> int:
        """Returns the number of distinct values of a column; NULL counts as one."""

    def add_columns(self, columns: pl.DataFrame | ComputedFrame) -> ComputedFrame:
        """Returns the same rows with more columns, from the host or from the same memory."""

    def dtype(self, name: str) -> pl.DataType:
        """Returns the type of a column."""

    def select(self, names: Mapping[str, str]) -> ComputedFrame:
        """Returns columns under new names, each with the name of its source; nothing is copied."""

    def max_integer(self, name: str) -> int | None:
        """Returns the largest integer in a column; None if the column has no value."""

    def min_integer(self, name: str) -> int | None:
        """Returns the least integer in a column; None if the column has no value."""

    def fits_int64(self, name: str) -> bool:
        """Returns whether every integer of a 128-bit column fits in 64 bits."""

    def null_count(self, name: str) -> int:
        """Returns the number of NULLs in a column."""


def attach_rows(lazy: pl.LazyFrame, rows: Callable[[], ComputedFrame]) -> pl.LazyFrame:
    """Lets `held_rows` find the rows that a lazy frame reads, unchanged. `rows` must not refer to the lazy frame."""
    setattr(lazy, _ROWS, rows)
    return lazy


def held_rows(lazy: pl.LazyFrame) -> ComputedFrame | None:
    """Returns the computed rows that a lazy frame reads unchanged; None if anything is left to compute."""
    rows: Callable[[], ComputedFrame] | None = getattr(lazy, _ROWS, None)
    return rows() if rows is not None else None


def select_columns(lazy: pl.LazyFrame, columns: Sequence[pl.Expr], kinds: Sequence[pl.DataType]) -> pl.LazyFrame:
    """Selects columns under new names and cast to their kinds: of computed rows, computed rows if no type changes."""
    rows = held_rows(lazy)
    if rows is None or not columns:
        return lazy.select(columns)
    names = {each.meta.output_name(): each.meta.root_names()[0] for each in columns}
    same = all(rows.dtype(source) == kind for source, kind in zip(names.values(), kinds, strict=True))
    return rows.select(names).lazy if same else lazy.select(columns)


class Offloaded(ABC):
    """Rows outside the device's memory until they are read; `size` is their bytes there."""

    __slots__ = ()
    size: int

    @abstractmethod
    def data(self) -> bytes:
        """Returns the rows as an Arrow IPC stream. Raises ValueError once they are freed."""


class Backend(Protocol):
    """Computes lazy frames."""

    prefilters_joins: bool
    """Whether filtering rows by the keys of a later join is cheaper than joining all of them."""

    piece_bytes: int
    """Bytes of a join's result from which on it is made in pieces."""

    def set_priority(self, priority: Priority) -> None:
        """Sets the priority of the calling thread: what it computes does not wait for less urgent work."""

    def compute(self, lazy: pl.LazyFrame) -> ComputedFrame:
        """Computes a lazy frame; returns the rows of one that has them (see `held_rows`)."""

    def compute_on_host(self, lazy: pl.LazyFrame, why: str) -> pl.DataFrame:
        """Computes a lazy frame for a step that runs on the host; `why` names the step in EXPLAIN ANALYZE."""

    def map_distinct(
        self, rows: ComputedFrame, names: Sequence[str], function: Callable[[pl.DataFrame], pl.DataFrame], why: str
    ) -> pl.DataFrame | ComputedFrame:
        """Returns a host function's columns for all rows, evaluated once for each distinct row of the named columns.

        The function is given those columns on the host, and returns a row for each of theirs. Where most rows are
        distinct it may be given all of them. `why` is as for `compute_on_host`.
        """

    def decode_texts(self, lazy: pl.LazyFrame, texts: Mapping[str, Dictionary]) -> pl.LazyFrame:
        """Returns a lazy frame with texts in the named columns, in place of their int32 codes in dictionaries."""

    def compute_exact(self, lazy: pl.LazyFrame, calls: Sequence[ExactCall]) -> ComputedFrame:
        """Computes exact functions over the columns of a lazy frame; returns the columns of their results.

        Raises 22003 for a result of more than 38 digits.
        """

    def from_host(self, frame: pl.DataFrame) -> ComputedFrame:
        """Moves a host frame to where this backend computes."""

    def prefilter_top(
        self, lazy: pl.LazyFrame, key: pl.Expr, order: SortOrder, count: int, *, again: bool
    ) -> pl.LazyFrame:
        """Returns a lazy frame that has at least the first `count` rows by a key, and perhaps others.

        The remaining columns are then computed for few rows, which may be on the host: they are sorted there soonest.
        `again` says that computing the frame twice is cheap.
        """

    def partition_by_hash(
        self, lazy: pl.LazyFrame, keys: Sequence[pl.Expr], count: int, *, away: bool = False
    ) -> list[ComputedFrame]:
        """Computes a lazy frame and partitions its rows into `count` parts by the hash of keys.

        Parts that go `away`, into files, are on the host.
        """

    def partition_by_number(
        self, lazy: pl.LazyFrame, place: str, count: int, *, away: bool = False
    ) -> list[ComputedFrame]:
        """Computes a lazy frame and partitions its rows by the part numbers in a column, which is dropped."""

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
        """Computes a lazy frame and partitions its rows by ranges of a sort order.

        `ends` has one row fewer than there are parts, the columns of the order, and is sorted by it; those columns are
        dropped from the parts. With `spread`, rows equal to several ends alternate over the parts between them, so that
        memory can hold each part.
        """

    def repeat_rows(self, rows: ComputedFrame, times: str, number: str) -> ComputedFrame:
        """Repeats each row as often as the integer column `times` says; column `number` counts the copies from 0."""

    def join_nearest(self, left: ComputedFrame, right: ComputedFrame, join: NearestJoin) -> ComputedFrame:
        """Returns the left rows with columns of the nearest right row, or NULLs, in any order."""

    def take_rows(self, lazy: pl.LazyFrame, places: Places) -> ComputedFrame:
        """Returns the rows of a lazy frame at some places."""

    def build_vector_index(self, lazy: pl.LazyFrame, definition: IndexDefinition) -> VectorIndex | None:
        """Returns an approximate index of a lazy frame's one column; None if no library builds it."""

    @property
    def can_offload(self) -> bool:
        """Whether host memory is available from which rows are restored quickly."""

    def offload(self, rows: ComputedFrame) -> Offloaded | None:
        """Offloads rows to that memory; returns None where it has no room."""

    def reload(self, parts: Sequence[ComputedFrame | Offloaded]) -> ComputedFrame | None:
        """Restores offloaded rows, one part after the other; None if none of the parts was offloaded.

        Raises ValueError as `Offloaded.data`, MemoryError as `from_host`.
        """

    def free_memory(self) -> None:
        """Frees memory that nobody reads, and caches that can be read again."""

    def retry_with_memory(self, work: Callable[[], _T]) -> _T:
        """Returns the result of `work`, and retries it when memory was too small.

        The first retry waits until other threads have freed memory; the second follows `free_memory`. Raises
        MemoryError if memory is still too small.
        """

    def set_final_attempt(self, last: bool) -> None:
        """Says whether the statement has no smaller chunks: rows too large for memory are then computed elsewhere if
        possible.
        """

    def take_host_steps(self) -> tuple[str, ...]:
        """Returns the steps that ran on the host, though the backend is a GPU, since the last call."""
