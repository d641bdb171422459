"""Rows that a transaction has in memory until it commits, as files of their table that are written when first read.

A table of which only such rows are added keeps them as batches in stored form, or as plain rows. What reads the table's
files has them written into a file that is not synced; COMMIT writes one that is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self, TypeAlias

import pyarrow as pa

from gpudb.catalog.lazy_files import Files, LazyFiles
from gpudb.catalog.tables import Table
from gpudb.storage.plain_rows import PlainRows, to_batches

MAX_STATEMENT_ROWS = 1 << 13
MAX_STATEMENT_BYTES = 4 << 20
"""More rows of one statement go to files at once."""
MAX_ROWS = 1 << 16
MAX_BYTES = 32 << 20
"""Once a table has more rows in memory they go to a file."""

Write = Callable[["PendingFiles"], Files]
Columns = tuple[str, ...]
Rows: TypeAlias = pa.RecordBatch | PlainRows


@dataclass(slots=True)
class _Chain:
    """Batches to which those who hold the last of them append, and the digests of their keys by the keys' columns."""

    batches: list[Rows] = field(default_factory=list)
    known: list[bool] = field(default_factory=list)
    keys: dict[Columns, set[object]] = field(default_factory=dict)


class PendingFiles(LazyFiles):
    """The files of a table: `stored` ones, and those of rows in memory, which `write` makes.

    An immutable value: `append` returns another one. `table` is the definition under which the rows came,
    `schema` that of the batches.
    """

    table: Table
    schema: pa.Schema
    stored: Files
    rows: int
    bytes: int
    _chain: _Chain
    _count: int
    _write: Write

    def __new__(cls, table: Table, schema: pa.Schema, stored: Files, write: Write) -> Self:
        """Begins with no rows in memory."""
        self = super().__new__(cls)
        self.table, self.schema, self.stored, self._write = table, schema, stored, write
        self._chain, self._count, self.rows, self.bytes = _Chain(), 0, 0, 0
        return self

    def _make(self) -> Files:
        return self.stored + self._write(self)

    @property
    def parts(self) -> list[Rows]:
        """The rows in memory, as they came."""
        return self._chain.batches[: self._count]

    @property
    def has_known_keys(self) -> bool:
        """Whether keys of some rows are known to have been the table's before."""
        return True in self._chain.known[: self._count]

    @property
    def batches(self) -> list[pa.RecordBatch]:
        """The rows in memory, in stored form."""
        return list(to_batches(self.parts, self.schema))

    def split(self) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
        """Returns the batches with new keys, and those whose keys are known to have been the table's before."""
        parts, known = self._chain.batches[: self._count], self._chain.known[: self._count]
        sides = tuple(
            list(to_batches([each for each, old in zip(parts, known, strict=True) if old is side], self.schema))
            for side in (False, True)
        )
        return sides[0], sides[1]

    def append(
        self,
        batches: Sequence[Rows],
        keys: Mapping[Columns, Iterable[object]],
        *,
        known: bool,
    ) -> PendingFiles:
        """Returns the files with more rows.

        `keys` are the digests of their keys by the keys' columns; they are `known` to have been the table's before.
        """
        added = PendingFiles(self.table, self.schema, self.stored, self._write)
        chain = self._get_chain()
        chain.batches.extend(batches)
        chain.known.extend([known] * len(batches))
        if not chain.keys.keys() <= keys.keys():
            chain.keys = {columns: digests for columns, digests in chain.keys.items() if columns in keys}
        for columns, digests in chain.keys.items():
            digests.update(keys[columns])
        added._chain, added._count = chain, len(chain.batches)
        added.rows = self.rows + sum([batch.num_rows for batch in batches])
        added.bytes = self.bytes + sum([batch.nbytes for batch in batches])
        return added

    def _get_chain(self) -> _Chain:
        """Returns the chain, or a new one if rows follow in it: they were rolled back, or are another's."""
        if len(self._chain.batches) != self._count:
            self._chain = _Chain(self._chain.batches[: self._count], self._chain.known[: self._count])
        return self._chain

    def rebase(self, table: Table, stored: Files) -> PendingFiles:
        """Returns the same rows beside other files."""
        moved = PendingFiles(table, self.schema, stored, self._write)
        moved._chain, moved._count, moved.rows, moved.bytes = self._chain, self._count, self.rows, self.bytes
        return moved

    def list_since(self, earlier: object) -> list[Rows] | None:
        """Returns the rows that were added since the table had `earlier` files; None if others may have been."""
        if earlier is self.stored:
            return self.parts
        if isinstance(earlier, PendingFiles) and earlier._chain is self._chain and earlier.stored is self.stored:
            return self._chain.batches[earlier._count : self._count]
        return None

    def get_keys(self, columns: Columns, digest: Callable[[pa.RecordBatch], Iterable[object]]) -> set[object]:
        """Returns the digests of the keys of the rows in memory; `digest` returns those of a batch."""
        chain = self._get_chain()
        keys = chain.keys.get(columns)
        if keys is None:
            keys = chain.keys[columns] = {each for batch in self.batches for each in digest(batch)}
        return keys


def take_few(batches: Iterator[pa.RecordBatch]) -> tuple[list[pa.RecordBatch], bool]:
    """Takes batches until they are too many for memory; returns them, and whether they are all."""
    taken: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        taken.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows > MAX_STATEMENT_ROWS or size > MAX_STATEMENT_BYTES:
            return taken, False
    return taken, True
