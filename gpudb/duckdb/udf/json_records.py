"""Fields of rows from JSON objects, and elements of arrays from JSON arrays."""

from __future__ import annotations

from gpudb.duckdb.udf.json import elements, json_type, members, unquote
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import FeatureNotSupported, InvalidText, SqlError


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    registry.add_scalar("pg_json_members", "VARCHAR VARCHAR[] VARCHAR", "VARCHAR[]", _members)
    registry.add_scalar("pg_json_items", "VARCHAR VARCHAR", "VARCHAR[]", _items)
    registry.add_scalar("pg_json_objects", "VARCHAR VARCHAR", "VARCHAR[]", _objects)


def _convert(value: str, as_text: bool) -> str | None:
    """Returns a value's text or its JSON; None for null."""
    return None if json_type(value) == "null" else unquote(value) if as_text else value


def _members(text: str, names: list[str], kinds: str) -> list[str | None]:
    """Returns each name's value (`kinds`: t for its text, j for its JSON), then for each name whether it is present."""
    what = json_type(text)
    if what != "object":
        message = f"cannot call populate_composite on {'an array' if what == 'array' else 'a scalar'}"
        raise SqlError.of("invalid_parameter_value", message)
    found = dict(members(text))
    values = [_convert(found[name], as_ == "t") if name in found else None for name, as_ in zip(names, kinds)]
    return [*values, *("t" if name in found else None for name in names)]


def _items(text: str, as_: str) -> list[str | None]:
    """Returns an array's elements; `as_`: t for their texts, j for their JSON, a if they are arrays themselves."""
    if json_type(text) != "array":
        raise InvalidText("expected JSON array")
    items = list(elements(text))
    if as_ != "a" and any(json_type(item) == "array" for item in items):
        raise FeatureNotSupported("JSON arrays of arrays in an array of one dimension are not supported")
    return [_convert(item, as_ == "t") for item in items]


def _objects(text: str, name: str) -> list[str]:
    what = json_type(text)
    if what != "array":
        message = f"cannot call {name} on {'an object' if what == 'object' else 'a scalar'}"
        raise SqlError.of("invalid_parameter_value", message)
    items = list(elements(text))
    if any(json_type(item) != "object" for item in items):
        raise SqlError.of("invalid_parameter_value", f"argument of {name} must be an array of objects")
    return items
