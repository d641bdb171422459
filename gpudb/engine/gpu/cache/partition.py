"""Assigns files and row groups to workers, and cuts a worker's partition into chunks.

A table distributed by hash gives each worker the files of its buckets; a replicated table gives each worker all files.
Any other table gives each worker a run of each file's rows: of N workers, worker i has those from rows·i/N on. So a new
snapshot reads only new files, and a file always stays on the same workers. Deleted rows count for the division, so that
a deletion moves no other row; the ranges are of live rows. Row groups and record batches of files that a statement
reads as a table are assigned whole, in turn, since each worker would decode all of them.

A statement larger than memory is cut into more partitions than there are workers: `chunks` consecutive partitions
belong to one worker. Together they are the worker's partition, cut by the order of its rows, so that each chunk touches
few files. Where there are enough buckets, rows of one bucket stay together: joins and groups then run without an
exchange.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpudb.catalog.distribution import BUCKETS, get_bucket_worker
from gpudb.catalog.file_tables import FilePart
from gpudb.catalog.tables import DataFile, Table
from gpudb.plan.tree.nodes import Scan


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition of `count`; each of a worker's `chunks` is a partition."""

    index: int
    count: int
    chunks: int = 1

    @property
    def worker(self) -> Partition:
        """The whole partition of the worker that has this chunk."""
        return Partition(self.index // self.chunks, self.count // self.chunks)

    def row_ranges(self, table: Table) -> Mapping[str, tuple[int, int]]:
        """Returns for each of a table's files, by its id, the partition's first live row and the one after its last."""
        worker, workers, chunks = self.index // self.chunks, self.count // self.chunks, self.chunks
        bucketed = table.bucketed
        owned = {file.id: _owned(file, worker, workers, bucketed=bucketed) for file in table.files}
        if chunks == 1:
            return owned
        chunk = self.index % chunks
        if bucketed and self.count <= BUCKETS:
            buckets = np.array([file.bucket for file in table.files], np.int64)
            mine = self.assign_buckets(buckets) == self.index
            return {id: rows if own else (0, 0) for (id, rows), own in zip(owned.items(), mine, strict=True)}
        total = sum(last - first for first, last in owned.values())
        begin, end = total * chunk // chunks, total * (chunk + 1) // chunks
        found: dict[str, tuple[int, int]] = {}
        before = 0
        for id, (first, last) in owned.items():
            low, high = max(begin - before, 0), min(end - before, last - first)
            found[id] = (first + low, first + high) if low < high else (first, first)
            before += last - first
        return found

    def assign_buckets(self, buckets: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Returns the indices of the partitions, of `count`, that own some buckets."""
        chunk, worker = np.divmod(np.maximum(buckets, 0).astype(np.int64), self.count // self.chunks)
        found: npt.NDArray[np.int64] = worker * self.chunks + chunk % self.chunks
        return found


WHOLE = Partition(0, 1)
"""All rows."""


SPLIT_ROWS = 1 << 22
"""Rows of a part of a file from which on several workers read it, if the file has fewer parts than workers."""


def _owned(file: DataFile, worker: int, workers: int, *, bucketed: bool) -> tuple[int, int]:
    if isinstance(file, FilePart) and (file.groups >= workers or file.rows < SPLIT_ROWS):
        return 0, file.rows * (file.place % workers == worker)
    if file.bucket is None or not bucketed:
        first, last = (file.stored_rows * each // workers for each in (worker, worker + 1))
        return file.count_live(first), file.count_live(last)
    return 0, file.rows * (get_bucket_worker(file.bucket, workers) == worker)


def cached_partition(table: Table, partition: Partition) -> Partition:
    """Returns the partition of a table that a worker caches; a statement may read less of it."""
    return WHOLE if table.replicated else partition.worker


def scan_partition(scan: Scan, partition: Partition) -> Partition:
    """Returns the partition that a scan on a worker reads."""
    return partition if scan.part is None else Partition(*scan.part)
