"""What is read of files at once for packed columns: as many columns and rows together as a bound on their bytes allows.

A file's pages are found for each read anew, so few reads of many columns take less than many of few. Some are under way
at once; where memory is full they go on one by one, then with half as many columns, at last with half as many rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import polars as pl

from gpudb.catalog.model import Column, DataFile
from gpudb.engine.gpu.cache.host_columns import read_concurrently, split_rows, stored_width
from gpudb.engine.gpu.fused.translate.typed_values import TEXT
from gpudb.engine.gpu.lower.values import lanes

BYTES = 1 << 29
"""Of decoded values that are read at once, at most."""
FEWEST = 1 << 22
"""Rows of them at least, of as many columns as that leaves: with fewer a GPU has too little to do."""
AHEAD = 4
"""So many reads are under way at once."""
_LEAST_BYTES, _LEAST_ROWS = 1 << 24, 1 << 16
"""Reads are made no smaller than that."""
_WIDTH = 8
"""Bytes of a value of fixed width, as it is counted."""
_Rows = tuple[DataFile, int, int]
"""Of a file: the first row, and the one after the last."""
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Read:
    """Rows `first` to `last` of some columns of a file, by their places among those that are wanted."""

    file: DataFile
    columns: tuple[int, ...]
    first: int
    last: int

    def halves(self) -> list[Read]:
        """The same as two reads, of fewer columns or of fewer rows; as itself where it is small."""
        count, rows = len(self.columns) // 2, (self.last - self.first) // 2
        if count:
            return [replace(self, columns=some) for some in (self.columns[:count], self.columns[count:])]
        if rows < _LEAST_ROWS:
            return [self]
        pieces = split_rows(self.file, self.first, self.last, self.last - self.first - rows)
        return [replace(self, first=first, last=last) for first, last in pieces]


def planned(parts: Sequence[_Rows], columns: Sequence[Column], budget: int) -> list[Read]:
    """The reads of some columns over rows of files, in the files' order; what is under way takes half of a `budget` of
    bytes at most."""
    bound = min(BYTES, max(budget // (2 * AHEAD), _LEAST_BYTES))
    files = [file for file, first, last in parts if last > first]
    if not files:
        return []
    largest = max(files, key=lambda file: file.bytes)
    widths = [_width(largest, column) for column in columns]
    most = bound // max(min(FEWEST, bound // _WIDTH, max(last - first for _, first, last in parts)), 1)
    groups: list[list[int]] = []
    taken = 0
    for place, width in enumerate(widths):
        if not groups or taken + width > most:
            groups.append([])
            taken = 0
        groups[-1].append(place)
        taken += width
    step = max(bound // max(sum(widths[place] for place in group) for group in groups), 1)
    return [
        Read(file, tuple(group), *piece)
        for file, first, last in parts
        for piece in split_rows(file, first, last, step)
        for group in groups
    ]


def _width(file: DataFile, column: Column) -> int:
    """The bytes of a column's value, of a text about."""
    if column.type.name in TEXT:
        return max(_WIDTH, _WIDTH // 2 + round(stored_width(file, column)))
    return sum(2 * _WIDTH if kind == pl.Int128 else _WIDTH for kind in lanes(column.type).values())


def carried_out(read: Callable[[Read], _Made], plan: Sequence[Read]) -> Iterator[tuple[Read, _Made]]:
    """What reads give, in their order; MemoryError where there is too little for the smallest ones, one by one."""
    todo, ahead = [*plan], AHEAD
    while todo:
        done = 0
        try:
            for made in read_concurrently(read, todo, ahead):
                yield todo[done], made
                done += 1
            return
        except MemoryError:
            todo = todo[done:]
            if ahead == 1:
                smaller = [half for each in todo for half in each.halves()]
                if smaller[0] == todo[0]:
                    raise
                todo = smaller
        ahead = 1
