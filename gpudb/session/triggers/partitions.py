"""Row-level triggers of partitioned tables: they fire for the rows of each partition, as those of the partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import INSERT
from gpudb.errors import FeatureNotSupported
from gpudb.session.context import Context
from gpudb.session.triggers.rows import as_rows, empty_rows, fetch_rows
from gpudb.storage.partitions.routing import Router

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
Fire = Callable[[Table, pa.Table | None, pa.Table | None], tuple[pa.Table, Mask]]
"""Fires the triggers of a partition for new and old rows; returns the rows to write, and which of those given."""


def split_rows(context: Context, table: Table, rows: pa.Table) -> Iterator[tuple[Table, Rows]]:
    """Yields the partitions of a partitioned table that take rows, each with their places; none takes the others."""
    whole = context.transaction.table(table.oid)
    assert whole.tree is not None
    leaves = {each.oid: each for each in list_partitions(context.transaction.catalog, whole)}
    router = Router(whole.tree, whole.columns)
    for batch in rows.combine_chunks().to_batches():
        for oid, places in router.route(batch)[0]:
            yield leaves[oid], np.asarray(places, np.int64)


def to_partition(table: Table, leaf: Table, rows: pa.Table) -> pa.Table:
    """Returns rows of a partitioned table with the columns of a partition."""
    names = {column.field_id: column.name for column in table.columns}
    chosen = rows.select([names[column.field_id] for column in leaf.columns])
    return chosen.rename_columns([column.name for column in leaf.columns])


def fire_in_partitions(
    context: Context, table: Table, event: str, new: pa.Table | None, old: pa.Table | None, fire: Fire
) -> tuple[pa.Table, Mask]:
    """Fires row-level triggers before an event for rows of a partitioned table; returns what `fire` does.

    0A000 for a row that is to be inserted and that a trigger moves to another partition.
    """
    rows = new if new is not None else old
    assert rows is not None
    kept = np.ones(rows.num_rows, bool)
    order, parts, reached = list[Rows](), list[pa.Table](), np.zeros(rows.num_rows, bool)
    for leaf, places in split_rows(context, table, rows if old is None else old):
        reached[places] = True
        taken = pa.array(places)
        given = [None if side is None else to_partition(table, leaf, side.take(taken)) for side in (new, old)]
        changed, stay = fire(leaf, *given)
        kept[places] = stay
        changed = to_partition(leaf, table, changed)
        if event == INSERT and any(each.oid != leaf.oid for each, _ in split_rows(context, table, changed)):
            message = "moving row to another partition during a BEFORE FOR EACH ROW trigger is not supported"
            raise FeatureNotSupported(message)
        order.append(places[stay])
        parts.append(changed)
    rest = np.flatnonzero(~reached)
    if len(rest):
        order.append(rest)
        parts.append(rows.take(pa.array(rest)))
    if not parts:
        return empty_rows(table), kept
    whole = pa.concat_tables([part.cast(parts[0].schema) for part in parts])
    return whole.take(pa.array(np.argsort(np.concatenate(order), kind="stable"))), kept


def check_not_moved(context: Context, table: Table, updated: list[pa.RecordBatch], positions: pa.Table | None) -> None:
    """0A000 for an UPDATE that moves rows between partitions whose row-level triggers would see DELETE and INSERT."""
    if positions is None or not updated or not any(each.for_each_row for each in table.triggers):
        return
    new, old = as_rows(table, updated), fetch_rows(context, table, positions)
    homes = np.zeros((2, new.num_rows), np.int64)
    for side, rows in enumerate((old, new)):
        for leaf, places in split_rows(context, table, rows):
            homes[side, places] = leaf.oid
    if (homes[0] != homes[1]).any():
        raise FeatureNotSupported("moving a row to another partition is not supported with row-level triggers")
