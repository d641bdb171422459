"""Columns that are slices of larger ones: their own bytes, and copies of small slices.

Slices come from the first rows of an order, and from rows that are distributed over workers. They would keep the larger
columns alive, and be charged their bytes.
"""

from __future__ import annotations

from typing import Any

import pylibcudf as plc
from cudf_polars.containers import Column, DataFrame

SMALL = 1 << 24
"""Maximum bytes of slices that are copied, where they are the smaller part of the memory that they keep alive."""


def estimate_own_bytes(column: Any) -> int:
    """Returns the bytes of a libcudf column's own rows; estimated for texts and lists."""
    held, rows = int(column.device_buffer_size()), _rows_in_memory(column)
    return held * column.size() // rows if column.size() < rows else held


def copy_small_slices(frame: Any) -> Any:
    """Returns a frame that does not keep much larger columns alive."""
    held = sum(int(column.obj.device_buffer_size()) for column in frame.columns)
    own = sum(estimate_own_bytes(column.obj) for column in frame.columns)
    if own > SMALL or held - own <= own:
        return frame
    copies = [
        Column(
            column.obj.copy(stream=frame.stream),
            column.dtype,
            name=column.name,
            is_sorted=column.is_sorted,
            order=column.order,
            null_order=column.null_order,
        )
        for column in frame.columns
    ]
    return DataFrame(copies, stream=frame.stream, num_rows=frame.num_rows)


def _rows_in_memory(column: Any) -> int:
    """Returns the number of rows in the memory that a column is a slice of."""
    kind, data = column.type(), column.data()
    if plc.traits.is_fixed_width(kind):
        return data.nbytes // plc.types.size_of(kind) if data is not None else 0
    if not column.num_children():
        return int(column.size())
    # The first child of texts and lists is their offsets, that of structs their first field.
    rows = int(column.child(0).size())
    return rows if kind.id() == plc.TypeId.STRUCT else rows - 1
