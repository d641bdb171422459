"""Joins of two frames: every kind, on keys, on any condition, and NOT IN."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from gpudb.engine.gpu.backend.base import Backend
from gpudb.plan.tree.nodes import JoinKind

Condition = Callable[[pl.LazyFrame], pl.LazyFrame]
"""Filters pairs of rows by a join's condition, and raises its errors."""


def key_columns(keys: Sequence[pl.Expr], kinds: Sequence[pl.DataType], prefix: str) -> list[pl.Expr]:
    """Returns a side's join columns: its keys, cast to `kinds`, as k0, k1, … if `prefix` is k.

    A single float key gets a second column: with one key Polars merges sides that it knows to be sorted, and does not
    match NaN.
    """
    result = [key.cast(kind) for key, kind in zip(keys, kinds, strict=True)]
    if len(result) == 1 and kinds[0].is_float():
        result.append(result[0].is_nan())
    return [key.alias(f"{prefix}{number}") for number, key in enumerate(result)]


def join(
    kind: JoinKind, left: pl.LazyFrame, right: pl.LazyFrame, keys: int, condition: Condition | None, frames: Backend
) -> pl.LazyFrame:
    """Joins two frames by the columns k0, k1, … (left) and q0, q1, … (right), `keys` of each: their `key_columns`.

    SEMI and ANTI return the left columns; the caller drops the key columns.
    """
    names = [f"k{number}" for number in range(keys)], [f"q{number}" for number in range(keys)]
    if condition is None and keys:
        if kind in {"SEMI", "ANTI"}:
            return left.join(right, left_on=names[0], right_on=names[1], how="semi" if kind == "SEMI" else "anti")
        how = {"INNER": "inner", "LEFT": "left", "FULL": "full"}[kind]
        return left.join(right, left_on=names[0], right_on=names[1], how=how, coalesce=False)  # type: ignore[arg-type]
    if kind == "INNER":
        return _pairs(left, right, names, condition, frames)
    # The result depends on which rows of either side matched: rows are numbered.
    one = frames.compute(left.with_row_index("i")).lazy
    other = frames.compute(right.with_row_index("j")).lazy
    pairs = frames.compute(_pairs(one, other, names, condition, frames)).lazy
    if kind in {"SEMI", "ANTI"}:
        return one.join(pairs.select("i").unique(), on="i", how="semi" if kind == "SEMI" else "anti").drop("i")
    parts = [pairs, one.join(pairs.select("i").unique(), on="i", how="anti")]
    if kind == "FULL":
        parts.append(other.join(pairs.select("j").unique(), on="j", how="anti"))
    return pl.concat(parts, how="diagonal").drop("i", "j", strict=False)


def join_all(
    kind: JoinKind, left: pl.LazyFrame, right: pl.LazyFrame, one: pl.Expr | None, other: pl.Expr | None, frames: Backend
) -> pl.LazyFrame:
    """Joins each left row for which `one` is true with each right row for which `other` is; None is true for all.

    SEMI and ANTI return the left columns.
    """
    paired = left if one is None else left.filter(one)
    partners = right if other is None else right.filter(other)
    if kind == "INNER":
        return paired.join(partners, how="cross")
    held = frames.compute(partners)
    if kind == "SEMI":
        return paired if held.rows else left.head(0)
    single = left if not held.rows else left.head(0) if one is None else left.filter(~one.fill_null(False))
    if kind == "ANTI":
        return single
    parts = [paired.join(held.lazy, how="cross"), single]
    if kind == "FULL":
        matched = frames.compute(paired.select(pl.len().cast(pl.Int64).alias("matched"))).max_integer("matched")
        unmatched = right.head(0) if other is None else right.filter(~other.fill_null(False))
        parts.append(unmatched if matched else right)
    return pl.concat(parts, how="diagonal")


def _pairs(
    left: pl.LazyFrame,
    right: pl.LazyFrame,
    names: tuple[list[str], list[str]],
    condition: Condition | None,
    frames: Backend,
) -> pl.LazyFrame:
    if names[0]:
        result = left.join(right, left_on=names[0], right_on=names[1], how="inner", coalesce=False)
        return result if condition is None else condition(result)
    if condition is None:
        return left.join(right, how="cross")
    computed = frames.compute(right)
    result = left.join(computed.lazy, how="cross")
    # Beside at most one row every row occurs once: a filter can evaluate what a GPU join's condition cannot.
    return condition(frames.compute(result).lazy if computed.rows <= 1 else result)


def anti_join_not_in(left: pl.LazyFrame, right: pl.LazyFrame, frames: Backend) -> pl.LazyFrame:
    """The anti join of NOT IN on k0 and q0: a NULL on the right excludes all rows, one on the left its row."""
    found = frames.compute(right.select("q0"))
    if not found.rows:
        return left
    if found.null_count("q0"):
        return left.filter(pl.lit(False))
    return left.filter(pl.col("k0").is_not_null()).join(found.lazy, left_on="k0", right_on="q0", how="anti")
