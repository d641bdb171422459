"""The SQL types of columns that a server describes by OID and modifier."""

from __future__ import annotations

from gpudb.errors import UndefinedObject
from gpudb.types import TEXT, SqlType, type_by_oid

_MODIFIED = frozenset(
    "numeric varchar bpchar bit varbit time timetz timestamp timestamptz vector halfvec sparsevec".split()
)


def get_wire_type(oid: int, modifier: int) -> SqlType:
    """Returns the type; text for types that gpudb does not have."""
    try:
        kind = type_by_oid(oid)
        type_ = SqlType(kind.name, modifier if kind.name.lstrip("_") in _MODIFIED else -1)
        _ = type_.arrow  # KeyError for unsupported types
        return type_
    except (UndefinedObject, KeyError):
        return TEXT
