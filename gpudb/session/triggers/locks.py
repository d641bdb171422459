"""Locks of the tables that triggers are going to change, before their statement reads anything.

A statement whose triggers lock such a table later, once it has changed its own, would fail with 40001 if others have
committed to that table meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from gpudb.catalog.languages import TRAITS
from gpudb.catalog.relations import View
from gpudb.catalog.routines import Routine
from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import DELETE, INSERT, UPDATE
from gpudb.errors import GpudbError
from gpudb.lru import LruCache
from gpudb.plpgsql.scope import Fragment
from gpudb.plpgsql.tree import Handler, Statement
from gpudb.session.authorization.privileges import get_current_role, list_object_privileges
from gpudb.session.context import Context
from gpudb.session.execution.routines.bodies import parse_routine
from gpudb.session.objects.relations import lock_table
from gpudb.sql.bind.dml.view_targets import find_base_table, view_as_table
from gpudb.sql.parse.parser import inner, parse

_WORDS = frozenset({"insert", "update", "delete", "merge", "with"})
_WRITES = frozenset("awd")
"""The privileges to insert, update and delete."""


class _Change(NamedTuple):
    """A statement that changes a relation, and the events of its triggers; `locks` unless it only adds rows."""

    schema: str
    name: str
    events: frozenset[str]
    locks: bool


_CHANGES: LruCache[tuple[int, str], tuple[_Change, ...]] = LruCache(512)
"""What the bodies of functions change, by OID and body."""


def lock_trigger_targets(context: Context, relation: Table | View | None, events: Collection[str]) -> None:
    """Locks what the functions of a relation's triggers change, as far as their bodies tell and their roles may.

    Not in a transaction block, nor after a change: there the snapshot stays.
    """
    if relation is None or not relation.triggers:
        return
    if context.session.transactions.explicit or context.transaction.changed:
        return
    found: dict[int, Table] = {}
    _collect(context, relation, frozenset(events), get_current_role(context), found, set())
    for _, table in sorted(found.items()):
        lock_table(context, table)


def _collect(
    context: Context,
    relation: Table | View,
    events: frozenset[str],
    user: str,
    found: dict[int, Table],
    seen: set[tuple[int, frozenset[str]]],
) -> None:
    if (relation.oid, events) in seen:
        return
    seen.add((relation.oid, events))
    catalog, role = context.transaction.catalog, context.session.settings["session_replication_role"]
    for trigger in relation.triggers:
        routine = catalog.find_routine_by_oid(trigger.function)
        if routine is None or events.isdisjoint(trigger.events) or not trigger.is_enabled(role):
            continue
        acting = routine.owner if routine.definer else user
        for change in _find_changes(context, routine, relation):
            path = (change.schema,) if change.schema else context.session.search_path()
            changed = catalog.find(change.name, path)
            if isinstance(changed, View) and changed.triggers:
                _collect(context, changed, change.events, acting, found, seen)
            table = find_base_table(catalog, changed)
            if table is None:
                continue
            if change.locks and not table.temporary and _WRITES & list_object_privileges(catalog, acting, table):
                found[table.oid] = table
            _collect(context, table, change.events, acting, found, seen)


def _find_changes(context: Context, routine: Routine, relation: Table | View) -> tuple[_Change, ...]:
    if not TRAITS[routine.language].has_statements:
        return ()
    key = routine.oid, routine.body
    known = _CHANGES.get(key)
    if known is None:
        table = view_as_table(relation) if isinstance(relation, View) else relation
        try:
            known = tuple(_read_changes(parse_routine(context, routine, get_row_type(table)).block))
        except GpudbError:  # the call tells what is wrong
            known = ()
        _CHANGES.put(key, known)
    return known


def _read_changes(part: object) -> Iterator[_Change]:
    """Yields the changes in a part of a body."""
    if isinstance(part, Fragment):
        if part.text.split(None, 1)[:1] and part.text.split(None, 1)[0].lower() in _WORDS:
            yield from _read_statement(part.text)
    elif isinstance(part, tuple):
        for each in part:
            yield from _read_changes(each)
    elif isinstance(part, Statement | Handler):
        for name in part.__dataclass_fields__:
            yield from _read_changes(getattr(part, name))


def _read_statement(text: str) -> list[_Change]:
    try:
        statements = parse(text)
    except GpudbError:
        return []
    return [
        _Change(node.relation.schemaname, node.relation.relname, list_events(node), locks_target(node))
        for each in statements
        for node in list_changes(each.node)
    ]


# ---- nodes of statements


def list_changes(node: Any) -> list[Any]:
    """Returns the INSERT, UPDATE, DELETE and MERGE nodes of a statement and its WITH."""
    found = []
    if node.HasField("with_clause"):
        bodies = (inner(inner(cte).ctequery) for cte in node.with_clause.ctes)
        found += [body for body in bodies if body.DESCRIPTOR.name != "SelectStmt"]
    return found if node.DESCRIPTOR.name == "SelectStmt" else [*found, node]


def list_events(node: Any) -> frozenset[str]:
    """Returns the events of triggers that such a node may cause."""
    name = node.DESCRIPTOR.name
    if name == "InsertStmt":
        return frozenset({INSERT, UPDATE} if node.HasField("on_conflict_clause") else {INSERT})
    return {"UpdateStmt": frozenset({UPDATE}), "DeleteStmt": frozenset({DELETE})}.get(
        name, frozenset({INSERT, UPDATE, DELETE})
    )


def locks_target(node: Any) -> bool:
    """Returns whether such a node changes rows that are there, or depends on them."""
    return bool(node.DESCRIPTOR.name != "InsertStmt" or node.HasField("on_conflict_clause"))
