"""Builds Arrow columns from numpy arrays at memory speed: exact decimals, nulls, strings by dictionary."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]

MONEY = pa.decimal128(10, 2)

_POINT_PREFIX = b"0101000020E6100000"  # little-endian point with SRID 4326
_HEX = np.frombuffer(b"".join(b"%02X" % byte for byte in range(256)), np.uint16)


def _make_validity(valid: Mask | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))


def make_numbers(values: npt.NDArray[np.generic], valid: Mask | None = None) -> pa.Array:
    """Returns a column of fixed-width numbers; null where not `valid`."""
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [_make_validity(valid), pa.py_buffer(np.ascontiguousarray(values))])


def make_timestamps(microseconds: npt.NDArray[np.int64]) -> pa.Array:
    """Returns a timestamp(6) column of microseconds since 1970."""
    return pa.Array.from_buffers(pa.timestamp("us"), len(microseconds), [None, pa.py_buffer(microseconds)])


def make_decimals(hundredths: npt.NDArray[np.integer], valid: Mask | None = None) -> pa.Array:
    """Returns a numeric(10,2) column of hundredths."""
    wide = np.empty((len(hundredths), 2), np.int64)
    wide[:, 0] = hundredths
    wide[:, 1] = wide[:, 0] >> 63  # the sign fills the upper half
    return pa.Array.from_buffers(MONEY, len(hundredths), [_make_validity(valid), pa.py_buffer(wide)])


def make_choices(dictionary: pa.Array, index: npt.NDArray[np.integer], valid: Mask | None = None) -> pa.Array:
    """Returns a column of dictionary entries; null where not `valid`."""
    return dictionary.take(make_numbers(index, valid))


def make_points(longitude: npt.NDArray[np.float64], latitude: npt.NDArray[np.float64], valid: Mask) -> pa.Array:
    """Returns a text column of points in hexadecimal EWKB, 50 characters each."""
    count = len(longitude)
    pairs = np.empty((count, 25), np.uint16)
    pairs[:, :9] = np.frombuffer(_POINT_PREFIX, np.uint16)
    places = np.stack([longitude, latitude], axis=1).view(np.uint8)
    np.take(_HEX, places, out=pairs[:, 9:])
    offsets = np.arange(0, 50 * (count + 1), 50, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), count, [_make_validity(valid), pa.py_buffer(offsets), pa.py_buffer(pairs)]
    )


def make_nulls(kind: pa.DataType, count: int) -> pa.Array:
    """Returns a column of nulls."""
    return pa.nulls(count, kind)
