"""Renames relations and schemas in the stored queries that name them."""

from __future__ import annotations

from typing import Any

from gpudb.sql.parse.parser import kind, strings
from gpudb.sql.rewrite.rule import Renames


def rename_relations(node: Any, renames: Renames) -> Any:
    """Returns the query, changed in place, with relations and whole schemas under their new names.

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
        case "FuncCall" if len(node.funcname) == 2 and strings(node.funcname)[0] in renames.schemas:
            node.funcname[0].string.sval = renames.schemas[strings(node.funcname)[0]]
        case "TypeName" if len(node.names) == 2 and strings(node.names)[0] in renames.schemas:
            node.names[0].string.sval = renames.schemas[strings(node.names)[0]]
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
