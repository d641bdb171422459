"""Vectors as bytes that compare as the vectors do: a number's bits, big-endian, in the order of numbers.

So workers keep a vector as one binary value: it sorts, groups, joins and moves as bytes do, and the numbers of a column
lie next to each other. kernels/vectors.cu reads the same form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.values.vectors import Floats, build_column, flatten, get_missing, measure

_SIGN = np.uint32(1 << 31)
_BLOCK = 1 << 16
"""Numbers that are converted at once: they stay in a processor's cache."""


def encode_numbers(numbers: Floats) -> npt.NDArray[np.void]:
    """Returns the big-endian words of numbers."""
    words = np.empty(len(numbers), ">u4")
    for start in range(0, len(numbers), _BLOCK):
        bits = np.ascontiguousarray(numbers[start : start + _BLOCK], np.float32).view(np.uint32)
        # A negative number's bits are inverted, so that greater ones come later; a positive one's sign is set.
        words[start : start + _BLOCK] = bits ^ ((np.uint32(0) - (bits >> np.uint32(31))) | _SIGN)
    return words


def decode_numbers(words: npt.NDArray[np.uint8]) -> Floats:
    """Returns the numbers of big-endian words, given as bytes."""
    held = words.view(">u4")
    numbers = np.empty(len(held), np.float32)
    for start in range(0, len(held), _BLOCK):
        bits = held[start : start + _BLOCK].astype(np.uint32)
        bits ^= ((bits >> np.uint32(31)) - np.uint32(1)) | _SIGN
        numbers[start : start + _BLOCK] = bits.view(np.float32)
    return numbers


def encode_key(vector: Sequence[float]) -> bytes:
    """Returns one vector's bytes."""
    return encode_numbers(np.array(vector, np.float32)).tobytes()


def encode_keys(column: pa.ListArray) -> pa.LargeBinaryArray:
    """Returns a column of vectors as bytes."""
    offsets = np.zeros(len(column) + 1, np.int64)
    np.cumsum(4 * measure(column).astype(np.int64), out=offsets[1:])
    missing = get_missing(column)
    valid = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(encode_numbers(flatten(column)))]
    return pa.Array.from_buffers(pa.large_binary(), len(column), buffers)


def decode_keys(keys: pa.Array) -> pa.ListArray:
    """Returns bytes as a column of vectors."""
    keys = keys.cast(pa.large_binary())
    lengths, numbers = split_keys(keys)
    return build_column(lengths, numbers, get_missing(keys))


def split_keys(keys: pa.LargeBinaryArray) -> tuple[npt.NDArray[np.int64], Floats]:
    """Returns the dimensions of each vector, 0 for NULL, and the numbers of all, one after the other."""
    held = keys.fill_null(b"") if keys.null_count else keys
    _, offsets, data = held.buffers()
    places = np.frombuffer(offsets, np.int64)[held.offset : held.offset + len(held) + 1]
    if not len(places) or data is None:
        return np.zeros(len(held), np.int64), np.zeros(0, np.float32)
    words = np.frombuffer(data, np.uint8)[places[0] : places[-1]]
    return np.diff(places) // 4, decode_numbers(words)
