"""Plans reads of files for packed columns: batches of columns and rows within a limit on their bytes.

Each read locates a file's pages again, so a few reads of many columns are faster than many reads of few. Several run
concurrently. Where memory is short they run one by one, then with half as many columns, at last with half as many rows.

Files that a statement reads as tables are read anew by most statements, so their reads form a pipeline: they are of
equal size, and so many that some wait for their bytes while others are decoded and packed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import polars as pl

from gpudb.catalog.file_tables import FilePart
from gpudb.catalog.tables import Column, DataFile
from gpudb.engine.gpu.cache.file_parts import list_part_rows, merge_parts
from gpudb.engine.gpu.cache.host_columns import LOOKAHEAD, read_concurrently, split_rows, stored_width
from gpudb.engine.gpu.fused.translate.typed_values import TEXT
from gpudb.engine.gpu.lower.values import physical_columns

MAX_BYTES = 1 << 29
"""Maximum bytes of decoded values per read."""
MIN_ROWS = 1 << 22
"""Minimum rows of a read, of as many columns as that allows: fewer rows underuse a GPU."""
CONCURRENT_READS = 4
"""Number of concurrent reads of a table's data files."""
CONCURRENT_PARTS = 4
"""Number of concurrent reads of files that a statement reads as tables."""
PART_ROUNDS = 3
"""Minimum number of reads of such files in turn, by each of the concurrent readers."""
MIN_PART_BYTES, MAX_PART_BYTES = 1 << 29, 1 << 29
"""Bounds of the bytes of decoded values of such a read. Each takes some milliseconds besides its bytes: on an H100 four
reads of half a GiB at a time are as fast as three or six, and faster than smaller ones.
"""
_MIN_BYTES, _MIN_SPLIT_ROWS = 1 << 24, 1 << 16
"""Minimum size of a read."""
_MERGED_ROWS = 1 << 26
"""Maximum rows of merged parts of a file."""
_VALUE_BYTES = 8
"""Assumed bytes of a fixed-width value."""
_FileRows = tuple[DataFile, int, int]
"""A file, its first row, and the row after the last."""
_Made = TypeVar("_Made")
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Reads rows `first` to `last` of some columns of a file, given by their indexes among the requested ones."""

    file: DataFile
    columns: tuple[int, ...]
    first: int
    last: int

    def split(self) -> list[ReadBatch]:
        """Splits the read in two, by columns or by rows; returns itself where it is small."""
        count, rows = len(self.columns) // 2, (self.last - self.first) // 2
        if count:
            return [replace(self, columns=some) for some in (self.columns[:count], self.columns[count:])]
        if rows < _MIN_SPLIT_ROWS:
            return [self]
        pieces = split_rows(self.file, self.first, self.last, self.last - self.first - rows)
        return [replace(self, first=first, last=last) for first, last in pieces]


def plan_reads(parts: Sequence[_FileRows], columns: Sequence[Column], budget: int) -> list[ReadBatch]:
    """Plans the reads of columns over rows of files, in the files' order.

    Concurrent reads take at most half of a `budget` of bytes.
    """
    parts = merge_parts(parts, _MERGED_ROWS)
    files = [file for file, first, last in parts if last > first]
    if not files:
        return []
    largest = max(files, key=lambda file: file.bytes)
    widths = [_column_bytes(largest, column) for column in columns]
    bound = min(MAX_BYTES, max(budget // (2 * LOOKAHEAD * count_readers(files)), _MIN_BYTES))
    most = bound // max(min(MIN_ROWS, bound // _VALUE_BYTES, max(last - first for _, first, last in parts)), 1)
    groups: list[list[int]] = []
    row_bytes = 0
    for position, width in enumerate(widths):
        if not groups or row_bytes + width > most:
            groups.append([])
            row_bytes = 0
        groups[-1].append(position)
        row_bytes += width
    if even := isinstance(largest, FilePart):
        total = sum(widths) * sum(last - first for _, first, last in parts)
        bound = min(bound, max(total // (PART_ROUNDS * CONCURRENT_PARTS), MIN_PART_BYTES), MAX_PART_BYTES)
    step = max(bound // max(sum(widths[position] for position in group) for group in groups), 1)
    return [
        ReadBatch(file, tuple(group), *piece)
        for file, first, last in parts
        for piece in split_rows(file, first, last, _even_step(file, last - first, step) if even else step)
        for group in groups
    ]


def count_readers(files: Sequence[DataFile]) -> int:
    """Returns how many reads of files run concurrently."""
    return CONCURRENT_PARTS if files and isinstance(files[0], FilePart) else CONCURRENT_READS


def _even_step(file: DataFile, rows: int, step: int) -> int:
    """Returns at most `step` rows for reads of whole row groups or record batches, none of which is much smaller."""
    if not isinstance(file, FilePart) or not rows:
        return step
    pieces = -(-rows // step)
    return min(step, -(-rows // pieces) + max(list_part_rows(file)) - 1)


def _column_bytes(file: DataFile, column: Column) -> int:
    """Returns the bytes of a column's value; estimated for texts."""
    if column.type.name in TEXT:
        return max(_VALUE_BYTES, _VALUE_BYTES // 2 + round(stored_width(file, column)))
    return sum(
        2 * _VALUE_BYTES if kind == pl.Int128 else _VALUE_BYTES for kind in physical_columns(column.type).values()
    )


def run_reads(
    read: Callable[[ReadBatch], _Read], plan: Sequence[ReadBatch], finish: Callable[[ReadBatch, _Read], _Made]
) -> Iterator[tuple[ReadBatch, _Made]]:
    """Runs reads, and yields their results in order, each after `finish` in the calling thread.

    Raises MemoryError where even the smallest reads, one by one, need too much memory.
    """
    todo, ahead = [*plan], count_readers([each.file for each in plan])
    while todo:
        done = 0
        try:
            for found in read_concurrently(read, todo, ahead):
                yield todo[done], finish(todo[done], found)
                done += 1
            return
        except MemoryError:
            todo = todo[done:]
            if ahead == 1:
                smaller = [half for each in todo for half in each.split()]
                if smaller[0] == todo[0]:
                    raise
                todo = smaller
        ahead = 1
