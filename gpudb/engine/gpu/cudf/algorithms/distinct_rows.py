"""Numbers the distinct rows of a table in GPU memory, and takes rows by number."""

from __future__ import annotations

from typing import Any

import pylibcudf as plc

from gpudb.engine.gpu.cudf.columns.convert import build_frame
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize


def encode_rows(table: Any) -> tuple[Any, Any]:
    """Returns the distinct rows of a table, sorted, and the number of its distinct row for each row (int32)."""
    try:
        keys, codes = plc.transform.encode(table.table, stream=current_stream())
        return _like(table, keys), codes
    finally:
        synchronize()


def take_rows(table: Any, numbers: Any) -> Any:
    """Returns the rows with some numbers (int32); numbers are within the table."""
    try:
        policy = plc.copying.OutOfBoundsPolicy.DONT_CHECK
        return _like(table, plc.copying.gather(table.table, numbers, policy, stream=current_stream()))
    finally:
        synchronize()


def _like(table: Any, made: Any) -> Any:
    """Returns columns under the names and types of a table."""
    return build_frame(made.columns(), table.column_names, [each.dtype for each in table.columns], made.num_rows())
