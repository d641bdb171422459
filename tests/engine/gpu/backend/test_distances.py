"""Distances of columns of vectors: NumPy's over bytes, and the kernel's, which a C++ compiler runs on the host."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudb.engine.gpu.backend.distance_calls import BIT_METRICS, METRICS, DistanceCall, compute_distances
from gpudb.engine.gpu.fused.codegen.building_blocks import load_headers, read_source
from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.values.bit_keys import decode_bits, encode_bit_string, encode_bits
from gpudb.values.half_vectors import to_half_column
from gpudb.values.vector_keys import decode_keys, encode_key, encode_keys, encode_numbers
from tests.support.fused.hosted import COMPILER, HostedFile

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda value: value + 0.0)
VECTORS = st.lists(FLOATS, min_size=1, max_size=5)


@settings(deadline=None)
@given(st.lists(st.none() | VECTORS, max_size=9))
def test_bytes_hold_vectors(rows: list[list[float] | None]) -> None:
    column = pa.array(rows, pa.list_(pa.float32()))
    keys = encode_keys(column)
    assert decode_keys(keys).to_pylist() == column.to_pylist()
    assert decode_keys(keys[1:]).to_pylist() == column[1:].to_pylist()
    assert keys.to_pylist() == [None if row is None else encode_key(row) for row in rows]


@settings(deadline=None)
@given(VECTORS, VECTORS)
def test_bytes_compare_as_vectors_do(one: list[float], other: list[float]) -> None:
    left, right = encode_key(one), encode_key(other)
    assert (left < right, left == right) == (one < other, one == other)


def expected(metric: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The distances of rows, in double precision."""
    a, b = left.astype(np.float64), np.broadcast_to(right, left.shape).astype(np.float64)
    dot = (a * b).sum(1)
    with np.errstate(invalid="ignore"):
        found = {
            "l2_distance": np.sqrt(((a - b) ** 2).sum(1)),
            "inner_product": dot,
            "vector_negative_inner_product": -dot,
            "halfvec_negative_inner_product": -dot,
            "cosine_distance": 1 - dot / np.sqrt((a * a).sum(1) * (b * b).sum(1)),
            "l1_distance": np.abs(a - b).sum(1),
        }
    return found[metric]


def make_rows(dimensions: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    left, right = draw.standard_normal((2, 70, dimensions)).astype(np.float32)
    left[3] = 0
    return left, right, draw.random(70) < 0.2


def to_series(rows: np.ndarray, missing: np.ndarray, width: int = 4) -> pl.Series:
    held = [None if gone else row for row, gone in zip(rows.tolist(), missing, strict=True)]
    lists = pa.array(held, pa.list_(pa.float32()))
    return pl.Series(pl.from_arrow(encode_keys(lists) if width == 4 else to_half_column(lists)))


def round_rows(width: int, *matrices: np.ndarray) -> list[np.ndarray]:
    """The numbers as their type holds them, in single precision."""
    return [each.astype(f"f{width}").astype(np.float32) for each in matrices]


def encode_one(row: np.ndarray, width: int) -> bytes:
    return encode_numbers(row.astype(f"f{width}")).tobytes()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dimensions", [1, 3, 32, 100])
@pytest.mark.parametrize("width", [4, 2])
def test_numpys_distances(metric: str, dimensions: int, width: int) -> None:
    left, right, missing = make_rows(dimensions, dimensions)
    left, right = round_rows(width, left, right)
    frame = pl.DataFrame({"a": to_series(left, missing, width), "b": to_series(right, np.roll(missing, 5), width)})
    for other, to, gone in (
        ("b", None, missing | np.roll(missing, 5)),
        (None, encode_one(right[0], width), missing),
    ):
        (found,) = compute_distances(frame, DistanceCall("d", metric, dimensions, "a", other, to, width))
        wanted = expected(metric, left, right if to is None else right[0])
        assert found.is_null().to_list() == gone.tolist()
        np.testing.assert_allclose(found.to_numpy()[~gone], wanted[~gone], rtol=2e-6, atol=1e-6)
    nothing = DistanceCall("d", metric, dimensions, "a", "b", None, width)
    assert compute_distances(frame.head(0), nothing)[0].len() == 0


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> HostedFile | None:
    if COMPILER is None:
        return None
    return HostedFile(read_source("vectors.cu"), (), tmp_path_factory.mktemp("vectors"))


@pytest.mark.skipif(COMPILER is None, reason="needs g++")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("width", [4, 2])
def test_the_kernel_computes_the_same(metric: str, large: bool, width: int, kernels: HostedFile | None) -> None:
    assert kernels is not None
    for dimensions in (3, 32, 100):
        left, right, missing = make_rows(dimensions, dimensions)
        left, right = round_rows(width, left, right)
        left[5] *= np.float32(1e-7)  # among them numbers below the least normal one
        (left,) = round_rows(width, left)
        frame = pl.DataFrame({"a": to_series(left, missing, width), "b": to_series(right, ~(missing | True), width)})
        operands = [_view(frame[name], large) for name in "ab"]
        valid = (~missing).astype(np.uint8)
        nothing = None, None, None
        for other, plain, to in (
            (operands[1], None, None),
            (nothing, np.ascontiguousarray(right[0]), encode_one(right[0], width)),
        ):
            found = np.full(70, np.nan)
            form = plain, np.int32(dimensions), np.int32(METRICS[metric])
            given = *operands[0], *other, *form, valid, np.int64(70), found
            kernels("distances" if width == 4 else "half_distances", 2, given)
            call = DistanceCall("d", metric, dimensions, "a", None if to else "b", to, width)
            wanted = compute_distances(frame, call)[0].to_numpy()
            np.testing.assert_allclose(found[~missing], wanted[~missing], rtol=1e-12, atol=1e-12)
            assert not found[missing & (found == found)].any()


def _view(series: pl.Series, large: bool) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """A column's bytes, and its offsets in 32 or in 64 bits."""
    _, offsets, data = series.to_arrow().cast(pa.large_binary()).buffers()
    places = np.frombuffer(offsets, np.int64)
    held = np.frombuffer(data, np.uint8)
    return (held, None, places) if large else (held, places.astype(np.int32), None)


def to_bits(rows: np.ndarray, missing: np.ndarray) -> pl.Series:
    texts = ["".join("01"[bit] for bit in row) for row in rows.astype(int)]
    held = pa.array([None if gone else text for text, gone in zip(texts, missing, strict=True)], pa.string())
    return pl.Series(pl.from_arrow(encode_bits(held, rows.shape[1])))


@settings(deadline=None)
@given(st.integers(1, 70).flatmap(lambda n: st.lists(st.none() | st.text("01", min_size=n, max_size=n), max_size=9)))
def test_bytes_hold_bit_strings(rows: list[str | None]) -> None:
    texts = [row for row in rows if row is not None]
    length = len(texts[0]) if texts else 1
    keys = encode_bits(pa.array(rows, pa.string()), length)
    assert decode_bits(keys, length).to_pylist() == rows
    assert decode_bits(keys[1:], length).to_pylist() == rows[1:]
    packed = [encode_bit_string(text) for text in texts]
    assert [each for each in keys.to_pylist() if each is not None] == packed
    assert sorted(packed) == [encode_bit_string(text) for text in sorted(texts)]


@pytest.mark.parametrize("metric", BIT_METRICS)
@pytest.mark.parametrize("length", [1, 31, 64, 200, 1024])
def test_distances_of_bits(metric: str, length: int, kernels: HostedFile | None) -> None:
    draw = np.random.default_rng(length)
    left, right = draw.random((2, 70, length)) < 0.4
    left[3] = right[3] = False
    missing = draw.random(70) < 0.2
    frame = pl.DataFrame({"a": to_bits(left, missing), "b": to_bits(right, missing & False)})
    common, either = (left & right).sum(1), (left | right).sum(1)
    similarity = common / np.maximum(either, 1)
    wanted = {"hamming_distance": either - common, "jaccard_distance": 1 - similarity}.get(metric, similarity)
    call = DistanceCall("d", metric, length, "a", "b", None)
    (found,) = compute_distances(frame, call)
    assert found.is_null().to_list() == missing.tolist()
    assert found.drop_nulls().to_list() == wanted[~missing].tolist()
    one = encode_bit_string("".join("01"[bit] for bit in right[5].astype(int)))
    (to_one,) = compute_distances(frame, DistanceCall("d", metric, length, "a", None, one))
    assert to_one[5] == found[5]
    if kernels is None:
        return
    words = np.frombuffer(one, np.uint32)
    for other, expect in ((_view(frame["b"], True), found), ((words, None, None), to_one)):
        for large in (False, True):
            made = np.full(70, np.nan)
            form = np.int32(-(-length // 32)), np.int32(BIT_METRICS[metric]), (~missing).astype(np.uint8)
            kernels("bit_distances", 2, (*_view(frame["a"], large), *other, *form, np.int64(70), made))
            assert made[~missing].tolist() == expect.drop_nulls().to_list()
            assert not np.isnan(made).any()


def test_the_kernel_compiles(tmp_path: Path) -> None:
    made = nvrtc.compile_source(read_source("vectors.cu"), load_headers(), "sm_90", folder=tmp_path)
    assert made.cubin[:4] == b"\x7fELF"
    assert made.spilled <= 8  # around the call that divides
