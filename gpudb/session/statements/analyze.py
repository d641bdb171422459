"""ANALYZE and VACUUM: collect counts of distinct values, and discard old snapshots.

Every commit already stores row counts and ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.catalog.postgres.relations import get_system_relation
from gpudb.catalog.relations import Relation
from gpudb.catalog.secured_objects import get_database
from gpudb.catalog.tables import Table
from gpudb.errors import UndefinedTable
from gpudb.session.authorization.membership import is_superuser
from gpudb.session.authorization.privileges import get_current_role, is_owner
from gpudb.session.context import Context
from gpudb.session.objects.names import range_text, resolve_range
from gpudb.session.objects.relations import find_column, put_relation
from gpudb.session.results import Result
from gpudb.sql.parse.parser import inner, strings


def vacuum(context: Context) -> Result:
    """ANALYZE and VACUUM [ANALYZE] [table [(column, …)], …]; of all tables if none is listed."""
    node: Any = context.statement.node
    word = "vacuum" if node.is_vacuumcmd else "analyze"
    gathers = not node.is_vacuumcmd or any(inner(each).defname == "analyze" for each in node.options)
    relations: list[tuple[Relation, Sequence[str]]] = []
    for each in map(inner, node.rels):
        if each.relation.schemaname:
            context.session.check_schema(each.relation.schemaname)
        relation = resolve_range(context, each.relation)
        if relation is None and _is_system_relation(context, each.relation, word):
            continue
        if relation is None:
            raise UndefinedTable(f'relation "{range_text(each.relation)}" does not exist')
        named = strings(each.va_cols)
        for name in named:
            find_column(relation, name)
        relations.append((relation, named))
    if not node.rels:
        relations = [(table, ()) for table in context.transaction.catalog.tables()]
    for relation, names in relations:
        if not _may_maintain(context, relation):
            _skip(context, f'permission denied to {word} "{relation.name}", skipping it')
        elif not isinstance(relation, Table):
            _skip(context, f'skipping "{relation.name}" --- cannot {word} non-tables or special system tables')
        else:
            if gathers:
                _collect_statistics(context, relation, names)
            if node.is_vacuumcmd:
                context.session.database.store.expire_snapshots(relation.oid)
    return Result(word.upper())


def _is_system_relation(context: Context, node: Any, word: str) -> bool:
    """Whether a RangeVar names a relation of the system catalog, which has neither statistics nor snapshots."""
    found = get_system_relation(node.schemaname or "pg_catalog", node.relname)
    if found is None:
        return False
    catalog, role = context.transaction.catalog, get_current_role(context)
    if not is_superuser(catalog, role) and not is_owner(catalog, role, get_database(catalog)):
        _skip(context, f'permission denied to {word} "{found.name}", skipping it')
    elif found.kind != "r":
        _skip(context, f'skipping "{found.name}" --- cannot {word} non-tables or special system tables')
    return True


def _skip(context: Context, message: str) -> None:
    context.notice(message, severity="WARNING", sqlstate="01000")


def _may_maintain(context: Context, relation: Relation) -> bool:
    """Whether the current role owns a relation or the database."""
    catalog, role = context.transaction.catalog, get_current_role(context)
    return is_owner(catalog, role, relation) or is_owner(catalog, role, get_database(catalog))


def _collect_statistics(context: Context, table: Table, names: Sequence[str]) -> None:
    """Replaces the statistics of a table's columns, or of the listed ones."""
    columns = [column for column in table.columns if not names or column.name in names]
    other_fields = {column.field_id for column in table.columns} - {column.field_id for column in columns}
    others = tuple(each for each in table.statistics if each.field_id in other_fields)
    collected = context.session.database.cpu.statistics(table, columns, context.cancel)
    if others + collected != table.statistics:
        put_relation(context, replace(table, statistics=others + collected))
