"""UNION ALL, INTERSECT and EXCEPT of two frames."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.lower.expressions.lowered_frame import NO_COLUMNS, Frame, LoweringContext
from gpudb.engine.gpu.lower.expressions.text_codes import common_texts
from gpudb.engine.gpu.lower.values import check_length, maximum, minimum, physical_columns
from gpudb.plan.tree import nodes


def combine(left: Frame, right: Frame, node: nodes.SetOperation, context: LoweringContext) -> Frame:
    """Returns the rows of a set operation over its inputs."""
    for kind, *sources in zip(node.types, *(each.types for each in node.inputs), strict=True):
        check_length(kind, sources)
    left, right, texts = _alike(left, right, context)
    names = [f"c{n}{s}" for n, kind in enumerate(node.types) for s in physical_columns(kind)] or [NO_COLUMNS]
    one, other = left.lazy.select(names), right.lazy.select(names)
    bounds = tuple(
        None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))
        for a, b in zip(left.bounds, right.bounds, strict=True)
    )
    if node.op == "UNION":
        return Frame(pl.concat([one, other]), bounds, texts=texts)
    counts = pl.concat(
        [
            one.with_columns(pl.lit(1, pl.Int64).alias("l"), pl.lit(0, pl.Int64).alias("r")),
            other.with_columns(pl.lit(0, pl.Int64).alias("l"), pl.lit(1, pl.Int64).alias("r")),
        ]
    )
    keys = [f"c{n}" for n in range(len(node.types))] or [NO_COLUMNS]
    # Of equal rows the left one's other physical columns are kept.
    rest = [pl.col(name).first() for name in names if name not in keys]
    groups = counts.group_by(keys, maintain_order=bool(rest)).agg(*rest, pl.col("l").sum(), pl.col("r").sum())
    if node.op == "INTERSECT":
        both = (pl.col("l") > 0) & (pl.col("r") > 0)
        times = minimum(pl.col("l"), pl.col("r")) if node.all else both.cast(pl.Int64)
    elif node.all:
        times = maximum(pl.col("l") - pl.col("r"), pl.lit(0, pl.Int64))
    else:
        times = ((pl.col("l") > 0) & (pl.col("r") == 0)).cast(pl.Int64)
    kept = groups.with_columns(times.alias("t")).filter(pl.col("t") > 0)
    if node.all:
        kept = context.frames.repeat_rows(context.frames.compute(kept), "t", "i").lazy
    return Frame(kept.select(names), left.bounds, texts=texts)


def _alike(left: Frame, right: Frame, context: LoweringContext) -> tuple[Frame, Frame, dict[int, Dictionary]]:
    """Returns two frames with the same coded columns, those that one dictionary encodes in both."""
    texts = common_texts(left.texts, right.texts)

    def decode(frame: Frame) -> Frame:
        rest = {index: each for index, each in frame.texts.items() if index not in texts}
        return context.decode(replace(frame, texts=rest)) if rest else frame

    return decode(left), decode(right), texts
