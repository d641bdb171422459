"""Groups a table's files into runs: each run is one segment of packed columns, and one kernel launch.

A run keeps its files as long as they belong to the table, whatever else changes: so a new file costs only its own rows.
The smallest of many small runs are merged, so that a table has few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudb.catalog.tables import DataFile, Table
from gpudb.engine.gpu.cache.partition import Partition

RUN_ROWS, MAX_RUN_ROWS = 1 << 28, 1 << 30
"""Bounds of the maximum rows of a run of several files, which depends on memory: packing needs its columns twice."""
_ROW_BYTES = 64
"""Assumed bytes per row of a run."""
_MAX_SMALL_RUNS = 16
"""Maximum number of small runs; of more, _TOGETHER at a time are merged."""
_MERGED_RUNS = 8


@dataclass(frozen=True, slots=True, eq=False)
class FileRun:
    """Files whose shares' `rows` are stored consecutively; `parts` are the runs that it was merged from, if any."""

    files: tuple[DataFile, ...]
    rows: int
    parts: tuple[FileRun, ...] = ()


class FileRuns:
    """The runs of one table's files on one worker, whose packed columns may take `budget` bytes."""

    def __init__(self, partition: Partition, budget: int) -> None:
        self._share = partition
        self._max_rows = max(RUN_ROWS, min(budget // _ROW_BYTES, MAX_RUN_ROWS))
        self._runs: list[FileRun] = []
        self.changed = False
        """Whether the last snapshot added or removed runs."""

    def cover(self, table: Table) -> tuple[list[FileRun], list[FileRun]]:
        """Returns runs that cover exactly a snapshot's files, and those to evict."""
        uncovered = {file.id: file for file in table.files}
        used: list[FileRun] = []
        for run in reversed(self._runs):
            if all(file.id in uncovered for file in run.files):
                used.append(run)
                for file in run.files:
                    del uncovered[file.id]
        used.reverse()
        used += self._new_runs(table, [file for file in table.files if file.id in uncovered])
        used = self._merge_small(used)
        # Runs of other snapshots are kept for a while: a transaction may still read one.
        others = [run for run in self._runs if run not in used]
        room = sum(run.rows for run in used)
        kept: list[FileRun] = []
        for run in reversed(others):
            room -= run.rows
            if room >= 0:
                kept.append(run)
        gone = [run for run in others if run not in kept]
        self.changed = bool(gone) or any(run not in self._runs for run in used)
        self._runs = [*reversed(kept), *used]
        return used, gone

    def _new_runs(self, table: Table, files: Sequence[DataFile]) -> list[FileRun]:
        made: list[FileRun] = []
        held: list[DataFile] = []
        rows = 0
        shares = self._share.row_ranges(table) if files else {}
        for file in files:
            first, last = shares[file.id]
            if held and rows + last - first > self._max_rows:
                made.append(FileRun(tuple(held), rows))
                held, rows = [], 0
            held.append(file)
            rows += last - first
        return [*made, FileRun(tuple(held), rows)] if held else made

    def _merge_small(self, runs: list[FileRun]) -> list[FileRun]:
        while True:
            small = sorted((run for run in runs if run.rows < self._max_rows // 2), key=lambda run: run.rows)
            if len(small) <= _MAX_SMALL_RUNS:
                return runs
            parts = [run for run in runs if run in small[:_MERGED_RUNS]]
            total = sum(run.rows for run in parts)
            if total > self._max_rows:
                return runs
            one = FileRun(tuple(file for run in parts for file in run.files), total, tuple(parts))
            runs = [*(run for run in runs if run not in parts), one]
