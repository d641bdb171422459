"""SQL values as Python objects of a body, and objects that a body returns as SQL values, by PostgreSQL's rules.

Numbers, booleans, bytea, numeric (Decimal), arrays (lists) and rows (dicts) have their own form; any other type is its
text. What a body returns for such a type goes through the type's input function. Values are as `gpudb.values` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS, fits_integer
from gpudb.values import format_text, parse_text
from gpudb.values.arrow_columns import check_representable, to_arrow_array
from gpudb.values.text_columns import format_text_column

_PLAIN = frozenset("bool int2 int4 int8 float4 float8 oid text varchar".split())
_OWN = frozenset("bool int2 int4 int8 float4 float8 oid numeric bytea text varchar name".split())
_MAX_DIMENSIONS = 6


def is_row(item: SqlType) -> bool:
    """Whether values of a type are rows."""
    return bool(item.fields) and item.element is None


# ------------------------------------------------------------------------------------------------ to objects


def read_column(item: SqlType, column: pa.Array, zone: str) -> list[Any]:
    """Returns the objects of a column."""
    if item.name in _PLAIN and item.user is None:
        found: list[Any] = column.to_pylist()
        return found
    if item.name == "bytea":
        return [None if each is None else bytes(each) for each in column.to_pylist()]
    texts: list[Any] = format_text_column(item, column, zone).to_pylist()
    if item.name == "numeric":
        return [None if text is None else Decimal(text) for text in texts]
    if item.element is None and not is_row(item):
        return texts
    plain = item.without_modifier
    return [None if text is None else to_object(item, parse_text(plain, text, zone), zone) for text in texts]


def to_object(item: SqlType, value: Any, zone: str) -> Any:
    """Returns a value as a body sees it."""
    if value is None or (item.name in _OWN and item.user is None):
        return value
    element = item.element
    if element is not None and isinstance(value, list):
        return [to_object(element, each, zone) if not isinstance(each, list) else to_object(item, each, zone)
                for each in value]  # fmt: skip
    if is_row(item):
        return {name: to_object(kind, field, zone) for (name, kind), field in zip(item.fields, value, strict=True)}
    return format_text(item, value, zone)


# ------------------------------------------------------------------------------------------------ to values


def to_value(item: SqlType, found: Any, zone: str) -> Any:
    """Returns an object as a value of a type; None is NULL. 22P02 and the other errors of input functions, 42804."""
    if found is None:
        return None
    name, kind = item.name, type(found)
    if name == "bool" and item.user is None:
        return bool(found)
    if kind is int and name in INTEGERS and fits_integer(found, name):
        return found
    if kind is float and name == "float8":
        return found
    if name == "bytea":
        return bytes(found) if isinstance(found, bytes | bytearray | memoryview) else _refuse_bytes(found)
    if item.element is not None:
        return _to_array(item, item.element, found, zone)
    if is_row(item):
        return to_row(item.fields, found, zone)
    return parse_text(item, _as_text(found), zone)


def _refuse_bytes(found: Any) -> bytes:
    return bytes(str(found), "utf-8") if isinstance(found, str) else bytes(found)


def _as_text(found: Any) -> str:
    if isinstance(found, bytes | bytearray):
        return bytes(found).decode()
    text = repr(found) if isinstance(found, float) else str(found)
    if "\0" in text:
        message = (
            "could not convert Python object into cstring: Python string representation appears to contain null bytes"
        )
        raise SqlError.of("datatype_mismatch", message)
    return text


def _to_array(item: SqlType, element: SqlType, found: Any, zone: str) -> list[Any]:
    if isinstance(found, str | bytes | Mapping) or not isinstance(found, Sequence):
        message = "return value of function with array return type is not a Python sequence"
        raise SqlError.of("datatype_mismatch", message)
    nests = not is_row(element)  # a tuple in an array of rows is a row

    def convert(each: Any, depth: int) -> Any:
        if isinstance(each, list) and nests:
            if depth >= _MAX_DIMENSIONS:
                message = f"number of array dimensions exceeds the maximum allowed ({_MAX_DIMENSIONS})"
                raise SqlError.of("program_limit_exceeded", message)
            return [convert(one, depth + 1) for one in each]
        return to_value(element, each, zone)

    made = [convert(each, 1) for each in found]
    _check_rectangle(made)
    return made


def _check_rectangle(made: list[Any]) -> int | None:
    """Returns the length of the items, None if they are no lists; 22P02 unless all are alike."""
    shapes = {(len(each), _check_rectangle(each)) if isinstance(each, list) else None for each in made}
    if len(shapes) > 1:
        message = "multidimensional arrays must have array expressions with matching dimensions"
        raise SqlError.of("invalid_text_representation", message)
    shape = next(iter(shapes), None)
    return None if shape is None else hash(shape)


def to_row(fields: Sequence[tuple[str, SqlType]], found: Any, zone: str) -> tuple[Any, ...]:
    """Returns a mapping, a sequence, a row's text or any object with attributes as a row; 42703, 42804."""
    if isinstance(found, str):
        row = SqlType("record", fields=tuple(fields))
        parsed: Any = parse_text(row, found, zone)
        return tuple(parsed)
    if isinstance(found, Sequence) and not isinstance(found, bytes):
        if len(found) != len(fields):
            message = "length of returned sequence did not match number of columns in row"
            raise SqlError.of("datatype_mismatch", message)
        return tuple(to_value(item, each, zone) for (_, item), each in zip(fields, found, strict=True))
    get = _mapping_getter(found) if isinstance(found, Mapping) else _attribute_getter(found)
    return tuple(to_value(item, get(name), zone) for name, item in fields)


def _mapping_getter(found: Mapping[str, Any]) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        if name in found:
            return found[name]
        hint = "To return null in a column, add the value None to the mapping with the key named after the column."
        raise SqlError.of("undefined_column", f'key "{name}" not found in mapping', hint=hint)

    return get


def _attribute_getter(found: object) -> Callable[[str], Any]:
    def get(name: str) -> Any:
        if hasattr(found, name):
            return getattr(found, name)
        hint = (
            "To return null in a column, let the returned object have an attribute named after column with value None."
        )
        raise SqlError.of("undefined_column", f'attribute "{name}" does not exist in Python object', hint=hint)

    return get


def write_column(item: SqlType, values: Sequence[Any]) -> pa.Array:
    """Returns values as a column; 22003 for those that a column cannot hold."""
    if item.is_carried or item.element is not None or item.fields or item.name not in _PLAIN:
        for value in values:
            check_representable(item, value)
    return to_arrow_array(item, values)
