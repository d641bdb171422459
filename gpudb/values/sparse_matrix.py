"""Sparse matrices as bytes (compressed sparse rows), and SciPy's arrays of them.

After the header of `values.matrix` come, all little-endian, and padded to a multiple of 8 bytes each: the number of
elements that are kept (int64), where each row's elements begin among them, and their end (int64), the column of each
from 0 on (int32), and the elements. They are in the order of rows and columns; none is zero, or twice there.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.analytics.libraries import load_library
from gpudb.errors import FeatureNotSupported, InvalidText, NumericOutOfRange, SqlError
from gpudb.types import SqlType
from gpudb.values.float_columns import format_float_column
from gpudb.values.matrix import (
    DENSE,
    ELEMENT_TYPES,
    HEADER,
    MAX_BYTES,
    SPARSE,
    Matrix,
    Value,
    as_bytes,
    check_shape,
    check_size,
    damaged_error,
    get_element_type,
    make_header,
    read_header,
    to_numpy,
)

Sparse = Any
"""scipy.sparse.csr_array, of one of the types of `ELEMENT_TYPES`."""
_DEFAULT = "float8"
_TEXT = re.compile(
    r"\s*(?:(int4|int8|float4|float8)\s+)?sparse\s*\(\s*(\d{1,10})\s*,\s*(\d{1,10})\s*\)\s*=\s*\{(.*)\}\s*", re.DOTALL
)
_ELEMENT = re.compile(r"\s*(\d{1,10})\s*,\s*(\d{1,10})\s*:\s*(\S+)\s*")
_HEAD = struct.Struct("!IIiiq")


def is_sparse(matrix: Any) -> bool:
    """Returns whether a matrix in memory is sparse."""
    return not isinstance(matrix, np.ndarray)


def make_csr(parts: tuple[Any, ...], shape: tuple[int, int]) -> Sparse:
    """Returns SciPy's array of elements and their places; 0A000 without SciPy."""
    return load_library("scipy.sparse").csr_array(parts, shape=shape)


def from_triples(rows: Any, columns: Any, elements: Matrix, shape: tuple[int, int] | None) -> Sparse:
    """Returns the matrix of elements by their places, counted from 1, of which equal ones are added.

    Without a shape it is the least that has all. 2202E for a place outside, 22003 for a sum beyond int8.
    """
    if shape is None:
        shape = int(rows.max(initial=0)), int(columns.max(initial=0))
    check_shape(*shape)
    outside = (rows < 1) | (rows > shape[0]) | (columns < 1) | (columns > shape[1])
    if outside.any():
        row, column = rows[outside][0], columns[outside][0]
        message = f"row {row} and column {column} are not within a matrix of {shape[0]} x {shape[1]}"
        raise SqlError.of("array_subscript_error", message)
    _check_bytes(shape[0], len(elements), elements.dtype.itemsize)
    coordinates = rows - 1, columns - 1
    wide: Any = elements.astype(np.int64) if elements.dtype.kind == "i" else elements
    made = load_library("scipy.sparse").coo_array((wide, coordinates), shape=shape).tocsr()
    if elements.dtype.kind == "i":
        estimate = load_library("scipy.sparse").coo_array((wide.astype(np.float64), coordinates), shape=shape).tocsr()
        check_exact(made, estimate)
        if elements.dtype == ELEMENT_TYPES["int4"]:
            made = narrow(made)
    return tidy(made)


def check_exact(exact: Sparse, estimate: Sparse) -> None:
    """Raises 22003 where int64 has wrapped, given the same in double precision."""
    difference = estimate - exact.astype(np.float64)
    if difference.nnz and np.abs(difference.data).max() > 2.0**53:
        raise NumericOutOfRange("an element is out of range for type bigint")


def narrow(matrix: Sparse) -> Sparse:
    """Returns a matrix of int8 as one of int4; 22003."""
    limits = np.iinfo(np.int32)
    if matrix.nnz and (matrix.data.min() < limits.min or matrix.data.max() > limits.max):
        raise NumericOutOfRange("an element is out of range for type integer")
    return matrix.astype(np.int32)


def tidy(matrix: Any) -> Sparse:
    """Returns a matrix as compressed rows, without zeros, in order."""
    made = matrix.tocsr()
    made.sum_duplicates()
    made.eliminate_zeros()
    made.sort_indices()
    return made


def from_dense(matrix: Matrix) -> Sparse:
    """Returns a dense matrix's elements that are not zero."""
    return tidy(load_library("scipy.sparse").csr_array(matrix))


def to_dense(matrix: Sparse) -> Matrix:
    """Returns all elements; 54000 beyond 1 GiB."""
    check_size(matrix.shape[0], matrix.shape[1], matrix.dtype.itemsize)
    return np.asarray(matrix.toarray())


def read_matrix(value: Value) -> Any:
    """Returns a dense matrix as a view of its bytes, a sparse one as SciPy's array."""
    return to_numpy(value) if read_header(value)[1] == DENSE else decode_sparse(value)


def read_dense(value: Value) -> Matrix:
    """Returns all elements of a matrix; 54000 for a sparse one whose elements exceed 1 GiB."""
    found = read_matrix(value)
    return to_dense(found) if is_sparse(found) else found


# ---- bytes


def _check_bytes(rows: int, count: int, width: int) -> None:
    """Raises 54000 for a value beyond 1 GiB."""
    size = HEADER + 8 * (rows + 2) + count * (4 + width)
    if size > MAX_BYTES:
        message = f"a sparse matrix of {rows} rows and {count} elements is larger than 1 GiB"
        raise SqlError.of("program_limit_exceeded", message, hint="Divide it into chunks of rows.")


def encode_sparse(matrix: Sparse) -> bytes:
    """Returns the bytes of a matrix; 54000 beyond 1 GiB."""
    _check_bytes(matrix.shape[0], matrix.nnz, matrix.dtype.itemsize)
    parts = [np.array([matrix.nnz], "<i8"), matrix.indptr.astype("<i8"), matrix.indices.astype("<i4"), matrix.data]
    body = b"".join(each.tobytes() + bytes(-each.nbytes % 8) for each in parts)
    return make_header(ELEMENT_TYPES[get_element_type(matrix.dtype)], SPARSE, *matrix.shape) + body


def decode_sparse(value: Value) -> Sparse:
    """Returns SciPy's array of a value's bytes; XX001 for bytes that are no matrix."""
    data = as_bytes(value)
    dtype, _, rows, columns = read_header(data)
    if len(data) < HEADER + 8 * (rows + 2):
        raise damaged_error()
    (count,) = data[HEADER : HEADER + 8].view("<i8").tolist()
    at = HEADER + 8 + 8 * (rows + 1)
    elements = at + count * 4 + -count * 4 % 8
    if not 0 <= count <= len(data) or len(data) < elements + count * dtype.itemsize:
        raise damaged_error()
    starts = data[HEADER + 8 : at].view("<i8")
    places = data[at : at + 4 * count].view("<i4")
    held = data[elements : elements + count * dtype.itemsize].view(dtype)
    if starts[0] != 0 or starts[-1] != count or (np.diff(starts) < 0).any():
        raise damaged_error()
    if count and not (places.min() >= 0 and places.max() < columns):
        raise damaged_error()
    return make_csr((held, places, starts), (rows, columns))


def list_triples(matrix: Any) -> tuple[Any, Any, Any]:
    """Returns the rows and columns, counted from 1, and the elements that are not zero, in order."""
    if is_sparse(matrix):
        rows = np.repeat(np.arange(1, matrix.shape[0] + 1), np.diff(matrix.indptr))
        return rows, matrix.indices + 1, matrix.data
    rows, columns = np.nonzero(matrix)
    return rows + 1, columns + 1, matrix[rows, columns]


# ---- text and binary form


def parse_sparse(text: str) -> bytes | None:
    """Parses `sparse(3,4)={1,2:5;3,4:7.5}`, with an element type before it; None for a text of another form.

    22P02 for malformed elements, 2202E for a place outside, 22003 for an element out of range.
    """
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    name, body = match[1] or _DEFAULT, match[4].strip()
    found = [_ELEMENT.fullmatch(each) for each in body.split(";")] if body else []
    if None in found:
        raise _malformed(text, "An element is written as row,column:number.")
    known = [each for each in found if each is not None]
    dtype = ELEMENT_TYPES[name]
    try:
        if dtype.kind == "i":
            elements = np.array([int(each[3]) for each in known], dtype)
        else:
            with np.errstate(over="ignore"):
                elements = np.array([float(each[3]) for each in known], dtype)
    except OverflowError:
        raise NumericOutOfRange(f"an element is out of range for type {SqlType(name)}") from None
    except ValueError:
        raise _malformed(text, f"An element is no value of type {SqlType(name)}.") from None
    infinite = [each[3] for each, is_infinite in zip(known, np.isinf(elements), strict=True) if is_infinite]
    if any("inf" not in word.lower() for word in infinite):
        raise NumericOutOfRange(f"an element is out of range for type {SqlType(name)}")
    rows, columns = (np.array([int(each[place]) for each in known], np.int64) for place in (1, 2))
    if len(set(zip(rows.tolist(), columns.tolist(), strict=True))) < len(known):
        raise _malformed(text, "An element is there twice.")
    return encode_sparse(from_triples(rows, columns, elements, (int(match[2]), int(match[3]))))


def _malformed(text: str, detail: str) -> InvalidText:
    shown = text if len(text) <= 64 else text[:61] + "..."
    return InvalidText(f'invalid input syntax for type matrix: "{shown}"', detail=detail)


def format_sparse(matrix: Sparse) -> str:
    """Returns the text of a matrix."""
    rows, columns, elements = list_triples(matrix)
    held = pa.array(elements)
    words = format_float_column(held).to_pylist() if elements.dtype.kind == "f" else map(str, elements.tolist())
    triples = zip(rows.tolist(), columns.tolist(), words, strict=True)
    name = get_element_type(matrix.dtype)
    start = "" if name == _DEFAULT else name + " "
    body = ";".join(f"{row},{column}:{word}" for row, column, word in triples)
    return f"{start}sparse({matrix.shape[0]},{matrix.shape[1]})={{{body}}}"


def parse_sparse_binary(data: bytes) -> bytes | None:
    """Reads a sparse matrix from its binary form; None for a dense one, 22P03 for other bytes."""
    if len(data) < 4 or data[:4] != bytes(4):
        return None
    if len(data) < _HEAD.size:
        raise SqlError.of("invalid_binary_representation", "insufficient data left in message")
    _, oid, rows, columns, count = _HEAD.unpack_from(data)
    name = next((name for name in ELEMENT_TYPES if SqlType(name).oid == oid), None)
    dtype = ELEMENT_TYPES[name or _DEFAULT]
    if name is None or count < 0 or len(data) != _HEAD.size + count * (8 + dtype.itemsize):
        raise SqlError.of("invalid_binary_representation", "incorrect binary data format in matrix")
    places = np.frombuffer(data, ">i4", 2 * count, _HEAD.size).astype(np.int64)
    elements = np.frombuffer(data, dtype.newbyteorder(">"), count, _HEAD.size + 8 * count).astype(dtype)
    return encode_sparse(from_triples(places[:count], places[count:], elements, (rows, columns)))


def encode_sparse_binary(matrix: Sparse) -> bytes:
    """Returns the binary form: zero, the OID of the element type, rows, columns, the number of elements (8 bytes), then
    the rows and the columns of all, counted from 1, and the elements, all in network byte order.
    """
    rows, columns, elements = list_triples(matrix)
    head = _HEAD.pack(0, SqlType(get_element_type(matrix.dtype)).oid, *matrix.shape, len(elements))
    data: npt.NDArray[Any] = elements.astype(matrix.dtype.newbyteorder(">"))
    return b"".join((head, rows.astype(">i4").tobytes(), columns.astype(">i4").tobytes(), data.tobytes()))


def refuse(what: str) -> FeatureNotSupported:
    """Returns 0A000 for what sparse matrices do not have."""
    return FeatureNotSupported(f"{what} of a sparse matrix is not supported", hint="Convert it by matrix_dense().")
