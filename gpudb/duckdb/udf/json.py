"""json and jsonb: extraction, search and modification. An extracted part is a slice of the original text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from gpudb.duckdb.udf.registry import Registry
from gpudb.errors import InvalidText, SqlError
from gpudb.values.json import jsonb_key, jsonb_text, parse_jsonb

_BLANK = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal)
_KINDS = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}


def register(registry: Registry) -> None:
    """Registers the functions."""
    registry.scalar("pg_json_field", "VARCHAR VARCHAR", "VARCHAR", _field)
    registry.scalar("pg_json_element", "VARCHAR INTEGER", "VARCHAR", _element)
    registry.scalar("pg_jsonb_element", "VARCHAR INTEGER", "VARCHAR", _element_or_scalar)
    registry.scalar("pg_json_text", "VARCHAR", "VARCHAR", unquoted)
    registry.scalar("pg_json_path", "VARCHAR VARCHAR[]", "VARCHAR", _path)
    registry.scalar("pg_json_typeof", "VARCHAR", "VARCHAR", kind)
    registry.scalar("pg_json_array_length", "VARCHAR", "INTEGER", _array_length)
    registry.scalar("pg_json_elements", "VARCHAR", "VARCHAR[]", lambda t: list(_listed(t, "json_array_elements")))
    registry.scalar("pg_json_elements_text", "VARCHAR", "VARCHAR[]",
                    lambda t: [unquoted(item) for item in _listed(t, "json_array_elements_text")])  # fmt: skip
    registry.scalar("pg_json_keys", "VARCHAR", "VARCHAR[]", lambda t: [k for k, _ in _pairs(t, "json_object_keys")])
    pairs = "STRUCT(key VARCHAR, value VARCHAR)[]"
    registry.scalar("pg_json_each", "VARCHAR", pairs,
                    lambda t: [{"key": k, "value": v} for k, v in _pairs(t, "json_each")])  # fmt: skip
    registry.scalar("pg_json_each_text", "VARCHAR", pairs,
                    lambda t: [{"key": k, "value": unquoted(v)} for k, v in _pairs(t, "json_each_text")])  # fmt: skip
    registry.scalar("pg_jsonb_exists", "VARCHAR VARCHAR", "BOOLEAN", lambda t, key: key in _names(t))
    registry.scalar("pg_jsonb_exists_any", "VARCHAR VARCHAR[]", "BOOLEAN",
                    lambda t, keys: any(key in _names(t) for key in keys if key is not None))  # fmt: skip
    registry.scalar("pg_jsonb_exists_all", "VARCHAR VARCHAR[]", "BOOLEAN",
                    lambda t, keys: all(key in _names(t) for key in keys if key is not None))  # fmt: skip
    registry.scalar("pg_jsonb_contains", "VARCHAR VARCHAR", "BOOLEAN", lambda a, b: _contains(read(a), read(b), True))
    registry.scalar("pg_jsonb_concat", "VARCHAR VARCHAR", "VARCHAR", _concat)
    registry.scalar("pg_jsonb_delete", "VARCHAR VARCHAR[]", "VARCHAR", _delete)
    registry.scalar("pg_jsonb_delete_at", "VARCHAR INTEGER", "VARCHAR", _delete_at)
    registry.scalar("pg_jsonb_delete_path", "VARCHAR VARCHAR[]", "VARCHAR", _delete_path)
    registry.scalar("pg_jsonb_set", "VARCHAR VARCHAR[] VARCHAR BOOLEAN", "VARCHAR", _set)
    registry.scalar("pg_jsonb_insert", "VARCHAR VARCHAR[] VARCHAR BOOLEAN", "VARCHAR", _insert)
    registry.scalar("pg_jsonb_pretty", "VARCHAR", "VARCHAR", lambda t: _pretty(read(t), 0))
    registry.scalar("pg_jsonb_strip_nulls", "VARCHAR", "VARCHAR", lambda t: jsonb_text(_stripped(read(t))))
    registry.scalar("pg_json_strip_nulls", "VARCHAR", "VARCHAR", _strip_text)
    registry.scalar("pg_jsonb_key", "VARCHAR", "VARCHAR", jsonb_key)
    registry.scalar("pg_json_object", "VARCHAR[]", "VARCHAR", lambda items: _object(items[::2], items[1::2], items))
    registry.scalar("pg_json_object_of", "VARCHAR[] VARCHAR[]", "VARCHAR", lambda k, v: _object(k, v, None))
    registry.scalar("pg_jsonb_object", "VARCHAR[]", "VARCHAR",
                    lambda items: parse_jsonb(_object(items[::2], items[1::2], items)))  # fmt: skip
    registry.scalar(
        "pg_jsonb_object_of", "VARCHAR[] VARCHAR[]", "VARCHAR", lambda k, v: parse_jsonb(_object(k, v, None))
    )
    registry.scalar("pg_json_moment", "VARCHAR", "VARCHAR", _moment)


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _start(text: str) -> int:
    return _skip(text, 0)


def kind(text: str) -> str:
    """Returns the JSON type: object, array, string, number, boolean or null."""
    return _KINDS.get(text[_start(text)], "number")


def members(text: str) -> Iterator[tuple[str, str]]:
    """Yields an object's keys and its values' original texts."""
    at = _skip(text, _start(text) + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, at)
        yield key, text[at:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def elements(text: str) -> Iterator[str]:
    """Yields the original texts of an array's elements."""
    at = _skip(text, _start(text) + 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield text[at:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _field(text: str, key: str) -> str | None:
    if kind(text) != "object":
        return None
    found = None
    for name, value in members(text):
        if name == key:
            found = value
    return found


def _element(text: str, index: int) -> str | None:
    if kind(text) != "array":
        return None
    items = list(elements(text))
    return items[index] if -len(items) <= index < len(items) else None


def _element_or_scalar(text: str, index: int) -> str | None:
    """Returns an element; a jsonb scalar counts as an array of one, as PostgreSQL stores it."""
    if kind(text) in {"object", "array"}:
        return _element(text, index)
    return text if index in {0, -1} else None


def unquoted(text: str) -> str | None:
    """Returns a value's text: a string without its quotes, None for null."""
    match kind(text):
        case "null":
            return None
        case "string":
            return str(json.loads(text))
    return text.strip(" \t\n\r")


def _path(text: str, steps: list[str | None]) -> str | None:
    if not steps:
        return text
    step, rest = steps[0], steps[1:]
    if step is None:
        return None
    if kind(text) == "object":  # of equal keys the last one at which the rest of the path exists
        found = [_path(value, rest) for name, value in members(text) if name == step]
        return next((each for each in reversed(found) if each is not None), None)
    if kind(text) == "array" and re.fullmatch(r"\s*[+-]?\d+\s*", step):
        item = _element(text, int(step))
        return None if item is None else _path(item, rest)
    return None


def _wrong(message: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", message)


def _array_length(text: str) -> int:
    what = kind(text)
    if what != "array":
        raise _wrong(f"cannot get array length of a {'non-array' if what == 'object' else 'scalar'}")
    return len(list(elements(text)))


def _listed(text: str, name: str) -> Iterator[str]:
    what = kind(text)
    if what != "array":
        raise _wrong(f"cannot extract elements from {'an object' if what == 'object' else 'a scalar'}")
    return elements(text)


def _pairs(text: str, name: str) -> Iterator[tuple[str, str]]:
    what = kind(text)
    if what != "object":
        raise _wrong(f"cannot call {name} on {'an array' if what == 'array' else 'a scalar'}")
    return members(text)


def _names(text: str) -> set[str]:
    """Returns the strings that `?` tests: an object's keys, an array's strings, or a string itself."""
    value = read(text)
    if isinstance(value, dict):
        return set(value)
    if isinstance(value, list):
        return {item for item in value if isinstance(item, str)}
    return {value} if isinstance(value, str) else set()


def read(text: str) -> Any:
    """Parses a document; numbers keep their digits."""
    return _DECODER.decode(text)


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _contains(outer: Any, inner: Any, top: bool = False) -> bool:
    if isinstance(outer, dict) and isinstance(inner, dict):
        return all(key in outer and _contains(outer[key], value) for key, value in inner.items())
    if isinstance(outer, list) and isinstance(inner, list):
        return all(any(_contains(item, value) for item in outer) for value in inner)
    if top and isinstance(outer, list) and not isinstance(inner, dict):
        return any(_same(item, inner) for item in outer)
    return _same(outer, inner)


def _concat(a: str, b: str) -> str:
    left, right = read(a), read(b)
    if isinstance(left, dict) and isinstance(right, dict):
        return jsonb_text({**left, **right})
    return jsonb_text((left if isinstance(left, list) else [left]) + (right if isinstance(right, list) else [right]))


def _container(text: str, what: str) -> Any:
    value = read(text)
    if not isinstance(value, dict | list):
        raise _wrong(what)
    return value


def _delete(text: str, keys: list[str | None]) -> str:
    value = _container(text, "cannot delete from scalar")
    if isinstance(value, dict):
        return jsonb_text({key: item for key, item in value.items() if key not in keys})
    return jsonb_text([item for item in value if not (isinstance(item, str) and item in keys)])


def _delete_at(text: str, index: int) -> str:
    value = _container(text, "cannot delete from scalar")
    if isinstance(value, dict):
        raise _wrong("cannot delete from object using integer index")
    if -len(value) <= index < len(value):
        del value[index]
    return jsonb_text(value)


def path_index(step: str | None, depth: int) -> int:
    """Parses a path step as an array index; 22P02 if it is no integer. `depth` is its position in the path."""
    if step is None or not re.fullmatch(r"\s*[+-]?\d+\s*", step):
        raise InvalidText(f'path element at position {depth} is not an integer: "{step}"')
    return int(step)


def _known(step: str | None, depth: int) -> None:
    if step is None:
        raise SqlError.of("null_value_not_allowed", f"path element at position {depth} is null")


def _changed(value: Any, steps: list[str | None], depth: int, change: Callable[[Any, Any], None]) -> None:
    """Walks to the container of the last step and changes it there; does nothing if the path does not exist."""
    for at, step in enumerate(steps[:-1], depth):
        _known(step, at)
        if isinstance(value, dict):
            if step not in value:
                return
            value = value[step]
        elif isinstance(value, list):
            index = path_index(step, at)
            if not -len(value) <= index < len(value):
                return
            value = value[index]
        else:
            return
    last = steps[-1]
    _known(last, depth + len(steps) - 1)
    if isinstance(value, dict):
        change(value, last)
    elif isinstance(value, list):
        change(value, path_index(last, depth + len(steps) - 1))


def _delete_path(text: str, steps: list[str | None]) -> str:
    value = _container(text, "cannot delete path in scalar")

    def delete(where: Any, key: Any) -> None:
        if isinstance(where, dict):
            where.pop(key, None)
        elif -len(where) <= key < len(where):
            del where[key]

    if steps and value:
        _changed(value, steps, 1, delete)
    return jsonb_text(value)


def _set(text: str, steps: list[str | None], new: str, create: bool) -> str:
    value, made = _container(text, "cannot set path in scalar"), read(new)

    def put(where: Any, key: Any) -> None:
        if isinstance(where, dict):
            if create or key in where:
                where[key] = made
        elif -len(where) <= key < len(where):
            where[key] = made
        elif create:
            where.insert(0 if key < 0 else len(where), made)

    if steps and (value or create):
        _changed(value, steps, 1, put)
    return jsonb_text(value)


def _insert(text: str, steps: list[str | None], new: str, after: bool) -> str:
    value, made = _container(text, "cannot set path in scalar"), read(new)

    def put(where: Any, key: Any) -> None:
        if isinstance(where, dict):
            if key in where:
                raise SqlError.of("invalid_parameter_value", "cannot replace existing key")
            where[key] = made
        else:
            at = key + len(where) if key < 0 else key
            at = at + 1 if after and at < len(where) else at
            where.insert(max(0, min(at, len(where))), made)

    if steps:
        _changed(value, steps, 1, put)
    return jsonb_text(value)


def _pretty(value: Any, depth: int) -> str:
    inner, outer = "    " * (depth + 1), "    " * depth
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
        lines = [f"{inner}{jsonb_text(key)}: {_pretty(value[key], depth + 1)}" for key in keys]
        return "{\n" + (",\n".join(lines) + "\n" if lines else "") + outer + "}"
    if isinstance(value, list):
        lines = [inner + _pretty(item, depth + 1) for item in value]
        return "[\n" + (",\n".join(lines) + "\n" if lines else "") + outer + "]"
    return jsonb_text(value)


def _stripped(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _stripped(item) for key, item in value.items() if item is not None}
    return [_stripped(item) for item in value] if isinstance(value, list) else value


def _strip_text(text: str) -> str:
    match kind(text):
        case "object":
            kept = [(key, value) for key, value in members(text) if kind(value) != "null"]
            return (
                "{"
                + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_strip_text(value)}" for key, value in kept)
                + "}"
            )
        case "array":
            return "[" + ",".join(_strip_text(item) for item in elements(text)) + "]"
        case "string":
            return json.dumps(json.loads(text), ensure_ascii=False)
    return text.strip(" \t\n\r")


def _object(keys: list[str | None], values: list[str | None], items: list[str | None] | None) -> str:
    if items is not None and len(items) % 2:
        raise SqlError.of("array_subscript_error", "array must have even number of elements")
    if len(keys) != len(values):
        raise SqlError.of("array_subscript_error", "mismatched array dimensions")
    if None in keys:
        raise SqlError.of("null_value_not_allowed", "null value not allowed for object key")
    pairs = (
        f"{json.dumps(key, ensure_ascii=False)} : {'null' if value is None else json.dumps(value, ensure_ascii=False)}"
        for key, value in zip(keys, values)
    )
    return "{" + ", ".join(pairs) + "}"


def _moment(text: str) -> str:
    """Converts a timestamptz's text to ISO 8601."""
    if text.endswith("infinity"):
        return text
    made = text.replace(" ", "T", 1)
    return made if re.search(r"[+-]\d\d:\d\d", made) else re.sub(r"([+-]\d\d)( BC)?$", r"\1:00\2", made)
