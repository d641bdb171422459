"""Stored queries of views after a column is renamed: they refer to columns by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpudb.catalog.model import Catalog
from gpudb.catalog.parse_trees import walk_messages
from gpudb.catalog.policies import Policy
from gpudb.catalog.relations import Relation, Sequence, get_stored_query
from gpudb.catalog.tables import Table
from gpudb.sql.parse.parser import deparse, parse, strings


def keep_column_name(catalog: Catalog, relation: Relation, index: int, old: str) -> Catalog:
    """The catalog in which stored queries keep a column's old name; `index` counts from 0.

    The columns of the relation up to it get their names as aliases, as in PostgreSQL.
    """
    names = [column.name for column in relation.columns]
    names[index] = old

    def change(node: Any) -> None:
        aliases = strings(node.alias.colnames) if node.HasField("alias") else ()
        if len(aliases) > index:
            return
        if not node.HasField("alias"):
            node.alias.aliasname = node.relname
        for name in names[len(aliases) : index + 1]:
            node.alias.colnames.add().string.sval = name

    return _rewrite(catalog, (relation.schema, relation.name), change)


def _rewrite(catalog: Catalog, name: tuple[str, str], change: Callable[[Any], None]) -> Catalog:
    """Applies `change` to every RangeVar of a schema and name in stored queries."""
    for relation in list(catalog.relations.values()):
        if isinstance(relation, Table) and relation.policies:
            catalog = catalog.put(replace(relation, policies=_rewrite_policies(relation, name, change)))
        query = get_stored_query(relation)
        if query is None or isinstance(relation, Sequence):
            continue
        node = parse(query)[0].node
        if _change_ranges(node, name, change):
            catalog = catalog.put(replace(relation, query=deparse(node)))
    return catalog


def _rewrite_policies(table: Table, name: tuple[str, str], change: Callable[[Any], None]) -> tuple[Policy, ...]:
    """Applies `change` to every RangeVar of a schema and name in the subqueries of a table's policies."""

    def rewritten(text: str | None) -> str | None:
        if text is None:
            return None
        node = parse(f"SELECT {text}")[0].node
        return deparse(node).removeprefix("SELECT ") if _change_ranges(node, name, change) else text

    return tuple(replace(each, using=rewritten(each.using), check=rewritten(each.check)) for each in table.policies)


def _change_ranges(node: Any, name: tuple[str, str], change: Callable[[Any], None]) -> int:
    ranges = (each for each in walk_messages(node) if each.DESCRIPTOR.name == "RangeVar")
    found = [each for each in ranges if (each.schemaname, each.relname) == name]
    for each in found:
        change(each)
    return len(found)
