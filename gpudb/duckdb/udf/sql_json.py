"""Checks of SQL/JSON: IS JSON, and duplicate keys."""

from __future__ import annotations

import json
from typing import Any

from gpudb.duckdb.udf.json import kind
from gpudb.duckdb.udf.registry import Registry
from gpudb.errors import GpudbError, SqlError
from gpudb.values.json import parse_json


def register(registry: Registry) -> None:
    """Registers the functions."""
    registry.scalar("pg_is_json", "VARCHAR VARCHAR BOOLEAN", "BOOLEAN", _is_json)
    registry.scalar("pg_json_unique", "VARCHAR[] BOOLEAN", "BOOLEAN", _unique)


class _Repeated(Exception):
    """An object has a duplicate key."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise _Repeated
    return made


def _is_json(text: str, wanted: str, unique: bool) -> bool:
    """Evaluates IS JSON for a kind: any, object, array or scalar."""
    try:
        parse_json(text)
        if unique:
            json.loads(text, object_pairs_hook=_once)
    except (GpudbError, _Repeated):
        return False
    what = kind(text)
    return wanted in {"any", what if what in {"object", "array"} else "scalar"}


def _unique(keys: list[str | None], binary: bool) -> bool:
    """Returns True; 22030 for a duplicate key, 22023 or (json) 22004 for a NULL key."""
    seen: set[str] = set()
    for key in keys:
        if key is None and binary:
            raise SqlError.of("invalid_parameter_value", "field name must not be null")
        if key is None:
            raise SqlError.of("null_value_not_allowed", "null value not allowed for object key")
        if key in seen:
            message = "duplicate JSON object key value" + ("" if binary else f": {json.dumps(key, ensure_ascii=False)}")
            raise SqlError.of("duplicate_json_object_key_value", message)
        seen.add(key)
    return True
