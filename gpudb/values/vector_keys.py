"""Vectors as bytes that compare as the vectors do: a number's bits, big-endian, in the order of numbers.

So workers keep a vector as one binary value: it sorts, groups, joins and moves as bytes do, and the numbers of a column
lie next to each other. kernels/vectors.cu reads the same form. Numbers are of single precision, or of half precision
(`halfvec`, of which every engine and the files hold these bytes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.values.vectors import build_column, flatten, get_missing, measure

Numbers = npt.NDArray[np.float32] | npt.NDArray[np.float16]
SINGLE: np.dtype[Any] = np.dtype(np.float32)
HALF_PRECISION: np.dtype[Any] = np.dtype(np.float16)
_BLOCK = 1 << 16
"""Numbers that are converted at once: they stay in a processor's cache."""


def encode_numbers(numbers: Numbers) -> npt.NDArray[Any]:
    """Returns the big-endian words of numbers."""
    kind = np.dtype(f"u{numbers.itemsize}")
    bits_of = kind.type
    last = bits_of(8 * kind.itemsize - 1)
    sign = bits_of(1 << int(last))
    words = np.empty(len(numbers), kind.newbyteorder(">"))
    for start in range(0, len(numbers), _BLOCK):
        bits = np.ascontiguousarray(numbers[start : start + _BLOCK]).view(kind)
        # A negative number's bits are inverted, so that greater ones come later; a positive one's sign is set.
        words[start : start + _BLOCK] = bits ^ ((bits_of(0) - (bits >> last)) | sign)
    return words


def decode_numbers(words: npt.NDArray[np.uint8], precision: np.dtype[Any] = SINGLE) -> Any:
    """Returns the numbers of big-endian words, given as bytes."""
    kind = np.dtype(f"u{precision.itemsize}")
    bits_of = kind.type
    last = bits_of(8 * kind.itemsize - 1)
    sign = bits_of(1 << int(last))
    held = words.view(kind.newbyteorder(">"))
    numbers = np.empty(len(held), precision)
    for start in range(0, len(held), _BLOCK):
        bits = held[start : start + _BLOCK].astype(kind)
        bits ^= ((bits >> last) - bits_of(1)) | sign
        numbers[start : start + _BLOCK] = bits.view(precision)
    return numbers


def encode_key(vector: Sequence[float]) -> bytes:
    """Returns one vector's bytes."""
    return encode_numbers(np.array(vector, np.float32)).tobytes()


def encode_keys(column: pa.ListArray) -> pa.LargeBinaryArray:
    """Returns a column of vectors as bytes."""
    numbers = encode_numbers(np.asarray(flatten(column), np.float32))
    return build_keys(4 * measure(column).astype(np.int64), numbers, get_missing(column), pa.large_binary())


def build_keys(
    sizes: npt.NDArray[np.int64], words: npt.NDArray[Any], missing: npt.NDArray[np.bool_], kind: pa.DataType
) -> pa.Array:
    """Builds a column of bytes, of pa.binary() or pa.large_binary(), from their sizes, 0 where one is `missing`."""
    offsets = np.zeros(len(sizes) + 1, np.int64 if pa.types.is_large_binary(kind) else np.int32)
    np.cumsum(sizes, out=offsets[1:])
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    return pa.Array.from_buffers(kind, len(sizes), [valid, pa.py_buffer(offsets), pa.py_buffer(words)])


def decode_keys(keys: pa.Array) -> pa.ListArray:
    """Returns bytes as a column of vectors."""
    keys = keys.cast(pa.large_binary())
    lengths, numbers = split_keys(keys)
    return build_column(lengths, numbers, get_missing(keys))


def split_keys(keys: pa.LargeBinaryArray, precision: np.dtype[Any] = SINGLE) -> tuple[npt.NDArray[np.int64], Any]:
    """Returns the dimensions of each vector, 0 for NULL, and the numbers of all, one after the other."""
    sizes, data = split_bytes(keys)
    return sizes // precision.itemsize, decode_numbers(data, precision)


def split_bytes(keys: pa.LargeBinaryArray) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Returns the size of each value, 0 for NULL, and the bytes of all, one after the other."""
    held = keys.fill_null(b"") if keys.null_count else keys
    _, offsets, data = held.buffers()
    if not len(held) or data is None:
        return np.zeros(len(held), np.int64), np.zeros(0, np.uint8)
    places = np.frombuffer(offsets, np.int64)[held.offset : held.offset + len(held) + 1]
    return np.diff(places), np.frombuffer(data, np.uint8)[places[0] : places[-1]]
