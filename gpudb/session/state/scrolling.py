"""The rows of a cursor: read as they are asked for, and kept for going back."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from gpudb.errors import SqlError

MOST_KEPT = 16 << 20
"""Bytes up to which a cursor keeps its rows that was declared neither SCROLL nor NO SCROLL."""


class ScrolledRows:
    """Where a cursor stands: before its rows (`position` 0), on one, or behind the last.

    ```
             forward            forward past the last
    before ──────────▶ on a row ─────────────────────▶ behind
       ▲◀────────────────┘ ▲◀────────────────────────────┘
            backward              backward, absolute
    ```
    Rows are kept for going back with SCROLL (`scroll` True); without a word about it while they are few.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch], scroll: bool | None) -> None:
        self._batches = batches
        self._scroll = scroll
        self._kept: list[pa.RecordBatch] = []
        self._bytes = 0
        self._first = 0  # rows that are not kept any more
        self._read = 0
        self._ended = False
        self.position = 0

    @property
    def goes_back(self) -> bool:
        """Whether going back is allowed, as far as one knows."""
        return self._scroll is not False and self._first == 0

    def forward(self, count: int) -> Iterator[pa.RecordBatch]:
        """The next `count` rows."""
        while count > 0:
            if self.position >= self._read and not self._more():
                self.position = self._read + 1
                return
            batch = self._from(self.position)
            batch = batch.slice(0, min(count, batch.num_rows))
            self.position += batch.num_rows
            count -= batch.num_rows
            self._forget()
            yield batch

    def backward(self, count: int) -> Iterator[pa.RecordBatch]:
        """The `count` rows before, the last of them first."""
        if self.position == 0:
            self._check()
            return
        self._check()
        for _ in range(count):
            self.position -= 1
            if self.position <= 0:
                self.position = 0
                return
            yield self._from(self.position - 1).slice(0, 1)

    def current(self) -> Iterator[pa.RecordBatch]:
        """The row on which the cursor stands once more."""
        if 0 < self.position <= self._read:
            self._check()
            yield self._from(self.position - 1).slice(0, 1)

    def absolute(self, number: int) -> Iterator[pa.RecordBatch]:
        """The row of that number, from the end if below zero."""
        if number < 0:
            self._check()
            while self._more():
                pass
            number = max(self._read + 1 + number, 0)
        return self._to(number)

    def relative(self, distance: int) -> Iterator[pa.RecordBatch]:
        """The row that far away."""
        return self._to(max(self.position + distance, 0))

    def _to(self, number: int) -> Iterator[pa.RecordBatch]:
        if number <= self.position and self.position:
            self._check()
        if number > self.position:
            for _ in self.forward(number - 1 - self.position):
                pass
        else:
            self.position = max(number - 1, 0)
        if number > 0:
            yield from self.forward(1)

    def _more(self) -> bool:
        """Reads a batch with rows; false at the end."""
        while not self._ended:
            batch = next(self._batches, None)
            if batch is None:
                self._ended = True
            elif batch.num_rows:
                self._kept.append(batch)
                self._bytes += batch.nbytes
                self._read += batch.num_rows
                return True
        return False

    def _forget(self) -> None:
        """Lets go of batches that lie wholly behind, where going back is not asked for."""
        if self._scroll or (self._scroll is None and self._bytes <= MOST_KEPT):
            return
        while self._kept and self._first + self._kept[0].num_rows <= self.position:
            gone = self._kept.pop(0)
            self._first += gone.num_rows
            self._bytes -= gone.nbytes

    def _from(self, place: int) -> pa.RecordBatch:
        """The rest of a kept batch from the row at `place` on."""
        start = self._first
        for batch in self._kept:
            if place < start + batch.num_rows:
                return batch.slice(place - start)
            start += batch.num_rows
        raise AssertionError("a cursor's row is not kept")

    def _check(self) -> None:
        if not self.goes_back:
            hint = "Declare it with SCROLL option to enable backward scan."
            raise SqlError.of("object_not_in_prerequisite_state", "cursor can only scan forward", hint=hint)
