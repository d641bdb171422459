"""Geometric functions over whole Arrow columns (`values.geometry`), which are imported when one of them is called."""

from __future__ import annotations

import struct
from functools import partial

import pyarrow as pa

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.types import SqlType
from gpudb.types.facts import GEOMETRIC, GEOMETRIC_PARTS
from gpudb.values.geometry.signatures import SIGNATURES, name_function
from gpudb.values.text import parse_text
from gpudb.values.text_columns import format_text_column

_DUCKDB = {"float8": "DOUBLE", "int4": "INTEGER", "bool": "BOOLEAN"}


def register(registry: FunctionRegistry) -> None:
    """Registers the functions of geometric types."""
    for name in sorted(GEOMETRIC):
        registry.add_columnar(f"pg_geo_in_{name}", "VARCHAR", "BLOB", partial(_parse, SqlType(name)))
        registry.add_columnar(f"pg_geo_text_{name}", "BLOB", "VARCHAR", partial(format_text_column, SqlType(name)))
    for name, part in GEOMETRIC_PARTS.items():
        result = _DUCKDB.get(part, "BLOB")
        registry.add_columnar(f"pg_geo_part_{name}", "BLOB INTEGER", result, partial(_take_part, name))
    for signature, types in SIGNATURES.items():
        *parameters, result = (_DUCKDB.get(each, "BLOB") for each in types)
        registry.add_columnar(name_function(signature), " ".join(parameters), result, partial(_call, signature))


def _parse(kind: SqlType, column: pa.StringArray) -> pa.BinaryArray:
    return pa.array([None if text is None else parse_text(kind, text) for text in column.to_pylist()], pa.binary())


def _call(signature: str, *columns: pa.Array) -> pa.Array:
    from gpudb.values.geometry.operations import OPERATIONS, evaluate

    return evaluate(OPERATIONS[signature], columns)


def _take_part(name: str, column: pa.BinaryArray, places: pa.Array) -> pa.Array:
    """Returns one of the two parts of each value; NULL for a place other than 0 and 1."""
    values = []
    for value, place in zip(column.to_pylist(), places.to_pylist(), strict=True):
        half = len(value) // 2 if value else 0
        there = value is not None and place in (0, 1)
        values.append(value[place * half : (place + 1) * half] if there else None)
    if GEOMETRIC_PARTS[name] != "float8":
        return pa.array(values, pa.binary())
    return pa.array([None if each is None else struct.unpack(">d", each)[0] for each in values], pa.float64())
