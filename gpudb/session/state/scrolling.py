"""Rows of a cursor: read on demand, and buffered for backward fetches."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from gpudb.errors import FeatureNotSupported, SqlError

MAX_BUFFERED = 16 << 20
"""Maximum of buffered bytes for a cursor declared neither SCROLL nor NO SCROLL."""


class ScrolledRows:
    """Position of a cursor: before its rows (`position` 0), on a row, or after the last.

    ```
             forward            forward past the last
    before ──────────▶ on a row ─────────────────────▶ after
       ▲◀────────────────┘ ▲◀────────────────────────────┘
            backward              backward, absolute
    ```
    Rows are buffered for backward fetches with SCROLL (`scroll` True); with neither option, up to a limit of bytes.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch], scroll: bool | None) -> None:
        self._batches = batches
        self._scroll = scroll
        self._buffer: list[pa.RecordBatch] = []
        self._bytes = 0
        self._first = 0  # rows before the buffered ones
        self._read = 0
        self._ended = False
        self.position = 0

    @property
    def is_scrollable(self) -> bool:
        """Whether backward fetches are allowed, as far as known."""
        return self._scroll is not False and self._first == 0

    def forward(self, count: int) -> Iterator[pa.RecordBatch]:
        """The next `count` rows."""
        while count > 0:
            if self.position >= self._read and not self._read_batch():
                self.position = self._read + 1
                return
            batch = self._rows_from(self.position)
            batch = batch.slice(0, min(count, batch.num_rows))
            self.position += batch.num_rows
            count -= batch.num_rows
            self._discard()
            yield batch

    def backward(self, count: int) -> Iterator[pa.RecordBatch]:
        """The `count` rows before the position, last first."""
        if self.position == 0:
            self._check_scrollable()
            return
        self._check_scrollable()
        for _ in range(count):
            self.position -= 1
            if self.position <= 0:
                self.position = 0
                return
            yield self._rows_from(self.position - 1).slice(0, 1)

    def get_current(self) -> pa.RecordBatch | None:
        """Returns the row at the position; None if it is before the rows or after them."""
        if not 0 < self.position <= self._read:
            return None
        if self.position <= self._first:
            raise FeatureNotSupported("the current row of a cursor that does not keep its rows is not supported here")
        return self._rows_from(self.position - 1).slice(0, 1)

    def list_before(self) -> list[pa.RecordBatch] | None:
        """Returns the rows before that at the position; None if they are not kept."""
        if self._first:
            return None
        rows, found = self.position - 1, []
        for batch in self._buffer:
            found.append(batch.slice(0, rows))
            rows -= found[-1].num_rows
        return found

    def current(self) -> Iterator[pa.RecordBatch]:
        """The row at the position."""
        if 0 < self.position <= self._read:
            self._check_scrollable()
            yield self._rows_from(self.position - 1).slice(0, 1)

    def absolute(self, number: int) -> Iterator[pa.RecordBatch]:
        """The row with that number, counted from the end if negative."""
        if number < 0:
            self._check_scrollable()
            while self._read_batch():
                pass
            number = max(self._read + 1 + number, 0)
        return self._move_to(number)

    def relative(self, distance: int) -> Iterator[pa.RecordBatch]:
        """The row at that distance."""
        return self._move_to(max(self.position + distance, 0))

    def _move_to(self, number: int) -> Iterator[pa.RecordBatch]:
        if number <= self.position and self.position:
            self._check_scrollable()
        if number > self.position:
            for _ in self.forward(number - 1 - self.position):
                pass
        else:
            self.position = max(number - 1, 0)
        if number > 0:
            yield from self.forward(1)

    def _read_batch(self) -> bool:
        """Reads the next batch with rows; False at the end."""
        while not self._ended:
            batch = next(self._batches, None)
            if batch is None:
                self._ended = True
            elif batch.num_rows:
                self._buffer.append(batch)
                self._bytes += batch.nbytes
                self._read += batch.num_rows
                return True
        return False

    def _discard(self) -> None:
        """Discards batches before the position, unless backward fetches are possible."""
        if self._scroll or (self._scroll is None and self._bytes <= MAX_BUFFERED):
            return
        while self._buffer and self._first + self._buffer[0].num_rows <= self.position:
            batch = self._buffer.pop(0)
            self._first += batch.num_rows
            self._bytes -= batch.nbytes

    def _rows_from(self, row: int) -> pa.RecordBatch:
        """The rest of a buffered batch from row `row` on."""
        start = self._first
        for batch in self._buffer:
            if row < start + batch.num_rows:
                return batch.slice(row - start)
            start += batch.num_rows
        raise AssertionError("a cursor's row is not kept")

    def _check_scrollable(self) -> None:
        if not self.is_scrollable:
            hint = "Declare it with SCROLL option to enable backward scan."
            raise SqlError.of("object_not_in_prerequisite_state", "cursor can only scan forward", hint=hint)
