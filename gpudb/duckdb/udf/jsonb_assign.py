"""Assignment to a subscripted jsonb value (jsonfuncs.c: setPath, with gaps filled and positions kept)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from gpudb.duckdb.udf.json import parse_document, path_index
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError
from gpudb.functions.let_binding import DETAIL
from gpudb.values.json import format_jsonb


def register(registry: FunctionRegistry) -> None:
    """Registers `pg_jsonb_assign(jsonb, path, value)`."""
    registry.add_scalar("pg_jsonb_assign", "VARCHAR VARCHAR[] VARCHAR", "VARCHAR", _assign)


def _assign(text: str, path: Sequence[str | None], new_value: str) -> str:
    if None in path:
        raise SqlError.of("null_value_not_allowed", "jsonb subscript in assignment must not be null")
    return format_jsonb(
        _put(parse_document(text), [step for step in path if step is not None], 0, parse_document(new_value))
    )


def _put(value: Any, path: Sequence[str], level: int, new_value: Any) -> Any:
    """Returns the value with `new_value` at the rest of the path."""
    if level == len(path):
        return new_value
    if isinstance(value, dict):
        step = path[level]
        changed = (
            _put(value[step], path, level + 1, new_value) if step in value else _build_path(path, level + 1, new_value)
        )
        return {**value, step: changed}
    if isinstance(value, list):
        return _put_item(value, path, level, new_value)
    detail = "The path assumes key is a composite object, but it is a scalar value."
    raise SqlError.of("invalid_parameter_value", f"cannot replace existing key{DETAIL}{detail}")


def _put_item(items: list[Any], path: Sequence[str], level: int, new_value: Any) -> list[Any]:
    index = path_index(path[level], level + 1)
    if index < -len(items):
        message = f"path element at position {level + 1} is out of range: {index}"
        raise SqlError.of("invalid_parameter_value", message)
    index += len(items) if index < 0 else 0
    if index < len(items):
        return [*items[:index], _put(items[index], path, level + 1, new_value), *items[index + 1 :]]
    return [*items, *[None] * (index - len(items)), _build_path(path, level + 1, new_value)]


def _build_path(path: Sequence[str], level: int, new_value: Any) -> Any:
    """Builds containers for the rest of the path: an array padded with nulls for a number, else an object."""
    for step in reversed(path[level:]):
        new_value = [*[None] * int(step), new_value] if re.fullmatch(r"\s*[+-]?\d+", step) else {step: new_value}
    return new_value
