"""Linear algebra over NumPy views of matrices: products, systems of equations, norms, sums, with PostgreSQL's errors.

Element types: two float4 give float4, two integers an integer, all other pairs float8. Shapes that do not fit are
2202E, a singular matrix is 22023, results out of range are 22003. Long work calls `poll` between its parts, or while a
thread computes; `poll` raises to end it.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gpudb.errors import NumericOutOfRange, SqlError
from gpudb.exact import overflow
from gpudb.values.matrix import ELEMENT_TYPES, Matrix, check_size, get_element_type

Poll = Callable[[], None]

_INT4, _INT8, _FLOAT4, _FLOAT8 = (ELEMENT_TYPES[name] for name in ("int4", "int8", "float4", "float8"))
_CHUNK_OPERATIONS = 2e9
"""Multiplications between two polls: some 50 ms of one core."""
_SMALL_OPERATIONS = 1e8
_WAIT_S = 0.02
_EXACT_FLOAT = 2.0**53
_INT64_END = 2.0**63


def no_poll() -> None:
    """Polls nothing."""


def common_type(one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the element type of a combination of two matrices."""
    if one == other:
        return one
    return _INT8 if one.kind == other.kind == "i" else _FLOAT8


def shape_error(message: str) -> SqlError:
    """Returns 2202E."""
    return SqlError.of("array_subscript_error", message)


def spell(matrix: Any) -> str:
    """Returns a matrix's shape in words."""
    return f"{matrix.shape[0]} x {matrix.shape[1]}"


def _check_same_shape(one: Matrix, other: Matrix, what: str) -> None:
    if one.shape != other.shape:
        raise shape_error(f"{what} of matrices of {spell(one)} and {spell(other)} is not defined")


def out_of_range(dtype: np.dtype[Any]) -> NumericOutOfRange:
    """Returns 22003."""
    names = {"int4": "integer", "int8": "bigint", "float4": "real", "float8": "double precision"}
    return NumericOutOfRange(f"an element is out of range for type {names[get_element_type(dtype)]}")


def _check_overflow(result: Matrix, *sources: Matrix) -> Matrix:
    """Raises 22003 where finite elements gave an infinite one."""
    if result.dtype.kind == "f" and np.isinf(result).any() and not any(np.isinf(each).any() for each in sources):
        raise out_of_range(result.dtype)
    return result


def convert(matrix: npt.NDArray[Any], dtype: np.dtype[Any]) -> Matrix:
    """Returns elements as another type, rounded half to even as PostgreSQL's casts are; 22003."""
    if matrix.dtype == dtype:
        return matrix
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.kind == "f":
            return _check_overflow(matrix.astype(dtype), matrix)
        limits = np.iinfo(dtype)
        if matrix.dtype.kind == "f":
            rounded = np.rint(matrix.astype(_FLOAT8))
            if not ((rounded >= float(limits.min)) & (rounded < -float(limits.min))).all():
                raise out_of_range(dtype)
            whole: Matrix = rounded.astype(dtype)
            return whole
        if dtype == _INT4 and (matrix.min() < limits.min or matrix.max() > limits.max):
            raise out_of_range(dtype)
        return matrix.astype(dtype)


# ---- element by element


def combine(operation: str, one: Matrix, other: Matrix) -> Matrix:
    """Returns the sum (`add`), the difference (`subtract`) or the product of elements (`multiply`)."""
    names = {"add": "the sum", "subtract": "the difference", "multiply": "the product of elements"}
    _check_same_shape(one, other, names[operation])
    dtype = common_type(one.dtype, other.dtype)
    compute = getattr(np, operation)
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            result: Matrix = compute(one.astype(dtype, copy=False), other.astype(dtype, copy=False))
        return _check_overflow(result, one, other)
    exact: Matrix = compute(one.astype(_INT8, copy=False), other.astype(_INT8, copy=False))
    if dtype == _INT4:
        return convert(exact, _INT4)
    estimate = compute(one.astype(_FLOAT8), other.astype(_FLOAT8))
    if (np.abs(estimate - exact.astype(_FLOAT8)) > _EXACT_FLOAT).any():  # int64 wraps by 2⁶⁴
        raise out_of_range(_INT8)
    return exact


def scale(matrix: Matrix, factor: float) -> Matrix:
    """Returns a matrix times a number: float4 stays float4, others become float8."""
    dtype = _FLOAT4 if matrix.dtype == _FLOAT4 else _FLOAT8
    with np.errstate(all="ignore"):
        result = (matrix.astype(_FLOAT8) * factor).astype(dtype)
    return result if np.isinf(factor) else _check_overflow(result, matrix)


def negate(matrix: Matrix) -> Matrix:
    """Returns a matrix with the sign of all elements changed; 22003 for the least integer."""
    if matrix.dtype.kind == "i" and matrix.min() == np.iinfo(matrix.dtype).min:
        raise out_of_range(matrix.dtype)
    return -matrix


def equal(one: Matrix, other: Matrix) -> bool:
    """Returns whether shapes and elements are equal; NaN equals NaN, element types may differ."""
    if one.shape != other.shape:
        return False
    dtype = common_type(one.dtype, other.dtype)
    one, other = one.astype(dtype, copy=False), other.astype(dtype, copy=False)
    return np.array_equal(one, other, equal_nan=dtype.kind == "f")


# ---- products


def multiply(one: Matrix, other: Matrix, poll: Poll = no_poll) -> Matrix:
    """Returns the matrix product; that of integers is exact int8, 22003 beyond it."""
    rows, inner = one.shape
    columns = other.shape[1]
    if inner != other.shape[0]:
        raise shape_error(f"the product of matrices of {spell(one)} and {spell(other)} is not defined")
    dtype = common_type(one.dtype, other.dtype)
    dtype = _INT8 if dtype.kind == "i" else dtype
    check_size(rows, columns, dtype.itemsize)
    if dtype.kind == "i":
        return _multiply_integers(one, other, poll)
    with np.errstate(all="ignore"):
        result = _multiply_rows(one.astype(dtype, copy=False), other.astype(dtype, copy=False), poll)
    return _check_overflow(result, one, other)


def _multiply_rows(one: Matrix, other: Matrix, poll: Poll) -> Matrix:
    """Multiplies some rows at a time."""
    result = np.empty((one.shape[0], other.shape[1]), np.result_type(one, other))
    step = max(1, int(_CHUNK_OPERATIONS / (one.shape[1] * other.shape[1])))
    for start in range(0, one.shape[0], step):
        poll()
        np.matmul(one[start : start + step], other, out=result[start : start + step])
    return result


def _multiply_integers(one: Matrix, other: Matrix, poll: Poll) -> Matrix:
    """Multiplies by floats while they are exact, else by int64, whose wrapped sums are right if the result fits."""
    greatest = float(np.abs(one.astype(_FLOAT8)).max()) * float(np.abs(other.astype(_FLOAT8)).max())
    bound = greatest * one.shape[1]
    estimate = _multiply_rows(one.astype(_FLOAT8), other.astype(_FLOAT8), poll)
    if bound < _EXACT_FLOAT:
        return estimate.astype(_INT8)
    one, other = one.astype(_INT8, copy=False), other.astype(_INT8, copy=False)
    if bound * (1 + 2.0**-50) >= _INT64_END:
        error = bound * (one.shape[1] + 2) * 2.0**-52
        np.abs(estimate, out=estimate)
        doubtful = np.flatnonzero((estimate + error >= _INT64_END).any(axis=1))
        if (estimate - error >= _INT64_END).any() or not overflow.products_fit(one[doubtful], other, poll):
            raise out_of_range(_INT8)
    return _multiply_rows(one, other, poll)


# ---- systems of equations


def compute_apart(work: Callable[[], Any], operations: float, poll: Poll) -> Any:
    """Runs long work in a thread, and polls until it is done; a thread whose statement has ended is left to finish."""
    if operations < _SMALL_OPERATIONS:
        return work()
    poll()
    outcome: list[Any] = []
    done = threading.Event()
    context = contextvars.copy_context()  # NumPy's treatment of overflows

    def run() -> None:
        try:
            outcome.append(context.run(work))
        except BaseException as error:
            outcome.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="matrix", daemon=True).start()
    while not done.wait(_WAIT_S):
        poll()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _require_square(matrix: Matrix, what: str) -> int:
    if matrix.shape[0] != matrix.shape[1]:
        raise shape_error(f"{what} of a matrix of {spell(matrix)} is not defined: it is not square")
    return int(matrix.shape[0])


def _singular() -> SqlError:
    return SqlError.of("invalid_parameter_value", "the matrix is singular", hint=_SINGULAR_HINT)


_SINGULAR_HINT = "Its rows or columns depend on each other, exactly or within the precision of double precision."


def solve(matrix: Matrix, right: Matrix, poll: Poll = no_poll) -> Matrix:
    """Returns x with matrix * x = right; 22023 for a matrix that is singular to double precision."""
    size = _require_square(matrix, "the solution")
    if right.shape[0] != size:
        raise shape_error(f"a matrix of {spell(matrix)} has no solution for a right side of {spell(right)}")
    check_size(size, right.shape[1] + 2, _FLOAT8.itemsize)
    coefficients = matrix.astype(_FLOAT8)
    # Two more right sides, after Higham, estimate the norm of the inverse from below
    places = np.arange(size, dtype=_FLOAT8)
    waves = np.where(places % 2 == 0, 1.0, -1.0) * (1 + places / max(size - 1, 1))
    sides = np.column_stack([right.astype(_FLOAT8, copy=False), waves, np.ones(size)])
    try:
        with np.errstate(all="ignore"):
            found = compute_apart(
                lambda: np.linalg.solve(coefficients, sides), size**2 * (size / 3 + sides.shape[1]), poll
            )
            estimates = np.abs(found[:, -2:]).sum(axis=0) / np.abs(sides[:, -2:]).sum(axis=0)
            condition = np.abs(coefficients).sum(axis=0).max() * estimates.max()
    except np.linalg.LinAlgError:
        raise _singular() from None
    if condition > 1 / np.finfo(_FLOAT8).eps:
        raise _singular()
    both = matrix.dtype == right.dtype == _FLOAT4
    return convert(found[:, :-2], _FLOAT4 if both else _FLOAT8)


def invert(matrix: Matrix, poll: Poll = no_poll) -> Matrix:
    """Returns the inverse; 22023 for a matrix that is singular to double precision."""
    size = _require_square(matrix, "the inverse")
    check_size(size, size + 2, _FLOAT8.itemsize)
    return solve(matrix, np.eye(size, dtype=matrix.dtype), poll)


def determinant(matrix: Matrix, poll: Poll = no_poll) -> float:
    """Returns the determinant; 22003 beyond double precision."""
    size = _require_square(matrix, "the determinant")
    elements = matrix.astype(_FLOAT8)
    with np.errstate(all="ignore"):
        found = float(compute_apart(lambda: np.linalg.det(elements), size**3 / 3, poll))
    if np.isinf(found) and np.isfinite(elements).all():
        raise NumericOutOfRange("value out of range: overflow")
    return found


def trace(matrix: Matrix) -> float:
    """Returns the sum of the diagonal's elements."""
    _require_square(matrix, "the trace")
    return float(np.trace(matrix, dtype=_FLOAT8))


NORMS = ("fro", "1", "inf", "2", "max")


def norm(matrix: Matrix, kind: str = "fro", poll: Poll = no_poll) -> float:
    """Returns a norm: fro (of all elements), 1 (columns), inf (rows), 2 (the largest singular value), max.

    22023 for another kind, 22003 if that of finite elements is beyond double precision.
    """
    if kind not in NORMS:
        raise SqlError.of("invalid_parameter_value", f'unknown norm "{kind}"', hint=f"Norms are {', '.join(NORMS)}.")
    elements = matrix.astype(_FLOAT8)
    with np.errstate(all="ignore"):
        found = _measure(elements, kind, poll)
    if np.isinf(found) and np.isfinite(elements).all():
        raise NumericOutOfRange("value out of range: overflow")
    return found


def _measure(elements: Matrix, kind: str, poll: Poll) -> float:
    greatest = float(np.abs(elements).max())
    if kind == "max" or greatest == 0:
        return greatest
    if kind in {"1", "inf"}:
        return float(np.abs(elements).sum(axis=0 if kind == "1" else 1).max())
    if np.isnan(greatest) or np.isinf(greatest):
        return greatest
    exponent = int(np.frexp(greatest)[1])  # squares of numbers near 1 are in range
    scaled = np.ldexp(elements, -exponent)
    if kind == "fro":
        return float(np.ldexp(np.linalg.norm(scaled), exponent))
    operations = 4.0 * elements.size * min(elements.shape)
    return float(np.ldexp(compute_apart(lambda: np.linalg.norm(scaled, 2), operations, poll), exponent))


# ---- rows and columns


def summarize(matrix: Matrix, axis: int, *, mean: bool) -> Matrix:
    """Returns the sums or means over rows (axis 0: a row of results) or over columns (axis 1: a column).

    Sums of integers are int8, 22003 beyond it; all else is float8.
    """
    with np.errstate(all="ignore"):
        found = matrix.sum(axis=axis, dtype=_FLOAT8, keepdims=True)
    if mean:
        return _check_overflow(found / matrix.shape[axis], matrix)
    if matrix.dtype.kind == "f":
        return _check_overflow(found, matrix)
    if np.abs(found).max() >= _INT64_END / 2 and not overflow.sums_fit(matrix, axis):
        raise out_of_range(_INT8)
    exact: Matrix = matrix.sum(axis=axis, dtype=_INT8, keepdims=True)
    return exact


def bind(matrices: Sequence[Matrix], axis: int) -> Matrix:
    """Returns matrices below each other (axis 0) or beside each other (axis 1)."""
    first = matrices[0]
    dtype = first.dtype
    for each in matrices[1:]:
        if each.shape[1 - axis] != first.shape[1 - axis]:
            what = "below" if axis == 0 else "beside"
            raise shape_error(f"a matrix of {spell(each)} does not fit {what} one of {spell(first)}")
        dtype = common_type(dtype, each.dtype)
    total = sum(each.shape[axis] for each in matrices)
    check_size(total, first.shape[1 - axis], dtype.itemsize)
    return np.concatenate([convert(each, dtype) for each in matrices], axis=axis)


def bind_number(matrix: Matrix, number: float, axis: int, *, before: bool) -> Matrix:
    """Returns a matrix with one more row (axis 0) or column (axis 1) of a number, before or after its own."""
    whole = matrix.dtype.kind == "f" or (number.is_integer() and abs(number) < _EXACT_FLOAT)
    shape = (1, matrix.shape[1]) if axis == 0 else (matrix.shape[0], 1)
    wide = matrix.dtype == _INT4 and abs(number) >= 2.0**31
    dtype = (_INT8 if wide else matrix.dtype) if whole else _FLOAT8
    filled = convert(np.full(shape, number, _FLOAT8), dtype)
    return bind([filled, matrix] if before else [matrix, filled], axis)


def add_all(matrices: Sequence[Matrix]) -> Matrix:
    """Returns the sum of matrices of one shape."""
    total = matrices[0]
    for each in matrices[1:]:
        total = combine("add", total, each)
    return total


def select(matrix: Matrix, rows: tuple[int, int], columns: tuple[int, int]) -> Matrix:
    """Returns rows and columns from a first to a last one, counted from 1; 2202E outside the matrix."""
    for (first, last), size, what in zip((rows, columns), matrix.shape, ("rows", "columns"), strict=True):
        if not 1 <= first <= last <= size:
            raise shape_error(f"{what} {first} to {last} are not within a matrix of {spell(matrix)}")
    return matrix[rows[0] - 1 : rows[1], columns[0] - 1 : columns[1]]
