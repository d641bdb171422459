"""Reads columns of files that a statement reads as tables into host memory, as Arrow: only the wanted parts of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from gpudb.catalog.file_tables import FilePart
from gpudb.catalog.tables import Column, DataFile
from gpudb.engine.figures import track_read
from gpudb.engine.gpu.lower.expressions.arrow import series
from gpudb.engine.gpu.lower.values import physical_columns
from gpudb.errors import SqlError
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.storage.files.arrow_batches import read_arrow_layout
from gpudb.storage.files.arrow_reader import find_column, overlapping_rows, read_column, read_ranges
from gpudb.storage.files.arrow_types import convert
from gpudb.storage.files.changes import check_unchanged
from gpudb.storage.files.parquet_groups import list_chunk_sizes, read_footer
from gpudb.storage.files.text_reader import NotReadAlike, read_csv_block, read_json_block
from gpudb.storage.load.files import convert_errors
from gpudb.types import DATE, INT8, SqlType

_TEXTS = ("text", "varchar")
_LOG = logging.getLogger(__name__)


def read_part(part: FilePart, columns: Sequence[Column], first: int, last: int) -> list[pa.ChunkedArray]:
    """Reads rows `first` to `last` of a part's columns, each of `SqlType.arrow`.

    55000 for a file that changed since the statement was bound; 58P01, 42501, XX001.
    """
    check_unchanged(part.stamp)
    names = {part.names[column.field_id]: column.type for column in columns if column.field_id in part.names}
    with convert_errors(Path(part.stamp.path)):
        with track_read("POSIX", count_bytes(part, list(names), first, last) if names else 0):
            found = _READERS[part.format](part, names, first, last) if names else {}
        arrays = [_find_column(part, column, found, last - first) for column in columns]
    check_unchanged(part.stamp)
    return arrays


def read_lanes_of_part(part: FilePart, columns: Sequence[Column], first: int, last: int) -> list[pl.DataFrame]:
    """Reads rows of a part's columns, each as the physical column of its type (see `read_part` for errors)."""
    arrays = read_part(part, columns, first, last)
    kinds = [physical_columns(column.type)[""] for column in columns]
    return [pl.DataFrame({"": series(array, kind)}) for array, kind in zip(arrays, kinds, strict=True)]


def merge_parts(rows: Sequence[tuple[DataFile, int, int]], most: int) -> list[tuple[DataFile, int, int]]:
    """Merges whole parts of a file that follow each other, up to so many rows: fewer and larger reads are faster."""
    found: list[tuple[DataFile, int, int]] = []
    run: list[FilePart] = []
    for file, first, last in rows:
        part = file if isinstance(file, FilePart) and (first, last) == (0, file.rows) else None
        joins = part is not None and run and run[0].stamp == part.stamp
        if run and not (joins and sum(each.rows for each in run) + file.rows <= most):
            found.append(_merge(run))
            run = []
        if part is not None:
            run.append(part)
        else:
            found.append((file, first, last))
    if run:
        found.append(_merge(run))
    return found


def _merge(run: Sequence[FilePart]) -> tuple[DataFile, int, int]:
    """Returns parts of a file that follow each other as one."""
    if len(run) == 1:
        return run[0], 0, run[0].rows
    merged = replace(
        run[0],
        path=",".join([run[0].path, *(str(each.parts[0]) for each in run[1:])]),
        rows=sum(each.rows for each in run),
        bytes=sum(each.bytes for each in run),
        parts=tuple(number for each in run for number in each.parts),
        blocks=tuple(block for each in run for block in each.blocks),
    )
    return merged, 0, merged.rows


def count_bytes(part: FilePart, names: Sequence[str], first: int, last: int) -> int:
    """Returns the bytes in the file of some of a part's columns over rows `first` to `last`."""
    wanted = overlapping_rows(list_part_rows(part), first, last)
    if part.blocks:
        return sum(part.blocks[place][1] for place, _, _ in wanted)
    if part.format == "arrow":
        layout = read_arrow_layout(part.stamp)
        batches = [layout.batches[part.parts[place]] for place, _, _ in wanted]
        places = [find_column(layout, batch, name) for batch in batches for name in names]
        return sum(place.size for place in places)
    sizes = list_chunk_sizes(part.stamp)
    return sum(sizes[name][part.parts[place]] for name in names if name in sizes for place, _, _ in wanted)


def estimate_width(part: FilePart, column: Column) -> float:
    """Returns the average bytes of a column's value in a part, before compression; 0 if unknown."""
    name = part.names.get(column.field_id)
    if name is None or not part.rows:
        return 0
    if part.blocks:
        return part.bytes / part.rows / len(part.columns)
    if part.format == "arrow":
        layout = read_arrow_layout(part.stamp)
        batch = layout.batches[part.parts[0]]
        return sum(size for _, size in find_column(layout, batch, name).buffers) / max(batch.rows, 1)
    group = read_footer(part.stamp).row_group(part.parts[0])
    chunks = (group.column(number) for number in range(group.num_columns))
    sizes = [chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema == name]
    return float(sum(sizes) / max(group.num_rows, 1))


def _find_column(part: FilePart, column: Column, found: Mapping[str, pa.ChunkedArray], rows: int) -> pa.ChunkedArray:
    name = part.names.get(column.field_id)
    if name is not None:
        if column.type.name in _TEXTS:
            found[name].validate(full=True)  # that it is UTF-8
        return convert(found[name], column.type)
    return pa.chunked_array([pa.repeat(constant_value(part, column), rows)])


def constant_value(part: FilePart, column: Column) -> pa.Scalar:
    """Returns the value of a column that is not in the part's file: what its path gives, or NULL."""
    text = part.values.get(column.field_id)
    arrow = column.type.arrow
    if text is None:
        return pa.scalar(None, arrow)
    if column.type == INT8:
        return pa.scalar(int(text), arrow)
    return pa.scalar(text, pa.string()).cast(arrow) if column.type == DATE else pa.scalar(text, arrow)


def _read_parquet(part: FilePart, names: _Columns, first: int, last: int) -> dict[str, pa.ChunkedArray]:
    wanted = overlapping_rows(list_part_rows(part), first, last)
    with pq.ParquetFile(part.stamp.path, metadata=read_footer(part.stamp)) as opened:
        groups = [part.parts[place] for place, _, _ in wanted]
        table = opened.read_row_groups(
            groups,
            columns=list(names),
        )
    rows = table.slice(wanted[0][1], last - first)
    if rows.num_rows != last - first:
        raise SqlError.of("data_corrupted", f'file "{part.stamp.path}" has fewer rows than its footer says')
    return {name: rows.column(name) for name in names}


def _read_text(part: FilePart, names: _Columns, first: int, last: int) -> dict[str, pa.ChunkedArray]:
    tables = []
    wanted = overlapping_rows(list_part_rows(part), first, last)
    with Path(part.stamp.path).open("rb", buffering=0) as file:
        read = read_ranges(file.fileno())
        for place, low, high in wanted:
            offset, size, rows = part.blocks[place]
            data = read(offset, size)
            try:
                if part.format == "csv":
                    found = read_csv_block(data, part.columns, names, part.options, rows)
                else:
                    found = read_json_block(data, names, rows)
            except NotReadAlike as error:
                reason = f"text of {part.format} that is not plain"
                _LOG.info('%s in file "%s": %s', reason, part.stamp.path, error)
                raise NotSupportedOnWorkers(reason) from error
            tables.append(found.slice(low, high - low))
    table = pa.concat_tables(tables)
    return {name: table.column(name) for name in names}


def _read_arrow(part: FilePart, names: _Columns, first: int, last: int) -> dict[str, pa.ChunkedArray]:
    layout = read_arrow_layout(part.stamp)
    batches = [layout.batches[number] for number in part.parts]
    wanted = overlapping_rows([batch.rows for batch in batches], first, last)
    with Path(part.stamp.path).open("rb", buffering=0) as file:
        read = read_ranges(file.fileno())
        return {
            name: pa.chunked_array(
                [
                    read_column(find_column(layout, batches[place], name), batches[place].codec, read, low, high)
                    for place, low, high in wanted
                ]
            )
            for name in names
        }


_Columns = Mapping[str, SqlType]
_READERS: dict[str, Callable[[FilePart, _Columns, int, int], dict[str, pa.ChunkedArray]]] = {
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "csv": _read_text,
    "json": _read_text,
}


def list_part_ends(part: FilePart) -> tuple[int, ...]:
    """Returns the row count up to the end of each row group or record batch of a part."""
    return tuple(accumulate(list_part_rows(part)))


def list_part_rows(part: FilePart) -> list[int]:
    """Returns the rows of each row group or record batch of a part."""
    if part.blocks:
        return [rows for _, _, rows in part.blocks]
    if part.format == "arrow":
        batches = read_arrow_layout(part.stamp).batches
        return [batches[number].rows for number in part.parts]
    footer = read_footer(part.stamp)
    return [footer.row_group(number).num_rows for number in part.parts]
