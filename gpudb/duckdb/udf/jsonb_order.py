"""Sort keys of jsonb: bytes that compare as PostgreSQL compares documents (jsonb_util.c, compareJsonbContainers)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from gpudb.duckdb.udf.registry import FunctionRegistry

_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal)

# Ranks of types: null, string, number, boolean, array, object.
_NULL, _STRING, _NUMBER, _BOOLEAN, _ARRAY, _OBJECT = (bytes([kind]) for kind in range(1, 7))
_NEGATIVE, _ZERO, _POSITIVE = b"\1", b"\2", b"\3"
_EXPONENT_MIDDLE = 1 << 31


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
    match value:
        case None:
            return _NULL
        case bool():
            return _BOOLEAN + bytes([value])
        case str():
            return _STRING + value.encode() + b"\0"
        case Decimal():
            return _NUMBER + _encode_number(value)
        case list():
            return _ARRAY + _encode_count(len(value)) + b"\1" + b"".join(map(_encode, value))
    keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
    return _OBJECT + _encode_count(len(value)) + b"".join(key.encode() + b"\0" + _encode(value[key]) for key in keys)


def _encode_count(items: int) -> bytes:
    return items.to_bytes(4, "big")


def _encode_number(value: Decimal) -> bytes:
    """Encodes sign, exponent and digits; a negative number inverts the bytes after its sign."""
    if not value:
        return _ZERO
    digits = "".join(map(str, value.as_tuple().digits)).strip("0")
    size = (value.adjusted() + _EXPONENT_MIDDLE).to_bytes(4, "big") + digits.encode() + b"\0"
    return _POSITIVE + size if value > 0 else _NEGATIVE + bytes(255 - byte for byte in size)
