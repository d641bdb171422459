"""Checks of SQL/JSON: IS JSON, and duplicate keys."""

from __future__ import annotations

import json
from typing import Any

from gpudb.duckdb.udf.json import json_type
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import GpudbError, SqlError
from gpudb.values.json import parse_json


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    registry.add_scalar("pg_is_json", "VARCHAR VARCHAR BOOLEAN", "BOOLEAN", _is_json)
    registry.add_scalar("pg_json_unique", "VARCHAR[] BOOLEAN", "BOOLEAN", _check_unique)


class _DuplicateKey(Exception):
    """An object has a duplicate key."""


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise _DuplicateKey
    return result


def _is_json(text: str, expected: str, unique: bool) -> bool:
    """Evaluates IS JSON for a kind: any, object, array or scalar."""
    try:
        parse_json(text)
        if unique:
            json.loads(text, object_pairs_hook=_reject_duplicates)
    except (GpudbError, _DuplicateKey):
        return False
    what = json_type(text)
    return expected in {"any", what if what in {"object", "array"} else "scalar"}


def _check_unique(keys: list[str | None], binary: bool) -> bool:
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
