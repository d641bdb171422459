"""Relations in the transaction's catalog: their definitions, columns and locks."""

from __future__ import annotations

from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Column, Table
from gpudb.errors import UndefinedColumn
from gpudb.session.context import Context


def put_relation(context: Context, relation: Relation) -> None:
    """Adds a relation to the transaction's catalog, or replaces its definition."""
    context.transaction.set_catalog(context.transaction.catalog.with_relation(relation))


def find_column(relation: Relation, name: str) -> Column:
    """A column by name; 42703."""
    for column in relation.columns:
        if column.name == name:
            return column
    raise UndefinedColumn(f'column "{name}" of relation "{relation.name}" does not exist')


def lock_table(context: Context, table: Table) -> None:
    """Locks a table until the transaction ends; a transaction without changes then sees what others committed."""
    timeout = context.session.milliseconds("lock_timeout") / 1000 or None
    waited = context.transaction.lock(table.oid, timeout, context.cancel.check)
    if waited and not context.session.explicit and not context.transaction.changed:
        context.transaction.refresh()
