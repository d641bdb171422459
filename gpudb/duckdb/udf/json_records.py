"""Fields of rows from JSON objects, and elements of arrays from JSON arrays."""

from __future__ import annotations

from gpudb.duckdb.udf.json import elements, kind, members, unquoted
from gpudb.duckdb.udf.registry import Registry
from gpudb.errors import FeatureNotSupported, InvalidText, SqlError


def register(registry: Registry) -> None:
    """Registers the functions."""
    registry.scalar("pg_json_members", "VARCHAR VARCHAR[] VARCHAR", "VARCHAR[]", _members)
    registry.scalar("pg_json_items", "VARCHAR VARCHAR", "VARCHAR[]", _items)
    registry.scalar("pg_json_objects", "VARCHAR VARCHAR", "VARCHAR[]", _objects)


def _member(value: str, as_text: bool) -> str | None:
    """Returns a value's text or its JSON; None for null."""
    return None if kind(value) == "null" else unquoted(value) if as_text else value


def _members(text: str, names: list[str], kinds: str) -> list[str | None]:
    """Returns each name's value (`kinds`: t for its text, j for its JSON), then for each name whether it is present."""
    what = kind(text)
    if what != "object":
        message = f"cannot call populate_composite on {'an array' if what == 'array' else 'a scalar'}"
        raise SqlError.of("invalid_parameter_value", message)
    found = dict(members(text))
    values = [_member(found[name], as_ == "t") if name in found else None for name, as_ in zip(names, kinds)]
    return [*values, *("t" if name in found else None for name in names)]


def _items(text: str, as_: str) -> list[str | None]:
    """Returns an array's elements; `as_`: t for their texts, j for their JSON, a if they are arrays themselves."""
    if kind(text) != "array":
        raise InvalidText("expected JSON array")
    items = list(elements(text))
    if as_ != "a" and any(kind(item) == "array" for item in items):
        raise FeatureNotSupported("JSON arrays of arrays in an array of one dimension are not supported")
    return [_member(item, as_ == "t") for item in items]


def _objects(text: str, name: str) -> list[str]:
    what = kind(text)
    if what != "array":
        message = f"cannot call {name} on {'an object' if what == 'object' else 'a scalar'}"
        raise SqlError.of("invalid_parameter_value", message)
    items = list(elements(text))
    if any(kind(item) != "object" for item in items):
        raise SqlError.of("invalid_parameter_value", f"argument of {name} must be an array of objects")
    return items
