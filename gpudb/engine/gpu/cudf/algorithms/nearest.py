"""ASOF joins of frames in GPU memory: `backend.nearest` over CuPy arrays, and libcudf's gather of both sides' rows."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

from gpudb.engine.gpu.backend.nearest import NearestJoin, find_nearest, order_integers
from gpudb.engine.gpu.cudf.algorithms.radix_sort import sort_integers
from gpudb.engine.gpu.cudf.columns.arrays import make_column, validity_mask, values_array
from gpudb.engine.gpu.cudf.columns.convert import build_frame
from gpudb.engine.gpu.cudf.memory.streams import current_stream

_PLACE = plc.DataType(plc.TypeId.INT32)


def join_nearest(left: Any, right: Any, join: NearestJoin) -> Any:
    """Returns the left frame's rows with columns of their nearest right rows.

    The work is on the calling thread's stream, which the caller synchronizes.
    """
    current_stream()
    groups = join.group or (None, None)
    sides = [_arrays(*each) for each in zip((left, right), groups, join.time, strict=True)]
    places = find_nearest(cupy, join, sides, sort_integers)
    found = places >= 0
    mine, theirs = list(left.columns), [right.column_map[name] for name in join.columns]
    rows = left.num_rows
    if join.inner:
        kept = cupy.flatnonzero(found)
        rows = len(kept)
        columns = [*_gather(mine, kept, rows), *_gather(theirs, places[kept], rows)]
    else:
        # A place behind the last row is NULL
        columns = [*(each.obj for each in mine), *_gather(theirs, cupy.where(found, places, right.num_rows), rows)]
    every = [*mine, *theirs]
    return build_frame(columns, [each.name for each in every], [each.dtype for each in every], rows)


def take_places(table: Any, places: Any) -> Any:
    """Returns the rows of a frame at places, an array on the host or of CuPy.

    The work is on the calling thread's stream, which the caller synchronizes.
    """
    current_stream()
    mine = list(table.columns)
    columns = _gather(mine, cupy.asarray(places), len(places))
    return build_frame(columns, [each.name for each in mine], [each.dtype for each in mine], len(places))


def _arrays(side: Any, group: str | None, time: str) -> tuple[Any, Any]:
    """Returns the groups of a frame's rows, -1 for those without a group or a time, and their times as integers."""
    held = side.column_map[time].obj
    known = validity_mask(held)
    if group is None:
        numbers = cupy.zeros(side.num_rows, np.int64)
    else:
        column = side.column_map[group].obj
        numbers, grouped = values_array(column).astype(np.int64, copy=False), validity_mask(column)
        numbers = numbers if grouped is None else cupy.where(grouped, numbers, -1)
    return (numbers if known is None else cupy.where(known, numbers, -1)), order_integers(cupy, values_array(held))


def _gather(columns: list[Any], places: Any, rows: int) -> list[Any]:
    """Returns the values of columns at places, of which those behind the last row are NULL."""
    if not columns:
        return []
    if not columns[0].obj.size():
        return [plc.Column.all_null_like(each.obj, rows, stream=current_stream()) for each in columns]
    table = plc.Table([each.obj for each in columns])
    if not rows:
        return list(plc.copying.empty_like(table, stream=current_stream()).columns())
    at = make_column(_PLACE, rows, cupy.ascontiguousarray(places.astype(np.int32)), None)
    made = plc.copying.gather(table, at, plc.copying.OutOfBoundsPolicy.NULLIFY, stream=current_stream())
    return list(made.columns())
