"""Matrices over DuckDB's vectors: made of lists and rows, read as lists, and computed with (`values.matrix_algebra`).

Functions that may take long have the running statement's number as their last operand, and end when it is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.duckdb import running
from gpudb.errors import SqlError
from gpudb.values import matrix_algebra as algebra
from gpudb.values.matrix import (
    ELEMENT_TYPES,
    Matrix,
    build_column,
    check_shape,
    check_size,
    get_element_type,
    iterate_values,
    read_column,
    to_numpy,
)
from gpudb.values.matrix_forms import format_matrix_column, parse_matrix
from gpudb.values.matrix_lists import from_lists, from_rows, get_offsets, to_lists

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry

Numbers = npt.NDArray[Any]


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    registry.add_scalar("pg_matrix_in", "VARCHAR", "BLOB", parse_matrix)
    registry.add_columnar("pg_matrix_text", "BLOB", "VARCHAR", format_matrix_column)
    registry.add_columnar("pg_matrix_of_rows", None, "BLOB", from_rows)
    registry.add_columnar("pg_matrix_of_lists", None, "BLOB", from_lists)
    for name, duckdb_type in _LISTS.items():
        registry.add_columnar(
            f"pg_matrix_to_{name}", "BLOB", f"{duckdb_type}[][]", partial(to_lists, dtype=ELEMENT_TYPES[name])
        )
    registry.add_columnar("pg_matrix_chunks", "BLOB INTEGER", "BLOB[]", _divide)
    for name, (parameters, result, function) in _FUNCTIONS.items():
        registry.add_columnar(f"pg_matrix_{name}", parameters, result, _by_row(parameters, result, function))


_LISTS = {"float8": "DOUBLE", "float4": "FLOAT", "int8": "BIGINT", "int4": "INTEGER"}

# ---- functions of each row


def _by_row(parameters: str, result: str, function: Callable[..., Any]) -> Callable[..., pa.Array]:
    """Returns a function over columns that calls `function` for each row without NULL, matrices as NumPy views."""
    kinds = parameters.split()

    def compute(*columns: pa.Array) -> pa.Array:
        rows = zip(*(_read(kind, column) for kind, column in zip(kinds, columns, strict=True)), strict=True)
        values = [None if any(each is None for each in row) else function(*row) for row in rows]
        return build_column(values) if result == "BLOB" else pa.array(values, _ARROW[result])

    return compute


_ARROW = {"DOUBLE": pa.float64(), "INTEGER": pa.int32(), "BOOLEAN": pa.bool_(), "VARCHAR": pa.string()}


def _read(kind: str, column: pa.Array) -> Iterator[Any]:
    if kind == "BLOB":
        return (None if value is None else to_numpy(value) for value in iterate_values(column))
    if kind == "BLOB[]":
        return _read_lists(column)
    return iter(column.to_pylist())


def _read_lists(column: pa.Array) -> Iterator[list[Matrix] | None]:
    """Yields the matrices of each list, without NULLs; None for none."""
    offsets, values = get_offsets(column), column.values
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        known = [each for each in read_column(values.slice(start, end - start)) if each is not None]
        yield known or None


def _divide(column: pa.Array, sizes: pa.Array) -> pa.ListArray:
    """Returns each matrix as chunks of at most so many rows; 22023 for a size below 1."""
    chunks: list[Matrix | None] = []
    bounds, missing = [0], []
    for matrix, size in zip(read_column(column), sizes.to_pylist(), strict=True):
        missing.append(matrix is None or size is None)
        if matrix is not None and size is not None:
            if size < 1:
                raise SqlError.of("invalid_parameter_value", f"a chunk has at least one row, not {size}")
            chunks += [matrix[start : start + size] for start in range(0, matrix.shape[0], size)]
        bounds.append(len(chunks))
    mask = pa.array(missing, pa.bool_())
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), build_column(chunks), mask=mask)


def _poll(statement: int) -> algebra.Poll:
    return partial(running.check, statement)


def _require_width(matrix: Matrix, width: int) -> Matrix:
    if matrix.shape[1] != width:
        message = f"a matrix of {matrix.shape[1]} columns does not fit a column definition list of {width}"
        raise SqlError.of("datatype_mismatch", message)
    return matrix


def _get_element(matrix: Matrix, row: int, column: int) -> float:
    return float(algebra.select(matrix, (row, row), (column, column))[0, 0])


def _make_filled(rows: int, columns: int, number: float, name: str) -> Matrix:
    check_shape(rows, columns)
    dtype = _find_type(name)
    check_size(rows, columns, dtype.itemsize)
    if number == 0:
        return np.zeros((rows, columns), dtype)
    return np.broadcast_to(algebra.convert(np.full((1, 1), number), dtype), (rows, columns))


def _make_identity(size: int, name: str) -> Matrix:
    check_shape(size, size)
    dtype = _find_type(name)
    check_size(size, size, dtype.itemsize)
    return np.eye(size, dtype=dtype)


def _find_type(name: str) -> np.dtype[Any]:
    names = {"real": "float4", "double precision": "float8", "integer": "int4", "int": "int4", "bigint": "int8"}
    dtype = ELEMENT_TYPES.get(names.get(name, name))
    if dtype is None:
        hint = f"Element types are {', '.join(ELEMENT_TYPES)}."
        raise SqlError.of("invalid_parameter_value", f'"{name}" is no element type of matrices', hint=hint)
    return dtype


def _bind(axis: int) -> Callable[[Matrix, Matrix], Matrix]:
    return lambda one, other: algebra.bind([one, other], axis)


def _combine(operation: str) -> Callable[[Matrix, Matrix], Matrix]:
    return lambda one, other: algebra.combine(operation, one, other)


def _summarize(axis: int, mean: bool) -> Callable[[Matrix], Matrix]:
    return lambda matrix: algebra.summarize(matrix, axis, mean=mean)


def _bind_all(axis: int) -> Callable[[Sequence[Matrix]], Matrix]:
    return lambda matrices: algebra.bind(matrices, axis)


# Parameters and result as DuckDB's types, and the function of one row.
_FUNCTIONS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "of_width": ("BLOB INTEGER", "BLOB", _require_width),
    "nrows": ("BLOB", "INTEGER", lambda m: m.shape[0]),
    "ncols": ("BLOB", "INTEGER", lambda m: m.shape[1]),
    "type": ("BLOB", "VARCHAR", lambda m: get_element_type(m.dtype)),
    "as": ("BLOB VARCHAR", "BLOB", lambda m, name: algebra.convert(m, _find_type(name))),
    "transpose": ("BLOB", "BLOB", lambda m: m.T),
    "element": ("BLOB INTEGER INTEGER", "DOUBLE", _get_element),
    "slice": ("BLOB INTEGER INTEGER INTEGER INTEGER", "BLOB", lambda m, a, b, c, d: algebra.select(m, (a, b), (c, d))),
    "row": ("BLOB INTEGER", "BLOB", lambda m, at: algebra.select(m, (at, at), (1, m.shape[1]))),
    "column": ("BLOB INTEGER", "BLOB", lambda m, at: algebra.select(m, (1, m.shape[0]), (at, at))),
    "filled": ("INTEGER INTEGER DOUBLE VARCHAR", "BLOB", _make_filled),
    "identity": ("INTEGER VARCHAR", "BLOB", _make_identity),
    "eq": ("BLOB BLOB", "BOOLEAN", algebra.equal),
    "add": ("BLOB BLOB", "BLOB", _combine("add")),
    "sub": ("BLOB BLOB", "BLOB", _combine("subtract")),
    "hadamard": ("BLOB BLOB", "BLOB", _combine("multiply")),
    "scale": ("BLOB DOUBLE", "BLOB", algebra.scale),
    "negate": ("BLOB", "BLOB", algebra.negate),
    "mul": ("BLOB BLOB BIGINT", "BLOB", lambda a, b, statement: algebra.multiply(a, b, _poll(statement))),
    "solve": ("BLOB BLOB BIGINT", "BLOB", lambda a, b, statement: algebra.solve(a, b, _poll(statement))),
    "inverse": ("BLOB BIGINT", "BLOB", lambda m, statement: algebra.invert(m, _poll(statement))),
    "det": ("BLOB BIGINT", "DOUBLE", lambda m, statement: algebra.determinant(m, _poll(statement))),
    "trace": ("BLOB", "DOUBLE", algebra.trace),
    "norm": ("BLOB VARCHAR BIGINT", "DOUBLE", lambda m, kind, statement: algebra.norm(m, kind, _poll(statement))),
    "row_sums": ("BLOB", "BLOB", _summarize(1, False)),
    "row_means": ("BLOB", "BLOB", _summarize(1, True)),
    "column_sums": ("BLOB", "BLOB", _summarize(0, False)),
    "column_means": ("BLOB", "BLOB", _summarize(0, True)),
    "rbind": ("BLOB BLOB", "BLOB", _bind(0)),
    "cbind": ("BLOB BLOB", "BLOB", _bind(1)),
    "bind_number": (
        "BLOB DOUBLE INTEGER BOOLEAN", "BLOB", lambda m, number, axis, before: algebra.bind_number(
            m, number, axis, before=before)),
    "rbind_all": ("BLOB[]", "BLOB", _bind_all(0)),
    "cbind_all": ("BLOB[]", "BLOB", _bind_all(1)),
    "sum_all": ("BLOB[]", "BLOB", algebra.add_all),
}  # fmt: skip
