"""Converts blocks of COPY's binary format to columns: fixed widths, text and numerics vectorised, other types by
value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.catalog.tables import Column
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.copy.binary_numeric import parse_numerics
from gpudb.storage.copy.binary_split import BinaryBlock, Offsets, sliding_windows
from gpudb.storage.copy.conversion import check_length, is_out_of_form
from gpudb.storage.copy.errors import RowError
from gpudb.storage.copy.reader import Block, ParsedRows
from gpudb.types import SqlType, widen
from gpudb.values.arrow_columns import check_representable, to_arrow_array
from gpudb.values.binary import EPOCH, parse_binary
from gpudb.values.calendar import POSTGRES_EPOCH_DAYS
from gpudb.values.vectors import decode_vector_rows


class BinaryReader:
    """Reads blocks of whole rows; thread-safe."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = tuple(columns)

    def read(self, block: Block) -> ParsedRows:
        """Returns the block's rows; raises RowError (22P03 and others) with row and column."""
        assert isinstance(block, BinaryBlock)
        starts, lengths, count = block.starts, block.lengths, len(block.starts)
        arrays = []
        wrong: RowError | None = None
        for number, column in enumerate(self._columns):
            try:
                array = _convert_column(column.type, block.data, starts[:, number], lengths[:, number])
            except _ValueError as error:
                if wrong is None or error.row + 1 < wrong.line:
                    wrong = RowError(error.error, error.row + 1, column=column.name, binary=True)
                continue
            arrays.append(array)
        if wrong is not None:
            raise wrong
        return ParsedRows(arrays, count, count)

    def find_line(self, block: Block, row: int) -> tuple[int, str | None]:
        """Returns the row's number; binary rows have no text."""
        return row + 1, None


class _ValueError(Exception):
    def __init__(self, row: int, error: GpudbError) -> None:
        super().__init__(error.message)
        self.row = row
        self.error = error


_FIXED: dict[str, tuple[str, str]] = {
    "int2": (">i2", "<i2"),
    "int4": (">i4", "<i4"),
    "int8": (">i8", "<i8"),
    "money": (">i8", "<i8"),
    "float4": (">f4", "<f4"),
    "float8": (">f8", "<f8"),
}
_PLAIN_TEXT = frozenset({"text", "varchar", "bytea"})


def _convert_column(type_: SqlType, data: bytes, starts: Offsets, lengths: Offsets) -> pa.Array:
    if len(starts) == 0:
        return pa.nulls(0, type_.arrow)
    null = lengths < 0
    if type_.name in _FIXED or type_.name in {"date", "timestamp", "timestamptz"}:
        found = _convert_fixed(type_, data, starts, lengths, null)
        if found is not None:
            return found
    if type_.name == "numeric":
        found = parse_numerics(type_, np.frombuffer(data, np.uint8), starts, lengths, null)
        if found is not None:
            return found
    if type_.name in _PLAIN_TEXT:
        found = _gather_texts(type_, data, starts, lengths, null)
        if found is not None:
            return found
    if type_.name == "vector":
        found = _convert_vectors(type_, data, starts, lengths, null)
        if found is not None:
            return found
    values: list[object] = []
    for row, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist())):
        if length < 0:
            values.append(None)
            continue
        try:
            _check_width(type_, length)
            value = parse_binary(type_, data[start : start + length])
            if isinstance(value, str) and type_.name in {"varchar", "bpchar"}:
                value = value if type_.name == "varchar" else value.rstrip(" ")
            check_representable(type_, value)
        except GpudbError as error:
            if is_out_of_form(type_, error):
                return _convert_column(widen(type_), data, starts, lengths)
            raise _ValueError(row, error) from None
        values.append(value)
    return to_arrow_array(type_, values)


_WIDTHS = {
    "bool": 1,
    "int2": 2,
    "int4": 4,
    "int8": 8,
    "float4": 4,
    "float8": 8,
    "date": 4,
    "time": 8,
    "timetz": 12,
    "money": 8,
    "macaddr": 6,
    "timestamp": 8,
    "timestamptz": 8,
    "interval": 16,
    "uuid": 16,
}


def _check_width(type_: SqlType, length: int) -> None:
    width = _WIDTHS.get(type_.name, length)
    if length < width:
        raise SqlError.of("protocol_violation", "insufficient data left in message")
    if length > width:
        raise SqlError.of("invalid_binary_representation", "incorrect binary data format")


def _convert_fixed(
    type_: SqlType, data: bytes, starts: Offsets, lengths: Offsets, null: npt.NDArray[np.bool_]
) -> pa.Array | None:
    """Converts numbers and moments of one width, vectorised; None where a value needs individual treatment."""
    form, held = _FIXED.get(type_.name, (">i4", "<i4") if type_.name == "date" else (">i8", "<i8"))
    width = int(form[-1])
    if not (null | (lengths == width)).all():
        return None
    places = np.where(null, 0, starts)
    if len(data) < width:
        return pa.nulls(len(starts), type_.arrow)
    pieces = sliding_windows(np.frombuffer(data, np.uint8), width)[places]
    values = pieces.view(form).ravel().astype(held)
    if type_.name in {"date", "timestamp", "timestamptz"}:
        if type_.modifier != -1:
            return None
        limit = 2_932_000 if type_.name == "date" else 250_000_000_000_000_000
        real = np.where(null, 0, values)
        if ((real >= limit) | (real <= -limit)).any():
            return None  # infinities, and values out of range
        shift = POSTGRES_EPOCH_DAYS if type_.name == "date" else EPOCH
        values = values + np.array(shift, held)
        return pa.array(values, mask=null).view(type_.arrow)
    return pa.array(values, type_.arrow, mask=null, from_pandas=False)


def _convert_vectors(
    type_: SqlType, data: bytes, starts: Offsets, lengths: Offsets, null: npt.NDArray[np.bool_]
) -> pa.Array | None:
    """Converts vectors of one size, vectorised; None where a value needs individual treatment."""
    width = int(lengths.max())
    if width < 8 or width % 4 or not (null | (lengths == width)).all():
        return None
    rows = sliding_windows(np.frombuffer(data, np.uint8), width)[np.where(null, 0, starts)]
    try:
        return decode_vector_rows(type_, rows, null)
    except GpudbError:
        return None  # found again with its row


def _gather_texts(
    type_: SqlType, data: bytes, starts: Offsets, lengths: Offsets, null: npt.NDArray[np.bool_]
) -> pa.Array | None:
    """Gathers texts and byteas from their pieces of `data`."""
    # One array spans all bytes of the block, with fields and the gaps between them in alternation.
    offsets = np.empty(2 * len(starts) + 1, np.int32)
    offsets[:-1:2] = starts
    offsets[1::2] = starts + np.where(null, 0, lengths)
    offsets[-1] = offsets[-2]
    whole = pa.Array.from_buffers(pa.binary(), 2 * len(starts), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    fields = np.arange(0, 2 * len(starts), 2)
    array = whole.take(pa.array(fields, mask=null if null.any() else None))
    if type_.name != "bytea" and b"\0" in bytes(memoryview(array.buffers()[2] or b"")[: int(lengths[~null].sum())]):
        return None
    if type_.name == "bytea":
        return array
    try:
        text = array.cast(pa.string())
    except pa.ArrowInvalid:
        return None
    return check_length(type_, text)
