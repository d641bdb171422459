"""Reads columns of Parquet files into GPU memory; libcudf decodes those whose stored type is the physical type.

Columns that are stored in another form (intervals, numerics of varying scale, uuids, times) are read on the host, as
on CPU workers, and copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pylibcudf as plc

from gpudb.catalog.deleted_rows import Rows
from gpudb.catalog.file_tables import FilePart
from gpudb.catalog.tables import Column, DataFile
from gpudb.engine.gpu.backend.library_errors import is_out_of_memory
from gpudb.engine.gpu.cache.host_columns import read_lanes
from gpudb.engine.gpu.cudf.columns.convert import data_type, to_device
from gpudb.engine.gpu.cudf.files.footers import read_footer
from gpudb.engine.gpu.cudf.files.part_reader import read_part_columns
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
from gpudb.engine.gpu.lower.values import physical_columns
from gpudb.errors import SqlError
from gpudb.storage.iceberg.checksums import verify_columns
from gpudb.storage.iceberg.column_layout import names_by_id

_DIRECT = frozenset(
    "bool int2 int4 int8 float4 float8 text varchar bpchar json date timestamp timestamptz numeric".split()
)
_DECIMALS = {
    plc.TypeId.DECIMAL32: plc.DataType(plc.TypeId.INT32),
    plc.TypeId.DECIMAL64: plc.DataType(plc.TypeId.INT64),
    plc.TypeId.DECIMAL128: plc.DataType(plc.TypeId.DECIMAL128, scale=0),
}


def read_columns(file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[list[Any]]:
    """Reads live rows `first` to `last` of a file's columns; returns a libcudf column per physical column, complete.

    Columns that were added after the file was written are NULL. libcudf decodes its columns in one call: the columns of
    a row group are adjacent in the file.
    """
    if first == last:
        return [empty_columns(column) for column in columns]
    if isinstance(file, FilePart):
        read = read_part_columns(file, columns, first, last)
        return [
            [
                _to_physical(each, data_type(kind).plc_type)
                for each, kind in zip(some, physical_columns(column.type).values(), strict=True)
            ]
            for column, some in zip(columns, read, strict=True)
        ]
    names = _column_names(file.path)
    direct = {
        column.field_id: names[column.field_id]
        for column in columns
        if column.type.name in _DIRECT and not column.type.is_carried and column.field_id in names
    }
    found = _decode(file, list(direct.values()), first, last) if direct else {}
    made: list[list[Any]] = []
    for column in columns:
        if column.field_id in direct:
            ((_, kind),) = physical_columns(column.type).items()
            made.append([_to_physical(found[direct[column.field_id]], data_type(kind).plc_type)])
        else:
            (held,) = read_lanes(file, [column], first, last)
            made.append([each.obj for each in to_device(held).columns])
    synchronize()
    return made


def _decode(file: DataFile, names: list[str], first: int, last: int) -> dict[str, Any]:
    path = file.path
    first, last = file.stored_range(first, last)
    verify_columns(path, names, first, last)
    options = plc.io.parquet.ParquetReaderOptions.builder(plc.io.SourceInfo([path])).column_names(names).build()
    options.set_skip_rows(first)
    options.set_num_rows(last - first)
    try:
        known = read_footer(path, Path(path).stat().st_mtime_ns)
        made = plc.io.parquet.read_parquet(options, parquet_metadatas=known, stream=current_stream())
        columns = made.tbl.columns()
        if file.deleted is not None and len(deleted := file.deleted.within(first, last)):
            columns = _remove_rows(made.tbl, deleted)
    except OSError as error:
        raise SqlError.of("data_corrupted", f'could not read file "{path}": {error}') from error
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise MemoryError(str(error)[:200]) from error
        raise SqlError.of("data_corrupted", f'could not read file "{path}": {error}') from error
    return dict(zip(made.column_names(), columns, strict=True))


def _remove_rows(table: Any, rows: Rows) -> list[Any]:
    """Returns the columns of a libcudf table without some rows, given by their numbers."""
    kept = np.ones(table.num_rows(), np.bool_)
    kept[rows] = False
    (mask,) = to_device(pl.DataFrame({"": kept})).columns
    columns: list[Any] = plc.stream_compaction.apply_retention_mask(table, mask.obj, stream=current_stream()).columns()
    return columns


def empty_columns(column: Column) -> list[Any]:
    """Returns empty libcudf columns of a column's physical types."""
    return [each.obj for each in to_device(pl.DataFrame(schema=physical_columns(column.type))).columns]


def _column_names(path: str) -> Mapping[int, str]:
    """Returns the names of a file's columns by field id."""
    try:
        return _read_column_names(path, Path(path).stat().st_mtime_ns)
    except (OSError, pa.ArrowException) as error:
        raise SqlError.of("data_corrupted", f'could not read file "{path}": {error}') from error


@lru_cache(4096)
def _read_column_names(path: str, changed: int) -> Mapping[int, str]:
    with pq.ParquetFile(path) as opened:
        return names_by_id(opened.schema_arrow)


def _to_physical(found: Any, kind: Any) -> Any:
    """Converts a stored column to the physical type: decimals to integers, integers to another width."""
    plain = _DECIMALS.get(found.type().id())
    if plain is not None:
        found = plc.Column(
            plain, found.size(), found.data(), found.null_mask(), found.null_count(), found.offset(), found.children()
        )
    return found if found.type() == kind else plc.unary.cast(found, kind, stream=current_stream())
