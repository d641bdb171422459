"""Sort keys of jsonb: bytes that compare as PostgreSQL compares documents (jsonb_util.c, compareJsonbContainers)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.values.json import sort_keys

_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal)

# Ranks of types: null, string, number, boolean, array, object.
_NULL, _STRING, _NUMBER, _BOOLEAN, _ARRAY, _OBJECT = (bytes([kind]) for kind in range(1, 7))
_NEGATIVE, _ZERO, _POSITIVE = b"\1", b"\2", b"\3"
_EXPONENT_MIDDLE = 1 << 31
_INVERTED = bytes(range(255, -1, -1))


def register(registry: FunctionRegistry) -> None:
    """Registers the function."""
    registry.add_scalar("pg_jsonb_order", "VARCHAR", "BLOB", sort_key)


def sort_key(text: str) -> bytes:
    """Returns a document's sort key. A scalar counts as an array of one, before real arrays of one."""
    value = _DECODER.decode(text)
    if isinstance(value, list | dict):
        return _encode(value)
    return _ARRAY + _encode_count(1) + b"\0" + _encode(value)


def _encode(value: Any) -> bytes:
    kind = type(value)
    if kind is str:
        return b"%b%b\0" % (_STRING, value.encode())
    if kind is Decimal:
        return _NUMBER + _encode_number(value)
    if value is None:
        return _NULL
    if kind is bool:
        return _BOOLEAN + bytes((value,))
    if kind is list:
        return _ARRAY + _encode_count(len(value)) + b"\1" + b"".join(map(_encode, value))
    parts = [b"%b\0%b" % (key.encode(), _encode(value[key])) for key in sort_keys(value)]
    return _OBJECT + _encode_count(len(value)) + b"".join(parts)


def _encode_count(items: int) -> bytes:
    return items.to_bytes(4, "big")


def _encode_number(value: Decimal) -> bytes:
    """Encodes sign, exponent and digits; a negative number inverts the bytes after its sign."""
    if not value:
        return _ZERO
    text = str(value)
    digits = text.lstrip("-").replace(".", "") if "E" not in text else "".join(map(str, value.as_tuple().digits))
    size = (value.adjusted() + _EXPONENT_MIDDLE).to_bytes(4, "big") + digits.strip("0").encode() + b"\0"
    return _POSITIVE + size if text[0] != "-" else _NEGATIVE + size.translate(_INVERTED)
