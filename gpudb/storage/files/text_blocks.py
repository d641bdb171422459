"""Blocks of csv and of JSON lines: ranges of a file's bytes that hold whole records, with how many they are.

A newline ends a record unless it is between quotes. Quotes are only counted here: who reads a block checks that it has
as many records as said.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gpudb.catalog.file_tables import FileStamp
from gpudb.processes.limits import count_processors
from gpudb.storage.load.files import convert_errors

BLOCK_BYTES = 1 << 24
"""Bytes of a block, about."""
_THREADS = 8
_NEWLINE = 10
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Records of a file: the offset and the number of their bytes, and their number."""

    offset: int
    size: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a file: its offset and quotes; of newlines after an even and after an odd number of its quotes their
    number, and the first and the last of them (-1: none).
    """

    offset: int
    quotes: int
    counts: tuple[int, int]
    firsts: tuple[int, int]
    lasts: tuple[int, int]


def find_text_blocks(stamp: FileStamp, quote: str, *, header: bool) -> list[TextBlock]:
    """Returns a file's blocks, without its `header`; 58P01, 42501. Without a `quote` every newline ends a record."""
    offsets = range(0, stamp.size, BLOCK_BYTES)
    with convert_errors(Path(stamp.path)), Path(stamp.path).open("rb", buffering=0) as file:
        descriptor, mark = file.fileno(), ord(quote) if quote else -1
        start = len(_MARK) if os.pread(descriptor, len(_MARK), 0) == _MARK else 0

        def survey(offset: int) -> _Piece:
            return _survey(os.pread(descriptor, BLOCK_BYTES, offset), offset, mark)

        with ThreadPoolExecutor(min(_THREADS, count_processors())) as pool:
            pieces = list(pool.map(survey, offsets))
    return _join(pieces, start, stamp.size, header=header)


def has_plain_header(stamp: FileStamp, size: int) -> bool:
    """Returns whether a header of so many bytes is one line for every reader: no carriage return is but at its end."""
    if size > BLOCK_BYTES:
        return False
    with convert_errors(Path(stamp.path)), Path(stamp.path).open("rb", buffering=0) as file:
        header = os.pread(file.fileno(), size, 0)
    return b"\r" not in header.removesuffix(b"\n").removesuffix(b"\r")


def _survey(data: bytes, offset: int, quote: int) -> _Piece:
    values = np.frombuffer(data, np.uint8)
    quotes = int(np.count_nonzero(values == quote)) if quote >= 0 else 0
    if not quotes:
        count = int(np.count_nonzero(values == _NEWLINE))
        return _Piece(offset, 0, (count, 0), (data.find(b"\n"), -1), (data.rfind(b"\n"), -1))
    newlines = np.flatnonzero(values == _NEWLINE)
    inside = np.searchsorted(np.flatnonzero(values == quote), newlines) % 2 == 1
    each = newlines[~inside], newlines[inside]
    firsts, lasts = ([int(some[place]) if len(some) else -1 for some in each] for place in (0, -1))
    return _Piece(offset, quotes, (len(each[0]), len(each[1])), (firsts[0], firsts[1]), (lasts[0], lasts[1]))


def _join(pieces: Sequence[_Piece], start: int, size: int, *, header: bool) -> list[TextBlock]:
    """Returns the blocks between the last newlines of pieces that end records."""
    blocks: list[TextBlock] = []
    inside = 0
    for piece in pieces:
        count, first, last = (each[inside] for each in (piece.counts, piece.firsts, piece.lasts))
        if count and header:
            header, count, start = False, count - 1, piece.offset + first + 1
        if count:
            end = piece.offset + last + 1
            blocks.append(TextBlock(start, end - start, count))
            start = end
        inside ^= piece.quotes & 1
    if start < size and not header:  # the last record has no newline
        blocks.append(TextBlock(start, size - start, 1))
    return blocks
