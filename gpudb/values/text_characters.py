"""Columns of texts as columns of code points: what maps characters one to one needs no loop over rows.

Each distinct character is mapped once; texts keep their lengths in characters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.values.text_pieces import Integers, Mask

Codes = npt.NDArray[np.uint32]


class Characters:
    """The code points of all texts of a column, and each text's first place among them (one more at the end)."""

    def __init__(self, column: pa.StringArray) -> None:
        self._valid = None if column.null_count == 0 else column.is_valid()
        offsets = np.frombuffer(column.buffers()[1] or bytes(4), np.int32)[column.offset :][: len(column) + 1]
        data = (column.buffers()[2] or b"")[offsets[0] : offsets[-1]] if len(column) else b""
        self._bytes = bytes(data)
        starts = (offsets - offsets[0]).astype(np.int64) if len(column) else np.zeros(1, np.int64)
        units = np.frombuffer(self._bytes, np.uint8)
        self.is_ascii = self._bytes.isascii()
        if self.is_ascii:
            self.codes: Codes = units.astype(np.uint32)
            self.starts: Integers = starts
        else:
            self.codes = np.frombuffer(self._bytes.decode().encode("utf-32-le"), np.uint32)
            before = np.zeros(len(units) + 1, np.int64)
            np.cumsum((units & 0xC0) != 0x80, out=before[1:])
            self.starts = before[starts]

    def map(self, convert: Callable[[str], str]) -> Codes:
        """Returns the codes that a function of one character makes of each, itself one character."""
        distinct, places = self._find_distinct()
        return np.array([ord(convert(chr(code))) for code in distinct.tolist()], np.uint32)[places]

    def test(self, holds: Callable[[str], bool]) -> Mask:
        """Returns of which characters a condition holds."""
        distinct, places = self._find_distinct()
        return np.array([holds(chr(code)) for code in distinct.tolist()], np.bool_)[places]

    def _find_distinct(self) -> tuple[Codes, Integers]:
        if self.is_ascii:
            return np.arange(128, dtype=np.uint32), self.codes.astype(np.int64)
        distinct, places = np.unique(self.codes, return_inverse=True)
        return distinct, places

    def follow(self, flags: Mask) -> Mask:
        """Returns whether the flag of the character before holds; not of the first one of a text."""
        result = np.zeros(len(flags), np.bool_)
        result[1:] = flags[:-1]
        first = self.starts[:-1]
        result[first[first < len(flags)]] = False
        return result

    def build(self, codes: Codes) -> pa.StringArray:
        """Returns the column with other code points at the same places; 54000 beyond 2 GiB."""
        if self.is_ascii and (not len(codes) or codes.max() < 128):
            data, starts = codes.astype(np.uint8).tobytes(), self.starts
        else:
            data = codes.tobytes().decode("utf-32-le").encode()
            sizes = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
            before = np.zeros(len(codes) + 1, np.int64)
            np.cumsum(sizes, out=before[1:])
            starts = before[self.starts]
        if len(data) > np.iinfo(np.int32).max:
            raise SqlError.of("program_limit_exceeded", "the rows of a batch exceed 2 GiB")
        validity = None if self._valid is None else self._valid.buffers()[1]
        offsets = pa.py_buffer(starts.astype(np.int32))
        return pa.StringArray.from_buffers(len(starts) - 1, offsets, pa.py_buffer(data), validity)
