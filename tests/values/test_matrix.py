"""Matrices as bytes, text and binary, and linear algebra over them, beside NumPy."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpudb.errors import GpudbError, QueryCanceled
from gpudb.values import matrix_algebra as algebra
from gpudb.values.matrix import (
    ELEMENT_TYPES,
    HEADER,
    build_column,
    check_size,
    from_numpy,
    iterate_values,
    read_header,
    to_numpy,
)
from gpudb.values.matrix_forms import (
    encode_matrix,
    format_matrix,
    format_matrix_column,
    parse_matrix,
    parse_matrix_binary,
)

Elements = npt.NDArray[Any]
_SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=6)
_EVERY = st.one_of([hnp.arrays(dtype, _SHAPES) for dtype in ELEMENT_TYPES.values()])


def _finite(dtype: str, limit: float) -> st.SearchStrategy[Elements]:
    elements: Any = st.integers(-int(limit), int(limit)) if dtype[1] == "i" else st.floats(-limit, limit, width=32)
    return hnp.arrays(np.dtype(dtype), _SHAPES, elements=elements)


@settings(deadline=None)
@given(matrix=_EVERY)
def test_every_form_keeps_type_shape_and_bits(matrix: Elements) -> None:
    value = from_numpy(matrix)
    assert len(value) % 8 == 0
    for form in (value, parse_matrix(format_matrix(value)), parse_matrix_binary(encode_matrix(matrix))):
        found = to_numpy(form)
        assert found.dtype == matrix.dtype
        np.testing.assert_array_equal(found, matrix)


@settings(deadline=None)
@given(matrices=st.lists(st.none() | _EVERY, max_size=5))
def test_a_column_keeps_its_matrices(matrices: list[Elements | None]) -> None:
    column = build_column(matrices)
    sliced = pa.concat_arrays([pa.array([None], pa.binary()), column]).slice(1)
    texts = format_matrix_column(sliced).to_pylist()
    read = [None if value is None else to_numpy(value) for value in iterate_values(sliced)]
    for found, text, matrix in zip(read, texts, matrices, strict=True):
        if matrix is None:
            assert found is None
            assert text is None
        else:
            assert found is not None
            assert found.dtype == matrix.dtype
            np.testing.assert_array_equal(found, matrix)
            assert text == format_matrix(from_numpy(matrix))


def test_numpy_views_the_bytes() -> None:
    value = from_numpy(np.arange(6.0).reshape(2, 3))
    view = to_numpy(value)
    assert view.base is not None
    assert not view.flags.writeable
    assert np.frombuffer(value, "<f8", offset=HEADER).tolist() == list(range(6))
    assert read_header(value) == (np.dtype("<f8"), 0, 2, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{1,2},{3,4}}", [[1, 2], [3, 4]]),
        (" { {1 , 2} , { 3 ,4 } } ", [[1, 2], [3, 4]]),
        ("{1,2}", [[1], [2]]),
        ("int4={{+1,-2}}", [[1, -2]]),
        ("float4 = {{1e3,.5}}", [[1000, 0.5]]),
        ("{{NaN,-Infinity,inf}}", [[np.nan, -np.inf, np.inf]]),
        ("int8={{9223372036854775807,-9223372036854775808}}", [[2**63 - 1, -(2**63)]]),
    ],
)
def test_text_is_read(text: str, expected: list[list[float]]) -> None:
    np.testing.assert_array_equal(to_numpy(parse_matrix(text)), expected)


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("", "22P02"), ("1", "22P02"), ("{}", "22P02"), ("{{}}", "22P02"), ("{{1,2},{3}}", "22P02"),
        ("{{1,2},{3,4}", "22P02"), ("{1,2},{3,4}", "22P02"), ("{{1,x}}", "22P02"), ("{{1 2}}", "22P02"),
        ("{{{1}}}", "22P02"), ("{{1},2}", "22P02"), ("numeric={{1}}", "22P02"), ("int4={{1.5}}", "22P02"),
        ("{{1,NULL}}", "22004"), ("{null}", "22004"), ("int4={{2147483648}}", "22003"),
        ("int8={{9223372036854775808}}", "22003"), ("float4={{1e39}}", "22003"), ("{{1e400}}", "22003"),
    ],
)  # fmt: skip
def test_other_text_is_refused(text: str, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as caught:
        parse_matrix(text)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0" * 12, struct.pack("!Iii", 25, 1, 1) + b"\0" * 8, struct.pack("!Iii", 701, 1, 2) + b"\0" * 8,
        struct.pack("!Iii", 701, 1, 1) + b"\0" * 9,
    ],
)  # fmt: skip
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(GpudbError) as caught:
        parse_matrix_binary(data)
    assert caught.value.sqlstate in {"22P03", "22023"}


@pytest.mark.parametrize("value", [b"", b"\1" * 15, b"\2\4\0\0" + b"\0" * 12, from_numpy(np.ones((2, 2)))[:-8]])
def test_damaged_values_are_found(value: bytes) -> None:
    with pytest.raises(GpudbError) as caught:
        to_numpy(value)
    assert caught.value.sqlstate == "XX001"


@pytest.mark.parametrize(
    ("array", "sqlstate"),
    [
        (np.ones((0, 3)), "22023"), (np.ones((3, 0)), "22023"), (np.ones((2, 2, 2)), "22023"),
        (np.array([["a"]]), "22023"), (np.ones((1, 1), np.complex128), "22023"),
        (np.broadcast_to(np.float64(1), (2**14, 2**14)), "54000"),
    ],
)  # fmt: skip
def test_arrays_that_are_no_matrix_are_refused(array: Elements, sqlstate: str) -> None:
    with pytest.raises(GpudbError) as caught:
        from_numpy(array)
    assert caught.value.sqlstate == sqlstate


def test_sizes_are_checked_before_anything_is_built() -> None:
    check_size(1 << 13, (1 << 14) - 1, 8)
    wide = np.broadcast_to(np.float64(1), (1 << 14, 1))
    with pytest.raises(GpudbError) as caught:
        algebra.multiply(wide, wide.T)
    assert caught.value.sqlstate == "54000"


# ---- algebra


@settings(deadline=None)
@given(st.data())
def test_products_are_numpys(data: st.DataObject) -> None:
    one = data.draw(_finite(data.draw(st.sampled_from(["<f4", "<f8", "<i4", "<i8"])), 1000))
    kind = data.draw(st.sampled_from(["<f4", "<f8", "<i4", "<i8"]))
    other = data.draw(_finite(kind, 1000))
    if one.shape[1] != other.shape[0]:
        with pytest.raises(GpudbError) as caught:
            algebra.multiply(one, other)
        assert caught.value.sqlstate == "2202E"
        other = np.ones((one.shape[1], 3), kind)
    found = algebra.multiply(one, other)
    both = {one.dtype.name, other.dtype.name}
    expected = "int64" if both <= {"int32", "int64"} else "float32" if both == {"float32"} else "float64"
    assert found.dtype == expected
    exact = one.astype(np.float64) @ other.astype(np.float64)
    np.testing.assert_allclose(
        found, exact, rtol=1e-4 if expected == "float32" else 1e-12, atol=0.5 * (both == {"float32"})
    )


@settings(deadline=None)
@given(matrix=hnp.arrays(np.int64, (3, 3), elements=st.integers(-(2**62), 2**62)))
def test_products_of_integers_are_exact_or_out_of_range(matrix: Elements) -> None:
    rows = [[int(each) for each in row] for row in matrix]
    exact = [
        [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*rows, strict=True)] for row in rows
    ]
    if all(-(2**63) <= each < 2**63 for row in exact for each in row):
        assert algebra.multiply(matrix, matrix).tolist() == exact
    else:
        with pytest.raises(GpudbError):
            algebra.multiply(matrix, matrix)


_EDGES = st.one_of(
    st.sampled_from([0, 1, -1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63), 2**63 - 2]),
    st.integers(-(2**63), 2**63 - 1), st.integers(-3, 3),
)  # fmt: skip


@settings(deadline=None)
@given(st.data())
def test_integers_near_the_limit_are_exact(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 4))
    one = data.draw(hnp.arrays(np.int64, (2, size), elements=_EDGES))
    other = data.draw(hnp.arrays(np.int64, (size, 2), elements=_EDGES))
    product = one.astype(object) @ other.astype(object)
    sums = [one.astype(object).sum(axis=axis, keepdims=True) for axis in (0, 1)]
    calls: list[tuple[Any, Callable[[], Elements]]] = [(product, partial(algebra.multiply, one, other))]
    calls += [(sums[axis], partial(algebra.summarize, one, axis, mean=False)) for axis in (0, 1)]
    for exact, call in calls:
        if all(-(2**63) <= each < 2**63 for each in exact.flat):
            assert call().tolist() == exact.tolist()
        else:
            with pytest.raises(GpudbError) as caught:
                call()
            assert caught.value.sqlstate == "22003"


def test_sums_at_the_limit_fit() -> None:
    most = np.array([[2**63 - 1, 1, -1]])
    assert algebra.multiply(most, np.array([[1], [0], [0]])).tolist() == [[2**63 - 1]]
    assert algebra.multiply(most, np.ones((3, 1), np.int64)).tolist() == [[2**63 - 1]]
    assert algebra.summarize(most, 1, mean=False).tolist() == [[2**63 - 1]]
    assert algebra.multiply(np.array([[2**62, -(2**62)]]), np.array([[4], [4]])).tolist() == [[0]]
    with pytest.raises(GpudbError):
        algebra.summarize(most[:, :2], 1, mean=False)
    wide = np.full((1, (1 << 20) + 3), 2**42)
    signs = np.ones_like(wide).T
    with pytest.raises(GpudbError):
        algebra.multiply(wide * 2, signs)
    signs[::2] = -1
    assert algebra.multiply(wide * 2, signs).tolist() == [[-(2**43)]]


@pytest.mark.parametrize("kind", ["fro", "2"])
def test_norms_of_large_and_small_elements(kind: str) -> None:
    assert algebra.norm(np.array([[3e300], [4e300]]), kind) == pytest.approx(5e300)
    assert algebra.norm(np.array([[3e-300], [4e-300]]), kind) == pytest.approx(5e-300)
    assert algebra.norm(np.array([[5e-324]]), kind) == 5e-324
    assert algebra.norm(np.zeros((2, 2)), kind) == 0
    assert algebra.norm(np.array([[np.inf, 1]]), kind) == np.inf
    assert np.isnan(algebra.norm(np.array([[np.nan, np.inf]]), kind))


@pytest.mark.parametrize("kind", ["fro", "1", "inf", "2"])
def test_norms_beyond_double_precision_are_refused(kind: str) -> None:
    with pytest.raises(GpudbError) as caught:
        algebra.norm(np.full((2, 2), 1.7e308), kind)
    assert caught.value.sqlstate == "22003"


@settings(deadline=None)
@given(st.data())
def test_sums_are_exact_or_out_of_range(data: st.DataObject) -> None:
    dtype: np.dtype[Any] = np.dtype(data.draw(st.sampled_from(["<i4", "<i8"])))
    one, other = (data.draw(hnp.arrays(dtype, (2, 2))) for _ in range(2))
    for name, compute in (("add", int.__add__), ("subtract", int.__sub__), ("multiply", int.__mul__)):
        exact = [compute(int(a), int(b)) for a, b in zip(one.flat, other.flat, strict=True)]
        limits = np.iinfo(dtype)
        if all(limits.min <= each <= limits.max for each in exact):
            found = algebra.combine(name, one, other)
            assert found.dtype == dtype
            assert found.ravel().tolist() == exact
        else:
            with pytest.raises(GpudbError) as caught:
                algebra.combine(name, one, other)
            assert caught.value.sqlstate == "22003"


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 12))
def test_solutions_inverses_and_determinants_are_numpys(seed: int, size: int) -> None:
    random = np.random.default_rng(seed)
    matrix, right = random.normal(size=(size, size)) + 3 * np.eye(size), random.normal(size=(size, 2))
    np.testing.assert_allclose(algebra.solve(matrix, right), np.linalg.solve(matrix, right), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(algebra.invert(matrix), np.linalg.inv(matrix), rtol=1e-9, atol=1e-12)
    assert algebra.determinant(matrix) == pytest.approx(np.linalg.det(matrix))
    assert algebra.trace(matrix) == pytest.approx(matrix.trace())
    orders: tuple[tuple[str, Any], ...] = (("fro", "fro"), ("1", 1), ("inf", np.inf), ("2", 2))
    for kind, order in orders:
        assert algebra.norm(matrix, kind) == pytest.approx(np.linalg.norm(matrix, order))
    assert algebra.norm(matrix, "max") == np.abs(matrix).max()


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), size=st.integers(2, 10))
def test_singular_matrices_are_refused(seed: int, size: int) -> None:
    random = np.random.default_rng(seed)
    singular = random.normal(size=(size, size - 1)) @ random.normal(size=(size - 1, size))
    for matrix in (singular, np.zeros((size, size)), np.ones((size, size))):
        with pytest.raises(GpudbError) as caught:
            algebra.invert(matrix)
        assert caught.value.sqlstate == "22023"


@settings(deadline=None)
@given(matrix=_finite("<f8", 1e6))
def test_rows_and_columns_are_numpys(matrix: Elements) -> None:
    for axis in (0, 1):
        np.testing.assert_allclose(algebra.summarize(matrix, axis, mean=False), matrix.sum(axis=axis, keepdims=True))
        np.testing.assert_allclose(algebra.summarize(matrix, axis, mean=True), matrix.mean(axis=axis, keepdims=True))
        np.testing.assert_array_equal(algebra.bind([matrix, matrix], axis), np.concatenate([matrix, matrix], axis=axis))
        filled = algebra.bind_number(matrix, 7.0, axis, before=True)
        np.testing.assert_array_equal(filled, np.insert(matrix, 0, 7.0, axis=axis))
    assert algebra.equal(matrix, matrix.copy())
    assert not algebra.equal(matrix, matrix + 1)


def test_equality_ignores_types_and_finds_nan() -> None:
    assert algebra.equal(np.array([[1, 2]], "<i4"), np.array([[1.0, 2.0]], "<f4"))
    assert algebra.equal(np.array([[np.nan, -0.0]]), np.array([[np.nan, 0.0]]))
    assert not algebra.equal(np.ones((1, 2)), np.ones((2, 1)))


@pytest.mark.parametrize("work", ["multiply", "solve", "determinant", "norm"])
def test_long_work_ends_when_its_statement_is_cancelled(work: str) -> None:
    matrix = np.random.default_rng(1).normal(size=(1500, 1500))
    polls = 0

    def poll() -> None:
        nonlocal polls
        polls += 1
        raise QueryCanceled("canceling statement due to user request")

    calls: dict[str, Callable[[], object]] = {
        "multiply": lambda: algebra.multiply(matrix, matrix, poll),
        "solve": lambda: algebra.solve(matrix, matrix, poll),
        "determinant": lambda: algebra.determinant(matrix, poll),
        "norm": lambda: algebra.norm(matrix, "2", poll),
    }
    with pytest.raises(QueryCanceled):
        calls[work]()
    assert polls == 1


def test_polls_do_not_change_results() -> None:
    matrix = np.random.default_rng(2).normal(size=(900, 900)) + 30 * np.eye(900)
    polls: list[int] = []
    found = algebra.solve(matrix, matrix, lambda: polls.append(1))
    np.testing.assert_allclose(found, np.eye(900), atol=1e-9)
