"""Linear algebra over sparse matrices, by SciPy, with the element types and errors of `matrix_algebra`.

A combination with a dense matrix is dense where its zeros do not stay zeros. Products of integers are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpudb.analytics.libraries import load_library
from gpudb.errors import SqlError
from gpudb.values import matrix_algebra as dense
from gpudb.values.matrix import ELEMENT_TYPES, Matrix, check_size
from gpudb.values.sparse_matrix import (
    Sparse,
    check_exact,
    from_dense,
    is_sparse,
    make_csr,
    narrow,
    refuse,
    tidy,
    to_dense,
)

_INT4, _INT8, _FLOAT4, _FLOAT8 = (ELEMENT_TYPES[name] for name in ("int4", "int8", "float4", "float8"))


def _with_elements(matrix: Sparse, elements: Any) -> Sparse:
    """Returns a matrix with other elements in the same places."""
    return tidy(make_csr((elements.ravel(), matrix.indices, matrix.indptr), matrix.shape))


def _apply(change: Any, matrix: Sparse) -> Sparse:
    """Applies a function of dense matrices, which keeps zeros, to the elements."""
    return matrix if not matrix.nnz else _with_elements(matrix, change(matrix.data.reshape(1, -1)))


def convert(matrix: Sparse, dtype: np.dtype[Any]) -> Sparse:
    """Returns elements as another type; 22003."""
    if not matrix.nnz:
        return matrix.astype(dtype)
    return _apply(lambda elements: dense.convert(elements, dtype), matrix)


def scale(matrix: Sparse, factor: float) -> Any:
    """Returns a matrix times a number, as `matrix_algebra.scale`; 0A000 by infinity and NaN, which fill its zeros."""
    if not np.isfinite(factor):
        raise refuse("the product with an infinite number")
    if not matrix.nnz:
        return matrix.astype(_FLOAT4 if matrix.dtype == _FLOAT4 else _FLOAT8)
    return _apply(lambda elements: dense.scale(elements, factor), matrix)


def negate(matrix: Sparse) -> Sparse:
    """Returns a matrix with the sign of all elements changed; 22003 for the least integer."""
    return _apply(dense.negate, matrix)


def equal(one: Any, other: Any) -> bool:
    """Returns whether shapes and elements are equal; NaN equals NaN, types and forms may differ."""
    if one.shape != other.shape:
        return False
    left, right = (each if is_sparse(each) else from_dense(each) for each in (one, other))
    alike = left.nnz == right.nnz and (left.indptr == right.indptr).all() and (left.indices == right.indices).all()
    return bool(alike) and (not left.nnz or dense.equal(left.data.reshape(1, -1), right.data.reshape(1, -1)))


def combine(operation: str, one: Any, other: Any) -> Any:
    """Returns the sum (`add`), the difference (`subtract`) or the product of elements (`multiply`)."""
    if one.shape != other.shape or not (is_sparse(one) and is_sparse(other)):
        if operation == "multiply" and one.shape == other.shape:
            one, other = (_at_places(each, of) for each, of in ((one, other), (other, one)))
        else:
            return dense.combine(operation, *(to_dense(each) if is_sparse(each) else each for each in (one, other)))
    dtype = dense.common_type(one.dtype, other.dtype)
    compute = {"add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a.multiply(b)}
    kind = _INT8 if dtype.kind == "i" else dtype
    with np.errstate(all="ignore"):
        found = tidy(compute[operation](one.astype(kind), other.astype(kind)))
    return _check(
        found, dtype, one, other, lambda: tidy(compute[operation](one.astype(_FLOAT8), other.astype(_FLOAT8)))
    )


def _at_places(matrix: Any, of: Any) -> Sparse:
    """Returns a matrix as a sparse one, of a dense one the elements in the places of another; 0A000 beside infinity."""
    if is_sparse(matrix):
        return matrix
    if matrix.dtype.kind == "f" and not np.isfinite(matrix).all():
        raise refuse("the product with infinite elements")
    rows = np.repeat(np.arange(of.shape[0]), np.diff(of.indptr))
    return _with_elements(of, matrix[rows, of.indices])


def _check(found: Sparse, dtype: np.dtype[Any], one: Any, other: Any, estimate: Any) -> Sparse:
    """Raises 22003 for elements out of range, and returns the others as a type."""
    if dtype.kind == "i":
        check_exact(found, estimate())
        return narrow(found) if dtype == _INT4 else found
    sources = (each.data if is_sparse(each) else each for each in (one, other))
    if np.isinf(found.data).any() and all(np.isfinite(each).all() for each in sources):
        raise dense.out_of_range(dtype)
    return found


def multiply(one: Any, other: Any, poll: dense.Poll) -> Any:
    """Returns the matrix product: sparse of two sparse ones, else dense; that of integers is exact int8, 22003."""
    if one.shape[1] != other.shape[0]:
        message = f"the product of matrices of {dense.spell(one)} and {dense.spell(other)} is not defined"
        raise dense.shape_error(message)
    dtype = dense.common_type(one.dtype, other.dtype)
    kind = _INT8 if dtype.kind == "i" else dtype
    both = is_sparse(one) and is_sparse(other)
    if not both:
        check_size(one.shape[0], other.shape[1], kind.itemsize)
        if any(not is_sparse(each) and not np.isfinite(each).all() for each in (one, other)):
            raise refuse("the product with infinite elements")
    poll()

    def compute(wanted: np.dtype[Any]) -> Any:
        with np.errstate(all="ignore"):
            made = dense.compute_apart(lambda: one.astype(wanted) @ other.astype(wanted), _count(one, other), poll)
        return tidy(made) if both else np.asarray(made)

    found = compute(kind)
    if both:
        return _check(found, kind, one, other, lambda: compute(_FLOAT8))
    if kind.kind == "i":
        if (np.abs(compute(_FLOAT8) - found.astype(_FLOAT8)) > 2.0**53).any():
            raise dense.out_of_range(_INT8)
        return found
    sources = (each.data if is_sparse(each) else each for each in (one, other))
    if np.isinf(found).any() and all(np.isfinite(each).all() for each in sources):
        raise dense.out_of_range(kind)
    return found


def _count(one: Any, other: Any) -> float:
    """Returns the multiplications of a product, about."""
    if not is_sparse(one):
        return float(other.nnz * one.shape[0])
    return float(one.nnz * (max(1, other.nnz // other.shape[0]) if is_sparse(other) else other.shape[1]))


def trace(matrix: Sparse) -> float:
    """Returns the sum of the diagonal's elements."""
    if matrix.shape[0] != matrix.shape[1]:
        raise dense.shape_error(f"the trace of a matrix of {dense.spell(matrix)} is not defined: it is not square")
    return float(matrix.diagonal().sum(dtype=_FLOAT8))


def norm(matrix: Sparse, kind: str, poll: dense.Poll) -> float:
    """Returns a norm as `matrix_algebra.norm` does; 0A000 for the largest singular value."""
    if kind == "2":
        raise refuse("the norm 2")
    if kind in {"1", "inf"} and matrix.nnz:
        size = matrix.astype(_FLOAT8)
        size.data = np.abs(size.data)
        with np.errstate(all="ignore"):
            sums = np.asarray(size.sum(axis=0 if kind == "1" else 1))
        found = float(sums.max())
        if np.isinf(found) and np.isfinite(matrix.data).all():
            raise SqlError.of("numeric_value_out_of_range", "value out of range: overflow")
        return found
    elements = matrix.data.reshape(1, -1) if matrix.nnz else np.zeros((1, 1), matrix.dtype)
    return dense.norm(elements, kind, poll)


def summarize(matrix: Sparse, axis: int, *, mean: bool) -> Matrix:
    """Returns the sums or means over rows or over columns, as a dense matrix; 22003."""
    shape = (1, matrix.shape[1]) if axis == 0 else (matrix.shape[0], 1)
    with np.errstate(all="ignore"):
        found = np.asarray(matrix.astype(_FLOAT8).sum(axis=axis)).reshape(shape)
    if matrix.dtype.kind == "f" or mean:
        if np.isinf(found).any() and np.isfinite(matrix.data).all():
            raise dense.out_of_range(_FLOAT8)
        return found / matrix.shape[axis] if mean else found
    exact = np.asarray(matrix.astype(_INT8).sum(axis=axis)).reshape(shape)
    if (np.abs(found - exact.astype(_FLOAT8)) > 2.0**53).any():
        raise dense.out_of_range(_INT8)
    return exact


def bind(matrices: Sequence[Any], axis: int) -> Sparse:
    """Returns matrices below each other (axis 0) or beside each other (axis 1), as a sparse one."""
    first = matrices[0]
    dtype = first.dtype
    for each in matrices[1:]:
        if each.shape[1 - axis] != first.shape[1 - axis]:
            what = "below" if axis == 0 else "beside"
            raise dense.shape_error(f"a matrix of {dense.spell(each)} does not fit {what} one of {dense.spell(first)}")
        dtype = dense.common_type(dtype, each.dtype)
    parts = [convert(each if is_sparse(each) else from_dense(each), dtype) for each in matrices]
    library = load_library("scipy.sparse")
    return tidy((library.vstack if axis == 0 else library.hstack)(parts, format="csr"))


def add_all(matrices: Sequence[Any]) -> Any:
    """Returns the sum of matrices of one shape."""
    total = matrices[0]
    for each in matrices[1:]:
        either = is_sparse(total) or is_sparse(each)
        total = combine("add", total, each) if either else dense.combine("add", total, each)
    return total
