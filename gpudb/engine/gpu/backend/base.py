"""Where a stage's frames lie and are computed: the seam between the lowering and Polars' own engine or cudf-polars.

The lowering makes Polars lazy frames alone. `Frames` computes them; a `Held` frame is computed already, in this
process's memory (`HostFrames`) or in a GPU's (`cudf.frames`), and can be read by later lazy frames where it lies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.priority import Lane
from gpudb.engine.gpu.limits import FEW as FEW
from gpudb.plan.errors import NotCarried

_T = TypeVar("_T")
_WORTH = 10
"""Rows that there are at least for each of the first ones that are looked for before all are sorted."""
SEED = 20261
"""Of the hash that spreads rows over workers: theirs must be one."""
TURN, TURNS = 648_056, 1_048_573
"""A row's number times the first, modulo the second, a prime: so equal rows take turns, whatever rows lie between."""
_FEW = 8


@dataclass(frozen=True, slots=True)
class Order:
    """How a key is sorted."""

    descending: bool
    nulls_first: bool


Arrays = tuple[Any, Any | None]
"""A column in a GPU's memory: its values, and which of them are there (None: all)."""


Coded = tuple[Any, Any | None, pl.Series]
"""A column of texts in a GPU's memory: the place of each among the texts that differ, which of them are there (None:
all), and, on the host, the texts that differ."""


class Held(Protocol):
    """Rows that have been computed."""

    @property
    def lazy(self) -> pl.LazyFrame:
        """A lazy frame over them."""

    @property
    def rows(self) -> int:
        """How many there are."""

    @property
    def bytes(self) -> int:
        """Their size, in bytes."""

    def frame(self) -> pl.DataFrame:
        """The rows on the host."""

    def column(self, name: str) -> pl.Series:
        """A column on the host."""

    def arrays(self, name: str) -> Arrays | None:
        """A column of numbers where it lies; None on the host, of other columns, and of rows that had better go there
        since they are few."""

    def coded(self, name: str) -> Coded | None:
        """A column of texts by numbers, where it lies; None on the host, and of rows that had better go there since
        they are few."""

    def distinct(self, name: str) -> int:
        """How many values of a column differ, NULL among them."""

    def beside(self, columns: pl.DataFrame | Held) -> Held:
        """The same rows with more columns: from the host, or from where the rows lie."""

    def largest(self, name: str) -> int | None:
        """The largest integer in a column; None if there is none."""

    def least(self, name: str) -> int | None:
        """The least integer in a column; None if there is none."""

    def narrow(self, name: str) -> bool:
        """Whether 64 bits hold every integer of a column of 128."""

    def nulls(self, name: str) -> int:
        """How many NULLs a column has."""


class Away(ABC):
    """Rows that lie, until they are read, where they take none of a device's memory; `size` is their bytes there."""

    __slots__ = ()
    size: int

    @abstractmethod
    def data(self) -> bytes:
        """They as an Arrow IPC stream; ValueError where they are no more."""


class Frames(Protocol):
    """What computes lazy frames."""

    compares: bool
    """Whether it takes less to compare rows with the keys that they will be joined by than to join all of them."""

    def enter(self, lane: Lane) -> None:
        """What the calling thread computes from now on does not wait for other lanes."""

    def held(self, lazy: pl.LazyFrame) -> Held:
        """Computes a lazy frame."""

    def fetched(self, lazy: pl.LazyFrame, why: str) -> pl.DataFrame:
        """Computes a lazy frame for a step that runs on the host; `why` names the step to EXPLAIN ANALYZE."""

    def given(self, frame: pl.DataFrame) -> Held:
        """Rows that lie on the host."""

    def first(self, lazy: pl.LazyFrame, key: pl.Expr, order: Order, count: int, *, again: bool) -> pl.LazyFrame:
        """A lazy frame with the first rows by a key, so many at least, among others or not: what its other columns
        hold is then wanted of few rows. `again` says that it takes little to be computed twice."""

    def split(self, lazy: pl.LazyFrame, keys: Sequence[pl.Expr], count: int, *, away: bool = False) -> list[Held]:
        """Computes a lazy frame, its rows spread over so many parts by the values of keys; parts that go `away`, into
        files, are on the host."""

    def placed(self, lazy: pl.LazyFrame, place: str, count: int, *, away: bool = False) -> list[Held]:
        """The same by the numbers in a column, which goes."""

    def ranged(
        self,
        lazy: pl.LazyFrame,
        ends: pl.DataFrame,
        order: Sequence[Order],
        count: int,
        *,
        spread: bool = False,
        away: bool = False,
    ) -> list[Held]:
        """The same by where rows lie among `ends`, one row fewer than there are parts, which have the order's columns
        and are in it; those columns go. Rows that are equal to several ends are `spread` over the parts between these:
        memory is to hold each part."""

    def repeated(self, rows: Held, times: str, number: str) -> Held:
        """Each row as often as its integer in the column `times` says, the first of them 0 in a column `number`, the
        next 1, and so on."""

    @property
    def puts_away(self) -> bool:
        """Whether there is memory of the host's from which rows soon are back."""

    def put_away(self, rows: Held) -> Away | None:
        """Rows in such memory; None where there is none for them."""

    def back(self, parts: Sequence[Held | Away]) -> Held | None:
        """Rows that were put away, one part after the other; None where none of them was. ValueError as `Away.data`,
        MemoryError as `given`."""

    def make_room(self) -> None:
        """Lets go of what nobody reads, and of what can be read again."""

    def with_room(self, work: Callable[[], _T]) -> _T:
        """What some work gives, done again where memory was too small: once what others have let go of is free, and
        once room was made. MemoryError where it is too small still."""

    def last(self, last: bool) -> None:
        """Whether there are no smaller chunks for the rows that memory is too small for: they are computed elsewhere
        then, if they can be."""

    def on_host(self) -> tuple[str, ...]:
        """What ran on the host, though the frames lie elsewhere, since this was asked last."""


@dataclass(frozen=True, slots=True)
class HostHeld:
    """A Polars frame."""

    table: pl.DataFrame

    @property
    def lazy(self) -> pl.LazyFrame:
        """See `Held`."""
        return self.table.lazy()

    @property
    def rows(self) -> int:
        """See `Held`."""
        return self.table.height

    @property
    def bytes(self) -> int:
        """See `Held`."""
        return int(self.table.estimated_size())

    def frame(self) -> pl.DataFrame:
        """See `Held`."""
        return self.table

    def column(self, name: str) -> pl.Series:
        """See `Held`."""
        return self.table[name]

    def arrays(self, name: str) -> Arrays | None:
        """See `Held`."""
        return None

    def coded(self, name: str) -> Coded | None:
        """See `Held`."""
        return None

    def distinct(self, name: str) -> int:
        """See `Held`."""
        return self.table[name].n_unique()

    def beside(self, columns: pl.DataFrame | Held) -> HostHeld:
        """See `Held`."""
        more = columns if isinstance(columns, pl.DataFrame) else columns.frame()
        return HostHeld(self.table.with_columns(more.get_columns()))

    def largest(self, name: str) -> int | None:
        """See `Held`."""
        found: int | None = self.table[name].max()  # type: ignore[assignment]
        return found

    def least(self, name: str) -> int | None:
        """See `Held`."""
        found: int | None = self.table[name].min()  # type: ignore[assignment]
        return found

    def narrow(self, name: str) -> bool:
        """See `Held`."""
        least, largest = self.least(name), self.largest(name)
        return least is None or largest is None or (least >= -(2**63) and largest < 2**63)

    def nulls(self, name: str) -> int:
        """See `Held`."""
        return self.table[name].null_count()


class HostFrames:
    """Frames in this process's memory, computed by Polars on its processors."""

    compares = True
    puts_away = False

    def enter(self, lane: Lane) -> None:
        """See `Frames`: processors are all lanes'."""

    def held(self, lazy: pl.LazyFrame) -> HostHeld:
        """See `Frames`."""
        return HostHeld(collected(lazy))

    def fetched(self, lazy: pl.LazyFrame, why: str) -> pl.DataFrame:
        """See `Frames`."""
        return collected(lazy)

    def given(self, frame: pl.DataFrame) -> HostHeld:
        """See `Frames`."""
        return HostHeld(frame)

    def first(self, lazy: pl.LazyFrame, key: pl.Expr, order: Order, count: int, *, again: bool) -> pl.LazyFrame:
        """See `Frames`."""
        lazy = lazy if again else collected(lazy).lazy()
        keys = collected(lazy.select(key.alias("key")))["key"]
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
        # As it is held: Python's calendar ends before Polars'.
        last = best.to_physical()
        end = pl.lit(last.min() if order.descending else last.max(), last.dtype).cast(keys.dtype)
        wanted = key >= end if order.descending else key <= end
        return lazy.filter(key.is_null() | wanted if order.nulls_first else wanted)

    def split(self, lazy: pl.LazyFrame, keys: Sequence[pl.Expr], count: int, *, away: bool = False) -> list[Held]:
        """See `Frames`."""
        table = collected(lazy)
        if count == 1:
            return [HostHeld(table)]
        # As columns, constants too: Polars gives of a constant no hash a row, but one for each chunk of a frame.
        held = table.with_columns(key.alias(f"key{number}") for number, key in enumerate(keys))
        place = held.select(place=_hashed([held[f"key{number}"] for number in range(len(keys))]) % count)["place"]
        return _parted(table, place, count)

    def placed(self, lazy: pl.LazyFrame, place: str, count: int, *, away: bool = False) -> list[Held]:
        """See `Frames`."""
        table = collected(lazy)
        return _parted(table.drop(place), table[place], count)

    def ranged(
        self,
        lazy: pl.LazyFrame,
        ends: pl.DataFrame,
        order: Sequence[Order],
        count: int,
        *,
        spread: bool = False,
        away: bool = False,
    ) -> list[Held]:
        """See `Frames`."""
        table = collected(lazy)
        keys = table.select(ends.columns)
        first = _before(ends, keys, order)
        if spread:
            last = _before(ends, keys, order, equal=True)
            turns = pl.int_range(len(first), dtype=pl.Int64, eager=True) * TURN % TURNS
            first = first + turns % (last - first + 1)
        return _parted(table.drop(ends.columns), first, count)

    def repeated(self, rows: Held, times: str, number: str) -> HostHeld:
        """See `Frames`."""
        frame = rows.frame()
        counts = frame[times].to_numpy()
        places = np.repeat(np.arange(frame.height), counts)
        firsts = np.repeat(np.cumsum(counts) - counts, counts)
        numbers = pl.Series(number, np.arange(len(places)) - firsts, pl.Int64)
        return HostHeld(frame[places].with_columns(numbers))

    def put_away(self, rows: Held) -> Away | None:
        """See `Frames`: they would lie where they do."""
        return None

    def back(self, parts: Sequence[Held | Away]) -> Held | None:
        """See `Frames`."""
        return None

    def make_room(self) -> None:
        """See `Frames`: whoever bounds this process's memory does."""

    def with_room(self, work: Callable[[], _T]) -> _T:
        """See `Frames`."""
        try:
            return work()
        except MemoryError:
            pass
        # Here nothing holds what the first try held.
        self.make_room()
        return work()

    def last(self, last: bool) -> None:
        """See `Frames`: there is no other memory."""

    def on_host(self) -> tuple[str, ...]:
        """See `Frames`: everything lies here, and nothing needs to be told."""
        return ()


def _parted(table: pl.DataFrame, place: pl.Series, count: int) -> list[Held]:
    """Rows by their place; of many places in one pass, of few by a filter for each, which costs less."""
    if count <= _FEW:
        return [HostHeld(table.filter(place == number)) for number in range(count)]
    name = "place"
    parts = table.with_columns(place.alias(name)).partition_by(name, as_dict=True, include_key=False)
    return [HostHeld(parts.get((number,), table.clear())) for number in range(count)]


def _before(ends: pl.DataFrame, rows: pl.DataFrame, order: Sequence[Order], *, equal: bool = False) -> pl.Series:
    """How many of the ends come before each row, or with `equal` not after it."""
    both = pl.concat([ends, rows]).with_columns(end=pl.int_range(pl.len()) < ends.height, row=pl.int_range(pl.len()))
    down, last = [key.descending for key in order], [not key.nulls_first for key in order]
    placed = both.sort([*rows.columns, "end"], descending=[*down, equal], nulls_last=[*last, False])
    placed = placed.with_columns(before=pl.col("end").cast(pl.Int64).cum_sum())
    return placed.filter(~pl.col("end")).sort("row")["before"]


def collected(lazy: pl.LazyFrame) -> pl.DataFrame:
    """A lazy frame's rows by Polars' own engine."""
    try:
        return lazy.collect()
    except pl.exceptions.PanicException as panic:
        raise beyond_calendar() from panic


def beyond_calendar() -> NotCarried:
    """What a panic of Polars means: its calendar ends in 262142, PostgreSQL's in 294276, with infinities beyond."""
    return NotCarried("a date or timestamp beyond Polars' calendar")


def _hashed(keys: Sequence[pl.Series]) -> pl.Expr:
    made = pl.lit(SEED, pl.UInt64)
    for series in keys:
        # -0 and 0 are one value, and Int128 has no hash that is the same everywhere.
        key, kind = pl.col(series.name), series.dtype
        key = key + 0.0 if kind.is_float() else key.cast(pl.Float64) if kind == pl.Int128 else key
        made = made * pl.lit(31, pl.UInt64) + key.hash(SEED)
    return made
