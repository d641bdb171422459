"""One stage on one worker, without what calls it: frames that were received go in, the parts that it gives come out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from gpudb.engine.gpu.lower.expressions import Expressions
from gpudb.engine.gpu.lower.nodes import NOTHING, Frame, Lowering
from gpudb.engine.gpu.lower.values import lanes, type_bounds
from gpudb.engine.gpu.resident import ResidentTables, Share
from gpudb.plan.errors import NotCarried
from gpudb.plan.nodes import Node, Scan
from gpudb.plan.physical import Partial, Receive
from gpudb.plan.stages import Stage
from gpudb.types import SqlType

SEED = 20261
"""Of the hash that spreads rows over workers: theirs must be one."""


@dataclass(frozen=True)
class Task:
    """One stage for one worker: `peers` are all workers' addresses, in order; `sources` says of each input stage how
    its rows were put out and which workers ran it."""

    statement: int
    stage: Stage
    share: Share
    peers: tuple[str, ...]
    sources: dict[int, tuple[str, tuple[int, ...]]]
    parameters: tuple[object, ...] = ()


def compute(work: Task, tables: ResidentTables, received: Mapping[int, Sequence[pl.DataFrame]]) -> list[pl.DataFrame]:
    """The rows that a stage gives: a part for each worker where they go by hash, else one.

    Raises what the statement does, or NotCarried for what only the lowering finds out.
    """

    def source(node: Node) -> Frame:
        if isinstance(node, Scan):
            return tables.frame(node, work.share, work.parameters)
        assert isinstance(node, Receive)
        found = [part for part in received[node.stage] if part.width]
        frame = pl.concat(found) if found else _nothing(node.types)
        return Frame(frame.lazy(), tuple(map(type_bounds, node.types)))

    frame = Lowering(source, _collect, work.parameters).frame(work.stage.root)
    table = _collect(frame.lazy)
    if work.stage.output == "hash":
        return _split(table, work, frame)
    return _ranges(table, work, frame, received) if work.stage.output == "range" else [table]


def _split(table: pl.DataFrame, work: Task, frame: Frame) -> list[pl.DataFrame]:
    """The rows by the hash of their keys, a part for each worker."""
    if isinstance(work.stage.root, Partial):
        kinds = [key.type for key in work.stage.root.aggregate.keys]
        keys = [pl.col(f"k{number}").cast(lanes(kind)[""]) for number, kind in enumerate(kinds)]
    else:
        over = Expressions(frame.bounds, work.parameters)
        values = [over.value(key) for key in work.stage.keys]
        keys = [value.expr.cast(lanes(value.type)[""]) for value in values]
        if over.put_off.quotients:
            table = over.put_off.computed(table)
    count = work.share.count
    place = table.select(place=_hashed(keys, table) % count)["place"]
    return [table.filter(place == number) for number in range(count)]


def _ranges(
    table: pl.DataFrame, work: Task, frame: Frame, received: Mapping[int, Sequence[pl.DataFrame]]
) -> list[pl.DataFrame]:
    """The rows by where their first key lies among those of the sample, which all workers have alike."""
    (key,), (by,) = work.stage.keys, work.stage.order
    over = Expressions(frame.bounds, work.parameters)
    value = over.value(key).expr.cast(lanes(key.type)[""])
    if over.put_off.quotients:
        table = over.put_off.computed(table)
    assert work.stage.sample is not None
    parts = [part["c0"] for part in received[work.stage.sample] if part.width]
    seen = (pl.concat(parts) if parts else pl.Series("c0", [], lanes(key.type)[""])).drop_nulls()
    ordered, count = seen.sort(descending=by.descending), work.share.count
    ends = [ordered[len(ordered) * number // count] for number in range(1, count)] if len(ordered) else []
    beyond = [value < end if by.descending else value > end for end in ends]
    place = pl.sum_horizontal([each.cast(pl.UInt32) for each in beyond]) if beyond else pl.lit(0, pl.UInt32)
    last = pl.lit(0 if by.nulls_first else count - 1, pl.UInt32)
    placed = table.with_columns(pl.when(value.is_null()).then(last).otherwise(place).alias("place"))
    return [placed.filter(pl.col("place") == number).drop("place") for number in range(count)]


def _hashed(keys: Sequence[pl.Expr], table: pl.DataFrame) -> pl.Expr:
    made = pl.lit(SEED, pl.UInt64)
    for key in keys:
        kind = table.select(key.alias("k")).schema["k"]
        # -0 and 0 are one value, and Int128 has no hash that is the same everywhere.
        key = key + 0.0 if kind.is_float() else key.cast(pl.Float64) if kind == pl.Int128 else key
        made = made * pl.lit(31, pl.UInt64) + key.hash(SEED)
    return made


def _collect(lazy: pl.LazyFrame) -> pl.DataFrame:
    try:
        return lazy.collect()
    except pl.exceptions.PanicException as panic:
        # Polars' calendar ends in the year 262142, PostgreSQL's in 294276, and its infinities lie beyond.
        raise NotCarried("a date or timestamp beyond Polars' calendar") from panic


def _nothing(types: Sequence[SqlType]) -> pl.DataFrame:
    schema = {f"c{n}{suffix}": held for n, kind in enumerate(types) for suffix, held in lanes(kind).items()}
    return pl.DataFrame(schema=schema or {NOTHING: pl.Boolean()})
