"""Columns that are a part of larger ones, in whose memory they lie: their own bytes, and copies of the small ones.

The first rows of an order, and the parts of rows that are spread over workers, are such parts. The larger ones would
live as long as they do, and their bytes be told as theirs.
"""

from __future__ import annotations

from typing import Any

import pylibcudf as plc
from cudf_polars.containers import Column, DataFrame

SMALL = 1 << 24
"""Bytes of parts that are copied, where most of what they lie in is none of theirs."""


def own_bytes(column: Any) -> int:
    """The bytes of a libcudf column's own rows; about, of texts and lists."""
    held, rows = int(column.device_buffer_size()), _rows_there(column)
    return held * column.size() // rows if column.size() < rows else held


def apart(frame: Any) -> Any:
    """A frame of the GPU's memory that keeps no much larger ones alive."""
    held = sum(int(column.obj.device_buffer_size()) for column in frame.columns)
    own = sum(own_bytes(column.obj) for column in frame.columns)
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


def _rows_there(column: Any) -> int:
    """How many rows the memory holds that a column lies in."""
    kind, data = column.type(), column.data()
    if plc.traits.is_fixed_width(kind):
        return data.nbytes // plc.types.size_of(kind) if data is not None else 0
    if not column.num_children():
        return int(column.size())
    # Of texts and lists where each ends, of structs their first field.
    rows = int(column.child(0).size())
    return rows if kind.id() == plc.TypeId.STRUCT else rows - 1
