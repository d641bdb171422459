"""Stored queries follow relations and schemas that get other names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudb.sql.parse.parser import deparse, kind, parse, strings

Places = Mapping[tuple[str, str], tuple[str, str]]


def moved_names(text: str, places: Places, schemas: Mapping[str, str]) -> str:
    """SQL text in which relations (by schema and name) and whole schemas carry their new names.

    A relation that gets another name keeps the old one as its alias, by which the text goes on to call it.
    """
    made = []
    for statement in parse(text):
        _move(statement.node, places, schemas)
        made.append(deparse(statement.node))
    return ";\n".join(made)


def _move(node: Any, places: Places, schemas: Mapping[str, str]) -> None:
    match node.DESCRIPTOR.name:
        case "RangeVar" if node.schemaname:
            _range(node, places, schemas)
        case "ColumnRef" if len(node.fields) == 3 and all(kind(each) == "string" for each in node.fields[:2]):
            schema, name = strings(node.fields[:2])
            if (schema, name) in places or schema in schemas:
                # The alias alone: the schema that the reference names is no longer the relation's.
                del node.fields[0]
        case "FuncCall" if len(node.funcname) == 2 and strings(node.funcname)[0] in schemas:
            node.funcname[0].string.sval = schemas[strings(node.funcname)[0]]
        case "TypeName" if len(node.names) == 2 and strings(node.names)[0] in schemas:
            node.names[0].string.sval = schemas[strings(node.names)[0]]
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                _move(each, places, schemas)


def _range(node: Any, places: Places, schemas: Mapping[str, str]) -> None:
    old = node.schemaname, node.relname
    schema, name = places.get(old, (schemas.get(old[0], old[0]), old[1]))
    if name != old[1] and not node.HasField("alias"):
        node.alias.aliasname = old[1]
    node.schemaname, node.relname = schema, name
