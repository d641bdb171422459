"""Qualifies relations and routines with their schemas, so that any search path finds the same ones."""

from __future__ import annotations

from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.routines import get_routine_path
from gpudb.errors import FeatureNotSupported
from gpudb.functions.resolve import takes_arguments
from gpudb.sql.rewrite.rule import NameSource


def qualify_names(node: Any, names: NameSource) -> Any:
    """Returns a copy of a query with every relation and routine of the catalog qualified."""
    copy = type(node)()
    copy.CopyFrom(node)
    _qualify(copy, names.catalog, names.search_path, frozenset())
    return copy


def _qualify(node: Any, catalog: Catalog, search_path: tuple[str, ...], hidden: frozenset[str]) -> None:
    name = node.DESCRIPTOR.name
    if name == "FuncCall" and len(node.funcname) > 1 and node.funcname[-2].string.sval.startswith("pg_temp"):
        raise FeatureNotSupported("stored queries and expressions that call temporary functions are not supported")
    if name == "FuncCall" and len(node.funcname) == 1:
        own = node.funcname[0].string.sval
        routines = catalog.find_routines(own, get_routine_path("", search_path))
        if routines and not takes_arguments(own, len(node.args)):  # else their types decide, when it is bound
            node.funcname[0].string.sval = routines[0].schema
            node.funcname.add().string.sval = own
    if name == "RangeVar":
        if not node.schemaname and node.relname not in hidden:
            found = catalog.find(node.relname, search_path)
            if found is not None:
                node.schemaname = found.schema
        return
    if name == "SelectStmt" and node.HasField("with_clause"):
        names = {each.common_table_expr.ctename for each in node.with_clause.ctes}
        seen = hidden | names if node.with_clause.recursive else hidden
        for each in node.with_clause.ctes:
            # Without RECURSIVE, a WITH query sees those before it, and a table of its own name.
            _qualify(each.common_table_expr.ctequery, catalog, search_path, seen)
            seen = seen | {each.common_table_expr.ctename}
        hidden = seen
    for field, value in node.ListFields():
        if field.message_type is not None and field.name != "with_clause":
            for each in value if field.is_repeated else (value,):
                _qualify(each, catalog, search_path, hidden)
