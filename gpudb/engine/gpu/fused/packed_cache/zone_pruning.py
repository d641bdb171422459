"""Prunes rows by zone maps: skips zones whose rows a pipeline's steps would drop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gpudb.engine.gpu.fused.columns.packed_column import ROW_PADDING, PackedColumn
from gpudb.engine.gpu.fused.columns.zones import Zones
from gpudb.engine.gpu.fused.ir.pipeline import Compare, DateField, Expr, Field, Filter, Literal, Logic, Lookup, Pipeline
from gpudb.engine.gpu.fused.ir.traversal import can_fail, step_exprs
from gpudb.engine.gpu.fused.numpy_backend import calendar
from gpudb.engine.gpu.fused.numpy_backend.executor import Segment
from gpudb.engine.gpu.fused.numpy_backend.row_block import Array

_MAX_PARTS = 16
"""Maximum number of parts that a segment is split into; each is a launch."""
_Span = tuple[Array | int, Array | int]
"""The least and greatest value of each zone."""
_RowRanges = list[tuple[int, int]] | None
"""The first row of each part, and the row after its last; None for all rows."""


def prune_segment(pipeline: Pipeline, segment: Segment) -> list[Segment]:
    """Returns the rows of a segment that may be kept, in parts; the segment itself where none can be skipped."""
    return _split_segment(segment, _kept_rows(pipeline, segment))


class ZonePruning:
    """Prunes the segments that a pipeline reads; remembers the result for columns with the same zones."""

    def __init__(self) -> None:
        self._known: tuple[Pipeline, list[Zones | None], list[_RowRanges]] | None = None

    def prune(self, pipeline: Pipeline, segments: Sequence[Segment]) -> list[Segment]:
        """Prunes several segments: see `prune_segment`."""
        zones = [column.zones for segment in segments for column in segment.columns]
        known = self._known
        if (
            known is None
            or known[0] is not pipeline
            or len(known[2]) != len(segments)
            or not _are_same_zones(known[1], zones)
        ):
            known = self._known = pipeline, zones, [_kept_rows(pipeline, segment) for segment in segments]
        return [
            part for segment, rows in zip(segments, known[2], strict=True) for part in _split_segment(segment, rows)
        ]


def _are_same_zones(some: Sequence[Zones | None], others: Sequence[Zones | None]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


def _kept_rows(pipeline: Pipeline, segment: Segment) -> _RowRanges:
    ends = next((column.zones.ends for column in segment.columns if column.zones is not None), None)
    if ends is None or not len(ends):
        return None
    kept = _ZoneRanges(segment, ends).keep_zones(pipeline)
    return None if kept.all() else _row_ranges(ends, kept)


def _split_segment(segment: Segment, rows: _RowRanges) -> list[Segment]:
    return [segment] if rows is None else [_slice_segment(segment, first, last) for first, last in rows]


class _ZoneRanges:
    """Value ranges of a segment's columns, by zone."""

    def __init__(self, segment: Segment, ends: Array) -> None:
        self._columns, self._ends = segment.columns, ends

    def keep_zones(self, pipeline: Pipeline) -> Array:
        """Returns which zones may have rows that are kept; rows that reach a step that can fail must reach it."""
        kept = np.ones(len(self._ends), bool)
        for step in pipeline.steps:
            if any(map(can_fail, step_exprs(step))):
                break
            if isinstance(step, Filter):
                kept &= self._may_be_true(step.condition)
            elif step.kind in {"inner", "semi"}:
                kept &= self._may_match(step)
        return kept

    def _may_match(self, step: Lookup) -> Array:
        """Returns which zones may have keys of a build side."""
        found: Array = np.ones(len(self._ends), bool)
        for key, low, size in zip(step.keys, step.lows, step.sizes, strict=True):
            span = self._value_range(key)
            if span is not None:
                found &= (span[0] < low + size) & (span[1] >= low)
        return found

    def _may_be_true(self, condition: Expr) -> Array:
        """Returns which zones may have rows for which a condition is true."""
        made: Array = np.ones(len(self._ends), bool)
        match condition:
            case Logic(op="AND", args=args):
                for each in args:
                    made &= self._may_be_true(each)
            case Logic(op="OR", args=args):
                made[:] = False
                for each in args:
                    made |= self._may_be_true(each)
            case Compare(op=op, left=left, right=right):
                a, b = self._value_range(left), self._value_range(right)
                if a is not None and b is not None:
                    made &= _may_hold(op, a, b)
        return made

    def _value_range(self, expr: Expr) -> _Span | None:
        match expr:
            case Literal(value=int(value)):
                return value, value
            case Field(column=column):
                zones = self._columns[column].zones
                if zones is None or not np.array_equal(zones.ends, self._ends):
                    return None
                return zones.lows, zones.highs
            case DateField(field="year", arg=arg, micros=micros):
                span = self._value_range(arg)
                # Years are monotonic in days; without values there is no year.
                if span is None:
                    return None
                low, high = (calendar.extract_field("year", end, micros=micros) for end in span)
                return low, high
        return None


def _may_hold(op: str, a: _Span, b: _Span) -> Array | bool:
    """Returns for which zones a comparison of values within two ranges can be true."""
    match op:
        case "<":
            return a[0] < b[1]
        case "<=":
            return a[0] <= b[1]
        case ">":
            return a[1] > b[0]
        case ">=":
            return a[1] >= b[0]
        case "==":
            return (a[0] <= b[1]) & (a[1] >= b[0])
    return True


def _row_ranges(ends: Array, kept: Array) -> list[tuple[int, int]]:
    """Returns the row ranges of kept zones, aligned for kernels; few ranges, so some rows more."""
    rows = int(ends[-1])
    turns = np.flatnonzero(np.diff(kept, prepend=False, append=False))
    starts = np.concatenate([[0], ends])
    found: list[tuple[int, int]] = []
    for first, last in starts[turns].reshape(-1, 2).tolist():
        first, last = first // ROW_PADDING * ROW_PADDING, min(-(-last // ROW_PADDING) * ROW_PADDING, rows)
        if found and found[-1][1] >= first:
            first = found.pop()[0]
        found.append((first, last))
    while len(found) > _MAX_PARTS:
        gaps = [later[0] - each[1] for each, later in pairwise(found)]
        position = gaps.index(min(gaps))
        found[position : position + 2] = [(found[position][0], found[position + 1][1])]
    return found


def _slice_segment(segment: Segment, first: int, last: int) -> Segment:
    return Segment(last - first, tuple(slice_column(column, first, last) for column in segment.columns))


def slice_column(column: PackedColumn, first: int, last: int) -> PackedColumn:
    """Returns rows `first`, the first of a block, to before `last` of a column, without its zones."""
    valid = None if column.valid is None else column.valid[first // 8 : -(-last // ROW_PADDING) * ROW_PADDING // 8]
    if column.texts is not None:
        texts = replace(column.texts, skip=column.texts.skip + first)
        return replace(column, rows=last - first, valid=valid, zones=None, texts=texts)
    data = column.data[first * column.encoding.width : -(-last // ROW_PADDING) * ROW_PADDING * column.encoding.width]
    return replace(column, rows=last - first, data=data, valid=valid, zones=None)
