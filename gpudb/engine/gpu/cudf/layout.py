"""The layout of a frame's columns in one buffer, as libcudf packs tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.cudf.convert import data_type, of
from gpudb.engine.gpu.cudf.streams import current


@dataclass(frozen=True, slots=True)
class Layout:
    """Names and types of the columns, the number of rows, and libcudf's metadata of their offsets."""

    schema: tuple[tuple[str, pl.DataType], ...]
    rows: int
    places: bytes

    @classmethod
    def packed(cls, frame: Any) -> tuple[Layout, Any]:
        """Packs a frame; returns its layout, and the GPU buffer to which its columns are being copied.

        Raises MemoryError where memory is too small.
        """
        places, data = plc.contiguous_split.pack(frame.table, stream=current()).release()
        schema = tuple((each.name, each.dtype.polars_type) for each in frame.columns)
        return cls(schema, frame.num_rows, bytes(places)), data.obj

    def frame(self, buffer: Any) -> Any:
        """Returns the frame that a packed GPU buffer contains, without a copy."""
        span = plc.gpumemoryview(buffer)
        table = plc.contiguous_split.unpack_from_memoryviews(memoryview(self.places), span, current())
        names, kinds = [name for name, _ in self.schema], [data_type(kind) for _, kind in self.schema]
        return of(table.columns(), names, kinds, self.rows)
