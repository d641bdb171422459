"""Catalog values as JSON and back, by the fields of their dataclasses, so that new fields are stored without changes
here. The last member of the JSON is a checksum of all before it, which earlier versions of gpudb neither write nor see.
"""

from __future__ import annotations

import json
import types
import typing
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from gpudb.catalog import (
    documents,
    extensions,
    foreign,
    languages,
    large_objects,
    model,
    models,
    partitions,
    policies,
    relations,
    resource_groups,
    roles,
    routines,
    tables,
    triggers,
    user_types,
)
from gpudb.errors import GpudbError
from gpudb.lru import IdentityKey, LruCache
from gpudb.types import Label, SqlType, UserType
from gpudb.values.acl import AclItem

# Stored in other rows, or computed anew at every commit.
_OMITTED = {("Table", "files"), ("Table", "metadata_location"), ("Table", "tree")}


_CHECKSUM = ',"#":"{:08x}"}}'
_CHECKSUM_END = len(_CHECKSUM.format(0))


def encode(value: object) -> str:
    """Encodes a dataclass of the catalog's model as JSON, with its class name."""
    text = json.dumps(_to_json(value), ensure_ascii=False, separators=(",", ":"))[:-1]
    return text + _CHECKSUM.format(zlib.crc32(text.encode()))


def decode(text: str) -> Any:
    """Decodes the result of `encode`. Fields that the model no longer has are dropped.

    Raises XX001 for a text that differs from its checksum or cannot be read.
    """
    start, end = text[:-_CHECKSUM_END], text[-_CHECKSUM_END:]
    if end.startswith(_CHECKSUM[:6]) and end != _CHECKSUM.format(zlib.crc32(start.encode())):
        raise GpudbError(f"a definition differs from its checksum: {text[:80]}", condition="data_corrupted")
    try:
        return _from_json(json.loads(text), object)
    except (ValueError, KeyError, TypeError) as error:
        message = f"a definition cannot be read: {error!r}: {text[:80]}"
        raise GpudbError(message, condition="data_corrupted") from error


_columns: LruCache[IdentityKey[tables.Column], object] = LruCache(1 << 14)
"""Encoded columns: a table keeps its own while its rows change."""


def _to_json(value: object) -> object:
    if isinstance(value, tables.Column):
        key = IdentityKey(value)
        known = _columns.get(key)
        if known is None:
            known = _fields_to_json(value)
            _columns.put(key, known)
        return known
    return _fields_to_json(value)


def _fields_to_json(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        found: dict[str, object] = {"": name}
        for field in fields(value):
            held = getattr(value, field.name)
            if (name, field.name) in _OMITTED or _is_default(field.default, held):
                continue
            found[field.name] = _to_json(held)
        return found
    if isinstance(value, Mapping):
        return {str(key): _to_json(held) for key, held in value.items()}
    if isinstance(value, tuple | list | frozenset | set):
        return [_to_json(held) for held in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"a catalog value may not hold {type(value).__name__}")


def _is_default(default: object, held: object) -> bool:
    return default is not MISSING and type(default) is type(held) and default == held


def _from_json(data: object, hint: Any) -> object:
    if isinstance(data, dict) and "" in data:
        cls = _classes()[data[""]]
        hints = _hints(cls)
        return cls(**{key: _from_json(held, hints[key]) for key, held in data.items() if key in hints})
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        return None if data is None else _from_json(data, options[0])
    if isinstance(data, list):
        arguments = typing.get_args(hint)
        if origin is tuple and len(arguments) > 1 and arguments[1] is not Ellipsis:
            return tuple(_from_json(held, argument) for held, argument in zip(data, arguments))
        made = (_from_json(held, arguments[0] if arguments else object) for held in data)
        return frozenset(made) if origin is frozenset else tuple(made)
    if isinstance(data, dict):
        arguments = typing.get_args(hint)
        inner = arguments[1] if len(arguments) == 2 else object
        return types.MappingProxyType({key: _from_json(held, inner) for key, held in data.items()})
    return data


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@cache
def _classes() -> dict[str, Any]:
    modules = (
        documents,
        extensions,
        foreign,
        languages,
        large_objects,
        model,
        models,
        partitions,
        policies,
        relations,
        resource_groups,
        roles,
        routines,
        tables,
        triggers,
        user_types,
    )
    named = (pair for module in modules for pair in vars(module).items())
    found = {name: cls for name, cls in named if isinstance(cls, type) and is_dataclass(cls)}
    return {**found, "SqlType": SqlType, "UserType": UserType, "Label": Label, "AclItem": AclItem}
