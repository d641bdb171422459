"""Results that a gpudb server sends in COPY's format arrow (see `gpudb.storage.copy.arrow_writer`)."""

from __future__ import annotations

import pyarrow as pa

from gpudb.api.text_columns import parse_column
from gpudb.api.wire_types import get_wire_type
from gpudb.session.results import ResultColumn
from gpudb.types import SqlType, exact_numeric


def decode_stream(data: bytes) -> tuple[tuple[ResultColumn, ...], list[pa.RecordBatch]]:
    """Returns the columns and rows of a whole stream, in batches of the columns' `SqlType.arrow`.

    Columns that have an Arrow type share the memory of `data`; others are parsed from text.
    """
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        table = reader.read_all()
    columns, arrays = [], []
    for field, values in zip(table.schema, table.columns, strict=True):
        type_, array = _decode_column(field, values)
        columns.append(ResultColumn(field.name, type_))
        arrays.append(array)
    names = [f"c{number}" for number in range(1, len(arrays) + 1)]
    return tuple(columns), pa.Table.from_arrays(arrays, names=names).to_batches()


def _decode_column(field: pa.Field, values: pa.ChunkedArray) -> tuple[SqlType, pa.ChunkedArray]:
    type_ = get_wire_type(int(field.metadata[b"oid"]), int(field.metadata[b"typmod"]))
    if type_.arrow == field.type:
        return type_, values
    leaf, dimensions = field.type, 0
    while pa.types.is_list(leaf):
        leaf, dimensions = leaf.value_type, dimensions + 1
    is_decimal = pa.types.is_decimal(leaf)
    kind = exact_numeric(leaf.precision, leaf.scale) if is_decimal else type_.element
    if kind is not None and kind.arrow == leaf and (dimensions or is_decimal):
        for _ in range(dimensions):
            kind = kind.array
        return kind, values
    type_, parsed = parse_column(type_, values.to_pylist())
    return type_, pa.chunked_array([parsed])
