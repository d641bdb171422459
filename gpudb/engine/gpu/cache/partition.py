"""Which rows of a table are whose: a worker's share of its files, and the chunks that it runs through one by one.

Of a table that is distributed by hash a worker has the files of its buckets, of one that is replicated all of them. Of
any other it has a run of each file's rows: of N workers, worker i has those from rows·i/N on. So a new snapshot reads
only new files, and the same file is on the same workers always.

A statement over more than memory holds is cut into more shares than there are workers: `chunks` shares in a row are one
worker's. Together they are the worker's share, cut by its rows' order, so that each touches few files; where there are
buckets enough, rows of one bucket stay together, by which joins and groups go on without moving them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpudb.catalog.distribution import BUCKETS, worker_of
from gpudb.catalog.model import DataFile, Table
from gpudb.plan.tree.nodes import Scan


@dataclass(frozen=True, slots=True)
class Share:
    """Which of how many; of a worker's `chunks` each is a share of its own."""

    index: int
    count: int
    chunks: int = 1

    @property
    def worker(self) -> Share:
        """The whole share of the worker that has this one."""
        return Share(self.index // self.chunks, self.count // self.chunks)

    def rows(self, table: Table) -> Mapping[str, tuple[int, int]]:
        """Of each of a table's files, by its path: the first row of the share, and the one after its last."""
        worker, workers, chunks = self.index // self.chunks, self.count // self.chunks, self.chunks
        bucketed = table.bucketed
        owned = {file.path: _owned(file, worker, workers, bucketed=bucketed) for file in table.files}
        if chunks == 1:
            return owned
        chunk = self.index % chunks
        if bucketed and self.count <= BUCKETS:
            buckets = np.array([file.bucket for file in table.files], np.int64)
            mine = self.of_buckets(buckets) == self.index
            return {path: rows if own else (0, 0) for (path, rows), own in zip(owned.items(), mine, strict=True)}
        total = sum(last - first for first, last in owned.values())
        begin, end = total * chunk // chunks, total * (chunk + 1) // chunks
        found: dict[str, tuple[int, int]] = {}
        before = 0
        for path, (first, last) in owned.items():
            low, high = max(begin - before, 0), min(end - before, last - first)
            found[path] = (first + low, first + high) if low < high else (first, first)
            before += last - first
        return found

    def of_buckets(self, buckets: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """The indices of the shares, of as many as this is one of, that have some buckets."""
        chunk, worker = np.divmod(np.maximum(buckets, 0).astype(np.int64), self.count // self.chunks)
        found: npt.NDArray[np.int64] = worker * self.chunks + chunk % self.chunks
        return found


WHOLE = Share(0, 1)
"""All rows."""


def _owned(file: DataFile, worker: int, workers: int, *, bucketed: bool) -> tuple[int, int]:
    if file.bucket is None or not bucketed:
        return file.rows * worker // workers, file.rows * (worker + 1) // workers
    return 0, file.rows * (worker_of(file.bucket, workers) == worker)


def held_share(table: Table, share: Share) -> Share:
    """What a worker keeps of a table, of which it may be asked for less."""
    return WHOLE if table.replicated else share.worker


def read_share(scan: Scan, share: Share) -> Share:
    """What a scan on a worker reads."""
    return share if scan.part is None else Share(*scan.part)
