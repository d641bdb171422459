"""The text and the binary form of matrices (see `matrix`), for single values and for columns.

The binary form has the OID of the element type, the rows and the columns, four bytes each, and then the elements row
by row, all in network byte order.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import InvalidText, NumericOutOfRange, SqlError
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS
from gpudb.values.float_columns import format_float_column
from gpudb.values.matrix import (
    ELEMENT_TYPES,
    Matrix,
    check_shape,
    check_size,
    from_numpy,
    get_element_type,
    iterate_values,
)
from gpudb.values.sparse_matrix import (
    encode_sparse_binary,
    format_sparse,
    is_sparse,
    parse_sparse,
    parse_sparse_binary,
    read_matrix,
)

_TYPED = re.compile(r"(int4|int8|float4|float8)\s*=\s*")
_DEFAULT = "float8"
_BLANKS = " \t\n\r\v\f"
_ROW_ENDS = r"\}[ \t\n\r\v\f]*,[ \t\n\r\v\f]*\{"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_MAX_TEXT = 2**31 - 1
_SPARSE_START = 32
"""Characters among which a sparse matrix says so."""
_HEAD = struct.Struct("!Iii")


def parse_matrix(text: str) -> bytes:
    """Parses `{{1,2},{3,4}}`, with an element type before it `int4={{1,2}}`; `{1,2}` is a column.

    22P02 for other text, ragged rows and no elements, 22003 for numbers out of range, 22004 for NULL, 54000 beyond
    1 GiB.
    """
    if "sparse" in text[:_SPARSE_START] and (sparse := parse_sparse(text)) is not None:
        return sparse
    body = text.strip(_BLANKS)
    name = _DEFAULT
    if (typed := _TYPED.match(body)) is not None:
        name, body = typed[1], body[typed.end() :]
    if len(body) < 2 or body[0] != "{" or body[-1] != "}":
        raise _malformed(text, "A matrix begins with { and ends with }.")
    inner = body[1:-1].strip(_BLANKS)
    if not inner:
        raise _malformed(text, "A matrix has at least one element.")
    if inner[0] == "{":
        if len(inner) < 2 or inner[-1] != "}":
            raise _malformed(text, "Rows are in braces.")
        rows = pc.split_pattern_regex(pa.array([inner[1:-1]], pa.large_string()), _ROW_ENDS).values
        cells = pc.split_pattern(rows, ",")
        widths = pc.list_value_length(cells)
        columns = int(widths[0].as_py())
        if not pc.all(pc.equal(widths, columns)).as_py():
            raise _malformed(text, "All rows have the same number of elements.")
        elements, shape = cells.values, (len(rows), columns)
    else:
        elements = pc.split_pattern(pa.array([inner], pa.large_string()), ",").values
        shape = (len(elements), 1)
    check_size(*shape, ELEMENT_TYPES[name].itemsize)
    return from_numpy(_parse_elements(pc.utf8_trim(elements, characters=_BLANKS), name, text).reshape(shape))


def _parse_elements(words: pa.Array, name: str, text: str) -> npt.NDArray[Any]:
    if pc.any(pc.equal(pc.ascii_upper(words), "NULL")).as_py():
        raise SqlError.of("null_value_not_allowed", "a matrix has no NULL elements")
    integral = name.startswith("int")
    kind = pa.int64() if integral else pa.float64()
    words = pc.replace_substring_regex(words, r"^\+([0-9.])", r"\1")
    try:
        values: npt.NDArray[Any] = pc.cast(words, kind).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        if integral and pc.all(pc.match_substring_regex(words, r"^-?[0-9]+$")).as_py():
            raise NumericOutOfRange(f"an element is out of range for type {SqlType(name)}") from None
        raise _malformed(text, f"An element is no value of type {SqlType(name)}.") from None
    if integral:
        limits = np.iinfo(ELEMENT_TYPES[name])
        if values.min() < limits.min or values.max() > limits.max:
            raise NumericOutOfRange(f"an element is out of range for type {SqlType(name)}")
        whole: npt.NDArray[Any] = values.astype(ELEMENT_TYPES[name])
        return whole
    with np.errstate(over="ignore"):
        narrow: npt.NDArray[Any] = values.astype(ELEMENT_TYPES[name])
    infinite = np.isinf(narrow)
    if infinite.any() and not pc.all(pc.match_substring_regex(words.filter(pa.array(infinite)), _INFINITE)).as_py():
        raise NumericOutOfRange(f"an element is out of range for type {SqlType(name)}")
    return narrow


def _malformed(text: str, detail: str) -> InvalidText:
    shown = text if len(text) <= 64 else text[:61] + "..."
    return InvalidText(f'invalid input syntax for type matrix: "{shown}"', detail=detail)


def format_matrix(value: bytes) -> str:
    """Formats a matrix as `{{1,2},{3,4}}`, with its element type before it unless that is float8."""
    return str(format_matrix_column(pa.array([value], pa.binary()))[0].as_py())


def format_matrix_column(column: pa.Array) -> pa.StringArray:
    """Formats a column's values; NULL stays NULL."""
    values = list(iterate_values(column))
    texts: list[str | None] = [None] * len(values)
    groups: dict[str, list[int]] = {}
    matrices = [None if value is None else read_matrix(value) for value in values]
    for at, matrix in enumerate(matrices):
        if matrix is not None and is_sparse(matrix):
            texts[at] = format_sparse(matrix)
        elif matrix is not None:
            groups.setdefault(get_element_type(matrix.dtype), []).append(at)
    for name, places in groups.items():
        written = _format_group(name, [matrix for at in places if (matrix := matrices[at]) is not None])
        for at, written_text in zip(places, written, strict=True):
            texts[at] = written_text
    return pa.array(texts, pa.string())


def _format_group(name: str, matrices: list[Matrix]) -> list[str]:
    """Formats matrices of one element type."""
    elements = pa.array(np.concatenate([matrix.reshape(-1) for matrix in matrices]))
    words = format_float_column(elements) if name in FLOATS else pc.cast(elements, pa.string())
    if pc.sum(pc.binary_length(words)).as_py() + 3 * len(words) > _MAX_TEXT:
        raise SqlError.of("program_limit_exceeded", "the text of matrices is longer than 2 GiB")
    rows = _join(words, np.repeat([m.shape[1] for m in matrices], [m.shape[0] for m in matrices]), ",")
    bodies = _join(pc.binary_join_element_wise("{", rows, "}", ""), np.array([m.shape[0] for m in matrices]), ",")
    start = "{" if name == _DEFAULT else name + "={"
    written: list[str] = pc.binary_join_element_wise(start, bodies, "}", "").to_pylist()
    return written


def _join(words: pa.Array, lengths: npt.NDArray[np.int64], separator: str) -> pa.Array:
    """Joins consecutive runs of words of these lengths."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), words), separator)


def parse_matrix_binary(data: bytes) -> bytes:
    """Reads a matrix from its binary form; 22P03 for other bytes."""
    if (sparse := parse_sparse_binary(data)) is not None:
        return sparse
    if len(data) < _HEAD.size:
        raise _incorrect("insufficient data left in message")
    oid, rows, columns = _HEAD.unpack_from(data)
    name = next((name for name in ELEMENT_TYPES if SqlType(name).oid == oid), None)
    if name is None:
        raise _incorrect(f"a matrix has no elements of the type with OID {oid}")
    check_shape(rows, columns)
    dtype = ELEMENT_TYPES[name]
    check_size(rows, columns, dtype.itemsize)
    if len(data) != _HEAD.size + rows * columns * dtype.itemsize:
        raise _incorrect("incorrect binary data format in matrix")
    return from_numpy(np.frombuffer(data, dtype.newbyteorder(">"), offset=_HEAD.size).reshape(rows, columns))


def _incorrect(message: str) -> SqlError:
    return SqlError.of("invalid_binary_representation", message)


def encode_matrix_column(column: pa.Array) -> pa.BinaryArray:
    """Returns the binary form of a column's values; NULL stays NULL."""
    return pa.array(
        [None if value is None else encode_matrix(read_matrix(value)) for value in iterate_values(column)], pa.binary()
    )


def encode_matrix(matrix: Any) -> bytes:
    """Returns the binary form of a matrix."""
    if is_sparse(matrix):
        return encode_sparse_binary(matrix)
    head = _HEAD.pack(SqlType(get_element_type(matrix.dtype)).oid, *matrix.shape)
    return b"".join((head, matrix.astype(matrix.dtype.newbyteorder(">")).tobytes()))
