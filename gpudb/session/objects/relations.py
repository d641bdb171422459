"""Relations in the transaction's catalog: their definitions, columns and locks."""

from __future__ import annotations

from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Column, Table
from gpudb.errors import SqlError, UndefinedColumn
from gpudb.session.context import Context


def put_relation(context: Context, relation: Relation) -> None:
    """Adds a relation to the transaction's catalog, or replaces its definition."""
    context.transaction.set_catalog(context.transaction.catalog.put(relation))


def find_column(relation: Relation, name: str) -> Column:
    """A column by name; 42703."""
    for column in relation.columns:
        if column.name == name:
            return column
    raise UndefinedColumn(f'column "{name}" of relation "{relation.name}" does not exist')


def lock_table(context: Context, table: Table, *, shared: bool = False, nowait: bool = False) -> None:
    """Locks a table and its partitions until the transaction ends.

    A transaction without changes then sees what others committed. 55P03 with `nowait` if the lock is not free.
    """
    waited = False
    for each in (table, *list_partitions(context.transaction.catalog, table)):
        if nowait:
            taken = context.transaction.try_lock(each.oid, shared=shared)
            if taken is None:
                raise SqlError.of("lock_not_available", f'could not obtain lock on relation "{each.name}"')
            waited |= taken
        else:
            waited |= context.transaction.lock(each.oid, context.lock_seconds, context.cancel.check, shared=shared)
    if waited and not context.session.transactions.explicit and not context.transaction.changed:
        context.transaction.refresh()
