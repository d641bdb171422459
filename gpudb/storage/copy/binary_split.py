"""Splits a stream of COPY's binary format into blocks of whole rows, and locates every field in them.

A row is a count of fields in two bytes, then each field's length in four bytes before its data; -1 is NULL. A row's
start is known only from the rows before it. So every position that looks like a start is followed at once, column by
column, and the chain that begins at the first row is kept.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gpudb.catalog.tables import Column
from gpudb.errors import SqlError
from gpudb.storage.copy.errors import RowError, bad_format_error
from gpudb.storage.copy.reader import Block
from gpudb.storage.copy.split import BLOCK_BYTES, ROW_LIMIT
from gpudb.storage.copy.writer import SIGNATURE

Offsets = npt.NDArray[np.int64]

_HEAD = len(SIGNATURE) + 8
_CRITICAL, _OIDS = 0xFFFF0000, 1 << 16
_LENGTH = struct.Struct("!i").unpack_from
_COUNT = struct.Struct("!h").unpack_from


class BinarySplitter:
    """Splits input of any chunk size into blocks of whole rows; checks and removes the header."""

    def __init__(self, columns: Sequence[Column], block_bytes: int = BLOCK_BYTES) -> None:
        self._names = tuple(column.name for column in columns)
        self._block_bytes = block_bytes
        self._min_bytes = block_bytes
        self._pending: list[bytes] = []
        self._size = 0
        self._headed = False
        self._ended = False
        self._rows = 0

    def feed(self, data: bytes) -> Iterator[Block]:
        """Yields the blocks that `data` completes; raises RowError for a bad header or row."""
        if self._ended:
            if data:
                raise RowError(bad_format_error("received copy data after EOF marker"), self._rows + 1)
            return
        self._pending.append(data)
        self._size += len(data)
        if self._size >= self._min_bytes:
            yield from self._cut(final=False)

    def finish(self) -> Iterator[Block]:
        """Yields the rest; raises 22P04 where the data end within a row. A missing trailer is accepted."""
        if not self._ended:
            yield from self._cut(final=True)

    def _cut(self, final: bool) -> Iterator[Block]:
        data = b"".join(self._pending)
        if not self._headed:
            start = self._header(data, final)
            if start is None:
                self._keep(data)
                return
            data, self._headed = data[start:], True
        try:
            starts, lengths, end = _locate_fields(data, self._names, self._rows)
        except _IncompleteRow as cut:
            starts, lengths, end = cut.starts, cut.lengths, cut.end
            if final and end + 1 < len(data):
                raise RowError(
                    bad_format_error("unexpected EOF in COPY data"),
                    self._rows + len(starts) + 1,
                    column=self._names[cut.column],
                    binary=True,
                ) from None
        rows = len(starts)
        if data[end : end + 2] == b"\xff\xff":
            self._ended = True
            if len(data) > end + 2:
                raise RowError(bad_format_error("received copy data after EOF marker"), self._rows + rows + 1)
        self._rows += rows
        if len(data) - end > ROW_LIMIT:
            message = f"a row of COPY data is longer than {ROW_LIMIT} bytes"
            raise SqlError.of("program_limit_exceeded", message)
        self._keep(b"" if self._ended else data[end:])
        if end:
            yield BinaryBlock(data[:end], None, starts=starts, lengths=lengths)

    def _keep(self, rest: bytes) -> None:
        self._pending, self._size = [rest], len(rest)
        self._min_bytes = max(self._block_bytes, 2 * len(rest))

    def _header(self, data: bytes, final: bool) -> int | None:
        """Returns the position of the first row; None if more data is needed."""
        if not SIGNATURE.startswith(data[: len(SIGNATURE)]) or (final and len(data) < len(SIGNATURE)):
            raise bad_format_error("COPY file signature not recognized")
        if len(data) < _HEAD:
            if final:
                what = "flags" if len(data) < _HEAD - 4 else "length"
                raise bad_format_error(f"invalid COPY file header (missing {what})")
            return None
        flags, extension = struct.unpack_from("!Ii", data, len(SIGNATURE))
        if flags & _OIDS:
            raise bad_format_error("invalid COPY file header (WITH OIDS)")
        if flags & _CRITICAL:
            raise bad_format_error("unrecognized critical flags in COPY file header")
        if extension < 0:
            raise bad_format_error("invalid COPY file header (missing length)")
        if len(data) < _HEAD + extension:
            if final:
                raise bad_format_error("invalid COPY file header (wrong length)")
            return None
        return _HEAD + int(extension)


@dataclass(frozen=True, slots=True)
class BinaryBlock(Block):
    """Whole rows, with start and length of every field: the matrices have one row per row."""

    starts: Offsets = field(default_factory=lambda: np.empty((0, 0), np.int64))
    lengths: Offsets = field(default_factory=lambda: np.empty((0, 0), np.int64))


class _IncompleteRow(Exception):
    """Raised where the data end within a row: the fields found before, and the number of the incomplete column."""

    def __init__(self, starts: Offsets, lengths: Offsets, end: int, column: int) -> None:
        super().__init__()
        self.starts = starts
        self.lengths = lengths
        self.end = end
        self.column = column


def _locate_fields(data: bytes, names: Sequence[str], before: int) -> tuple[Offsets, Offsets, int]:
    """Returns start and length of every field, and the end of the last row; raises RowError for a row of another
    width.
    """
    width = len(names)
    guessed = _RowCandidates(data, width)
    starts: list[Offsets] = [np.empty((0, width), np.int64)]
    lengths: list[Offsets] = [np.empty((0, width), np.int64)]
    at, rows = 0, 0
    while True:
        chain = guessed.follow(at)
        if len(chain):
            starts.append(guessed.starts[:, chain].T)
            lengths.append(guessed.lengths[:, chain].T)
            rows += len(chain)
            at = int(guessed.ends[chain[-1]])
        if at + 2 > len(data) or data[at : at + 2] == b"\xff\xff":
            return np.concatenate(starts), np.concatenate(lengths), at
        row = _parse_row(data, at, names, before + rows + 1)
        if isinstance(row, int):
            raise _IncompleteRow(np.concatenate(starts), np.concatenate(lengths), at, row)
        starts.append(np.array([row[0]], np.int64))
        lengths.append(np.array([row[1]], np.int64))
        at = row[2]
        rows += 1


def sliding_windows(view: npt.NDArray[np.uint8], width: int) -> npt.NDArray[np.uint8]:
    """Returns the `width` bytes from each position on as a matrix, without copying."""
    return np.lib.stride_tricks.as_strided(view, (max(len(view) - width + 1, 0), width), (1, 1))


class _RowCandidates:
    """All positions that may be a row's start, each followed to the row's end."""

    def __init__(self, data: bytes, width: int) -> None:
        view = np.frombuffer(data, np.uint8)
        size = len(view)
        begins = np.empty(0, np.int64)
        if size >= 6:
            # Matches the count and a first length below 16 MiB or of a NULL; other rows are parsed one by one.
            first = view[2:-3]
            here = (view[1:-4] == width & 0xFF) & ((first == 0) | (first == 0xFF)) & (view[:-5] == width >> 8)
            begins = np.flatnonzero(here)
        words = sliding_windows(view, 4)
        alive = np.ones(len(begins), bool)
        at = begins + 2
        self.begins = begins
        self.starts = np.empty((width, len(begins)), np.int64)
        self.lengths = np.empty((width, len(begins)), np.int64)
        for column in range(width):
            alive &= at + 4 <= size
            at = np.where(alive, at, 0)
            length = words[at].view(">i4").ravel().astype(np.int64) if len(words) else at
            alive &= length >= -1
            at += 4
            self.starts[column] = at
            self.lengths[column] = length
            at += np.maximum(length, 0)
        self.ends = at
        self._whole = alive & (at <= size)
        following = np.minimum(np.searchsorted(begins, at), max(len(begins) - 1, 0))
        self._linked = self._whole & (begins[following] == at) if len(begins) else self._whole
        self._following = following

    def follow(self, at: int) -> Offsets:
        """Returns the rows that follow each other from the one at `at`, by their numbers among the candidates."""
        number = int(np.searchsorted(self.begins, at))
        if number >= len(self.begins) or self.begins[number] != at or not self._whole[number]:
            return np.empty(0, np.int64)
        # Most candidates are rows, so whole runs of them are linked: only the breaks between runs are visited.
        straight = self._linked & (self._following == np.arange(1, len(self.begins) + 1))
        breaks = np.flatnonzero(~straight)
        following = self._following[breaks]
        ends, whole, onward = breaks.tolist(), self._whole[breaks].tolist(), following.tolist()
        linked = (self._linked[breaks] & self._whole[following]).tolist()
        steps = np.zeros(len(self.begins) + 1, np.int64)
        index = 0
        while True:
            index = bisect_left(ends, number, index)
            steps[number] += 1
            steps[ends[index] + whole[index]] -= 1
            if not linked[index]:
                return np.flatnonzero(np.cumsum(steps[:-1]))
            number = onward[index]


def _parse_row(data: bytes, at: int, names: Sequence[str], line: int) -> tuple[list[int], list[int], int] | int:
    """Returns (starts, lengths, end) of the row at `at`, or the number of the incomplete column."""
    (count,) = _COUNT(data, at)
    if count != len(names):
        message = f"row field count is {count}, expected {len(names)}"
        raise RowError(bad_format_error(message), line)
    starts, lengths = [], []
    at += 2
    size = len(data)
    for number, name in enumerate(names):
        if at + 4 > size:
            return number
        (length,) = _LENGTH(data, at)
        at += 4
        if length < -1:
            raise RowError(bad_format_error("invalid field size"), line, column=name, binary=True)
        starts.append(at)
        lengths.append(length)
        at += max(length, 0)
        if at > size:
            return number
    return starts, lengths, at
