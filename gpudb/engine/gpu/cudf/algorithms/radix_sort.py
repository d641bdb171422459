"""Sorts by several keys of fixed width, or by a float, as stable radix sorts by single keys, the last key first.

libcudf compares rows key by key otherwise, which takes several times as long over millions of rows. A LIMIT gathers
only its rows. One over texts sorts only the rows that it may need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np
import pylibcudf as plc
from cudf_polars.containers import DataFrame
from cudf_polars.dsl import ir
from cudf_polars.dsl.utils.reshape import broadcast

from gpudb.engine.gpu.backend.nearest import order_integers
from gpudb.engine.gpu.cudf.algorithms.first_texts import keep_first
from gpudb.engine.gpu.cudf.columns.arrays import KINDS, make_column, validity_mask, values_array
from gpudb.engine.gpu.cudf.memory.streams import current_stream

MIN_ROWS = 1 << 17
"""Fewest rows that are sorted so."""
_TYPES = {
    np.dtype(np.uint8): plc.TypeId.UINT8,
    np.dtype(np.int8): plc.TypeId.INT8,
    np.dtype(np.int16): plc.TypeId.INT16,
    np.dtype(np.int32): plc.TypeId.INT32,
    np.dtype(np.int64): plc.TypeId.INT64,
}


def install() -> None:
    """Patches cudf-polars' sort; keys of other types, and few rows, are sorted as before."""
    known = ir.Sort.do_evaluate

    def sort(
        cls: Any, by: Any, order: Any, null_order: Any, stable: bool, zlice: Any, frame: Any, *, context: Any
    ) -> Any:
        if frame.num_rows >= MIN_ROWS:
            keys = broadcast(*(key.evaluate(frame) for key in by), target_length=frame.num_rows, stream=frame.stream)
            if is_sortable([key.obj for key in keys]):
                return _sort(frame, keys, order, null_order, zlice)
            frame = keep_first(frame, keys[0].obj, order[0], null_order[0], zlice)
        return known(by, order, null_order, stable, zlice, frame, context=context)

    ir.Sort.do_evaluate = classmethod(sort)


def is_sortable(keys: Sequence[Any]) -> bool:
    """Returns whether radix sorts pay for key columns: libcudf itself sorts so by one integer without NULLs."""
    kinds = [KINDS.get(key.type().id()) for key in keys]
    if None in kinds:
        return False
    return len(keys) > 1 or np.dtype(kinds[0]).kind == "f" or bool(keys[0].null_count())


def _sort(frame: Any, keys: Sequence[Any], order: Any, null_order: Any, zlice: Any) -> Any:
    current_stream()
    places = sorted_places([key.obj for key in keys], order, null_order)
    if zlice is not None and zlice[0] >= 0:
        offset, length = zlice
        places, zlice = places[offset : None if length is None else offset + length], None
    at = make_column(plc.DataType(plc.TypeId.INT32), len(places), cupy.ascontiguousarray(places), None)
    rows = plc.copying.gather(frame.table, at, plc.copying.OutOfBoundsPolicy.DONT_CHECK, stream=frame.stream)
    made = DataFrame.from_table(rows, frame.column_names, frame.dtypes, stream=frame.stream)
    for column in frame.columns:
        if keys[0].obj is column.obj:
            sortedness = {"is_sorted": plc.types.Sorted.YES, "order": order[0], "null_order": null_order[0]}
            made.column_map[column.name].set_sorted(**sortedness)
    return made.slice(zlice)


def sorted_places(keys: Sequence[Any], order: Sequence[Any], null_order: Sequence[Any]) -> Any:
    """Returns the rows' numbers in the order of key columns; rows with equal keys stay in their order."""
    return sort_integers(
        [
            array
            for key, direction, nulls in zip(keys, order, null_order, strict=True)
            for array in _sort_arrays(key, direction == plc.types.Order.DESCENDING, nulls == plc.types.NullOrder.BEFORE)
        ]
    )


def sort_integers(arrays: Sequence[Any]) -> Any:
    """Returns the rows' numbers in the order of arrays of integers, the first being the most significant.

    Rows with equal integers stay in their order.
    """
    places = None
    for array in reversed(arrays):
        held = cupy.ascontiguousarray(array if places is None else array[places])
        column = make_column(plc.DataType(_TYPES[held.dtype]), len(held), held, None)
        ascending = [plc.types.Order.ASCENDING], [plc.types.NullOrder.AFTER]
        found = values_array(plc.sorting.stable_sorted_order(plc.Table([column]), *ascending, stream=current_stream()))
        places = found if places is None else places[found]
    return places


def _sort_arrays(column: Any, descending: bool, nulls_before: bool) -> list[Any]:
    """Returns integers without NULLs that sort as a column does, the most significant first."""
    values, valid = values_array(column), validity_mask(column)
    values = order_integers(cupy, values)
    if valid is not None:
        values = cupy.where(valid, values, values.dtype.type(0))
    if descending:
        values = ~values
    if valid is None:
        return [values]
    # NULLs that come before all values in ascending order come last in descending order.
    return [(valid if nulls_before != descending else ~valid).view(np.uint8), values]
