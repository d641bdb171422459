"""Matrices as bytes: a header of 16 bytes and little-endian elements row by row, which NumPy views without a copy.

    byte  0       version: 1                            4 to 7    zero
          1       element type: 1 int4, 2 int8,         8 to 11   rows
                  3 float4, 4 float8                    12 to 15  columns
          2       layout: 0 dense, 1 sparse             16 …      dense: the elements; sparse: see `sparse_matrix`
          3       zero

The length of a value is a multiple of 8, so that elements of neighbours in a column are aligned. A matrix has at least
one row and one column, and no NULL; a value has at most 1 GiB (`MAX_BYTES`).

Its text is that of an array of two dimensions, `{{1,2},{3,4}}`, of float8; other element types are named before it, as
in `int4={{1,2},{3,4}}`. One dimension is read as a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import SqlError

Matrix = npt.NDArray[Any]
"""Elements of shape (rows, columns) of one of the types of `ELEMENT_TYPES`."""
Value = bytes | bytearray | memoryview | npt.NDArray[np.uint8]
"""A matrix as bytes."""

HEADER = 16
DENSE, SPARSE = 0, 1
MAX_BYTES = 1 << 30
_VERSION = 1
_MAX_ROWS = 2**31 - 1
_MAX_COLUMN_BYTES = 2**31 - 1

ELEMENT_TYPES: dict[str, np.dtype[Any]] = {
    "int4": np.dtype("<i4"),
    "int8": np.dtype("<i8"),
    "float4": np.dtype("<f4"),
    "float8": np.dtype("<f8"),
}
"""NumPy's type of each element type, by PostgreSQL's internal name."""
_CODES = {dtype: code for code, dtype in enumerate(ELEMENT_TYPES.values(), 1)}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}
_NAMES = {dtype: name for name, dtype in ELEMENT_TYPES.items()}


def to_numpy(value: Value) -> Matrix:
    """Returns a dense matrix as a read-only view of its bytes, of shape (rows, columns).

    0A000 for a sparse one, XX001 for bytes that are no matrix.
    """
    data = as_bytes(value)
    dtype, layout, rows, columns = read_header(data)
    if layout != DENSE:
        raise SqlError.of("feature_not_supported", "a sparse matrix has no dense elements", hint=_DENSE_HINT)
    if len(data) < HEADER + rows * columns * dtype.itemsize:
        raise damaged_error()
    elements = data[HEADER : HEADER + rows * columns * dtype.itemsize].view(dtype).reshape(rows, columns)
    elements.flags.writeable = False
    return elements


_DENSE_HINT = "Convert it by matrix_dense()."


def from_numpy(array: npt.ArrayLike) -> bytes:
    """Returns a matrix of a NumPy array of shape (rows, columns), or of a column of shape (rows,).

    bool and small integers become int4, float16 float4. 22023 for other shapes, types or no elements, 54000 beyond
    1 GiB.
    """
    elements = as_elements(np.asarray(array))
    return _header(elements.dtype, DENSE, *elements.shape).tobytes() + elements.tobytes() + bytes(_padding(elements))


def as_elements(array: npt.NDArray[Any]) -> Matrix:
    """Returns an array as elements of a matrix, checked as `from_numpy` says."""
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise _invalid(f"a matrix has two dimensions, not {array.ndim}")
    check_shape(*array.shape)
    dtype = _find_dtype(array.dtype)
    check_size(array.shape[0], array.shape[1], dtype.itemsize)
    return array.astype(dtype, copy=False)


def _find_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "f":
        return ELEMENT_TYPES["float4" if dtype.itemsize <= 4 else "float8"]
    if dtype.kind in "bi" or (dtype.kind == "u" and dtype.itemsize < 8):
        wide = dtype.itemsize > 4 or (dtype.kind == "u" and dtype.itemsize == 4)
        return ELEMENT_TYPES["int8" if wide else "int4"]
    raise _invalid(f"a matrix has no elements of NumPy's type {dtype}")


def check_shape(rows: int, columns: int) -> None:
    """Raises 22023 for a shape without elements, and 54000 beyond 2³¹ rows or columns."""
    if rows < 1 or columns < 1:
        raise _invalid(f"a matrix has at least one row and one column, not {rows} x {columns}")
    if rows > _MAX_ROWS or columns > _MAX_ROWS:
        raise SqlError.of("program_limit_exceeded", f"a matrix of {rows} x {columns} has too many rows or columns")


def check_size(rows: int, columns: int, width: int) -> None:
    """Raises 54000 if a dense matrix of elements of `width` bytes would exceed 1 GiB; call it before allocating."""
    if HEADER + rows * columns * width > MAX_BYTES:
        raise SqlError.of(
            "program_limit_exceeded",
            f"a matrix of {rows} x {columns} elements of {width} bytes is larger than 1 GiB",
            hint="Divide it into chunks of rows.",
        )


def read_header(value: Value) -> tuple[np.dtype[Any], int, int, int]:
    """Returns element type, layout, rows and columns; XX001 for bytes that are no matrix."""
    data = as_bytes(value)
    if len(data) < HEADER or data[0] != _VERSION or int(data[1]) not in _DTYPES or data[2] not in (DENSE, SPARSE):
        raise damaged_error()
    rows, columns = data[8:16].view("<i4").tolist()
    return _DTYPES[int(data[1])], int(data[2]), rows, columns


def get_element_type(dtype: np.dtype[Any]) -> str:
    """Returns PostgreSQL's internal name of an element type."""
    return _NAMES[dtype]


def make_header(dtype: np.dtype[Any], layout: int, rows: int, columns: int) -> bytes:
    """Returns a header of 16 bytes."""
    return _header(dtype, layout, rows, columns).tobytes()


def _header(dtype: np.dtype[Any], layout: int, rows: int, columns: int) -> npt.NDArray[np.uint8]:
    header = np.zeros(HEADER, np.uint8)
    header[:3] = _VERSION, _CODES[dtype], layout
    header[8:16] = np.array([rows, columns], "<i4").view(np.uint8)
    return header


def _padding(elements: Matrix) -> int:
    return -elements.nbytes % 8


def as_bytes(value: Value) -> npt.NDArray[np.uint8]:
    """Returns the bytes of a value as an array."""
    return value if isinstance(value, np.ndarray) else np.frombuffer(value, np.uint8)


def damaged_error() -> SqlError:
    """Returns XX001."""
    return SqlError.of("data_corrupted", "a value of type matrix is damaged")


def _invalid(message: str) -> SqlError:
    return SqlError.of("invalid_parameter_value", message)


# ---- columns


def iterate_values(column: pa.Array) -> Iterator[npt.NDArray[np.uint8] | None]:
    """Yields the bytes of each value of a binary column without a copy; None is NULL."""
    size = len(column)
    data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    kind = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    valid = column.is_valid().to_pylist() if column.null_count else [True] * size
    bounds: list[int] = []
    if size:
        bounds = np.frombuffer(column.buffers()[1], kind)[column.offset : column.offset + size + 1].tolist()
    for at, is_valid in enumerate(valid):
        yield data[bounds[at] : bounds[at + 1]] if is_valid else None


def build_column(matrices: Sequence[Matrix | None]) -> pa.BinaryArray:
    """Returns a column of dense matrices, each element copied once; 54000 beyond 1 GiB for one, 2 GiB for all."""
    checked = [None if matrix is None else as_elements(matrix) for matrix in matrices]
    sizes = [0 if matrix is None else HEADER + matrix.nbytes + _padding(matrix) for matrix in checked]
    buffer, offsets = allocate_values(sizes)
    for matrix, start in zip(checked, offsets.tolist(), strict=False):
        if matrix is not None:
            buffer[start : start + HEADER] = _header(matrix.dtype, DENSE, *matrix.shape)
            room = buffer[start + HEADER : start + HEADER + matrix.nbytes]
            room.view(matrix.dtype).reshape(matrix.shape)[...] = matrix
    return wrap_values(buffer, offsets, [matrix is not None for matrix in checked])


def allocate_values(sizes: Sequence[int]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
    """Returns zeroed bytes for values of these sizes, and their offsets; 54000 beyond 2 GiB."""
    total = sum(sizes)
    if total > _MAX_COLUMN_BYTES:
        raise SqlError.of(
            "program_limit_exceeded",
            f"matrices of {total} bytes are too large to be computed together",
            hint="Divide them into smaller chunks of rows.",
        )
    offsets = np.zeros(len(sizes) + 1, np.int32)
    np.cumsum(np.array(sizes, np.int32), out=offsets[1:])
    return np.zeros(total, np.uint8), offsets


def wrap_values(buffer: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], valid: Iterable[bool]) -> pa.BinaryArray:
    """Returns bytes as a column of values."""
    mask = np.fromiter(valid, bool)
    validity = None if mask.all() else pa.array(mask).buffers()[1]
    return pa.Array.from_buffers(pa.binary(), len(mask), [validity, pa.py_buffer(offsets), pa.py_buffer(buffer)])
