"""Runs a pipeline over packed columns with NumPy, block by block.

CPU workers run it, and kernels are tested against it: both use the same steps, lookup arrays and group words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn
from gpudb.engine.gpu.fused.ir.pipeline import Expr, Filter, FoldInput, GroupSink, Pipeline
from gpudb.engine.gpu.fused.numpy_backend import bodies
from gpudb.engine.gpu.fused.numpy_backend.row_block import MAX, MIN, Array, RowBlock, Table

BLOCK_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment of a table: rows of the pipeline's columns, in its order."""

    rows: int
    columns: tuple[PackedColumn, ...]


def specialize(pipeline: Pipeline, segment: Segment) -> Pipeline:
    """Specializes the pipeline for the encodings of a segment's columns."""
    return replace(pipeline, columns=tuple(column.encoding for column in segment.columns))


@dataclass(frozen=True, slots=True)
class GroupedRows:
    """Groups by their combined keys, one row per word of the sink, and one array of accumulator words (int64 or
    float64) each.
    """

    groups: Array
    words: tuple[Array, ...]


@dataclass
class Outcome:
    """A pipeline's outcome: groups, or the values of rows, and the greatest error code."""

    grouped: GroupedRows | None = None
    rows: list[tuple[Array, Array | None]] = field(default_factory=list)
    code: int = 0

    def to_host(self) -> Outcome:
        """Copies the arrays that are on a device to the host."""
        grouped = self.grouped
        if grouped is not None:
            grouped = GroupedRows(_to_host(grouped.groups), tuple(map(_to_host, grouped.words)))
        rows = [(_to_host(values), None if valid is None else _to_host(valid)) for values, valid in self.rows]
        return Outcome(grouped, rows, self.code)


def _to_host(array: Any) -> Array:
    return array if isinstance(array, np.ndarray) else array.get()


def run(
    pipeline: Pipeline, segments: Sequence[Segment], lookups: Sequence[Sequence[Array]], tables: Sequence[Table]
) -> Outcome:
    """Runs a pipeline over segments; `lookups` are the arrays of each build side, `tables` those of TableEntry."""
    outcome = Outcome()
    parts: list[GroupedRows] = []
    rows: list[list[tuple[Array, Array | None]]] = []
    for segment in segments:
        for first in range(0, segment.rows, BLOCK_ROWS):
            check_stop()
            block = RowBlock(segment.columns, first, min(first + BLOCK_ROWS, segment.rows), lookups, tables)
            for step in pipeline.steps:
                if isinstance(step, Filter):
                    block.keep(block.is_true(step.condition))
                else:
                    block.probe(step)
            if isinstance(pipeline.sink, GroupSink):
                parts.append(_group_rows(block, pipeline.sink))
            else:
                rows.append([block.evaluate(each) for each in pipeline.sink.values])
            outcome.code = max(outcome.code, block.code)
    if isinstance(pipeline.sink, GroupSink):
        outcome.grouped = merge_groups(pipeline.sink, parts)
    else:
        outcome.rows = [_concatenate([part[n] for part in rows], each) for n, each in enumerate(pipeline.sink.values)]
    return outcome


def _concatenate(parts: Sequence[tuple[Array, Array | None]], expr: Expr) -> tuple[Array, Array | None]:
    if not parts:
        return np.zeros(0, np.float64 if expr.bounds is None else np.int64), None
    values = np.concatenate([values for values, _ in parts])
    if all(valid is None for _, valid in parts):
        return values, None
    return values, np.concatenate([np.ones(len(v), bool) if valid is None else valid for v, valid in parts])


def _group_rows(block: RowBlock, sink: GroupSink) -> GroupedRows:
    numbers = np.zeros((len(sink.key_words) if sink.keys else 1, len(block.rows)), np.int64)
    for row, keys in zip(numbers, sink.key_words, strict=False):
        for key in keys:
            values, valid = block.evaluate(key.expr)
            distance = (values - key.low).astype(np.int64)
            row *= key.size
            row += distance if valid is None else np.where(valid, distance, key.size - 1)
    groups, position = _unique(numbers)
    words = []
    for each in sink.accumulators:
        if isinstance(each.value, FoldInput):
            if not each.word:
                words += _fold_rows(block, each.value, position, groups.shape[1])
            continue
        values, valid = block.evaluate(each.value)
        held = values.astype(np.float64 if each.op == "fadd" else np.int64)
        where = position
        if valid is not None:
            held, where = held[valid], position[valid]
        words.append(_accumulate(each.op, where, held, groups.shape[1]))
    return GroupedRows(groups, tuple(words))


def _unique(numbers: Array) -> tuple[Array, Array]:
    """Returns the distinct columns in order, and the index of each column among them."""
    if len(numbers) == 1:
        groups, position = np.unique(numbers[0], return_inverse=True)
        return groups[None], position
    groups, position = np.unique(numbers, axis=1, return_inverse=True)
    return groups, position.reshape(-1)


def _accumulate(op: str, position: Array, values: Array, count: int) -> Array:
    start = {"add": 0, "fadd": 0.0, "min": MAX, "max": MIN}[op]
    made = np.full(count, start, np.float64 if op == "fadd" else np.int64)
    with np.errstate(invalid="ignore"):
        {"add": np.add, "fadd": np.add, "min": np.minimum, "max": np.maximum}[op].at(made, position, values)
    return made


def merge_groups(sink: GroupSink, parts: Sequence[GroupedRows]) -> GroupedRows:
    """Merges the groups of several parts."""
    if not parts:
        empty = np.zeros(0, np.int64)
        words = tuple(
            empty if each.op == "fold" else _accumulate(each.op, empty, empty, 0) for each in sink.accumulators
        )
        return GroupedRows(np.zeros((len(sink.key_words), 0), np.int64), words)
    if len(parts) == 1:
        return parts[0]
    groups, position = _unique(np.concatenate([part.groups for part in parts], axis=1))
    given = [np.concatenate([part.words[n] for part in parts]) for n in range(len(sink.accumulators))]
    merged: list[Array] = []
    for n, each in enumerate(sink.accumulators):
        if not isinstance(each.value, FoldInput):
            merged.append(_accumulate(each.op, position, given[n], groups.shape[1]))
        elif not each.word:
            fold = each.value.aggregate
            merged += bodies.merge_words(fold, given[n : n + 1 + len(fold.fields)], position, groups.shape[1])
    return GroupedRows(groups, tuple(merged))


def _fold_rows(block: RowBlock, fold: FoldInput, position: Array, groups: int) -> list[Array]:
    """Returns the words of a fold's states over a block's rows."""
    kept = np.ones(len(position), bool) if fold.keep is None else block.is_true(fold.keep)
    args = [block.evaluate(each, kept) for each in fold.args]
    return bodies.fold_rows(fold.aggregate, args, np.flatnonzero(kept), position, groups)
