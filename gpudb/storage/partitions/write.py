"""Writes rows of partitioned tables into their partitions, and checks those of one partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import pyarrow as pa

from gpudb.catalog.partitions import PartitionTree
from gpudb.catalog.tables import Table
from gpudb.storage.iceberg.append import MAX_WAITING_BYTES, AppendResult, DataWriter
from gpudb.storage.partitions.routing import Router
from gpudb.storage.row_errors import missing_partition, partition_violation
from gpudb.storage.row_processes import IN_SERVER, RowProcesses


def check_rows(root: PartitionTree, table: Table, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields batches of a partition that holds rows; 23514 for the first row that is not one of its bound's."""
    router = Router(root, table.columns)
    for batch in batches:
        found, failed = router.route(batch)
        other = [int(rows[0]) for oid, rows in found if oid != table.oid]
        other += [] if failed is None else [failed[0]]
        if other:
            raise partition_violation(table, batch, min(other))
        yield batch


class PartitionWriter:
    """Writes batches of a partitioned table's columns into files of its partitions.

    `root` is the tree above all others that contains it, `leaves` are its partitions that hold rows, by OID, and
    `folder` returns that of a partition's files. `finish` returns what was written into each, `abort` removes it.
    """

    def __init__(
        self,
        root: PartitionTree,
        table: Table,
        leaves: Mapping[int, Table],
        folder: Callable[[int], Path],
        *,
        durable: bool,
        processes: RowProcesses = IN_SERVER,
    ) -> None:
        self._router = Router(root, table.columns)
        self._root, self._table, self._processes = root, table, processes
        self._leaves, self._folder, self._durable = leaves, folder, durable
        places = {column.field_id: place for place, column in enumerate(table.columns)}
        self._places = {oid: [places[c.field_id] for c in leaf.columns] for oid, leaf in leaves.items()}
        self._writers: dict[int, DataWriter] = {}

    def split(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yields the rows of each partition, of its columns; 23514 for a row that no partition takes."""
        found, failed = self._router.route(batch)
        outside = min((int(rows[0]) for oid, rows in found if oid not in self._leaves), default=None)
        if failed is not None and (outside is None or failed[0] < outside):
            self._fail(batch, *failed)
        if outside is not None:
            raise partition_violation(self._table, batch, outside)
        for oid, rows in found:
            part = batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))
            leaf = self._leaves[oid]
            ordered = [part.column(place) for place in self._places[oid]]
            names = [column.name for column in leaf.columns]
            yield oid, pa.RecordBatch.from_arrays(ordered, names=names)

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds a batch; raises what `split` does, and 23502 for a NULL in a NOT NULL column."""
        for oid, part in self.split(batch):
            writer = self._writers.get(oid)
            if writer is None:
                writer = DataWriter(
                    self._folder(oid), self._leaves[oid], durable=self._durable, processes=self._processes
                )
                self._writers[oid] = writer
            writer.add(part)
        while sum(writer.waiting_bytes for writer in self._writers.values()) > MAX_WAITING_BYTES:
            max(self._writers.values(), key=lambda writer: writer.waiting_bytes).write_waiting()

    def _fail(self, batch: pa.RecordBatch, row: int, tree: PartitionTree) -> NoReturn:
        if not _contains(_find(self._root, self._table.oid), tree.oid):
            raise partition_violation(self._table, batch, row)
        columns = {column.field_id: column for column in self._table.columns}
        raise missing_partition(self._table, tree.name, [columns[field] for field in tree.fields], batch, row)

    def finish(self) -> dict[int, AppendResult]:
        """Closes all files and returns them by partition."""
        return {
            oid: AppendResult(tuple(writer.finish()), writer.rows, writer.ascending)
            for oid, writer in self._writers.items()
        }

    def abort(self) -> None:
        """Removes every file that was begun."""
        for writer in self._writers.values():
            writer.abort()


def _find(tree: PartitionTree, oid: int) -> PartitionTree | None:
    if tree.oid == oid:
        return tree
    return next((found for each in tree.children if (found := _find(each, oid)) is not None), None)


def _contains(tree: PartitionTree | None, oid: int) -> bool:
    return tree is not None and _find(tree, oid) is not None


def write_partitions(writer: PartitionWriter, batches: Iterable[pa.RecordBatch]) -> dict[int, AppendResult]:
    """Writes all batches; returns what each partition got. Nothing remains after an error."""
    try:
        for batch in batches:
            writer.add(batch)
        return writer.finish()
    except BaseException:
        writer.abort()
        raise
