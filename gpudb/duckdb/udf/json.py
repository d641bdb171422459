"""json and jsonb: extraction, search and modification. An extracted part is a slice of the original text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import InvalidText, SqlError
from gpudb.values.json import format_jsonb, normalize_jsonb, parse_jsonb, quote_string, sort_keys

_BLANK = re.compile(r"[ \t\n\r]*")
_INDEX = re.compile(r"\s*[+-]?\d+\s*")
_BLANKS = frozenset(" \t\n\r")
_DECODER = json.JSONDecoder(parse_float=Decimal, parse_int=Decimal)
_SCALAR = r'("(?:[^"\\]|\\.)*+"|[^ \t\n\r"{}\[\],]++)?[ \t\n\r]*+'
_MEMBER = re.compile(r'[ \t\n\r]*+"((?:[^"\\]|\\.)*+)"[ \t\n\r]*+:[ \t\n\r]*+' + _SCALAR, re.S)
"""A member of an object up to the comma or brace after it; without a value if that is an object or an array."""
_ELEMENT = re.compile(r"[ \t\n\r]*+" + _SCALAR, re.S)
_SCANNER: Any = json.JSONDecoder(parse_float=bool, parse_int=bool)
_scan = _SCANNER.scan_once
"""Finds the end of a value, whatever it is."""
_TYPES = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    registry.add_scalar("pg_json_field", "VARCHAR VARCHAR", "VARCHAR", _field)
    registry.add_scalar("pg_json_element", "VARCHAR INTEGER", "VARCHAR", _element)
    registry.add_scalar("pg_jsonb_element", "VARCHAR INTEGER", "VARCHAR", _element_or_scalar)
    registry.add_scalar("pg_json_text", "VARCHAR", "VARCHAR", unquote)
    registry.add_scalar("pg_json_path", "VARCHAR VARCHAR[]", "VARCHAR", _path)
    registry.add_scalar("pg_jsonb_path", "VARCHAR VARCHAR[]", "VARCHAR", _canonical_path)
    registry.add_scalar("pg_json_typeof", "VARCHAR", "VARCHAR", json_type)
    registry.add_scalar("pg_json_array_length", "VARCHAR", "INTEGER", _array_length)
    registry.add_scalar(
        "pg_json_elements", "VARCHAR", "VARCHAR[]", lambda t: list(_array_elements(t, "json_array_elements"))
    )
    registry.add_scalar("pg_json_elements_text", "VARCHAR", "VARCHAR[]",
                    lambda t: [unquote(item) for item in _array_elements(t, "json_array_elements_text")])  # fmt: skip
    registry.add_scalar(
        "pg_json_keys", "VARCHAR", "VARCHAR[]", lambda t: [k for k, _ in _object_members(t, "json_object_keys")]
    )
    pairs = "STRUCT(key VARCHAR, value VARCHAR)[]"
    registry.add_scalar("pg_json_each", "VARCHAR", pairs,
                    lambda t: [{"key": k, "value": v} for k, v in _object_members(t, "json_each")])  # fmt: skip
    registry.add_scalar(
        "pg_json_each_text",
        "VARCHAR",
        pairs,
        lambda t: [{"key": k, "value": unquote(v)} for k, v in _object_members(t, "json_each_text")],
    )
    registry.add_scalar("pg_jsonb_exists", "VARCHAR VARCHAR", "BOOLEAN", lambda t, key: key in _top_level_strings(t))
    registry.add_scalar("pg_jsonb_exists_any", "VARCHAR VARCHAR[]", "BOOLEAN",
                    lambda t, keys: any(key in _top_level_strings(t) for key in keys if key is not None))  # fmt: skip
    registry.add_scalar("pg_jsonb_exists_all", "VARCHAR VARCHAR[]", "BOOLEAN",
                    lambda t, keys: all(key in _top_level_strings(t) for key in keys if key is not None))  # fmt: skip
    registry.add_scalar(
        "pg_jsonb_contains",
        "VARCHAR VARCHAR",
        "BOOLEAN",
        lambda a, b: _contains(parse_document(a), parse_document(b), True),
    )
    registry.add_scalar("pg_jsonb_concat", "VARCHAR VARCHAR", "VARCHAR", _concat)
    registry.add_scalar("pg_jsonb_delete", "VARCHAR VARCHAR[]", "VARCHAR", _delete)
    registry.add_scalar("pg_jsonb_delete_at", "VARCHAR INTEGER", "VARCHAR", _delete_at)
    registry.add_scalar("pg_jsonb_delete_path", "VARCHAR VARCHAR[]", "VARCHAR", _delete_path)
    registry.add_scalar("pg_jsonb_set", "VARCHAR VARCHAR[] VARCHAR BOOLEAN", "VARCHAR", _set)
    registry.add_scalar("pg_jsonb_insert", "VARCHAR VARCHAR[] VARCHAR BOOLEAN", "VARCHAR", _insert)
    registry.add_scalar("pg_jsonb_pretty", "VARCHAR", "VARCHAR", lambda t: _pretty(parse_document(t), 0))
    registry.add_scalar(
        "pg_jsonb_strip_nulls", "VARCHAR", "VARCHAR", lambda t: format_jsonb(_remove_nulls(parse_document(t)))
    )
    registry.add_scalar("pg_json_strip_nulls", "VARCHAR", "VARCHAR", _strip_text)
    registry.add_scalar("pg_jsonb_key", "VARCHAR", "VARCHAR", normalize_jsonb)
    registry.add_scalar("pg_json_object", "VARCHAR[]", "VARCHAR", lambda items: _object(items[::2], items[1::2], items))
    registry.add_scalar("pg_json_object_of", "VARCHAR[] VARCHAR[]", "VARCHAR", lambda k, v: _object(k, v, None))
    registry.add_scalar("pg_jsonb_object", "VARCHAR[]", "VARCHAR",
                    lambda items: parse_jsonb(_object(items[::2], items[1::2], items)))  # fmt: skip
    registry.add_scalar(
        "pg_jsonb_object_of", "VARCHAR[] VARCHAR[]", "VARCHAR", lambda k, v: parse_jsonb(_object(k, v, None))
    )
    registry.add_scalar("pg_json_moment", "VARCHAR", "VARCHAR", _to_iso_timestamp)


def _skip_blanks(text: str, at: int) -> int:
    if text[at : at + 1] not in _BLANKS:
        return at
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _first_position(text: str) -> int:
    return _skip_blanks(text, 0)


def json_type(text: str) -> str:
    """Returns the JSON type: object, array, string, number, boolean or null."""
    return _TYPES.get(text[_first_position(text)], "number")


def members(text: str) -> Iterator[tuple[str, str]]:
    """Yields an object's keys and its values' original texts."""
    at = _first_position(text) + 1
    while (found := _MEMBER.match(text, at)) is not None:
        key, value = found.groups()
        at = found.end()
        if value is None:
            start = at
            _, at = _scan(text, start)
            value = text[start:at]
            at = _skip_blanks(text, at)
        yield (str(json.loads(f'"{key}"')) if "\\" in key else key), value
        if text[at] != ",":
            return
        at += 1


def elements(text: str) -> Iterator[str]:
    """Yields the original texts of an array's elements."""
    at = _first_position(text) + 1
    while text[_skip_blanks(text, at)] != "]":
        found = _ELEMENT.match(text, at)
        assert found is not None
        value, at = found[1], found.end()
        if value is None:
            start = at
            _, at = _scan(text, start)
            value = text[start:at]
            at = _skip_blanks(text, at)
        yield value
        if text[at] != ",":
            return
        at += 1


def _field(text: str, key: str) -> str | None:
    if json_type(text) != "object":
        return None
    found = None
    for name, value in members(text):
        if name == key:
            found = value
    return found


def _element(text: str, index: int) -> str | None:
    if json_type(text) != "array":
        return None
    items = list(elements(text))
    return items[index] if -len(items) <= index < len(items) else None


def _element_or_scalar(text: str, index: int) -> str | None:
    """Returns an element; a jsonb scalar counts as an array of one, as PostgreSQL stores it."""
    if json_type(text) in {"object", "array"}:
        return _element(text, index)
    return text if index in {0, -1} else None


def unquote(text: str) -> str | None:
    """Returns a value's text: a string without its quotes, None for null."""
    match json_type(text):
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
    if json_type(text) == "object":  # of equal keys the last one at which the rest of the path exists
        found = [_path(value, rest) for name, value in members(text) if name == step]
        return next((each for each in reversed(found) if each is not None), None)
    if json_type(text) == "array" and _INDEX.fullmatch(step):
        item = _element(text, int(step))
        return None if item is None else _path(item, rest)
    return None


def _canonical_path(text: str, steps: list[str | None]) -> str | None:
    """Returns a part of a jsonb, whose keys differ and whose parts are printed as the whole is."""
    value = parse_document(text)
    for step in steps:
        if step is None:
            return None
        if isinstance(value, dict):
            if step not in value:
                return None
            value = value[step]
        elif isinstance(value, list) and _INDEX.fullmatch(step):
            index = int(step)
            if not -len(value) <= index < len(value):
                return None
            value = value[index]
        else:
            return None
    return format_jsonb(value)


def _invalid_parameter(message: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", message)


def _array_length(text: str) -> int:
    what = json_type(text)
    if what != "array":
        raise _invalid_parameter(f"cannot get array length of a {'non-array' if what == 'object' else 'scalar'}")
    return len(list(elements(text)))


def _array_elements(text: str, name: str) -> Iterator[str]:
    what = json_type(text)
    if what != "array":
        raise _invalid_parameter(f"cannot extract elements from {'an object' if what == 'object' else 'a scalar'}")
    return elements(text)


def _object_members(text: str, name: str) -> Iterator[tuple[str, str]]:
    what = json_type(text)
    if what != "object":
        raise _invalid_parameter(f"cannot call {name} on {'an array' if what == 'array' else 'a scalar'}")
    return members(text)


def _top_level_strings(text: str) -> set[str]:
    """Returns the strings that `?` tests: an object's keys, an array's strings, or a string itself."""
    value = parse_document(text)
    if isinstance(value, dict):
        return set(value)
    if isinstance(value, list):
        return {item for item in value if isinstance(item, str)}
    return {value} if isinstance(value, str) else set()


def parse_document(text: str) -> Any:
    """Parses a document; numbers keep their digits."""
    return _DECODER.decode(text)


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _contains(outer: Any, inner: Any, top: bool = False) -> bool:
    if isinstance(outer, dict) and isinstance(inner, dict):
        return all(key in outer and _contains(outer[key], value) for key, value in inner.items())
    if isinstance(outer, list) and isinstance(inner, list):
        return all(any(_contains(item, value) for item in outer) for value in inner)
    if top and isinstance(outer, list) and not isinstance(inner, dict):
        return any(_equal(item, inner) for item in outer)
    return _equal(outer, inner)


def _concat(a: str, b: str) -> str:
    left, right = parse_document(a), parse_document(b)
    if isinstance(left, dict) and isinstance(right, dict):
        return format_jsonb({**left, **right})
    return format_jsonb((left if isinstance(left, list) else [left]) + (right if isinstance(right, list) else [right]))


def _parse_container(text: str, what: str) -> Any:
    value = parse_document(text)
    if not isinstance(value, dict | list):
        raise _invalid_parameter(what)
    return value


def _delete(text: str, keys: list[str | None]) -> str:
    value = _parse_container(text, "cannot delete from scalar")
    if isinstance(value, dict):
        return format_jsonb({key: item for key, item in value.items() if key not in keys})
    return format_jsonb([item for item in value if not (isinstance(item, str) and item in keys)])


def _delete_at(text: str, index: int) -> str:
    value = _parse_container(text, "cannot delete from scalar")
    if isinstance(value, dict):
        raise _invalid_parameter("cannot delete from object using integer index")
    if -len(value) <= index < len(value):
        del value[index]
    return format_jsonb(value)


def path_index(step: str | None, depth: int) -> int:
    """Parses a path step as an array index; 22P02 if it is no integer. `depth` is its position in the path."""
    if step is None or not _INDEX.fullmatch(step):
        raise InvalidText(f'path element at position {depth} is not an integer: "{step}"')
    return int(step)


def _check_step(step: str | None, depth: int) -> None:
    if step is None:
        raise SqlError.of("null_value_not_allowed", f"path element at position {depth} is null")


def _change_at(value: Any, steps: list[str | None], depth: int, change: Callable[[Any, Any], None]) -> None:
    """Walks to the container of the last step and changes it there; does nothing if the path does not exist."""
    for at, step in enumerate(steps[:-1], depth):
        _check_step(step, at)
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
    _check_step(last, depth + len(steps) - 1)
    if isinstance(value, dict):
        change(value, last)
    elif isinstance(value, list):
        change(value, path_index(last, depth + len(steps) - 1))


def _delete_path(text: str, steps: list[str | None]) -> str:
    value = _parse_container(text, "cannot delete path in scalar")

    def delete(where: Any, key: Any) -> None:
        if isinstance(where, dict):
            where.pop(key, None)
        elif -len(where) <= key < len(where):
            del where[key]

    if steps and value:
        _change_at(value, steps, 1, delete)
    return format_jsonb(value)


def _set(text: str, steps: list[str | None], new: str, create: bool) -> str:
    value, result = _parse_container(text, "cannot set path in scalar"), parse_document(new)

    def put(where: Any, key: Any) -> None:
        if isinstance(where, dict):
            if create or key in where:
                where[key] = result
        elif -len(where) <= key < len(where):
            where[key] = result
        elif create:
            where.insert(0 if key < 0 else len(where), result)

    if steps and (value or create):
        _change_at(value, steps, 1, put)
    return format_jsonb(value)


def _insert(text: str, steps: list[str | None], new: str, after: bool) -> str:
    value, result = _parse_container(text, "cannot set path in scalar"), parse_document(new)

    def put(where: Any, key: Any) -> None:
        if isinstance(where, dict):
            if key in where:
                raise SqlError.of("invalid_parameter_value", "cannot replace existing key")
            where[key] = result
        else:
            at = key + len(where) if key < 0 else key
            at = at + 1 if after and at < len(where) else at
            where.insert(max(0, min(at, len(where))), result)

    if steps:
        _change_at(value, steps, 1, put)
    return format_jsonb(value)


def _pretty(value: Any, depth: int) -> str:
    inner, outer = "    " * (depth + 1), "    " * depth
    if isinstance(value, dict):
        lines = [f"{inner}{quote_string(key)}: {_pretty(value[key], depth + 1)}" for key in sort_keys(value)]
        return "{\n" + (",\n".join(lines) + "\n" if lines else "") + outer + "}"
    if isinstance(value, list):
        lines = [inner + _pretty(item, depth + 1) for item in value]
        return "[\n" + (",\n".join(lines) + "\n" if lines else "") + outer + "]"
    return format_jsonb(value)


def _remove_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _remove_nulls(item) for key, item in value.items() if item is not None}
    return [_remove_nulls(item) for item in value] if isinstance(value, list) else value


class _Members(list[tuple[str, Any]]):
    """The members of an object as written, equal keys included."""


class _Digits(str):
    """A number as it is written."""


_AS_WRITTEN = json.JSONDecoder(object_pairs_hook=_Members, parse_float=_Digits, parse_int=_Digits)


def _strip_text(text: str) -> str:
    """Returns a json without the members that are null; all else is as it is written, but for blanks."""
    return _write_stripped(_AS_WRITTEN.decode(text))


def _write_stripped(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return encode_basestring(value)
    if kind is _Digits:
        return str(value)
    if kind is _Members:
        kept = [f"{encode_basestring(key)}:{_write_stripped(item)}" for key, item in value if item is not None]
        return "{" + ",".join(kept) + "}"
    if kind is list:
        return "[" + ",".join(map(_write_stripped, value)) + "]"
    return "null" if value is None else "true" if value else "false"


def _object(keys: list[str | None], values: list[str | None], items: list[str | None] | None) -> str:
    if items is not None and len(items) % 2:
        raise SqlError.of("array_subscript_error", "array must have even number of elements")
    if len(keys) != len(values):
        raise SqlError.of("array_subscript_error", "mismatched array dimensions")
    if None in keys:
        raise SqlError.of("null_value_not_allowed", "null value not allowed for object key")
    pairs = (
        f"{encode_basestring(str(key))} : {'null' if value is None else encode_basestring(value)}"
        for key, value in zip(keys, values)
    )
    return "{" + ", ".join(pairs) + "}"


def _to_iso_timestamp(text: str) -> str:
    """Converts a timestamptz's text to ISO 8601."""
    if text.endswith("infinity"):
        return text
    result = text.replace(" ", "T", 1)
    return result if re.search(r"[+-]\d\d:\d\d", result) else re.sub(r"([+-]\d\d)( BC)?$", r"\1:00\2", result)
