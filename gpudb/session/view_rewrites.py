"""Stored queries of views kept true while what they read is renamed or moved: they name relations by text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpudb.catalog.model import Catalog, Relation, Sequence, stored_query
from gpudb.sql.parse import deparse, parse, strings


def relation_moved(catalog: Catalog, old: Relation, new: Relation) -> Catalog:
    """The catalog in which stored queries name `new`, which `old` has become; its columns keep their alias."""

    def change(node: Any) -> None:
        if not node.HasField("alias") and old.name != new.name:
            node.alias.aliasname = old.name
        node.schemaname, node.relname = new.schema, new.name

    return _rewritten(catalog, (old.schema, old.name), change)


def column_renamed(catalog: Catalog, relation: Relation, place: int, old: str) -> Catalog:
    """The catalog in which stored queries go on calling a column as they did: `place` counts from 0.

    The relation's columns up to it get their names as aliases, as PostgreSQL shows such a view too.
    """
    names = [column.name for column in relation.columns]
    names[place] = old

    def change(node: Any) -> None:
        given = strings(node.alias.colnames) if node.HasField("alias") else ()
        if len(given) > place:
            return
        if not node.HasField("alias"):
            node.alias.aliasname = node.relname
        for name in names[len(given) : place + 1]:
            node.alias.colnames.add().string.sval = name

    return _rewritten(catalog, (relation.schema, relation.name), change)


def schema_renamed(catalog: Catalog, old: str, new: str) -> Catalog:
    """The catalog in which stored queries name a schema otherwise."""

    def change(node: Any) -> None:
        node.schemaname = new

    return _rewritten(catalog, (old, None), change)


def _rewritten(catalog: Catalog, name: tuple[str, str | None], change: Callable[[Any], None]) -> Catalog:
    """The catalog with `change` applied to every RangeVar of a schema and name (None: of any) in a stored query."""
    for relation in list(catalog.relations.values()):
        query = stored_query(relation)
        if query is None or isinstance(relation, Sequence):
            continue
        node = parse(query)[0].node
        if _each(node, name, change):
            catalog = catalog.with_relation(replace(relation, query=deparse(node)))
    return catalog


def _each(node: Any, name: tuple[str, str | None], change: Callable[[Any], None]) -> int:
    if node.DESCRIPTOR.name == "RangeVar":
        if node.schemaname != name[0] or name[1] not in (None, node.relname):
            return 0
        change(node)
        return 1
    found = 0
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                found += _each(each, name, change)
    return found
