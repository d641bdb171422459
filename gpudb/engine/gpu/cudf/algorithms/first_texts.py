"""Rows of a frame in GPU memory that come first by a text (see `backend.first_texts`): few, which are then sorted."""

from __future__ import annotations

from typing import Any

import cupy
import pylibcudf as plc
from cudf_polars.containers import DataFrame

from gpudb.engine.gpu.backend.first_texts import TextArrays, select_first
from gpudb.engine.gpu.cudf.columns.arrays import make_column, validity_mask, values_array, view_bytes
from gpudb.engine.gpu.cudf.memory.streams import current_stream

_SHARE = 16
"""Least ratio of all rows to those that are wanted, for which a selection pays before a sort."""


def keep_first(frame: Any, key: Any, order: Any, null_order: Any, zlice: Any) -> Any:
    """Returns the frame with only those rows, in their order, that may be in a slice of its sort by a first key.

    It is the frame itself if the key is no text, or the slice is no small number of first rows. The work is on the
    calling thread's stream.
    """
    if zlice is None or zlice[0] < 0 or zlice[1] is None or key.type().id() != plc.TypeId.STRING:
        return frame
    count = zlice[0] + zlice[1]
    if not 0 < count * _SHARE <= frame.num_rows:
        return frame
    current_stream()
    offsets = values_array(key.child(0))[key.offset() : key.offset() + key.size() + 1]
    texts = TextArrays(view_bytes(key.data(), int(offsets[-1]), key), offsets, validity_mask(key))
    descending = order == plc.types.Order.DESCENDING
    nulls_first = (null_order == plc.types.NullOrder.BEFORE) != descending
    places = select_first(cupy, texts, count, descending=descending, nulls_first=nulls_first)
    at = make_column(plc.DataType(plc.TypeId.INT32), len(places), places.astype(cupy.int32), None)
    rows = plc.copying.gather(frame.table, at, plc.copying.OutOfBoundsPolicy.DONT_CHECK, stream=frame.stream)
    return DataFrame.from_table(rows, frame.column_names, frame.dtypes, stream=frame.stream)
