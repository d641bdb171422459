"""What the processes that run PL/CUDA code on the host serve: functions and aggregates over columns."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.plcuda.aggregates import CudaAggregate, write_host_aggregate
from gpudb.plcuda.host_compiler import compile_for_host
from gpudb.plcuda.source import TYPES, CudaFunction, make_error, write_host_source
from gpudb.plcuda.table_arguments import check_shape, finish_table, hold_arguments, to_items, write_column
from gpudb.plcuda.tables import CudaTable, write_host_table
from gpudb.types import SqlType

Array = np.ndarray[Any, Any]
States = tuple[list[Array], Array]
"""An array for each field of states, and what the cells have (see `aggregates`)."""
_libraries: dict[CudaFunction | CudaAggregate | CudaTable, ctypes.CDLL] = {}


def call_columns(function: CudaFunction, columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Calls a function for `count` rows of columns; the column of its results. The error that a row raises."""
    items = [item for _, item in function.parameters]
    values, valid = _read_columns(items, columns)
    out, out_valid = np.zeros(count, TYPES[function.result.name][1]), np.zeros(count, np.uint8)
    error = _load(function, write_host_source).run(
        ctypes.c_longlong(count), _point(values), _point(valid), _point_one(out), _point_one(out_valid)
    )
    if error:
        raise make_error(function, error)
    return write_column(function.result, out, out_valid == 0)


def call_table(table: CudaTable, arguments: Sequence[Any]) -> pa.Table:
    """Calls a table function: its columns, by number. The error that a thread raises; 53200, 22023 for its hints.

    An argument is None for NULL, a number, or an array, whose shape has two dimensions for a matrix.
    """
    library = _load(table, write_host_table)
    held, _kept = hold_arguments(table, arguments)
    given = _point(held)
    shape = np.zeros(3, np.int64)
    library.shape(given, _point_one(shape))
    check_shape(table, shape)
    columns = [np.zeros(shape[0], TYPES[item.name][1]) for _, item in table.columns]
    nulls = [np.zeros(shape[0], np.uint8) for _ in columns]
    count, workspace = np.zeros(1, np.uint64), np.zeros(shape[2], np.uint8)
    outputs = _point(columns), _point(nulls), _point_one(count), _point_one(workspace)
    error = library.run(given, _point_one(shape), *outputs)
    if error:
        raise make_error(table, error)
    return finish_table(table, columns, nulls, int(count[0]))


def fold_lists(aggregate: CudaAggregate, ends: Array, there: Array, columns: Sequence[pa.Array]) -> pa.Array:
    """Aggregates lists of rows: the column of the results.

    `ends` has the end of each list among the rows of the columns (int64), `there` which of the rows count (uint8).
    """
    values, valid = _read_columns(aggregate.arguments, columns)
    out = np.zeros(len(ends), TYPES[aggregate.result.name][1])
    out_valid = np.zeros(len(ends), np.uint8)
    arguments = (_point_one(ends), _point_one(there), _point(values), _point(valid))
    _run(aggregate, "fold_lists", len(ends), *arguments, _point_one(out), _point_one(out_valid))
    return write_column(aggregate.result, out, out_valid == 0)


def fold_rows(aggregate: CudaAggregate, places: Array, columns: Sequence[pa.Array], groups: int) -> States:
    """Aggregates rows into the states of `groups`; `places` has the group of each row (int64)."""
    values, valid = _read_columns(aggregate.arguments, columns)
    fields, has = _empty_states(aggregate, groups)
    arguments = (_point_one(places), _point(values), _point(valid))
    _run(aggregate, "fold_rows", len(places), *arguments, _point(fields), _point_one(has))
    return fields, has


def merge_states(
    aggregate: CudaAggregate, places: Array, given: Sequence[Array], given_has: Array, groups: int
) -> States:
    """Merges states into those of `groups`; `places` has the group of each (int64)."""
    fields, has = _empty_states(aggregate, groups)
    held = _hold_states(aggregate, given)
    given_has = np.ascontiguousarray(given_has, np.uint8)
    arguments = (_point_one(places), _point(held), _point_one(given_has), _point(fields), _point_one(has))
    _run(aggregate, "merge_states", len(places), *arguments)
    return fields, has


def finish_states(aggregate: CudaAggregate, given: Sequence[Array], has: Array) -> pa.Array:
    """Returns the results of states."""
    held, has = _hold_states(aggregate, given), np.ascontiguousarray(has, np.uint8)
    out, out_valid = np.zeros(len(has), TYPES[aggregate.result.name][1]), np.zeros(len(has), np.uint8)
    arguments = (_point(held), _point_one(has), _point_one(out), _point_one(out_valid))
    _run(aggregate, "finish_states", len(has), *arguments)
    return write_column(aggregate.result, out, out_valid == 0)


def _empty_states(aggregate: CudaAggregate, groups: int) -> States:
    return [np.zeros(groups, TYPES[item.name][1]) for item in aggregate.fields], np.zeros(groups, np.uint8)


def _hold_states(aggregate: CudaAggregate, given: Sequence[Array]) -> list[Array]:
    pairs = zip(given, aggregate.fields, strict=True)
    return [np.ascontiguousarray(each, TYPES[item.name][1]) for each, item in pairs]


def _run(aggregate: CudaAggregate, name: str, count: int, *arguments: Any) -> None:
    entry = getattr(_load(aggregate, write_host_aggregate), name)
    error = entry(ctypes.c_longlong(count), *arguments)
    if error:
        function = aggregate.functions[error // 1000]
        assert function is not None
        raise make_error(function, error % 1000)


def _point(arrays: Sequence[Array]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(each.ctypes.data for each in arrays))


def _point_one(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _read_columns(items: Sequence[SqlType], columns: Sequence[pa.Array]) -> tuple[list[Array], list[Array]]:
    values = [to_items(item, each) for item, each in zip(items, columns, strict=True)]
    return values, [np.asarray(pc.is_valid(each).cast(pa.uint8())) for each in columns]


def _load(code: Any, write: Any) -> ctypes.CDLL:
    known = _libraries.get(code)
    if known is None:
        known = _libraries[code] = ctypes.CDLL(str(compile_for_host(write(code), code.name)))
    return known
