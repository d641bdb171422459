"""Replaces the names of relations, types, routines and schemas in literals of types as regclass by their OIDs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.sql.parse.parser import kind, strings
from gpudb.sql.rewrite.rule import NameSource

_UNNAMED = "?column?"
"""What the output column of a literal without an alias is named."""


def pin_objects(node: Any, names: NameSource) -> Any:
    """Returns a copy of a query or an expression with `'OID'::regclass` for each such literal."""
    copy = type(node)()
    copy.CopyFrom(node)
    if names.expansions.objects:
        _pin(copy, names.expansions.objects, "")
    return copy


def _pin(node: Any, objects: Mapping[bytes, tuple[int, str]], cast: str) -> None:
    """Pins the literals in a tree; `cast` is the type to which the node itself is cast."""
    name = node.DESCRIPTOR.name
    if name == "Node" and kind(node) == "a_const":
        found = objects.get(node.a_const.SerializeToString(deterministic=True))
        if found is not None:
            oid, item = found
            node.a_const.sval.sval = str(oid)
            if item != cast:
                made = pg.TypeCast(arg=node, type_name=pg.TypeName(names=[pg.Node(string=pg.String(sval=item))]))
                made.type_name.typemod = -1
                node.type_cast.CopyFrom(made)
        return
    if name == "ResTarget" and not node.name and kind(node.val) == "a_const":
        _pin(node.val, objects, "")
        if kind(node.val) != "a_const":
            node.name = _UNNAMED
        return
    inside = strings(node.type_name.names)[-1] if name == "TypeCast" and not len(node.type_name.array_bounds) else ""
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                _pin(each, objects, inside if field.name == "arg" or name == "Node" else "")
