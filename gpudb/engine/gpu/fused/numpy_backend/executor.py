"""Runs a pipeline over packed columns with NumPy, block by block.

CPU workers run it, and kernels are tested against it: both use the same steps, lookup arrays and group words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn
from gpudb.engine.gpu.fused.ir.pipeline import Expr, Filter, Groups, Pipeline
from gpudb.engine.gpu.fused.numpy_backend.row_block import MAX, MIN, Array, Block, Table

BLOCK = 1 << 18


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a table: rows of the pipeline's columns, in its order."""

    rows: int
    columns: tuple[PackedColumn, ...]


def in_forms(pipeline: Pipeline, segment: Segment) -> Pipeline:
    """Specializes the pipeline for the encodings of a segment's columns."""
    return replace(pipeline, columns=tuple(column.form for column in segment.columns))


@dataclass(frozen=True, slots=True)
class Grouped:
    """Groups by their combined keys, one row per word of the sink, and one array of accumulator words (int64 or
    float64) each.
    """

    groups: Array
    words: tuple[Array, ...]


@dataclass
class Outcome:
    """A pipeline's outcome: groups, or the values of rows, and the greatest error code."""

    grouped: Grouped | None = None
    rows: list[tuple[Array, Array | None]] = field(default_factory=list)
    code: int = 0

    def fetched(self) -> Outcome:
        """Copies the arrays that are on a device to the host."""
        grouped = self.grouped
        if grouped is not None:
            grouped = Grouped(_host(grouped.groups), tuple(map(_host, grouped.words)))
        rows = [(_host(values), None if valid is None else _host(valid)) for values, valid in self.rows]
        return Outcome(grouped, rows, self.code)


def _host(array: Any) -> Array:
    return array if isinstance(array, np.ndarray) else array.get()


def run(
    pipeline: Pipeline, segments: Sequence[Segment], lookups: Sequence[Sequence[Array]], tables: Sequence[Table]
) -> Outcome:
    """Runs a pipeline over segments; `lookups` are the arrays of each build side, `tables` those of Mapped."""
    outcome = Outcome()
    parts: list[Grouped] = []
    rows: list[list[tuple[Array, Array | None]]] = []
    for segment in segments:
        for first in range(0, segment.rows, BLOCK):
            block = Block(segment.columns, first, min(first + BLOCK, segment.rows), lookups, tables)
            for step in pipeline.steps:
                if isinstance(step, Filter):
                    block.keep(block.true(step.condition))
                else:
                    block.look_up(step)
            if isinstance(pipeline.sink, Groups):
                parts.append(_grouped(block, pipeline.sink))
            else:
                rows.append([block.value(each) for each in pipeline.sink.values])
            outcome.code = max(outcome.code, block.code)
    if isinstance(pipeline.sink, Groups):
        outcome.grouped = merged(pipeline.sink, parts)
    else:
        outcome.rows = [_joined([part[n] for part in rows], each) for n, each in enumerate(pipeline.sink.values)]
    return outcome


def _joined(parts: Sequence[tuple[Array, Array | None]], expr: Expr) -> tuple[Array, Array | None]:
    if not parts:
        return np.zeros(0, np.float64 if expr.bounds is None else np.int64), None
    values = np.concatenate([values for values, _ in parts])
    if all(valid is None for _, valid in parts):
        return values, None
    return values, np.concatenate([np.ones(len(v), bool) if valid is None else valid for v, valid in parts])


def _grouped(block: Block, sink: Groups) -> Grouped:
    numbers = np.zeros((len(sink.words) if sink.keys else 1, len(block.rows)), np.int64)
    for row, keys in zip(numbers, sink.words, strict=False):
        for key in keys:
            values, valid = block.value(key.expr)
            distance = (values - key.low).astype(np.int64)
            row *= key.size
            row += distance if valid is None else np.where(valid, distance, key.size - 1)
    groups, place = _unique(numbers)
    words = []
    for each in sink.accumulators:
        values, valid = block.value(each.value)
        held = values.astype(np.float64 if each.op == "fadd" else np.int64)
        where = place
        if valid is not None:
            held, where = held[valid], place[valid]
        words.append(_accumulated(each.op, where, held, groups.shape[1]))
    return Grouped(groups, tuple(words))


def _unique(numbers: Array) -> tuple[Array, Array]:
    """Returns the distinct columns in order, and the index of each column among them."""
    if len(numbers) == 1:
        groups, place = np.unique(numbers[0], return_inverse=True)
        return groups[None], place
    groups, place = np.unique(numbers, axis=1, return_inverse=True)
    return groups, place.reshape(-1)


def _accumulated(op: str, place: Array, values: Array, count: int) -> Array:
    start = {"add": 0, "fadd": 0.0, "min": MAX, "max": MIN}[op]
    made = np.full(count, start, np.float64 if op == "fadd" else np.int64)
    with np.errstate(invalid="ignore"):
        {"add": np.add, "fadd": np.add, "min": np.minimum, "max": np.maximum}[op].at(made, place, values)
    return made


def merged(sink: Groups, parts: Sequence[Grouped]) -> Grouped:
    """Merges the groups of several parts."""
    if not parts:
        empty = np.zeros(0, np.int64)
        words = tuple(_accumulated(each.op, empty, empty, 0) for each in sink.accumulators)
        return Grouped(np.zeros((len(sink.words), 0), np.int64), words)
    if len(parts) == 1:
        return parts[0]
    groups, place = _unique(np.concatenate([part.groups for part in parts], axis=1))
    words = tuple(
        _accumulated(each.op, place, np.concatenate([part.words[n] for part in parts]), groups.shape[1])
        for n, each in enumerate(sink.accumulators)
    )
    return Grouped(groups, words)
