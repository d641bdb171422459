"""Renames relations, functions, types and schemas in the stored queries that name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudb.catalog.pinned_routines import read_pin
from gpudb.sql.parse.parser import kind, strings
from gpudb.sql.rewrite.rule import RelationNames, Renames


def rename_relations(node: Any, renames: Renames) -> Any:
    """Returns the query, changed in place, with relations, functions, types and whole schemas under their new names.

    A renamed relation keeps its old name as its alias, because the rest of the query refers to it by that.
    """
    match node.DESCRIPTOR.name:
        case "RangeVar" if node.schemaname:
            _rename_range(node, renames)
        case "ColumnRef" if len(node.fields) == 3 and all(kind(each) == "string" for each in node.fields[:2]):
            schema, name = strings(node.fields[:2])
            if (schema, name) in renames.relations or schema in renames.schemas:
                # The alias alone qualifies the column: the relation is no longer in the schema that the reference names
                del node.fields[0]
        case "FuncCall" if oid := read_pin(strings(node.funcname)):
            _, schema, name = strings(node.funcname)
            renamed = renames.routines.get(oid, (renames.schemas.get(schema, schema), name))
            node.funcname[1].string.sval, node.funcname[2].string.sval = renamed
        case "FuncCall":
            _rename_object(node.funcname, renames.functions, renames.schemas)
        case "TypeName":
            _rename_object(node.names, renames.types, renames.schemas)
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                rename_relations(each, renames)
    return node


def _rename_range(node: Any, renames: Renames) -> None:
    old = node.schemaname, node.relname
    schema, name = renames.relations.get(old, (renames.schemas.get(old[0], old[0]), old[1]))
    if name != old[1] and not node.HasField("alias"):
        node.alias.aliasname = old[1]
    node.schemaname, node.relname = schema, name


def _rename_object(path: Any, names: RelationNames, schemas: Mapping[str, str]) -> None:
    """Changes the name of a function or type, of which a name without a schema stays so."""
    if len(path) > 2:
        return
    parts = strings(path)
    schema, old = ("", *parts)[-2:]
    new_schema, name = names.get((schema, old), (schemas.get(schema, schema), old))
    path[-1].string.sval = name
    if len(path) == 2:
        path[0].string.sval = new_schema
    elif new_schema:
        del path[:]
        for part in (new_schema, name):
            path.add().string.sval = part
