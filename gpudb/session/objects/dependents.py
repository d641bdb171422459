"""Dependents of objects to drop: collected, then refused or reported in PostgreSQL's words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog
from gpudb.catalog.parse_trees import walk_messages
from gpudb.catalog.relations import Relation, get_stored_query
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.objects.names import schema_path
from gpudb.sql.bind.query.select import bind_query
from gpudb.sql.bound import Column, Scan
from gpudb.sql.parse.parser import parse
from gpudb.sql.traverse import walk

_NOUNS = {"r": "table", "p": "table", "v": "view", "S": "sequence", "m": "materialized view", "f": "foreign table"}


@dataclass(frozen=True, slots=True)
class Dependent:
    """An object `name` that depends on another one, both as messages name them."""

    name: str
    on: str


def refuse_or_report(context: Context, what: str, found: Sequence[Dependent], *, cascade: bool) -> None:
    """2BP01 with every dependent in its detail; with CASCADE, a notice that lists them."""
    if not found:
        return
    if not cascade:
        message = f"cannot drop {what} because other objects depend on it"
        if what == SEVERAL_OBJECTS:
            message = f"cannot drop {what} because other objects depend on them"
        detail = "\n".join(f"{each.name} depends on {each.on}" for each in found)
        hint = "Use DROP ... CASCADE to drop the dependent objects too."
        raise SqlError.of("dependent_objects_still_exist", message, detail=detail, hint=hint)
    if len(found) == 1:
        context.notice(f"drop cascades to {found[0].name}")
        return
    detail = "\n".join(f"drop cascades to {each.name}" for each in found)
    context.notice(f"drop cascades to {len(found)} other objects", detail=detail)


SEVERAL_OBJECTS = "desired object(s)"
"""How messages name several objects of one DROP."""


def relation_kind(relation: Relation) -> str:
    """The kind of a relation."""
    return _NOUNS[relation.kind]


def qualified_name(context: Context, relation: Relation) -> str:
    """A relation's name in messages, with its schema if the search path does not resolve it."""
    found = context.transaction.catalog.find(relation.name, schema_path(context, ""))
    name = quote_name(relation.name)
    return name if found is not None and found.oid == relation.oid else f"{quote_name(relation.schema)}.{name}"


def describe_relation(context: Context, relation: Relation) -> str:
    """A relation as messages name it: kind and name."""
    return f"{relation_kind(relation)} {qualified_name(context, relation)}"


def views_over(catalog: Catalog, relation: Relation) -> list[Relation]:
    """The views and materialized views whose queries name a relation, in order of creation."""
    found: list[Relation] = []
    for view in catalog.relations.values():
        query = get_stored_query(view)
        if query is not None and view.oid != relation.oid:
            names = relation_names(parse(query)[0].node)
            if (relation.schema, relation.name) in names:
                found.append(view)
    return sorted(found, key=lambda each: each.oid)


def relation_names(node: Any) -> set[tuple[str, str]]:
    """Every qualified relation name in a parse tree."""
    ranges = (each for each in walk_messages(node) if each.DESCRIPTOR.name == "RangeVar")
    return {(each.schemaname, each.relname) for each in ranges}


def views_of_column(context: Context, table: Table, name: str) -> list[Relation]:
    """The views whose queries read a column of the table."""
    index = [column.name for column in table.columns].index(name)
    return [
        view for view in views_over(context.transaction.catalog, table) if index in _columns_read(context, view, table)
    ]


def _columns_read(context: Context, view: Relation, table: Table) -> set[int]:
    query = get_stored_query(view)
    assert query is not None
    binder = context.binder()
    with binder.bind_stored(query, view.schema):
        nodes = list(walk(bind_query(binder, parse(query)[0].node, None)))
    scans = {node.rel for node in nodes if isinstance(node, Scan) and node.table.oid == table.oid}
    return {node.index for node in nodes if isinstance(node, Column) and node.rel in scans}


def view_dependents(
    context: Context, views: Sequence[Relation], on: str, removed: dict[int, Relation]
) -> Iterator[Dependent]:
    """Yields views that depend on something, each followed by the views over it, and adds them to `removed`."""
    for view in views:
        if view.oid in removed:
            continue
        removed[view.oid] = view
        what = describe_relation(context, view)
        yield Dependent(what, on)
        yield from view_dependents(context, views_over(context.transaction.catalog, view), what, removed)
