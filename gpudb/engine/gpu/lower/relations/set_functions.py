"""Set-returning functions: the number of rows for each input row, and the value of the i-th of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import polars as pl
import pyarrow.compute as pc

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.lower.error_codes import STEP, Error, error_if
from gpudb.engine.gpu.lower.expressions.arrow import to_arrow, to_physical_columns
from gpudb.engine.gpu.lower.expressions.host_fallback import HostRows
from gpudb.engine.gpu.lower.values import Value, is_keyed, maximum, physical_columns, type_bounds
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sql import bound
from gpudb.types import SqlType

MAX_ROWS = 100_000_000
"""Row limit; beyond it the embedded engine runs the query, which need not materialize all rows."""


@dataclass(frozen=True, slots=True)
class Set:
    """`count` rows for an input row, none for NULL; `item` is the value at a position from 0 on."""

    count: pl.Expr
    item: Callable[[pl.Expr], Value]
    error: Error = None


def lower_set(call: bound.SetReturning, args: Sequence[Value]) -> Set:
    """Returns the rows of a call; NotSupportedOnWorkers for an unsupported function."""
    found = _SETS.get(call.function.name)
    if found is None:
        raise NotSupportedOnWorkers(f"set-returning function {call.function.name}")
    return found(call.type, args)


@dataclass(frozen=True, slots=True)
class Items:
    """The rows of unnest over a column of arrays: the elements of the frame's lists, without a function call."""

    kind: SqlType
    column: bound.Column

    def evaluate(self, frame: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
        """See `HostRows`."""
        array = to_arrow(frame, f"c{self.column.index}", self.column.type)
        counts = pl.Series(pc.fill_null(pc.list_value_length(array), 0)).cast(pl.Int64)
        return counts, to_physical_columns(array.flatten(), self.kind)


def unnest_items(call: bound.SetReturning) -> Items | None:
    """Returns the rows of unnest over a column of arrays without sort keys for their elements; else None."""
    (arg,) = call.args if len(call.args) == 1 else (None,)
    if call.function.name != "unnest" or not isinstance(arg, bound.Column) or arg.type.item != call.type:
        return None
    return None if is_keyed(call.type) else Items(call.type, arg)


def explodable_items(calls: Sequence[bound.SetReturning]) -> Items | None:
    """Returns the elements of a single unnest, if they are physical columns unchanged; else None."""
    items = unnest_items(calls[0]) if len(calls) == 1 else None
    if items is None:
        return None
    dtype = physical_columns(items.column.type)["v"]
    return items if isinstance(dtype, pl.List) and {"": dtype.inner} == physical_columns(items.kind) else None


def explode(lazy: pl.LazyFrame, items: Items, empty: pl.Expr, frames: Backend, *, numbered: bool) -> pl.LazyFrame:
    """Explodes lists into the column `item`; adds the position from 0 on as `i` if `numbered`.

    `empty` is the comparison key of an empty array.
    """
    name = f"c{items.column.index}"
    # Polars and libcudf make a row of an empty list.
    lazy = lazy.filter(pl.col(name).is_not_null() & (pl.col(name) != empty))
    lazy = lazy.with_columns(pl.col(name + "v").alias("item"))
    if not numbered:
        return lazy.explode("item", empty_as_null=True)
    number = pl.int_range(pl.len(), dtype=pl.Int64)
    rows = frames.compute(lazy.with_columns(number.alias("r"))).lazy.explode("item", empty_as_null=True)
    computed = frames.compute(rows.with_columns(number.alias("at"))).lazy
    first = computed.group_by("r").agg(pl.col("at").min().alias("first"))
    result = computed.join(first, on="r", how="left").with_columns((pl.col("at") - pl.col("first")).alias("i"))
    return result.drop("r", "at", "first")


@dataclass(frozen=True, slots=True)
class HostSet:
    """A call, by its number, that is evaluated on the host."""

    number: int
    rows: HostRows | Items

    @property
    def set(self) -> Set:
        """The set over an expanded frame that has been extended by `gather_rows`."""
        kind, name = self.rows.kind, f"s{self.number}"
        rest = tuple((suffix, pl.col(name + suffix)) for suffix in physical_columns(kind) if suffix)
        item = Value(kind, pl.col(name), None, type_bounds(kind), rest)
        return Set(pl.col(f"t{self.number}"), lambda _: item)

    def add_counts(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Adds the number of each row's rows and the first's position; also returns all rows."""
        counts, items = self.rows.evaluate(frame)
        firsts = (counts.cum_sum() - counts).alias(f"o{self.number}")
        return frame.with_columns(counts.alias(f"t{self.number}"), firsts), items

    def gather_rows(self, frame: pl.DataFrame, items: pl.DataFrame, place: str) -> pl.DataFrame:
        """Adds the physical columns of the row at each position to an expanded frame, NULL beyond the last."""
        in_set = pl.col(place) < pl.col(f"t{self.number}")
        at = frame.select(pl.when(in_set).then(pl.col(f"o{self.number}") + pl.col(place))).to_series()
        return frame.with_columns(items[suffix].gather(at).alias(f"s{self.number}{suffix}") for suffix in items.columns)


def count_columns(found: Sequence[Set | HostSet]) -> list[pl.Expr]:
    """Returns the row counts of the lowered sets for each input row: t0, t1, … by their numbers."""
    return [each.count.cast(pl.Int64).alias(f"t{n}") for n, each in enumerate(found) if isinstance(each, Set)]


def expand_on_device(lazy: pl.LazyFrame, sets: int, frames: Backend, place: str) -> ComputedFrame:
    """Expands a frame as `expand_on_host` does, but on the device, for `sets` sets that are all lowered."""
    known = [pl.col(f"t{n}").fill_null(0) for n in range(sets)]
    computed = frames.compute(lazy.with_columns(reduce(maximum, known).alias("times")))
    most = computed.max_integer("times") or 0
    if most * computed.rows > MAX_ROWS:
        most = (
            frames.compute(computed.lazy.select(pl.col("times").clip(0, MAX_ROWS + 1).sum())).max_integer("times") or 0
        )
        if most > MAX_ROWS:
            raise NotSupportedOnWorkers(f"sets of more than {MAX_ROWS} rows")
    return frames.repeat_rows(computed, "times", place)


def expand_on_host(frame: pl.DataFrame, found: Sequence[Set | HostSet], place: str) -> pl.DataFrame:
    """Repeats each row of a frame with `count_columns` as often as its largest set requires.

    The column `place` numbers the repetitions from 0.
    """
    host_rows: list[tuple[HostSet, pl.DataFrame]] = []
    for each in found:
        if isinstance(each, HostSet):
            frame, items = each.add_counts(frame)
            host_rows.append((each, items))
    times = frame.select(pl.max_horizontal(pl.col(f"t{n}").fill_null(0) for n in range(len(found)))).to_series()
    if (times.sum() or 0) > MAX_ROWS:
        raise NotSupportedOnWorkers(f"sets of more than {MAX_ROWS} rows")
    rows = pl.DataFrame({"r": pl.int_range(frame.height, dtype=pl.Int64, eager=True), "t": times.cast(pl.Int64)})
    many = rows.filter(pl.col("t") > 0).select("r", pl.int_ranges(pl.lit(0, pl.Int64), "t").alias(place))
    places = many.explode(place, empty_as_null=True)
    result = frame[places["r"]].with_columns(places[place])
    for each, items in host_rows:
        result = each.gather_rows(result, items, place)
    return result


def _series(kind: SqlType, args: Sequence[Value]) -> Set:
    if kind.name not in {"int4", "int8"}:
        raise NotSupportedOnWorkers(f"generate_series of {kind.plain}")
    start, end = (each.expr.cast(pl.Int64) for each in args[:2])
    step = args[2].expr.cast(pl.Int64) if len(args) > 2 else pl.lit(1, pl.Int64)
    # A step away from the end returns no rows.
    ahead = pl.when(step > 0).then(end.cast(pl.Int128) - start).otherwise(start.cast(pl.Int128) - end)
    size = pl.when(step == 0).then(1).when(step > 0).then(step).otherwise(0 - step)
    count = pl.when(ahead >= 0).then(ahead // size + 1).otherwise(0).clip(0, 2**62).cast(pl.Int64)

    def item(place: pl.Expr) -> Value:
        return Value(kind, (start + place * step).cast(physical_columns(kind)[""]), None, type_bounds(kind))

    return Set(count, item, error_if((step == 0) & start.is_not_null() & end.is_not_null(), STEP))


_SETS: dict[str, Callable[[SqlType, Sequence[Value]], Set]] = {
    "generate_series": _series,
}
