"""Calls of distances of vectors over the columns of a frame, and their computation with NumPy.

An operand is a column of vectors as bytes (`values.vector_keys`), all of the same dimensions, or a constant vector. The
result is a column of float64, NULL where an operand is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from gpudb.values.bit_keys import split_bits
from gpudb.values.vector_keys import HALF_PRECISION, SINGLE, decode_numbers, split_bytes

_BLOCK = 1 << 18
"""Numbers of a block of rows that are computed at once."""
Matrix = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

METRICS: Mapping[str, int] = {
    "l2_distance": 0,
    "inner_product": 1,
    "vector_negative_inner_product": 2,
    "halfvec_negative_inner_product": 2,
    "cosine_distance": 3,
    "l1_distance": 4,
}
"""The functions of two vectors, of single or of half precision, and their numbers in kernels/vectors.cu."""
BIT_METRICS: Mapping[str, int] = {"hamming_distance": 0, "jaccard_distance": 1, "gpu_similarity": 2}
"""The same of two bit strings."""


@dataclass(frozen=True, slots=True)
class DistanceCall:
    """The distance, by one of METRICS, of the vectors in column `left` to those in `right` or to a constant `to`.

    `dimensions` are those of all vectors, `to` the bytes of a constant. Of bit strings by BIT_METRICS they are bits.
    Numbers of vectors have `width` bytes: 4, or 2 of half precision.
    """

    name: str
    metric: str
    dimensions: int
    left: str
    right: str | None
    to: bytes | None
    width: int = SINGLE.itemsize

    @property
    def precision(self) -> np.dtype[Any]:
        """NumPy's type of the numbers."""
        return SINGLE if self.width == SINGLE.itemsize else HALF_PRECISION


def compute_distances(frame: pl.DataFrame, call: DistanceCall) -> list[pl.Series]:
    """Computes a call over a frame's rows; returns the result's column."""
    left = _to_binary(frame[call.left])
    valid = ~np.asarray(left.is_null().to_numpy(zero_copy_only=False))
    right = None
    if call.right is not None:
        right = _to_binary(frame[call.right])
        valid &= ~np.asarray(right.is_null().to_numpy(zero_copy_only=False))
    if not valid.all():
        kept = pa.array(valid)
        left, right = left.filter(kept), None if right is None else right.filter(kept)
    found = np.zeros(len(valid), np.float64)
    found[valid] = _measure(call, left, right)
    return [pl.Series(call.name, pa.array(found, mask=None if valid.all() else ~valid))]


def _to_binary(series: pl.Series) -> pa.LargeBinaryArray:
    held = series.to_arrow()
    return (held.combine_chunks() if isinstance(held, pa.ChunkedArray) else held).cast(pa.large_binary())


def _measure(call: DistanceCall, left: pa.LargeBinaryArray, right: pa.LargeBinaryArray | None) -> Doubles:
    """Computes the distances of columns without NULL, block by block."""
    made = np.empty(len(left), np.float64)
    if call.metric in BIT_METRICS:
        return _measure_bits(call, left, right)
    to = None if call.to is None else _decode(np.frombuffer(call.to, np.uint8), call)
    step = max(1, _BLOCK // call.dimensions)
    for start in range(0, len(left), step):
        rows = _to_matrix(left.slice(start, step), call)
        others = to if right is None else _to_matrix(right.slice(start, step), call)
        with np.errstate(invalid="ignore", over="ignore"):
            made[start : start + step] = _COMPUTE[call.metric](rows, others)
    return made


def _measure_bits(call: DistanceCall, left: pa.LargeBinaryArray, right: pa.LargeBinaryArray | None) -> Doubles:
    """Computes the distances of columns of bit strings without NULL, block by block."""
    made = np.empty(len(left), np.float64)
    step = max(1, _BLOCK // call.dimensions)
    for start in range(0, len(left), step):
        rows = split_bits(left.slice(start, step), call.dimensions)
        if right is not None:
            others = split_bits(right.slice(start, step), call.dimensions)
        else:
            others = np.frombuffer(call.to or b"", np.uint32)[None]
        if call.metric == "hamming_distance":
            made[start : start + step] = np.bitwise_count(rows ^ others).sum(axis=1)
            continue
        common, either = (np.bitwise_count(each).sum(axis=1) for each in (rows & others, rows | others))
        similarity = common / np.maximum(either, 1)
        made[start : start + step] = similarity if call.metric == "gpu_similarity" else 1 - similarity
    return made


def _to_matrix(keys: pa.LargeBinaryArray, call: DistanceCall) -> Matrix:
    return _decode(split_bytes(keys)[1], call).reshape(-1, call.dimensions)


def _decode(words: npt.NDArray[np.uint8], call: DistanceCall) -> Matrix:
    return np.asarray(decode_numbers(words, call.precision).astype(np.float32, copy=False))


def _dot(left: Any, right: Any) -> Doubles:
    """Returns the inner products of rows, in double precision."""
    shape = "ij,j->i" if right.ndim == 1 else "ij,ij->i"
    return np.asarray(np.einsum(shape, left.astype(np.float64), right.astype(np.float64)))


def _euclidean(left: Any, right: Any) -> Doubles:
    differences = left.astype(np.float64) - right
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", differences, differences)))


def _cosine(left: Any, right: Any) -> Doubles:
    """Returns 1 - cosine; NaN beside a vector of zeros."""
    norms = np.sqrt(_dot(left, left) * (_dot(right[None], right[None]) if right.ndim == 1 else _dot(right, right)))
    return np.asarray(1 - np.clip(_dot(left, right) / norms, -1, 1))


def _taxicab(left: Any, right: Any) -> Doubles:
    """Returns the sums of absolute differences, each of which is of single precision."""
    return np.asarray(np.einsum("ij->i", np.abs(left - right), dtype=np.float64))


_COMPUTE: dict[str, Callable[[Any, Any], Doubles]] = {
    "l2_distance": _euclidean,
    "inner_product": _dot,
    "vector_negative_inner_product": lambda left, right: -_dot(left, right),
    "halfvec_negative_inner_product": lambda left, right: -_dot(left, right),
    "cosine_distance": _cosine,
    "l1_distance": _taxicab,
}
