"""Reads columns of blocks of csv and JSON lines as Arrow, where its parser reads values as the embedded engine does.

Whatever Arrow refuses raises NotReadAlike: the embedded engine reads it, or says what is wrong with it. Of what Arrow
would take beyond that, timestamps without minutes, and an integer -0 as a float, are refused here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from gpudb.types import FLOAT8, SqlType

_LEAST_TIMESTAMP, _DAY = len("2024-01-01 10:00"), len("2024-01-01")
_CSV_TYPES = frozenset("bool int2 int4 int8 float4 float8 numeric text varchar date timestamp timestamptz".split())
_JSON_TYPES = frozenset("bool int8 float8 text varchar numeric".split())
_MARK = b"\xef\xbb\xbf"
_NEWLINE, _RETURN = 10, 13
_NEGATIVE_ZERO = re.compile(rb"-0[^0-9.eE]")


class NotReadAlike(Exception):
    """Text that may be read in another way than the embedded engine reads it."""


def find_text_obstacle(format: str, type: SqlType) -> str:
    """Returns why workers do not read a column of csv or JSON as an SQL type; '' if they do."""
    known = _CSV_TYPES if format == "csv" else _JSON_TYPES
    if format == "json" and type.name == "numeric" and type.numeric_digits[1]:
        return f"a column of type {type}"
    plain = type.name in known and not (type.is_carried or type.labels or type.fields or type.item is not None)
    return "" if plain else f"a column of type {type}"


def read_csv_block(
    data: pa.Buffer, names: Sequence[str], wanted: Mapping[str, SqlType], options: Mapping[str, object], rows: int
) -> pa.Table:
    """Reads columns of csv without a header, whose columns have these `names`; NotReadAlike."""
    _check_form(data, str(options["delimiter"]), str(options["quote"]))
    if data[: len(_MARK)].to_pybytes() == _MARK:
        raise NotReadAlike("a byte order mark that is not at the file's start")  # Arrow would drop it
    if data.size and data[data.size - 1 :].to_pybytes() != b"\n":
        data = pa.py_buffer(data.to_pybytes() + b"\n")  # at the end of a file Arrow takes an empty field for a text
    types = {name: pa.string() if type.name.startswith("timestamp") else type.arrow for name, type in wanted.items()}
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(data),
            pyarrow.csv.ReadOptions(column_names=list(names), block_size=max(1 << 20, min(data.size, 1 << 22))),
            pyarrow.csv.ParseOptions(
                delimiter=str(options["delimiter"]), quote_char=str(options["quote"]), newlines_in_values=True
            ),
            pyarrow.csv.ConvertOptions(
                column_types={name: types.get(name, pa.string()) for name in names},
                include_columns=list(wanted),
                null_values=[str(options["null"])],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                true_values=["true"],
                false_values=["false"],
            ),
        )
        table = pa.table([_convert(table.column(name), type) for name, type in wanted.items()], list(wanted))
    except (pa.ArrowException, ValueError) as error:
        raise NotReadAlike(str(error)) from error
    return _check_rows(table, rows)


def _check_form(data: pa.Buffer, delimiter: str, quote: str) -> None:
    """Raises NotReadAlike unless quotes enclose whole fields, and all lines end alike."""
    values = np.frombuffer(data, np.uint8)
    if np.any(values == _RETURN):
        returns, newlines = (np.flatnonzero(values == each) for each in (_RETURN, _NEWLINE))
        if len(returns) != len(newlines) or np.any(returns + 1 != newlines):
            raise NotReadAlike("lines that end in different ways")
    places = np.flatnonzero(values == ord(quote))
    if len(places) % 2:
        raise NotReadAlike("a quote without another")
    if len(places):
        # Of a doubled quote the first one closes, and the second one opens again.
        edges = np.zeros(256, bool)
        edges[[ord(delimiter), ord(quote), _RETURN, _NEWLINE]] = True
        before = values[places[::2][places[::2] > 0] - 1]
        after = values[places[1::2][places[1::2] + 1 < len(values)] + 1]
        if not (edges[before].all() and edges[after].all()):
            raise NotReadAlike("a quote within a field")


def _convert(column: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    if not type.name.startswith("timestamp"):
        return column
    lengths = pc.binary_length(column)
    if pc.any(pc.and_(pc.less(lengths, _LEAST_TIMESTAMP), pc.not_equal(lengths, _DAY))).as_py():
        raise NotReadAlike("a timestamp without minutes")
    return column.cast(type.arrow)


def read_json_block(data: pa.Buffer, wanted: Mapping[str, SqlType], rows: int) -> pa.Table:
    """Reads fields of objects, one a line; NotReadAlike."""
    if FLOAT8 in wanted.values() and _NEGATIVE_ZERO.search(data):
        raise NotReadAlike("the integer -0 as a float")
    # Arrow's parser reads integers of 64 bits alone.
    kinds = {name: pa.int64() if type.name == "numeric" else type.arrow for name, type in wanted.items()}
    schema = pa.schema(list(kinds.items()))
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(data),
            pyarrow.json.ReadOptions(block_size=max(data.size, 1)),
            pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        columns = [table.column(name).cast(type.arrow) for name, type in wanted.items()]
        return _check_rows(pa.table(columns, list(wanted)), rows)
    except (pa.ArrowException, ValueError, KeyError) as error:
        raise NotReadAlike(str(error)) from error


def _check_rows(table: pa.Table, rows: int) -> pa.Table:
    if table.num_rows != rows:
        raise NotReadAlike(f"{table.num_rows} records where {rows} were counted")
    return table
