"""Minima, maxima and NULL counts of a data file: from Parquet's footer, and to and from Iceberg's bytes.

Only what is sound for PostgreSQL's comparisons is kept: no bounds for json, intervals and arrays; no maximum of floats
where there may be a NaN, which PostgreSQL sorts last.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import TYPE_CHECKING

from gpudb.catalog.tables import Column, DataFile
from gpudb.storage.iceberg.column_layout import leaf_count, leaf_ids
from gpudb.types import SqlType

if TYPE_CHECKING:
    import pyarrow.parquet as pq

STRING_BOUND = 64
"""Bounds of longer strings are truncated to this many characters (bytes, for bytea)."""

_BOUNDED = frozenset(
    "bool int2 int4 int8 float4 float8 numeric text varchar bpchar bytea date time timestamp timestamptz uuid".split()
)
_EXACT = Context(prec=100)


def has_bounds(type: SqlType) -> bool:
    """Returns whether columns of this type have bounds."""
    return type.name in _BOUNDED and not type.wide


@dataclass(slots=True)
class _ColumnBounds:
    """Statistics of a column over the row groups so far; None where one of them has none."""

    minimum: object = None
    maximum: object = None
    nulls: int | None = 0
    known: bool = True


def file_statistics(
    path: str, size: int, footer: pq.FileMetaData, columns: Sequence[Column], with_nan: frozenset[int]
) -> DataFile:
    """Returns the DataFile of a file whose leaves are those of `columns`; the columns `with_nan` contain a NaN."""
    minimums: dict[int, object] = {}
    maximums: dict[int, object] = {}
    nulls: dict[int, int] = {}
    leaf = 0
    for column in columns:
        first_leaf, leaf = leaf, leaf + leaf_count(column.type)
        if not has_bounds(column.type):
            continue
        gathered = _gather(footer, first_leaf, column.type)
        if gathered.nulls is not None:
            nulls[column.field_id] = gathered.nulls
        if gathered.known and gathered.minimum is not None:
            minimums[column.field_id] = _truncate_minimum(gathered.minimum)
            highest = _truncate_maximum(gathered.maximum)
            if highest is not None and column.field_id not in with_nan:
                maximums[column.field_id] = highest
    last = max((column.field_id for column in columns), default=0)
    return DataFile(path, footer.num_rows, size, minimums, maximums, nulls, last)


def _gather(footer: pq.FileMetaData, leaf: int, type: SqlType) -> _ColumnBounds:
    gathered = _ColumnBounds()
    for group in range(footer.num_row_groups):
        chunk = footer.row_group(group).column(leaf)
        statistics = chunk.statistics
        if statistics is None or not statistics.has_null_count:
            return _ColumnBounds(nulls=None, known=False)
        if gathered.nulls is not None:
            gathered.nulls += statistics.null_count
        if statistics.has_min_max:
            low, high = _value(statistics.min_raw, type), _value(statistics.max_raw, type)
            if gathered.minimum is None or low < gathered.minimum:  # type: ignore[operator]
                gathered.minimum = low
            if gathered.maximum is None or high > gathered.maximum:  # type: ignore[operator]
                gathered.maximum = high
        elif statistics.null_count < chunk.num_values:
            gathered.known = False
    return gathered


def _value(raw: object, type: SqlType) -> object:
    """Converts a Parquet statistic to the form that `DataFile` documents."""
    if type.name == "numeric":
        whole = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        assert isinstance(whole, int)
        return Decimal(whole).scaleb(-type.numeric_digits[1], _EXACT)
    if isinstance(raw, bytes) and type.name in {"text", "varchar", "bpchar"}:
        return raw.decode()
    if isinstance(raw, bytes) and type.name == "uuid":
        return str(uuid.UUID(bytes=raw))
    return raw


def _truncate_minimum(value: object) -> object:
    return value[:STRING_BOUND] if isinstance(value, str | bytes) else value


def _truncate_maximum(value: object) -> object:
    """Truncates a maximum without lowering it: a long string's last character is incremented; None if nothing is
    higher.
    """
    if isinstance(value, str) and len(value) > STRING_BOUND:
        cut = value[:STRING_BOUND]
        while cut:
            code = ord(cut[-1]) + 1
            if code <= 0x10FFFF:
                return cut[:-1] + chr(0xE000 if code == 0xD800 else code)
            cut = cut[:-1]
        return None
    if isinstance(value, bytes) and len(value) > STRING_BOUND:
        stripped = value[:STRING_BOUND].rstrip(b"\xff")
        return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
    return value


@dataclass(frozen=True, slots=True)
class IcebergStatistics:
    """A data file's statistics in Iceberg's form: by the field id of the leaf, bounds as bytes."""

    value_counts: Mapping[int, int] = field(default_factory=dict)
    null_value_counts: Mapping[int, int] = field(default_factory=dict)
    nan_value_counts: Mapping[int, int] = field(default_factory=dict)
    lower_bounds: Mapping[int, bytes] = field(default_factory=dict)
    upper_bounds: Mapping[int, bytes] = field(default_factory=dict)


def to_iceberg(file: DataFile, columns: Sequence[Column]) -> IcebergStatistics:
    """Returns the statistics of a file for its manifest entry, which counts deleted rows too."""
    counts: dict[int, int] = {}
    nulls: dict[int, int] = {}
    nans: dict[int, int] = {}
    lower: dict[int, bytes] = {}
    upper: dict[int, bytes] = {}
    for column in columns:
        if column.field_id <= file.last_field_id and column.type.element is None:
            counts.update(dict.fromkeys(leaf_ids(column), file.stored_rows))
        if not has_bounds(column.type):
            continue
        leaf = leaf_ids(column)[0]
        if column.field_id in file.nulls:
            count = file.nulls[column.field_id]
            nulls[leaf] = file.stored_rows if count == file.rows else count
        if column.field_id in file.minimums:
            lower[leaf] = _to_bytes(file.minimums[column.field_id], column.type)
        if column.field_id in file.maximums:
            upper[leaf] = _to_bytes(file.maximums[column.field_id], column.type)
            if column.type.name in {"float4", "float8"}:
                nans[leaf] = 0
    return IcebergStatistics(counts, nulls, nans, lower, upper)


def from_iceberg(path: str, rows: int, size: int, statistics: IcebergStatistics, columns: Sequence[Column]) -> DataFile:
    """Returns the DataFile of a manifest entry; bounds of dropped columns are omitted."""
    minimums: dict[int, object] = {}
    maximums: dict[int, object] = {}
    nulls: dict[int, int] = {}
    for column in columns:
        if not has_bounds(column.type):
            continue
        leaf = leaf_ids(column)[0]
        if leaf in statistics.null_value_counts:
            nulls[column.field_id] = statistics.null_value_counts[leaf]
        if leaf in statistics.lower_bounds:
            minimums[column.field_id] = _from_bytes(statistics.lower_bounds[leaf], column.type)
        floating = column.type.name in {"float4", "float8"}
        if leaf in statistics.upper_bounds and (not floating or statistics.nan_value_counts.get(leaf) == 0):
            maximums[column.field_id] = _from_bytes(statistics.upper_bounds[leaf], column.type)
    last = max(statistics.value_counts, default=0)
    return DataFile(path, rows, size, minimums, maximums, nulls, last)


# Iceberg's single-value serialisation: little-endian numbers, big-endian decimals and uuids, UTF-8.
_PACKED = {
    "bool": "<?",
    "int2": "<i",
    "int4": "<i",
    "int8": "<q",
    "float4": "<f",
    "float8": "<d",
    "date": "<i",
    "time": "<q",
    "timestamp": "<q",
    "timestamptz": "<q",
}


def _to_bytes(value: object, type: SqlType) -> bytes:
    if type.name in _PACKED:
        return struct.pack(_PACKED[type.name], value)
    if isinstance(value, Decimal):
        whole = int(value.scaleb(type.numeric_digits[1], _EXACT))
        return whole.to_bytes((whole + (whole < 0)).bit_length() // 8 + 1, "big", signed=True)
    if type.name == "uuid":
        return uuid.UUID(str(value)).bytes
    assert isinstance(value, str | bytes)
    return value.encode() if isinstance(value, str) else value


def _from_bytes(raw: bytes, type: SqlType) -> object:
    if type.name in _PACKED:
        # A column widened from int to bigint (or real to double) has old, shorter bounds.
        if type.name == "int8" and len(raw) == 4:
            return struct.unpack("<i", raw)[0]
        if type.name == "float8" and len(raw) == 4:
            return struct.unpack("<f", raw)[0]
        return struct.unpack(_PACKED[type.name], raw)[0]
    return _value(raw, type)
