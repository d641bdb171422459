"""Qualifies relations and types with their schemas, so that any search path finds the same ones.

Routines are recorded when a query is bound (`expand_composed`): the types of a call's arguments decide which it calls.
"""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.catalog.model import Catalog
from gpudb.errors import FeatureNotSupported
from gpudb.sql.rewrite.rule import NameSource
from gpudb.types import type_exists
from gpudb.types.facts import TYPE_ALIASES


def qualify_names(node: Any, names: NameSource) -> Any:
    """Returns a copy of a query with every relation and type of the catalog qualified."""
    copy = type(node)()
    copy.CopyFrom(node)
    _qualify(copy, names.catalog, names.search_path, frozenset())
    return copy


def _qualify(node: Any, catalog: Catalog, search_path: tuple[str, ...], hidden: frozenset[str]) -> None:
    name = node.DESCRIPTOR.name
    if name == "FuncCall" and len(node.funcname) > 1 and node.funcname[-2].string.sval.startswith("pg_temp"):
        raise FeatureNotSupported("stored queries and expressions that call temporary functions are not supported")
    if name == "TypeName":
        _qualify_type(node, catalog, search_path)
    if name == "RangeVar":
        if not node.schemaname and node.relname not in hidden:
            found = catalog.find(node.relname, search_path)
            if found is not None:
                node.schemaname = found.schema
        return
    takes_with = "with_clause" in node.DESCRIPTOR.fields_by_name
    if takes_with and node.HasField("with_clause"):
        names = {each.common_table_expr.ctename for each in node.with_clause.ctes}
        seen = hidden | names if node.with_clause.recursive else hidden
        for each in node.with_clause.ctes:
            # Without RECURSIVE, a WITH query sees those before it, and a table of its own name.
            _qualify(each.common_table_expr.ctequery, catalog, search_path, seen)
            seen = seen | {each.common_table_expr.ctename}
        hidden = seen
    for field, value in node.ListFields():
        if field.message_type is not None and field.name != "with_clause":
            # A WITH query is no target of a change
            unseen = frozenset[str]() if takes_with and field.name == "relation" else hidden
            for each in value if field.is_repeated else (value,):
                _qualify(each, catalog, search_path, unseen)


def _qualify_type(node: Any, catalog: Catalog, search_path: tuple[str, ...]) -> None:
    """Qualifies a type of the catalog, or a relation's row type; PostgreSQL's own types come first."""
    if len(node.names) != 1:
        return
    name = node.names[0].string.sval
    if type_exists(TYPE_ALIASES.get(name, name)):
        return
    found = catalog.find_type(name, search_path)
    if found is None and name[:1] == "_":
        found = catalog.find_type(name[1:], search_path)
    schema = found.schema if found is not None else _find_schema(name, catalog, search_path)
    if schema and not schema.startswith("pg_temp"):
        node.names.insert(0, pg.Node(string=pg.String(sval=schema)))


def _find_schema(name: str, catalog: Catalog, search_path: tuple[str, ...]) -> str:
    relation = catalog.find(name, search_path)
    return "" if relation is None else relation.schema
