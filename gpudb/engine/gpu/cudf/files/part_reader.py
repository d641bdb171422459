"""Reads columns of files that a statement reads as tables into GPU memory.

libcudf decodes Parquet. KvikIO reads the buffers of Arrow's record batches from the file straight into the columns:
there is nothing to decode. Kernels parse plain csv. Columns of other forms (compressed batches, timestamps in
nanoseconds, other types than their column's, quoted text, JSON) are read on the host, as on CPU workers, and copied.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import kvikio
import kvikio.defaults
import pyarrow as pa
import pylibcudf as plc

from gpudb.catalog.file_tables import FileFormat, FilePart, FileStamp
from gpudb.catalog.tables import Column
from gpudb.engine.figures import track_read
from gpudb.engine.gpu.backend.library_errors import is_out_of_memory
from gpudb.engine.gpu.cache.file_parts import count_bytes, list_part_rows, read_lanes_of_part
from gpudb.engine.gpu.cudf.columns.convert import to_device
from gpudb.engine.gpu.cudf.files.arrow_columns import read_arrow_columns
from gpudb.engine.gpu.cudf.files.csv_columns import read_csv_columns
from gpudb.engine.gpu.cudf.files.footers import read_footer
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
from gpudb.errors import SqlError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.processes.limits import count_processors
from gpudb.storage.files.arrow_batches import ArrowLayout, read_arrow_layout
from gpudb.storage.files.arrow_reader import find_column, overlapping_rows
from gpudb.storage.files.arrow_types import is_stored_as
from gpudb.storage.files.changes import check_unchanged
from gpudb.storage.files.parquet_groups import read_footer as read_parquet_footer
from gpudb.types import SqlType

MAX_THREADS = 16
"""Maximum number of threads that read from files into GPU memory."""
MAX_HOST_TEXT = 4 << 20
"""Bytes of csv or JSON that the host parses for a GPU at most, of one part."""
_ready = threading.Lock()
_threads: list[int] = []


def read_part_columns(part: FilePart, columns: Sequence[Column], first: int, last: int) -> list[list[Any]]:
    """Reads rows `first` to `last` of a part's columns; returns a libcudf column per column as it is stored.

    A libcudf column still has its stored type, except for columns that were read on the host. 55000 for a file that
    changed since the statement was bound; 58P01, 42501, XX001; NotSupportedOnWorkers for much text that kernels refuse.
    """
    check_unchanged(part.stamp)
    prepare_threads()
    names = {column.field_id: part.names[column.field_id] for column in _list_direct(part, columns)}
    found: Mapping[str, Any] = {}
    if names:
        types = {names[column.field_id]: column.type for column in columns if column.field_id in names}
        with track_read(_describe_way(part.format), count_bytes(part, list(types), first, last)):
            found = _READERS[part.format](part, types, first, last)
            synchronize()
    others = [each for each in columns if each.field_id in part.names and names.get(each.field_id) not in found]
    lanes = _read_on_host(part, others, first, last)
    made = []
    for column in columns:
        if column.field_id in lanes:
            made.append([each.obj for each in to_device(lanes[column.field_id]).columns])
        elif column.field_id in part.names:
            made.append([found[names[column.field_id]]])
        else:
            made.append([_repeat_constant(part, column, last - first)])
    synchronize()
    check_unchanged(part.stamp)
    return made


def _read_on_host(part: FilePart, columns: Sequence[Column], first: int, last: int) -> dict[int, Any]:
    """Reads columns that the GPU does not read, all at once, since text is parsed as a whole; returns them by field.

    NotSupportedOnWorkers for much text: the embedded engine parses it with all cores, many times faster.
    """
    if not columns:
        return {}
    if part.blocks and count_bytes(part, (), first, last) > MAX_HOST_TEXT:
        raise NotSupportedOnWorkers(f"much text of {part.format} that is not plain")
    read = read_lanes_of_part(part, columns, first, last)
    return {column.field_id: each for column, each in zip(columns, read, strict=True)}


def _list_direct(part: FilePart, columns: Sequence[Column]) -> list[Column]:
    """Returns the columns that may be read without the host."""
    own = [column for column in columns if column.field_id in part.names]
    if part.blocks:
        return own if part.format == "csv" else []
    schema = _read_schema(part.stamp, part.format)
    if part.format == "parquet":
        own = [column for column in own if "." not in part.names[column.field_id]]  # libcudf takes it for a path
    return [column for column in own if is_stored_as(schema.field(part.names[column.field_id]).type, column.type)]


def prepare_threads() -> None:
    """Lets KvikIO read with as many threads as the process may use, unless KVIKIO_NTHREADS says how many."""
    with _ready:
        if not _threads:
            count = min(MAX_THREADS, count_processors())
            if "KVIKIO_NTHREADS" not in os.environ:
                kvikio.defaults.set("num_threads", count)
            _threads.append(count)


def _describe_way(format: FileFormat) -> str:
    way = "POSIX" if kvikio.defaults.is_compat_mode_preferred() else "GPUDirect Storage"
    return f"libcudf, {way}" if format == "parquet" else f"KvikIO, {way}"


@lru_cache(1024)
def _read_schema(stamp: FileStamp, format: FileFormat) -> pa.Schema:
    if format == "arrow":
        return read_arrow_layout(stamp).schema
    return read_parquet_footer(stamp).schema.to_arrow_schema()


def _repeat_constant(part: FilePart, column: Column, rows: int) -> Any:
    """Returns a column of the one value that a file's path gives, or of NULL."""
    (lanes,) = read_lanes_of_part(part, [column], 0, 1)
    (one,) = [each.obj for each in to_device(lanes).columns]
    return plc.Column.from_scalar(one.to_scalar(stream=current_stream()), rows, stream=current_stream())


# ---- Parquet


def _decode_parquet(part: FilePart, names: Mapping[str, SqlType], first: int, last: int) -> dict[str, Any]:
    source = plc.io.SourceInfo([part.stamp.path])
    known = read_footer(part.stamp.path, part.stamp.changed)
    tables = []
    for wanted in _select_rows(part, first, last):
        options = plc.io.parquet.ParquetReaderOptions.builder(source).column_names(list(names)).build()
        if isinstance(wanted, list):
            options.set_row_groups([wanted])
        else:
            options.set_skip_rows(wanted[0])
            options.set_num_rows(wanted[1])
        try:
            tables.append(plc.io.parquet.read_parquet(options, parquet_metadatas=known, stream=current_stream()))
        except (OSError, RuntimeError) as error:
            if is_out_of_memory(error):
                raise MemoryError(str(error)[:200]) from error
            message = f'could not read file "{part.stamp.path}": {error}'
            raise SqlError.of("data_corrupted", message) from error
    columns = [list(table.tbl.columns()) for table in tables]
    found = columns[0] if len(columns) == 1 else [_concatenate(each) for each in zip(*columns, strict=True)]
    if found and found[0].size() != last - first:
        message = f'file "{part.stamp.path}" has fewer rows than its footer says'
        raise SqlError.of("data_corrupted", message)
    return dict(zip(tables[0].column_names(), found, strict=True))


def _select_rows(part: FilePart, first: int, last: int) -> list[list[int] | tuple[int, int]]:
    """Returns whole row groups, or runs of rows of the file: their first row and how many they are."""
    rows = list_part_rows(part)
    wanted = overlapping_rows(rows, first, last)
    if all((low, high) == (0, rows[place]) for place, low, high in wanted):
        return [[part.parts[place] for place, _, _ in wanted]]
    footer = read_parquet_footer(part.stamp)
    starts = [0]
    for number in range(footer.num_row_groups):
        starts.append(starts[-1] + footer.row_group(number).num_rows)
    runs: list[list[int] | tuple[int, int]] = []
    for place, low, high in wanted:
        start = starts[part.parts[place]] + low
        before = runs[-1] if runs else None
        if isinstance(before, tuple) and before[0] + before[1] == start:
            runs[-1] = before[0], before[1] + high - low
        else:
            runs.append((start, high - low))
    return runs


def _copy_rows(column: Any, first: int, last: int) -> Any:
    return _concatenate(plc.copying.slice(column, [first, last], stream=current_stream()))


def _concatenate(columns: Sequence[Any]) -> Any:
    return plc.concatenate.concatenate(list(columns), stream=current_stream())


# ---- Arrow


def _read_arrow(part: FilePart, names: Mapping[str, SqlType], first: int, last: int) -> Mapping[str, Any]:
    layout: ArrowLayout = read_arrow_layout(part.stamp)
    batches = [layout.batches[number] for number in part.parts]
    wanted = overlapping_rows([batch.rows for batch in batches], first, last)
    if any(batches[place].codec is not None for place, _, _ in wanted):
        return {}
    path = Path(part.stamp.path)
    places = {
        name: [(find_column(layout, batches[place], name), low, high) for place, low, high in wanted] for name in names
    }
    try:
        with path.open("rb", buffering=0) as host, kvikio.CuFile(path, "r") as file:
            return read_arrow_columns(file, host.fileno(), places)
    except (ValueError, EOFError, OSError) as error:
        raise SqlError.of("data_corrupted", f'could not read file "{path}": {error}') from error


def _read_csv(part: FilePart, names: Mapping[str, SqlType], first: int, last: int) -> Mapping[str, Any]:
    wanted = overlapping_rows(list_part_rows(part), first, last)
    blocks = [part.blocks[place] for place, _, _ in wanted]
    path = Path(part.stamp.path)
    try:
        with kvikio.CuFile(path, "r") as file:
            found = read_csv_columns(file, blocks, part.columns, names, part.options)
    except (EOFError, OSError) as error:
        raise SqlError.of("data_corrupted", f'could not read file "{path}": {error}') from error
    if last - first == sum(rows for _, _, rows in blocks):
        return found
    start = wanted[0][1]  # some rows of a large block
    return {name: _copy_rows(column, start, start + last - first) for name, column in found.items()}


_READERS: dict[str, Callable[[FilePart, Mapping[str, SqlType], int, int], Mapping[str, Any]]] = {
    "parquet": _decode_parquet,
    "arrow": _read_arrow,
    "csv": _read_csv,
}
