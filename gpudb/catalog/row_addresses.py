"""The addresses of rows, `ctid`: which block of its table a row of a file is in, and at which place.

A file of n bytes spans as many blocks as it has pages of PAGE bytes, so that addresses of a table end about where
`pg_class.relpages` does, and programs that read a table in ranges of blocks get ranges of a like size. Blocks are given
to the files of a folder in the order in which they are first seen, and never again while the process runs: an
address means the same row as long as that row is in the same file.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.tables import DataFile
from gpudb.errors import InternalError
from gpudb.values.tid import OFFSET_BITS, OFFSETS

PAGE = 8192
"""The bytes of a page of pg_class.relpages."""


class Span(NamedTuple):
    """The blocks of a file: `blocks` from `first` on, each of at most `rows` rows."""

    first: int
    blocks: int
    rows: int

    def overlaps(self, low: int, high: int) -> bool:
        """Returns whether an address from `low` to `high` is of one of its blocks."""
        return self.first << OFFSET_BITS <= high and (self.first + self.blocks) << OFFSET_BITS > low


class RowAddresses:
    """The blocks of files, by their paths; thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._spans: dict[str, Span] = {}
        self._ends: dict[str, int] = {}

    def place(self, files: Iterable[DataFile]) -> list[Span]:
        """Returns the blocks of files, and gives some to those that have none yet."""
        with self._guard:
            return [self._spans.get(file.path) or self._add(file) for file in files]

    def _add(self, file: DataFile) -> Span:
        folder = str(PurePath(file.path).parent)
        pages = max(1, -(-file.bytes // PAGE))
        rows = min(OFFSETS, max(1, -(-file.stored_rows // pages)))
        blocks = max(1, -(-file.stored_rows // rows))
        span = Span(self._ends.get(folder, 0), blocks, rows)
        self._spans[file.path] = span
        self._ends[folder] = span.first + blocks
        return span

    def locate(self, paths: pa.Array, rows: pa.Array) -> pa.Array:
        """Returns the address of each row, a number from 0 in the file of a path; NULL where the path is."""
        coded = paths.dictionary_encode()
        names = coded.dictionary.to_pylist()
        with self._guard:
            spans = [self._spans.get(name) for name in names]
        if None in spans:
            raise InternalError(f"file {names[spans.index(None)]} has no blocks")
        if not spans:
            return pa.nulls(len(paths), pa.int64())
        first, _, size = (np.array(each, np.int64) for each in zip(*spans, strict=True))
        place = pc.fill_null(coded.indices, 0).to_numpy()
        number = pc.fill_null(rows, 0).to_numpy()
        block = first[place] + number // size[place]
        made = pa.array((block << OFFSET_BITS) | (number % size[place] + 1))
        return pc.if_else(paths.is_null(), None, made)


ADDRESSES = RowAddresses()
"""Those of this process: the statements of a session mean the same rows by them."""
