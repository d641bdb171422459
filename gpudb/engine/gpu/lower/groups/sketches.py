"""Approximate aggregates of groups: sketches of each worker's rows, merged and estimated.

A sketch is not a column of a group's state but rows beside the groups, by the group's keys: `sketch` is its number, and

HyperLogLog     a row for each register with values: `at` the register, `rest` the least rest of a hash
t-digest        a row for each centroid: `at` the number of its values, `mean`

so that groups of few values have few rows, and exchanges move them as any rows. `sketch` is NULL in the groups' own
rows.

The centroids of sorted values are those of a merging t-digest with the scale function k₁: a row's centroid follows from
its rank. Centroids of several workers are not merged further; a percentile lies between the two whose middle ranks
enclose its own. Source: Dunning, Ertl, Computing extremely accurate quantiles using t-digests (2019).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi

import polars as pl

from gpudb.engine.gpu.backend.base import Backend
from gpudb.engine.gpu.lower.functions.distinct_bits import mixing_steps, to_unsigned
from gpudb.engine.gpu.lower.relations.joins import key_columns
from gpudb.engine.gpu.lower.values import physical_columns
from gpudb.functions.approximate import DEFAULT_ACCURACY, DISTINCT_BITS, check_accuracy, check_fraction
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree import nodes
from gpudb.sketches.hyperloglog import MAX_RANK, REGISTERS, REST_BITS, SCALE, empty_registers
from gpudb.sql import bound
from gpudb.types import INT8

COLUMNS: Mapping[str, pl.DataType] = {
    "sketch": pl.Int32(),
    "at": pl.Int64(),
    "rest": pl.Int64(),
    "mean": pl.Float64(),
}
_ROW = pl.col("row")
_AT, _MEAN = pl.col("at"), pl.col("mean")


@dataclass(frozen=True, slots=True)
class Sketch:
    """The sketch of a value, for the calls at some positions.

    `accuracy` is that of a t-digest; None for HyperLogLog.
    """

    value: bound.Expr
    filter: bound.Expr | None
    accuracy: int | None
    calls: tuple[int, ...]

    @property
    def summarised(self) -> bound.Expr:
        """The expression of which rows are summarised."""
        return self.value if self.accuracy is not None else bound.Call(DISTINCT_BITS, (self.value,), INT8)


def find_sketches(calls: Sequence[bound.Aggregate], chosen: Sequence[int]) -> list[Sketch]:
    """Returns the sketches that the calls at some positions need: one for all calls of the same values."""
    found: dict[tuple[bound.Expr, bound.Expr | None, int | None], list[int]] = {}
    for number in chosen:
        call = calls[number]
        accuracy = None
        if call.function.name == "approx_percentile":
            fraction, accuracy = _percentile_options(call)
            if fraction is None or accuracy is None:
                continue
        found.setdefault((call.args[0], call.filter, accuracy), []).append(number)
    return [Sketch(value, chosen_rows, accuracy, tuple(at)) for (value, chosen_rows, accuracy), at in found.items()]


def _percentile_options(call: bound.Aggregate) -> tuple[float | None, int | None]:
    constants = [arg.value for arg in call.args[1:] if isinstance(arg, bound.Constant)]
    if len(constants) < len(call.args) - 1:
        raise NotSupportedOnWorkers("a percentile's fraction or accuracy that is not constant")
    fraction, *others = constants
    return check_fraction(fraction), check_accuracy(others[0] if others else DEFAULT_ACCURACY)


def append_rows(
    groups: pl.LazyFrame, lazy: pl.LazyFrame, node: nodes.Aggregate, sketches: Sequence[Sketch], frames: Backend
) -> pl.LazyFrame:
    """Returns the groups' states, followed by the rows of sketches of the columns s0, s1, … (by the sketch)."""
    kinds = {
        f"k{n}{suffix}": kind for n, key in enumerate(node.keys) for suffix, kind in physical_columns(key.type).items()
    }
    keys = [f"k{n}" for n in range(len(node.keys))]
    computed = frames.compute(groups.with_columns(pl.lit(None, kind).alias(name) for name, kind in COLUMNS.items()))
    schema = computed.lazy.collect_schema()
    parts = [computed.lazy]
    for number, sketch in enumerate(sketches):
        values = lazy.select(*keys, pl.col(f"s{number}").alias("y")).filter(pl.col("y").is_not_null())
        if sketch.accuracy is None:
            made = _make_registers(values, keys)
        else:
            made = _make_centroids(values, [(name, kinds[name]) for name in keys], sketch.accuracy, frames)
        made = made.with_columns(pl.lit(number, pl.Int32).alias("sketch"))
        present = {*keys, "sketch", *(("at", "rest") if sketch.accuracy is None else ("at", "mean"))}
        parts.append(
            made.select(
                pl.col(name).cast(kind) if name in present else pl.lit(None, kind).alias(name)
                for name, kind in schema.items()
            )
        )
    return pl.concat(parts)


def merge_rows(
    groups: pl.LazyFrame, lazy: pl.LazyFrame, node: nodes.Aggregate, sketches: Sequence[Sketch], frames: Backend
) -> pl.LazyFrame:
    """Adds the values of the sketches' calls, a0, a1, … (by the call's number), to merged groups."""
    kinds = [physical_columns(key.type)[""] for key in node.keys] or [pl.Int8()]
    names = [f"k{n}" for n in range(len(node.keys))]
    own = [pl.col(name) for name in names] or [pl.lit(0, pl.Int8)]
    on = key_columns(own, kinds, "q")
    joined = [expr.meta.output_name() for expr in on]
    keys = [(f"q{n}", kind) for n, kind in enumerate(kinds)]
    groups = groups.with_columns(on)
    for number, sketch in enumerate(sketches):
        rows = lazy.filter(pl.col("sketch") == number).select(*on, "at", "rest", "mean")
        if sketch.accuracy is None:
            made = _estimate_distinct(rows, joined, sketch)
        else:
            fractions = {place: _percentile_options(node.calls[place])[0] or 0.0 for place in sketch.calls}
            made = _find_percentiles(rows, keys, joined, fractions, frames)
        groups = groups.join(made, on=joined, how="left", nulls_equal=True)
        if sketch.accuracy is None:
            groups = groups.with_columns(pl.col(f"a{place}").fill_null(0) for place in sketch.calls)
    known = {place for sketch in sketches for place in sketch.calls}
    nulls = [n for n, call in enumerate(node.calls) if call.function.name == "approx_percentile" and n not in known]
    return groups.drop(joined).with_columns(pl.lit(None, pl.Float64).alias(f"a{n}") for n in nulls)


# -------------------------------------------------------------------------------------------- HyperLogLog


def _make_registers(values: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    rows = values.with_columns(to_unsigned(pl.col("y")).alias("y"))
    for step in mixing_steps():
        rows = rows.with_columns(step(pl.col("y")).alias("y"))
    rows = rows.with_columns((pl.col("y") // pl.lit(2, pl.UInt64)).cast(pl.Int64).alias("y"))
    rows = rows.with_columns((pl.col("y") // (1 << REST_BITS)).alias("at"))
    rows = rows.with_columns((pl.col("y") - _AT * (1 << REST_BITS)).alias("rest"))
    return rows.group_by(*keys, "at").agg(pl.col("rest").min())


def _estimate_distinct(rows: pl.LazyFrame, keys: Sequence[str], sketch: Sketch) -> pl.LazyFrame:
    """Returns each group's estimate: see `gpudb.sketches.hyperloglog.estimate`."""
    registers = rows.group_by(*keys, "at").agg(pl.col("rest").min())
    # All bits below a rest's highest one are set: then half of it and one is that bit, 2 to the power of 51 - rank.
    for shift in (1, 2, 4, 8, 16, 32):
        registers = registers.with_columns(pl.col("rest") | pl.col("rest") // (1 << shift))
    registers = registers.with_columns(((pl.col("rest") - pl.col("rest") // 2) // 2).alias("rest"))
    least = pl.when(pl.col("rest") > 1).then(pl.col("rest")).otherwise(1)
    groups = registers.group_by(keys).agg(pl.len().cast(pl.Int64).alias("used"), least.sum().alias("total"))
    empty = pl.LazyFrame({"used": range(REGISTERS, -1, -1), "empty": empty_registers()})
    groups = groups.join(empty, on="used", how="left")
    sums = pl.col("empty") + pl.col("total").cast(pl.Float64) / 2.0**MAX_RANK
    result = (SCALE / sums + 0.5).floor().cast(pl.Int64)
    return groups.select(*keys, *(result.alias(f"a{place}") for place in sketch.calls))


# -------------------------------------------------------------------------------------------- t-digest


def _normalize_zero(keys: Sequence[tuple[str, pl.DataType]]) -> list[pl.Expr]:
    """Returns keys to sort by, in which -0 and 0, which are one group, are equal."""
    return [pl.col(name) + 0.0 if kind.is_float() else pl.col(name) for name, kind in keys]


def _make_centroids(
    values: pl.LazyFrame, keys: Sequence[tuple[str, pl.DataType]], accuracy: int, frames: Backend
) -> pl.LazyFrame:
    """Returns the centroids of each group's values: one row each until a group has more than `accuracy` values.

    A centroid has at most 1 / `accuracy` of the values, and fewer near the ends; the first and the last value have
    their own, and so have infinities and NaN.
    """
    names = [name for name, _ in keys]
    rows = values.sort([*_normalize_zero(keys), pl.col("y")], nulls_last=True)
    rows = frames.compute(rows.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("row"))).lazy
    ends = [_ROW.min().alias("first"), _ROW.max().alias("last")]
    rows = rows.with_columns(end.over(names) if names else end for end in ends)
    count = (pl.col("last") - pl.col("first") + 1).cast(pl.Float64)
    rank = ((_ROW - pl.col("first")).cast(pl.Float64) + 0.5) / count
    scaled = ((2.0 * rank - 1.0).arcsin() / pi + 0.5) * (pi * accuracy / 2.0)
    place = (
        pl.when(pl.col("y").is_nan())
        .then(-4)
        .when(pl.col("y").is_infinite())
        .then(pl.when(pl.col("y") > 0).then(-3).otherwise(-2))
        .when(pl.col("first") == _ROW)
        .then(-1)
        .when(pl.col("last") == _ROW)
        .then(2 * MAX_CENTROIDS)
        .otherwise(scaled.floor().cast(pl.Int64))
    )
    rows = rows.with_columns(place.cast(pl.Int64).alias("place"))
    mean, least = pl.col("y").mean(), pl.col("y").min()
    # The sum of a mean may overflow; any value of a centroid is within the bound.
    mean = pl.when(mean.is_finite() | ~least.is_finite()).then(mean).otherwise(least)
    centroids = rows.group_by(*names, "place").agg(pl.len().cast(pl.Int64).alias("at"), mean.alias("mean"))
    return centroids.drop("place")


MAX_CENTROIDS = 1 << 40
"""More than a sketch has."""


def _find_percentiles(
    rows: pl.LazyFrame,
    keys: Sequence[tuple[str, pl.DataType]],
    joined: Sequence[str],
    fractions: Mapping[int, float],
    frames: Backend,
) -> pl.LazyFrame:
    """Returns each group's percentiles at some fractions, as the columns a and the call's number."""
    names = [name for name, _ in keys]
    rows = rows.sort([*_normalize_zero(keys), _MEAN], nulls_last=True).with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("row"), _AT.cum_sum().alias("upto")
    )
    rows = frames.compute(rows.with_columns((pl.col("upto") - _AT).alias("before"))).lazy
    rows = rows.with_columns(
        pl.col("before").min().over(names).alias("start"),
        pl.col("upto").max().over(names).alias("end"),
        _ROW.min().over(names).alias("first"),
        _ROW.max().over(names).alias("last"),
    )
    least, width = (pl.col("before") - pl.col("start")).cast(pl.Float64), (_AT - 1).cast(pl.Float64)
    # All values of a centroid of infinities or of NaN are its mean; others are near their middle rank.
    rows = rows.with_columns(
        pl.when(_MEAN.is_finite()).then(least + width / 2.0).otherwise(least).alias("lower"),
        pl.when(_MEAN.is_finite()).then(least + width / 2.0).otherwise(least + width).alias("upper"),
        (pl.col("end") - pl.col("start") - 1).cast(pl.Float64).alias("most"),
    )
    places = {place: (pl.col("most") * fraction) for place, fraction in fractions.items()}
    rows = rows.with_columns(
        column
        for place, rank in places.items()
        for column in (
            pl.when(pl.col("lower") <= rank).then(_ROW).otherwise(pl.col("first")).alias(f"low{place}"),
            pl.when(pl.col("upper") >= rank).then(_ROW).otherwise(pl.col("last")).alias(f"high{place}"),
        )
    )
    rows = rows.with_columns(
        column
        for place in places
        for column in (
            pl.col(f"low{place}").max().over(names).alias(f"low{place}"),
            pl.col(f"high{place}").min().over(names).alias(f"high{place}"),
        )
    )
    parts = [pl.col("most").max().alias("most")]
    for place in places:
        for side, reached in (("low", "upper"), ("high", "lower")):
            chosen = pl.when(pl.col(f"{side}{place}") == _ROW)
            parts += [
                chosen.then(_MEAN).otherwise(None).sum().alias(f"{side}{place}"),
                chosen.then(pl.col(reached)).otherwise(None).sum().alias(f"{side}{place}at"),
            ]
    groups = rows.group_by(joined).agg(parts)
    return groups.select(*joined, *(_interpolate(place, rank).alias(f"a{place}") for place, rank in places.items()))


def _interpolate(place: int, rank: pl.Expr) -> pl.Expr:
    """Returns the value at a rank: of one of two centroids, or between theirs if both are finite."""
    low, high = pl.col(f"low{place}"), pl.col(f"high{place}")
    first, second = pl.col(f"low{place}at"), pl.col(f"high{place}at")
    share = (rank - first) / (second - first)
    return (
        pl.when((rank <= first) | (low.is_finite() & ~high.is_finite() & (rank < second)))
        .then(low)
        .when((rank >= second) | ~low.is_finite())
        .then(high)
        .otherwise(low * (1.0 - share) + high * share)
    )
