"""Bit strings of one length as bytes: eight bits each, the first one the most significant, then zeros to whole words of
32 bits. So they compare as bit strings of equal lengths do, and workers count common bits by words.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

_BLOCK = 1 << 20
"""Bits that are converted at once: they stay in a processor's cache."""
_WORD = 32


def count_words(length: int) -> int:
    """Returns the words of a bit string."""
    return -(-length // _WORD)


def encode_bits(column: pa.Array, length: int) -> pa.LargeBinaryArray:
    """Returns a column of texts of 0 and 1, all of one length, as bytes."""
    present = column.drop_null() if column.null_count else column
    digits = _view_text(present).reshape(-1, length)
    width = 4 * count_words(length)
    packed = np.zeros((len(digits), width), np.uint8)
    step = max(1, _BLOCK // length)
    for start in range(0, len(digits), step):
        block = np.packbits(digits[start : start + step] & 1, axis=1)
        packed[start : start + step, : block.shape[1]] = block
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False))
    return _build(pa.large_binary(), valid, packed)


def encode_bit_string(text: str) -> bytes:
    """Returns the bytes of one bit string."""
    encoded: bytes = encode_bits(pa.array([text]), len(text))[0].as_py()
    return encoded


def decode_bits(keys: pa.Array, length: int) -> pa.StringArray:
    """Returns bytes as texts of 0 and 1."""
    keys = keys.cast(pa.large_binary())
    words = split_bits(keys, length).view(np.uint8).reshape(-1, 4 * count_words(length))
    digits = np.unpackbits(words, axis=1, count=length) + np.uint8(ord("0"))
    valid = np.asarray(keys.is_valid().to_numpy(zero_copy_only=False))
    return _build(pa.large_string(), valid, digits).cast(pa.string())


def split_bits(keys: pa.LargeBinaryArray, length: int) -> Any:
    """Returns the words of the bit strings that are not NULL: an array (rows, words) of uint32."""
    present = keys.drop_null() if keys.null_count else keys
    return _view_text(present).view(np.uint32).reshape(-1, count_words(length))


def _view_text(column: pa.Array) -> Any:
    """Views the bytes of a column without NULLs."""
    kind = np.int64 if pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type) else np.int32
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return np.zeros(0, np.uint8)
    places = np.frombuffer(offsets, kind)
    return np.frombuffer(data, np.uint8)[places[column.offset] : places[column.offset + len(column)]]


def _build(kind: pa.DataType, valid: Any, rows: Any) -> pa.Array:
    """Returns a column with the bytes of rows where it is valid."""
    offsets = np.zeros(len(valid) + 1, np.int64)
    np.cumsum(valid * rows.shape[1], out=offsets[1:])
    bitmap = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(
        kind, len(valid), [bitmap, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(rows))]
    )
