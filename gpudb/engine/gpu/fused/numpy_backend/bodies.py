"""PL/CUDA functions and aggregates over the rows of a block: a child process runs the bodies, compiled for the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.calls import call_aggregate, call_columns
from gpudb.plcuda.source import TYPES, CudaFunction
from gpudb.types import SqlType

Array = np.ndarray[Any, Any]


def call_body(
    function: CudaFunction, args: Sequence[tuple[Array, Array | None]], count: int, active: Array | None
) -> tuple[Array, Array]:
    """Calls a function for the `active` of `count` rows; returns values (float64 or int64) and which are not NULL.

    `args` are values and which of them are not NULL (None: all).
    """
    rows = np.arange(count) if active is None else np.flatnonzero(active)
    if function.strict:
        for _, valid in args:
            rows = rows if valid is None else rows[valid[rows]]
    made = np.zeros(count, np.float64 if function.result.name in {"float4", "float8"} else np.int64)
    known = np.zeros(count, bool)
    if len(rows):
        columns = [
            _to_arrow(values[rows], None if valid is None else valid[rows], item)
            for (values, valid), (_, item) in zip(args, function.parameters, strict=True)
        ]
        found = call_columns(function, columns, len(rows), check_stop)
        made[rows], known[rows] = _from_arrow(found)
    return made, known


def fold_rows(
    aggregate: CudaAggregate, args: Sequence[tuple[Array, Array | None]], kept: Array, position: Array, groups: int
) -> list[Array]:
    """Returns the words of the states of `groups`: of the `kept` rows, each of the group at its `position`."""
    columns = [
        _to_arrow(values[kept], None if valid is None else valid[kept], item)
        for (values, valid), item in zip(args, aggregate.arguments, strict=True)
    ]
    places = np.ascontiguousarray(position[kept], np.int64)
    return to_words(aggregate, *call_aggregate("fold_rows", aggregate, (places, columns, groups), check_stop))


def merge_words(aggregate: CudaAggregate, words: Sequence[Array], position: Array, groups: int) -> list[Array]:
    """Returns the words of the states of `groups` into which states are merged, each at its `position`."""
    if not len(position):
        return [np.zeros(groups, np.int64) for _ in words]
    fields, has = from_words(aggregate, words)
    given = np.ascontiguousarray(position, np.int64), fields, has, groups
    return to_words(aggregate, *call_aggregate("merge_states", aggregate, given, check_stop))


def to_words(aggregate: CudaAggregate, fields: Sequence[Array], has: Array) -> list[Array]:
    """Returns states as words of 64 bits: what the cells have, and the bits of each field."""
    words = [has.astype(np.int64)]
    for each, item in zip(fields, aggregate.fields, strict=True):
        kind = np.dtype(TYPES[item.name][1])
        made = np.zeros(len(each), np.int64)
        made.view(kind)[:: 8 // kind.itemsize] = each
        words.append(made)
    return words


def from_words(aggregate: CudaAggregate, words: Sequence[Array]) -> tuple[list[Array], Array]:
    """Returns the fields of states, and what their cells have, from words."""
    fields = []
    for each, item in zip(words[1:], aggregate.fields, strict=True):
        kind = np.dtype(TYPES[item.name][1])
        fields.append(np.ascontiguousarray(each).view(kind)[:: 8 // kind.itemsize].copy())
    return fields, words[0].astype(np.uint8)


def _to_arrow(values: Array, valid: Array | None, item: SqlType) -> pa.Array:
    kind = TYPES[item.name][1]
    held = values.astype(bool if item.name == "bool" else np.dtype(kind))
    made = pa.array(held, mask=None if valid is None else ~valid)
    return made.view(item.arrow) if made.type != item.arrow else made


def _from_arrow(found: pa.Array) -> tuple[Array, Array]:
    valid = ~np.asarray(found.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(found.type):
        found = found.cast(pa.int8())
    elif pa.types.is_temporal(found.type):
        found = found.view(pa.int32() if found.type.bit_width == 32 else pa.int64())
    return found.fill_null(0).to_numpy(zero_copy_only=False), valid
