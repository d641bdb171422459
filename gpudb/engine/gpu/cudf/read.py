"""Columns of Parquet files as lanes in the GPU's memory: decoded there by libcudf where a lane is what the file has.

What a file has in another form (intervals, numerics of varying scale, uuids, times) is read on the host as the twin
does, and copied.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pylibcudf as plc

from gpudb.catalog.model import Column, DataFile
from gpudb.engine.gpu.cudf.convert import data_type, to_device
from gpudb.engine.gpu.lower.values import lanes
from gpudb.engine.gpu.resident import stored_lanes
from gpudb.errors import SqlError
from gpudb.storage.stored import FIELD_ID

_DIRECT = frozenset(
    "bool int2 int4 int8 float4 float8 text varchar bpchar json date timestamp timestamptz numeric".split()
)
_DECIMALS = {
    plc.TypeId.DECIMAL32: plc.DataType(plc.TypeId.INT32),
    plc.TypeId.DECIMAL64: plc.DataType(plc.TypeId.INT64),
    plc.TypeId.DECIMAL128: plc.DataType(plc.TypeId.DECIMAL128, scale=0),
}


def read(file: DataFile, column: Column, first: int, last: int) -> list[Any]:
    """Rows `first` to `last` of a file's column, a libcudf column a lane; NULLs where it came after the file."""
    if first == last:
        return nothing(column)
    name = _name(file, column) if column.type.name in _DIRECT and not column.type.carried else None
    if name is None:
        (held,) = stored_lanes(file, [column], first, last)
        return [each.obj for each in to_device(held).columns]
    ((_, held_kind),) = lanes(column.type).items()
    options = plc.io.parquet.ParquetReaderOptions.builder(plc.io.SourceInfo([file.path])).column_names([name]).build()
    options.set_skip_rows(first)
    options.set_num_rows(last - first)
    try:
        (found,) = plc.io.parquet.read_parquet(options).tbl.columns()
    except RuntimeError as error:
        raise SqlError.of("data_corrupted", f'could not read file "{file.path}": {error}') from error
    return [_as_lane(found, data_type(held_kind).plc_type)]


def nothing(column: Column) -> list[Any]:
    """No rows of a column, a libcudf column a lane."""
    return [each.obj for each in to_device(pl.DataFrame(schema=lanes(column.type))).columns]


def _name(file: DataFile, column: Column) -> str | None:
    """The name in the file of a column that is known by its field id; None if the file lacks it."""
    try:
        with pq.ParquetFile(file.path) as opened:
            for field in opened.schema_arrow:
                if int((field.metadata or {}).get(FIELD_ID, b"-1")) == column.field_id:
                    return str(field.name)
    except (OSError, pa.ArrowException) as error:
        raise SqlError.of("data_corrupted", f'could not read file "{file.path}": {error}') from error
    return None


def _as_lane(found: Any, kind: Any) -> Any:
    """A column as the file has it in the lane's type: decimals without their point, integers in another width."""
    plain = _DECIMALS.get(found.type().id())
    if plain is not None:
        found = plc.Column(
            plain, found.size(), found.data(), found.null_mask(), found.null_count(), found.offset(), found.children()
        )
    return found if found.type() == kind else plc.unary.cast(found, kind)
