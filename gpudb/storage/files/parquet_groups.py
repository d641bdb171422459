"""Row groups of a Parquet file with their statistics, from its footer."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gpudb.catalog.file_tables import FileStamp
from gpudb.lru import LruCache
from gpudb.storage.files.part_statistics import FileParts, PartStatistics
from gpudb.storage.load.files import convert_errors
from gpudb.values.calendar import days_from_date, microseconds_from_timestamp

if TYPE_CHECKING:
    import pyarrow.parquet as pq

_footers: LruCache[FileStamp, pq.FileMetaData] = LruCache(256)


def read_footer(stamp: FileStamp) -> pq.FileMetaData:
    """Returns a file's footer; 58P01, 42501, XX001. Footers are cached."""
    import pyarrow.parquet as pq

    known = _footers.get(stamp)
    if known is None:
        with convert_errors(Path(stamp.path)):
            known = pq.read_metadata(stamp.path)
        _footers.put(stamp, known)
    return known


@lru_cache(256)
def list_chunk_sizes(stamp: FileStamp) -> Mapping[str, tuple[int, ...]]:
    """Returns the bytes in a file of each leaf column, by its path, in each row group."""
    footer = read_footer(stamp)
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    return {
        footer.schema.column(number).path: tuple(group.column(number).total_compressed_size for group in groups)
        for number in range(footer.num_columns)
    }


def read_parquet_groups(stamp: FileStamp) -> FileParts:
    """Returns the row groups of a file; 58P01, 42501, XX001."""
    footer = read_footer(stamp)
    with convert_errors(Path(stamp.path)):
        schema = footer.schema.to_arrow_schema()
        plain = _list_plain_columns(footer, schema)
        groups = [_summarize(footer.row_group(number), plain) for number in range(footer.num_row_groups)]
    return FileParts(schema, groups)


def _list_plain_columns(footer: pq.FileMetaData, schema: pa.Schema) -> list[tuple[int, str]]:
    """Returns the column chunks of columns without parts, each with the name of its column."""
    names = set(schema.names)
    found = []
    for number in range(footer.num_columns):
        column = footer.schema.column(number)
        if column.max_repetition_level == 0 and column.max_definition_level <= 1 and column.path in names:
            found.append((number, column.path))
    return found


def _summarize(group: Any, plain: list[tuple[int, str]]) -> PartStatistics:
    minimums: dict[str, object] = {}
    maximums: dict[str, object] = {}
    nulls: dict[str, int] = {}
    size = sum(group.column(number).total_compressed_size for number in range(group.num_columns))
    for number, name in plain:
        statistics = group.column(number).statistics
        if statistics is None:
            continue
        if statistics.has_null_count:
            nulls[name] = statistics.null_count
        if statistics.has_min_max:
            low, high = _to_bound(statistics, "min"), _to_bound(statistics, "max")
            if low is not None and high is not None:
                minimums[name], maximums[name] = low, high
    return PartStatistics(group.num_rows, size, minimums, maximums, nulls)


def _to_bound(statistics: Any, name: str) -> object:
    """Returns a bound in the form of `DataFile`; None if it has none, as floats, whose bounds leave NaN out."""
    try:
        value = getattr(statistics, name)
    except (ValueError, OverflowError, UnicodeDecodeError, pa.ArrowException):
        return None
    match value:
        case bool() | int() | Decimal() | str():
            return value
        case dt.datetime() if getattr(value, "nanosecond", 0) == 0:
            return microseconds_from_timestamp(value)
        case dt.date() if not isinstance(value, dt.datetime):
            return days_from_date(value)
    return None
