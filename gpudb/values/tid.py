"""tid, the address of a row: a block of a table and a place in it, as one integer in the type's order.

`block` is of 32 bits and `offset` of 16, as in PostgreSQL; the integer is `block << 16 | offset`.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import SqlError

OFFSET_BITS = 16
OFFSETS = (1 << OFFSET_BITS) - 1
"""The greatest offset, and a mask of it."""
_FORM = re.compile(r"[^(,)]*\(\s*([+-]?\d+),\s*([+-]?\d+)\)", re.ASCII)
_BINARY = np.dtype([("block", ">u4"), ("offset", ">u2")])


def parse_tid(text: str) -> int:
    """Returns the integer of `(block,offset)`; 22P02. A negative block counts down from 2**32, as in PostgreSQL."""
    found = _FORM.match(text)
    block, offset = map(int, found.groups()) if found is not None else (0, -1)
    if not (-(2**31) <= block < 2**32 and 0 <= offset <= OFFSETS):
        raise SqlError.of("invalid_text_representation", f'invalid input syntax for type tid: "{text}"')
    return (block % 2**32) << OFFSET_BITS | offset


def format_tid(value: int) -> str:
    """Returns `(block,offset)`."""
    return f"({value >> OFFSET_BITS},{value & OFFSETS})"


def format_tid_column(column: pa.Array) -> pa.StringArray:
    """Formats a column of integers."""
    block = pc.cast(pc.shift_right(column, OFFSET_BITS), pa.string())
    offset = pc.cast(pc.bit_wise_and(column, OFFSETS), pa.string())
    return pc.binary_join_element_wise("(", pc.binary_join_element_wise(block, offset, ","), ")", "")


def parse_tid_binary(data: bytes) -> int:
    """Returns the integer of PostgreSQL's binary form: six bytes, block and offset."""
    if len(data) != _BINARY.itemsize:
        raise SqlError.of("invalid_binary_representation", "invalid binary data for type tid")
    return int.from_bytes(data, "big")


def encode_tid_column(column: pa.Array) -> npt.NDArray[np.void]:
    """Returns the binary forms of a column of integers, with arbitrary ones for NULLs."""
    values = np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False))
    packed = np.empty(len(values), _BINARY)
    packed["block"], packed["offset"] = values >> OFFSET_BITS, values & OFFSETS
    return packed
