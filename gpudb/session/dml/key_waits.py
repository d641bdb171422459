"""Waits of a statement for those who write rows of the same keys, or take away keys that its rows refer to.

Under READ COMMITTED its transaction then sees what they have committed, and so does the check of the keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa

from gpudb.catalog.partition_trees import find_root, list_partitions
from gpudb.catalog.tables import Exclusion, ForeignKey, Key, Table
from gpudb.session.context import Context
from gpudb.session.execution.locks_and_snapshots.restarts import take_newest
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.sql.bind.dml.exclusions import build_keys_query
from gpudb.sql.bound import NEW_ROWS
from gpudb.storage.constraints.reservations import (
    MAX_KEYS,
    get_column,
    list_exclusion_items,
    list_reference_items,
    list_unique_items,
)
from gpudb.storage.locks import Item
from gpudb.storage.plain_rows import PlainRows, table_schema


def reserve_keys(
    context: Context,
    table: Table,
    batches: Sequence[pa.RecordBatch | PlainRows],
    keys: Sequence[Key] | None = None,
    foreign_keys: Sequence[ForeignKey] | None = None,
    exclusions: Sequence[Exclusion] | None = None,
    *,
    adds_rows: bool = True,
) -> None:
    """Waits for the transactions that write rows of the same keys, or take away keys that these rows refer to.

    `keys`, `foreign_keys` and `exclusions` are those that the rows may have anew, by default all of the table's.
    Batches have its columns. Unless they are rows that go (`adds_rows`), it also waits for those who let no rows be
    added, as TRUNCATE does. Many rows wait for nobody: their keys are compared at COMMIT. 55P03, 40P01.
    """
    if not batches or table.temporary or table.kind == "v":
        return
    wanted: dict[Item, bool] = {}
    if adds_rows:
        parts = (table, *list_partitions(context.transaction.catalog, table))
        wanted = {Item(each.oid, "write", 0): True for each in parts}
    keys = table.keys if keys is None else keys
    foreign_keys = table.foreign_keys if foreign_keys is None else foreign_keys
    is_deferred = context.session.deferred_checks.is_deferred
    exclusions = [each for each in (table.exclusions if exclusions is None else exclusions) if not is_deferred(each)]
    few = sum(batch.num_rows for batch in batches) <= MAX_KEYS
    if not (keys or foreign_keys or exclusions) or not few:
        if lock_items(context, wanted):
            take_newest(context, table)
        return
    catalog = context.transaction.catalog
    own_root = find_root(catalog, table).oid
    wanted |= dict.fromkeys(list_unique_items(table, own_root, batches, keys), False)
    for exclusion in exclusions:
        wanted |= dict.fromkeys(_list_excluding_items(context, table, own_root, exclusion, batches), False)
    for foreign in foreign_keys:
        referenced = catalog.find_relation_by_oid(foreign.table)
        if isinstance(referenced, Table):
            root, places = find_root(catalog, referenced).oid, [_place(table, name) for name in foreign.columns]
            types = [table.columns[place].type for place in places]
            for batch in batches:
                keys_of_batch = [get_column(batch, place) for place in places]
                found = list_reference_items(root, foreign.referenced, types, keys_of_batch)
                wanted |= dict.fromkeys(found, True)
    lock_items(context, wanted)
    if wanted:
        take_newest(context, table)


def _list_excluding_items(
    context: Context, table: Table, root: int, exclusion: Exclusion, batches: Sequence[pa.RecordBatch | PlainRows]
) -> set[Item]:
    query = build_keys_query(context.binder(), table, exclusion)
    names = [column.name for column in table.columns]
    made = [each.to_batch(table_schema(table)) if isinstance(each, PlainRows) else each for each in batches]
    rows = pa.Table.from_batches([batch.rename_columns(names) for batch in made])
    found = fetch_from_engine(context, query, {NEW_ROWS: rows})
    return list_exclusion_items(root, exclusion, [column.type for column in query.columns], found.to_batches())


def reserve_removed(context: Context, referenced: int, foreign: ForeignKey, keys: pa.Table) -> None:
    """Waits for those who write rows that refer to keys, the first columns of `keys`, which a table loses."""
    table = context.transaction.table(referenced)
    if table.temporary or keys.num_rows > MAX_KEYS:
        return
    types = [table.columns[_place(table, name)].type for name in foreign.referenced]
    root = find_root(context.transaction.catalog, table).oid
    found = list_reference_items(root, foreign.referenced, types, keys.columns[: len(types)])
    lock_items(context, dict.fromkeys(found, False))
    take_newest(context, table)


def reserve_ahead(context: Context, table: Table, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Waits as `reserve_keys` does for rows that are computed as they are read; returns the same rows."""
    batches = iter(batches)
    if table.temporary:
        return batches
    held, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows > MAX_KEYS:
            break
    reserve_keys(context, table, held)
    return chain(held, batches)


def _place(table: Table, name: str) -> int:
    return next(place for place, column in enumerate(table.columns) if column.name == name)


def lock_items(context: Context, wanted: dict[Item, bool]) -> bool:
    """Locks items, each shared or not, unless they are too many; returns whether that took a wait."""
    if not wanted or len(wanted) > context.transaction.count_free_items():
        return False
    ordered = sorted(wanted.items())  # so that two statements do not wait for each other
    return context.transaction.lock_items(ordered, context.lock_seconds, context.cancel.check)
