"""Columns of results as the page receives them, for the grid and for charts.

| SQL type | grid | chart |
|---|---|---|
| bool, int2, int4, int8, float4, float8, text, varchar, date, timestamp | `SqlType.arrow` | the same |
| timestamptz, with the TimeZone of the session (UTC for charts) | `timestamp[us]` | the same |
| numeric | utf8, PostgreSQL's text | float64 |
| interval | utf8, PostgreSQL's text | float64, seconds (a month is 30 days) |
| others | utf8, PostgreSQL's text | the same |
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.session.results import ResultColumn
from gpudb.types import SqlType
from gpudb.values.text_columns import cast_to_string, format_text_column, unwrap

GRID, CHART = "grid", "chart"
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
"""What ends an Arrow IPC stream."""

_NATIVE = frozenset("bool int2 int4 int8 float4 float8 text varchar name date timestamp timestamptz".split())
_INTERVAL = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
_MONTH_S, _DAY_S = 30 * 86400.0, 86400.0
_LARGE_ROWS, _TEXT_ROWS = 131_072, 16_384

Convert = Callable[[pa.Array], pa.Array]


class Encoder:
    """Encodes the batches of one result as an Arrow IPC stream: `head`, pieces of `encode`, END_OF_STREAM."""

    def __init__(self, columns: tuple[ResultColumn, ...], form: str, zone: str) -> None:
        """`zone` is the TimeZone in which texts and the grid's timestamps are."""
        choices = [_choose(column.type, form, zone) for column in columns]
        self._converters = [convert for _, convert in choices]
        self._schema = pa.schema([pa.field(each.name, kind) for each, (kind, _) in zip(columns, choices, strict=True)])
        self._rows = _LARGE_ROWS if all(each.type.name in _NATIVE for each in columns) else _TEXT_ROWS

    @property
    def head(self) -> bytes:
        """The schema, which precedes all rows."""
        return bytes(self._schema.serialize())

    def split(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Returns slices of a batch that are encoded one at a time, so that none holds much memory."""
        return [batch.slice(start, self._rows) for start in range(0, batch.num_rows, self._rows)]

    def convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the rows of a slice in the types that travel."""
        arrays = [convert(column) for convert, column in zip(self._converters, batch.columns, strict=True)]
        if not arrays:
            return batch
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def encode(self, batch: pa.RecordBatch) -> memoryview:
        """Returns the message of a slice's rows."""
        return memoryview(self.convert(batch).serialize())


def _choose(type_: SqlType, form: str, zone: str) -> tuple[pa.DataType, Convert]:
    """Returns the Arrow type of a column, and what converts to it."""
    if type_.name in _NATIVE and type_.user is None:
        is_zoned = type_.name == "timestamptz" and form == GRID
        is_named = zone[:1].isalpha()  # others, as <+05>-05, mean something else in Arrow
        kind = pa.timestamp("us", zone) if is_zoned and is_named else type_.arrow
        return kind, partial(_to_native, kind)
    if form == CHART and type_.name == "numeric":
        return pa.float64(), _to_float
    if form == CHART and type_.name == "interval":
        return pa.float64(), _to_seconds
    return pa.string(), partial(_to_text, type_, zone)


def _to_native(kind: pa.DataType, column: pa.Array) -> pa.Array:
    column = unwrap(column)
    if column.type == kind:
        return column
    return cast_to_string(column) if pa.types.is_string(kind) else column.cast(kind)


def _to_text(type_: SqlType, zone: str, column: pa.Array) -> pa.Array:
    return format_text_column(type_, column, zone)


def _to_float(column: pa.Array) -> pa.Array:
    column = unwrap(column)
    values = column.flatten()[0] if pa.types.is_struct(column.type) else column
    return pc.cast(values, pa.float64())


def _to_seconds(column: pa.Array) -> pa.Array:
    column = unwrap(column)
    if not len(column):
        return pa.array([], pa.float64())
    parts = np.frombuffer(column.buffers()[1], _INTERVAL)[column.offset : column.offset + len(column)]
    seconds = parts["months"] * _MONTH_S + parts["days"] * _DAY_S + parts["nanoseconds"] / 1e9
    return pa.array(seconds, pa.float64(), mask=column.is_null().to_numpy(zero_copy_only=False))
