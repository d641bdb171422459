"""The layout of a frame's columns in one buffer, as libcudf packs tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.cudf.columns.convert import build_frame, data_type
from gpudb.engine.gpu.cudf.memory.streams import current_stream


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """Names and types of the columns, the number of rows, and libcudf's metadata of their offsets."""

    schema: tuple[tuple[str, pl.DataType], ...]
    rows: int
    metadata: bytes

    @classmethod
    def pack(cls, frame: Any) -> tuple[PackedLayout, Any]:
        """Packs a frame; returns its layout, and the GPU buffer to which its columns are being copied.

        Raises MemoryError where memory is too small.
        """
        metadata, data = plc.contiguous_split.pack(frame.table, stream=current_stream()).release()
        schema = tuple((each.name, each.dtype.polars_type) for each in frame.columns)
        return cls(schema, frame.num_rows, bytes(metadata)), data.obj

    def unpack(self, buffer: Any) -> Any:
        """Returns the frame that a packed GPU buffer contains, without a copy."""
        span = plc.gpumemoryview(buffer)
        table = plc.contiguous_split.unpack_from_memoryviews(memoryview(self.metadata), span, current_stream())
        names, kinds = [name for name, _ in self.schema], [data_type(kind) for _, kind in self.schema]
        return build_frame(table.columns(), names, kinds, self.rows)
