"""Columns of texts, assembled from pieces side by side: digits, words and constant texts of all rows at once.

A piece is a matrix of bytes, a row for each text, with a mask of the bytes that its texts have. Nothing here loops over
rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.memory import allot

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]

_TENS = 10 ** np.arange(1, 19, dtype=np.int64)
_SLICE_BYTES = 1 << 24
_MOST_BYTES = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of each text: `data` is rows × width, or 1 × width if it is the same in all rows.

    `kept` says which of the bytes a row has, as a matrix or as a column for all bytes; None for all of them.
    """

    data: Bytes
    kept: Mask | None = None

    def when(self, rows: Mask) -> Piece:
        """Returns the piece that only some rows have."""
        column = rows[:, None]
        return Piece(self.data, column if self.kept is None else self.kept & column)


def make_literal(text: str) -> Piece:
    """Returns a constant text."""
    return Piece(np.frombuffer(text.encode(), np.uint8)[None, :])


def pick_words(words: tuple[str, ...], places: Integers) -> Piece:
    """Returns one of several words for each row, by its place."""
    table, mask = _make_table(words)
    return Piece(table[places], None if mask is None else mask[places])


@lru_cache(maxsize=64)
def _make_table(words: tuple[str, ...]) -> tuple[Bytes, Mask | None]:
    encoded = [word.encode() for word in words]
    width = max(map(len, encoded))
    table = np.frombuffer(b"".join(word.ljust(width) for word in encoded), np.uint8).reshape(len(words), width)
    lengths = np.array([len(word) for word in encoded])
    return table, None if (lengths == width).all() else np.arange(width) < lengths[:, None]


def write_integers(values: Integers, least: int | Integers = 1) -> Piece:
    """Returns integers in decimal, with zeros before them up to `least` digits; a minus sign is not counted.

    -2⁶³ is not accepted.
    """
    sizes = np.abs(values)
    largest = int(sizes.max(initial=0))
    floor = least if isinstance(least, int) else int(least.max(initial=0))
    width = max(len(str(largest)), floor)
    data = np.empty((len(values), width), np.uint8)
    rest = sizes.astype(np.uint32) if largest < 1 << 32 else sizes.astype(np.uint64)
    for place in range(width - 1, -1, -1):
        quotient = rest // 10
        data[:, place] = rest - quotient * 10
        rest = quotient
    data += 48
    kept = None
    if not isinstance(least, int) or width > least:
        shown = np.maximum(np.searchsorted(_TENS, sizes, side="right") + 1, least)
        kept = np.arange(width) >= (width - shown)[:, None]
    negative = values < 0
    if not negative.any():
        return Piece(data, kept)
    signed = np.concatenate([np.full((len(values), 1), ord("-"), np.uint8), data], axis=1)
    unsigned = np.ones(data.shape, np.bool_) if kept is None else kept
    return Piece(signed, np.concatenate([negative[:, None], unsigned], axis=1))


def join_pieces(pieces: Sequence[Piece], rows: int, valid: Mask | None = None) -> pa.StringArray:
    """Returns the texts of the pieces side by side, NULL where `valid` is false; 54000 beyond 2 GiB."""
    width = sum(piece.data.shape[1] for piece in pieces)
    if width * rows > _SLICE_BYTES and rows > 1:
        half = rows // 2
        parts = [
            join_pieces([_slice(piece, part) for piece in pieces], length, None if valid is None else valid[part])
            for part, length in ((slice(0, half), half), (slice(half, rows), rows - half))
        ]
        if sum(part.nbytes for part in parts) > _MOST_BYTES:
            raise SqlError.of("program_limit_exceeded", "the rows of a batch exceed 2 GiB")
        return pa.concat_arrays(parts)
    allot(width * rows)
    data = np.empty((rows, width), np.uint8)
    kept = None if all(piece.kept is None for piece in pieces) else np.ones((rows, width), np.bool_)
    at = 0
    for piece in pieces:
        end = at + piece.data.shape[1]
        data[:, at:end] = piece.data
        if kept is not None and piece.kept is not None:
            kept[:, at:end] = piece.kept
        at = end
    offsets = np.zeros(rows + 1, np.int32)
    if kept is None:
        offsets[1:] = np.arange(1, rows + 1) * width
        flat = data.reshape(-1)
    else:
        np.cumsum(np.count_nonzero(kept, axis=1), out=offsets[1:])
        flat = data[kept]
    validity = None if valid is None or valid.all() else pa.array(valid).buffers()[1]
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(flat), validity)


def _slice(piece: Piece, part: slice) -> Piece:
    data = piece.data if len(piece.data) == 1 else piece.data[part]
    return Piece(data, piece.kept if piece.kept is None or len(piece.kept) == 1 else piece.kept[part])
