"""Percentiles of groups: rows are sorted within their groups and numbered; the values are looked up by number."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from gpudb.engine.gpu.backend.base import Backend
from gpudb.engine.gpu.lower.values import is_keyed, is_packed, physical_columns
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sql import bound

LOWERED = frozenset({"percentile_cont", "percentile_disc"})
NumberedCalls = Sequence[tuple[int, bound.Aggregate]]
"""Calls by their numbers."""


def is_lowered(call: bound.Aggregate) -> bool:
    """Returns whether a percentile is lowered.

    It needs one constant fraction, and values of one physical column that are equal only if they are displayed alike.
    """
    if call.function.name not in LOWERED or len(call.within_group) != 1 or len(call.args) != 1 or call.distinct:
        return False
    (arg,), (key,) = call.args, call.within_group
    kind = key.expr.type
    if not isinstance(arg, bound.Constant) or not isinstance(arg.value, float) or not 0 <= arg.value <= 1:
        return False
    if call.function.name == "percentile_cont":
        return kind.name == "float8" == call.type.name
    try:
        return (
            kind.without_modifier == call.type
            and len(physical_columns(kind)) == 1
            and not (is_keyed(kind) or is_packed(kind))
        )
    except NotSupportedOnWorkers:
        return False


def group_with_percentiles(
    lazy: pl.LazyFrame,
    names: Sequence[str],
    shown: Sequence[pl.Expr],
    calls: Sequence[pl.Expr],
    percentiles: NumberedCalls,
    frames: Backend,
) -> pl.LazyFrame:
    """Groups by the columns `names` with some aggregates, and each call's value in the column `a` and its number.

    The column `y` and the number holds a call's values, NULL if they do not count.
    """
    for number, call in percentiles:
        (key,) = call.within_group
        # -0 and 0 are one key, whose rows must be adjacent.
        keys = [_normalize_zero(name, lazy) for name in names]
        ordered = lazy.sort([*keys, f"y{number}"], descending=[*[False] * len(keys), key.descending], nulls_last=True)
        lazy = frames.compute(ordered.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(f"r{number}"))).lazy
    runs = [
        result
        for number, _ in percentiles
        for result in (
            pl.col(f"r{number}").min().alias(f"first{number}"),
            pl.col(f"y{number}").count().cast(pl.Int64).alias(f"count{number}"),
        )
    ]
    groups = lazy.group_by(names).agg([*shown, *calls, *runs]) if names else lazy.select([*calls, *runs])
    for number, call in percentiles:
        groups = _add_value(groups, lazy, number, call)
    return groups


def _normalize_zero(name: str, lazy: pl.LazyFrame) -> pl.Expr:
    return pl.col(name) + 0.0 if lazy.collect_schema()[name].is_float() else pl.col(name)


def _add_value(groups: pl.LazyFrame, rows: pl.LazyFrame, number: int, call: bound.Aggregate) -> pl.LazyFrame:
    (arg,) = call.args
    assert isinstance(arg, bound.Constant)
    assert isinstance(arg.value, float)
    first, count = pl.col(f"first{number}"), pl.col(f"count{number}")
    at = rows.select(f"r{number}", f"y{number}")
    has_rows = pl.when(count > 0)

    def value_at(groups: pl.LazyFrame, place: pl.Expr, name: str) -> pl.LazyFrame:
        """Adds the values at row positions, from 0 on, to the groups."""
        percentiles = groups.with_columns(has_rows.then(first + place.cast(pl.Int64)).otherwise(None).alias("place"))
        named = at.rename({f"r{number}": "place", f"y{number}": name})
        return percentiles.join(named, on="place", how="left").drop("place")

    own = [f"first{number}", f"count{number}"]
    if call.function.name == "percentile_disc":
        place = (count.cast(pl.Float64) * arg.value).ceil() - 1
        return value_at(groups, pl.when(place > 0).then(place).otherwise(0.0), f"a{number}").drop(own)
    place = (count - 1).cast(pl.Float64) * arg.value
    groups = value_at(value_at(groups, place.floor(), "low"), place.ceil(), "high")
    low, high = pl.col("low"), pl.col("high")
    between = pl.when(place.floor() == place.ceil()).then(low).otherwise(low + (high - low) * (place - place.floor()))
    return groups.with_columns(between.alias(f"a{number}")).drop(*own, "low", "high")
