"""Matrices over DuckDB's vectors: made of lists and rows, read as lists, and computed with (`values.matrix_algebra`).

Functions that may take long have the running statement's number as their last operand, and end when it is cancelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.duckdb import running
from gpudb.errors import SqlError
from gpudb.values import matrix_algebra as algebra
from gpudb.values import sparse_algebra
from gpudb.values.matrix import (
    ELEMENT_TYPES,
    Matrix,
    allocate_values,
    build_column,
    check_shape,
    check_size,
    from_numpy,
    get_element_type,
    iterate_values,
    wrap_values,
)
from gpudb.values.matrix_forms import format_matrix_column, parse_matrix
from gpudb.values.matrix_lists import from_lists, from_rows, get_offsets, null_element, read_column, to_lists
from gpudb.values.sparse_matrix import (
    encode_sparse,
    from_dense,
    from_triples,
    is_sparse,
    list_triples,
    read_matrix,
    refuse,
    to_dense,
)

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
        of_rows = _by_row(name, parameters, result, function)
        registry.add_columnar(f"pg_matrix_{name}", parameters, result, of_rows)
    registry.add_columnar("pg_matrix_of_triples", None, "BLOB", _from_triples)
    registry.add_columnar("pg_matrix_triples", "BLOB", f"{_TRIPLE}[]", _list_triples)


_LISTS = {"float8": "DOUBLE", "float4": "FLOAT", "int8": "BIGINT", "int4": "INTEGER"}

# ---- functions of each row


def _by_row(name: str, parameters: str, result: str, function: Callable[..., Any]) -> Callable[..., pa.Array]:
    """Returns a function over columns that calls `function` for each row without NULL, matrices as NumPy views.

    For sparse matrices it calls the one of that name in SPARSE_FUNCTIONS; 0A000 where there is none.
    """
    kinds = parameters.split()

    def call(row: tuple[Any, ...]) -> Any:
        matrices = [each for each, kind in zip(row, kinds, strict=True) if kind.startswith("BLOB")]
        if not any(map(is_sparse, chain.from_iterable(e if isinstance(e, list) else [e] for e in matrices))):
            return function(*row)
        if name not in SPARSE_FUNCTIONS:
            raise refuse("binding a number" if name == "bind_number" else f"matrix_{name}")
        return (SPARSE_FUNCTIONS[name] or function)(*row)

    def compute(*columns: pa.Array) -> pa.Array:
        rows = zip(*(_read(kind, column) for kind, column in zip(kinds, columns, strict=True)), strict=True)
        values = [None if any(each is None for each in row) else call(row) for row in rows]
        return _build_values(values) if result == "BLOB" else pa.array(values, _ARROW[result])

    return compute


def _build_values(matrices: Sequence[Any]) -> pa.BinaryArray:
    """Returns a column of matrices, of which some may be sparse; 54000 as `build_column`."""
    if not any(each is not None and is_sparse(each) for each in matrices):
        return build_column(matrices)
    values = [
        None if each is None else encode_sparse(each) if is_sparse(each) else from_numpy(each) for each in matrices
    ]
    buffer, offsets = allocate_values([0 if each is None else len(each) for each in values])
    for value, start in zip(values, offsets.tolist(), strict=False):
        if value is not None:
            buffer[start : start + len(value)] = np.frombuffer(value, np.uint8)
    return wrap_values(buffer, offsets, [each is not None for each in values])


_ARROW = {
    "DOUBLE": pa.float64(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "VARCHAR": pa.string(),
}


def _read(kind: str, column: pa.Array) -> Iterator[Any]:
    if kind == "BLOB":
        return (None if value is None else read_matrix(value) for value in iterate_values(column))
    if kind == "BLOB[]":
        return _read_lists(column)
    return iter(column.to_pylist())


def _read_lists(column: pa.Array) -> Iterator[list[Matrix] | None]:
    """Yields the matrices of each list, without NULLs; None for none."""
    offsets, values = get_offsets(column), column.values
    for start, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        held = iterate_values(values.slice(start, end - start))
        known = [read_matrix(each) for each in held if each is not None]
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


_TRIPLE = 'STRUCT("row" INTEGER, "column" INTEGER, "value" DOUBLE)'


def _from_triples(column: pa.Array) -> pa.Array:
    """Returns the sparse matrix of each list of structs of a row, a column and an element, with the shape, if given.

    NULL of a list without structs, 22004 for NULL in one, 22023 for several shapes.
    """
    offsets, structs = get_offsets(column), column.values
    members = structs.flatten()
    found: list[Any] = []
    for start, end, is_valid in zip(offsets[:-1], offsets[1:], column.is_valid().to_pylist(), strict=True):
        parts = [member.slice(start, end - start) for member in members]
        if not is_valid or end == start:
            found.append(None)
            continue
        if any(part.null_count for part in parts):
            raise null_element()
        rows, columns, elements, *shape = (part.to_numpy(zero_copy_only=False) for part in parts)
        sizes = None
        if shape:
            if any((each != each[0]).any() for each in shape):
                raise SqlError.of("invalid_parameter_value", "the rows and columns of a matrix are the same for all")
            sizes = int(shape[0][0]), int(shape[1][0])
        found.append(from_triples(rows.astype(np.int64), columns.astype(np.int64), elements, sizes))
    return _build_values(found)


def _list_triples(column: pa.Array) -> pa.ListArray:
    """Returns the elements of each matrix that are not zero, with their places."""
    parts, bounds, missing = [], [0], []
    for value in iterate_values(column):
        missing.append(value is None)
        if value is not None:
            parts.append(list_triples(read_matrix(value)))
        bounds.append(bounds[-1] + (0 if value is None else len(parts[-1][0])))
    kinds = np.int32, np.int32, np.float64
    held = [np.concatenate([np.zeros(0, kind), *(p[n] for p in parts)]).astype(kind) for n, kind in enumerate(kinds)]
    structs = pa.StructArray.from_arrays([pa.array(each) for each in held], ["row", "column", "value"])
    return pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), structs, mask=pa.array(missing, pa.bool_()))


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
    "sparse": ("BLOB", "BLOB", from_dense),
    "dense": ("BLOB", "BLOB", lambda m: m),
    "is_sparse": ("BLOB", "BOOLEAN", lambda m: False),
    "nonzero": ("BLOB", "BIGINT", lambda m: int(np.count_nonzero(m))),
}  # fmt: skip

# The functions of rows with sparse matrices; None where that of dense ones takes them too.
SPARSE_FUNCTIONS: dict[str, Callable[..., Any] | None] = {
    "of_width": None,
    "nrows": None,
    "ncols": None,
    "type": None,
    "element": None,
    "slice": None,
    "row": None,
    "column": None,
    "as": lambda m, name: sparse_algebra.convert(m, _find_type(name)),
    "transpose": lambda m: m.T.tocsr(),
    "eq": sparse_algebra.equal,
    "add": partial(sparse_algebra.combine, "add"),
    "sub": partial(sparse_algebra.combine, "subtract"),
    "hadamard": partial(sparse_algebra.combine, "multiply"),
    "scale": sparse_algebra.scale,
    "negate": sparse_algebra.negate,
    "mul": lambda a, b, statement: sparse_algebra.multiply(a, b, _poll(statement)),
    "trace": sparse_algebra.trace,
    "norm": lambda m, kind, statement: sparse_algebra.norm(m, kind, _poll(statement)),
    "row_sums": lambda m: sparse_algebra.summarize(m, 1, mean=False),
    "row_means": lambda m: sparse_algebra.summarize(m, 1, mean=True),
    "column_sums": lambda m: sparse_algebra.summarize(m, 0, mean=False),
    "column_means": lambda m: sparse_algebra.summarize(m, 0, mean=True),
    "rbind": lambda a, b: sparse_algebra.bind([a, b], 0),
    "cbind": lambda a, b: sparse_algebra.bind([a, b], 1),
    "rbind_all": lambda matrices: sparse_algebra.bind(matrices, 0),
    "cbind_all": lambda matrices: sparse_algebra.bind(matrices, 1),
    "sum_all": sparse_algebra.add_all,
    "sparse": lambda m: m,
    "dense": to_dense,
    "is_sparse": lambda m: True,
    "nonzero": lambda m: int(m.nnz),
}
