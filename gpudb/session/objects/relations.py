"""Relations in the transaction's catalog: their definitions, columns and locks."""

from __future__ import annotations

from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.relations import Relation
from gpudb.catalog.tables import Column, Table
from gpudb.errors import SqlError, UndefinedColumn
from gpudb.session.context import Context
from gpudb.storage.locks import Item


def put_relation(context: Context, relation: Relation) -> None:
    """Adds a relation to the transaction's catalog, or replaces its definition."""
    context.transaction.set_catalog(context.transaction.catalog.put(relation))


def find_column(relation: Relation, name: str) -> Column:
    """A column by name; 42703."""
    for column in relation.columns:
        if column.name == name:
            return column
    raise UndefinedColumn(f'column "{name}" of relation "{relation.name}" does not exist')


def lock_table(
    context: Context, table: Table, *, shared: bool = False, nowait: bool = False, writers: bool = False
) -> None:
    """Locks a table and its partitions until the transaction ends; with `writers` also against those who add rows.

    Under READ COMMITTED it then sees what others have committed. 55P03 with `nowait` if the lock is not free.
    """
    waited = False
    for each in (table, *list_partitions(context.transaction.catalog, table)):
        kinds = () if shared else ("comment", "write") if writers else ("comment",)
        for item in (Item(each.oid, kind, 0) for kind in kinds):
            if nowait and not context.transaction.try_lock_item(item):
                raise SqlError.of("lock_not_available", f'could not obtain lock on relation "{each.name}"')
            if not nowait:
                waited |= context.transaction.lock_items([(item, False)], context.lock_seconds, context.cancel.check)
        if nowait:
            taken = context.transaction.try_lock(each.oid, shared=shared)
            if taken is None:
                raise SqlError.of("lock_not_available", f'could not obtain lock on relation "{each.name}"')
            waited |= taken
        else:
            waited |= context.transaction.lock(each.oid, context.lock_seconds, context.cancel.check, shared=shared)
    _see_newest(context, waited=waited)


def lock_comments(context: Context, item: Item) -> None:
    """Waits for those who comment on an object, or define it anew; then as `lock_table`."""
    waited = context.transaction.lock_items([(item, False)], context.lock_seconds, context.cancel.check)
    _see_newest(context, waited=waited)


def _see_newest(context: Context, *, waited: bool) -> None:
    transactions = context.session.transactions
    if not transactions.keeps_snapshot:
        transactions.advance(context.transaction)
    elif waited and not transactions.explicit and not context.transaction.changed:
        context.transaction.refresh()
