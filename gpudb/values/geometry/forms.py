"""Columns of geometric values: their bytes as arrays of doubles, and back."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.types.facts import GEOMETRIC, GEOMETRIC_WIDTHS
from gpudb.values.geometry.boxes import make_box
from gpudb.values.geometry.floats import EPSILON, Doubles

_COUNT = struct.Struct(">i")
_DOUBLE_BYTES = 8
__all__ = ["GEOMETRIC", "GEOMETRIC_WIDTHS", "Shape"]


class Shape(NamedTuple):
    """A path or polygon: points (points, 2), and whether a path is closed."""

    points: Doubles
    closed: bool = True


def read_doubles(column: pa.BinaryArray, width: int) -> Doubles:
    """Returns the values of a column without NULLs as doubles of shape (rows, width)."""
    if not len(column):
        return np.empty((0, width))
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, np.int32 if column.type == pa.binary() else np.int64)
    start = int(places[column.offset])
    found = np.frombuffer(data, ">f8", len(column) * width, start)
    return found.astype(np.float64).reshape(len(column), width)


def write_doubles(values: Doubles) -> pa.BinaryArray:
    """Returns values of shape (rows, width) as a column."""
    rows, width = values.shape
    offsets = np.arange(rows + 1, dtype=np.int64) * (width * _DOUBLE_BYTES)
    if offsets[-1] >= 1 << 31:
        raise SqlError.of("program_limit_exceeded", "the rows of a batch exceed 2 GiB")
    data = pa.py_buffer(np.ascontiguousarray(values, ">f8").tobytes())
    return pa.Array.from_buffers(pa.binary(), rows, [None, pa.py_buffer(offsets.astype(np.int32)), data])


def pack(values: Sequence[float]) -> bytes:
    """Returns a value of fixed width as bytes."""
    return struct.pack(f">{len(values)}d", *values)


def unpack(value: bytes) -> tuple[float, ...]:
    """Returns the numbers of a value of fixed width."""
    return struct.unpack(f">{len(value) // _DOUBLE_BYTES}d", value)


def read_shape(name: str, value: bytes) -> Shape:
    """Returns a path or polygon."""
    head = 1 if name == "path" else 0
    found = np.frombuffer(value, ">f8", -1, head + _COUNT.size).astype(np.float64).reshape(-1, 2)
    return Shape(found, name != "path" or value[0] == 1)


def write_shape(name: str, shape: Shape) -> bytes:
    """Returns a path or polygon as bytes."""
    head = bytes([shape.closed]) if name == "path" else b""
    return head + _COUNT.pack(len(shape.points)) + np.ascontiguousarray(shape.points, ">f8").tobytes()


def parse_geometry_binary(name: str, data: bytes) -> bytes:
    """Checks the binary form of a value, which stands for it; a box is put in order. 22P03; struct.error."""
    width = GEOMETRIC_WIDTHS.get(name)
    if width is None:
        return _check_shape(name, data)
    values = struct.unpack(f">{width}d", data)
    if name == "line" and abs(values[0]) <= EPSILON and abs(values[1]) <= EPSILON:
        raise _invalid("invalid line specification: A and B cannot both be zero")
    if name == "circle" and values[2] < 0:
        raise _invalid('invalid radius in external "circle" value')
    if name == "box":
        found = np.array(values)
        return pack(make_box(found[:2], found[2:]).tolist())
    return data


def _check_shape(name: str, data: bytes) -> bytes:
    head = 1 if name == "path" else 0
    (count,) = _COUNT.unpack_from(data, head)
    if count <= 0:
        raise _invalid(f'invalid number of points in external "{name}" value')
    if len(data) != head + _COUNT.size + 2 * _DOUBLE_BYTES * count:
        raise _invalid("incorrect binary data format")
    return bytes([data[0] != 0]) + data[1:] if head else data


def _invalid(message: str) -> SqlError:
    return SqlError.of("invalid_binary_representation", message)


Rows = npt.NDArray[np.int64]
Kernel = Callable[..., object]
