"""Vectors of half precision (pgvector's type `halfvec`): 1 to 16000 finite numbers of 16 bits; text and binary forms.

A value is the bytes of `values.vector_keys`, two a number, everywhere: they compare as the vectors do. Minus zero
becomes zero. Messages and SQLSTATEs are pgvector's.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import NumericOutOfRange, SqlError
from gpudb.types import HALFVEC, SqlType
from gpudb.values.numbers import format_float4
from gpudb.values.vector_keys import HALF_PRECISION, build_keys, decode_numbers, encode_numbers, split_keys
from gpudb.values.vectors import (
    Floats,
    build_column,
    check_dimensions,
    check_finite,
    data_exception,
    fit_dimensions,
    flatten,
    get_missing,
    measure,
    parse_numbers,
    parse_plain_column,
    parse_vector_column,
)

_HEADER = struct.Struct(">hh")
WIDTH = HALF_PRECISION.itemsize
"""Bytes of a number."""


def to_halves(numbers: Floats) -> npt.NDArray[np.float16]:
    """Rounds numbers of single precision; 22003 for one beyond half precision."""
    with np.errstate(over="ignore"):
        halves = numbers.astype(np.float16)
    beyond = np.isinf(halves) & ~np.isinf(numbers)
    if beyond.any():
        word = format_float4(float(numbers[beyond][0]))
        raise NumericOutOfRange(f'"{word}" is out of range for type {HALFVEC.name}')
    return np.asarray(halves + np.float16(0))


def parse_half_vector(type_: SqlType, text: str) -> bytes:
    """Parses `[1,2,3]`; 22P02, 22003 for a number out of range, 22000 and 54000 as for vectors."""
    return encode_numbers(to_halves(parse_numbers(type_, text))).tobytes()


def format_half_vector(key: bytes) -> str:
    """Returns the text of a value: the shortest that single precision tells apart, as pgvector writes it."""
    numbers = decode_numbers(np.frombuffer(key, np.uint8), HALF_PRECISION)
    return "[" + ",".join(map(format_float4, numbers.astype(np.float32).tolist())) + "]"


def parse_half_vector_binary(type_: SqlType, data: bytes) -> bytes:
    """Reads halfvec_send's form: two bytes of dimensions, two of zero, then big-endian halves; 22000, 54000, 22P03."""
    count, unused = _HEADER.unpack_from(data)
    check_dimensions(count, type_.name)
    fit_dimensions(type_, count)
    if unused:
        raise data_exception(f"expected unused to be 0, not {unused}")
    if len(data) - _HEADER.size < WIDTH * count:
        raise SqlError.of("protocol_violation", "insufficient data left in message")
    if len(data) - _HEADER.size > WIDTH * count:
        raise SqlError.of("invalid_binary_representation", "incorrect binary data format")
    halves = np.frombuffer(data, ">f2", offset=_HEADER.size).astype(np.float16)
    check_finite(halves, type_.name)
    return encode_numbers(halves + np.float16(0)).tobytes()


# ------------------------------------------------------------------------------------ whole columns


def split_halves(column: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float16]]:
    """Returns the dimensions of each value, 0 for NULL, and the numbers of all, one after the other."""
    return split_keys(column.cast(pa.large_binary()), HALF_PRECISION)


def build_half_column(
    lengths: npt.NDArray[Any], halves: npt.NDArray[np.float16], missing: npt.NDArray[np.bool_]
) -> pa.BinaryArray:
    """Builds a column from dimensions, 0 where a value is `missing`, and the numbers of all; 54000 beyond 2 GiB."""
    sizes = WIDTH * np.asarray(lengths, np.int64)
    if sizes.sum() >= 1 << 31:
        raise SqlError.of("program_limit_exceeded", "the vectors of a batch exceed 2 GiB")
    return build_keys(sizes, encode_numbers(halves), missing, pa.binary())


def to_half_column(column: pa.ListArray) -> pa.BinaryArray:
    """Converts a column of vectors; 22003 for a number beyond half precision."""
    return build_half_column(measure(column), to_halves(flatten(column)), get_missing(column))


def from_half_column(column: pa.Array) -> pa.ListArray:
    """Converts to a column of vectors."""
    lengths, halves = split_halves(column)
    return build_column(lengths, halves.astype(np.float32), get_missing(column))


def parse_half_vector_column(type_: SqlType, texts: pa.StringArray) -> pa.BinaryArray:
    """Parses a column of texts; errors as of `parse_half_vector`."""
    return to_half_column(parse_vector_column(type_, texts))


def parse_plain_half_column(type_: SqlType, texts: pa.StringArray) -> pa.BinaryArray | None:
    """Parses a column of texts in plain notation; None where one of them needs a closer look."""
    found = parse_plain_column(type_, texts)
    return None if found is None else to_half_column(found)


def encode_half_vector_column(column: pa.Array) -> pa.BinaryArray:
    """Encodes a column as halfvec_send does."""
    lengths, halves = split_halves(column)
    missing = get_missing(column)
    present = lengths[~missing]
    words = np.empty(int((present + 2).sum()), ">u2")
    starts = np.cumsum(present + 2) - (present + 2)
    is_number = np.ones(len(words), bool)
    words[starts], words[starts + 1] = present, 0
    is_number[starts] = is_number[starts + 1] = False
    words[is_number] = halves.view(np.uint16)
    return build_keys(np.where(missing, 0, WIDTH * (lengths + 2)), words, missing, pa.binary())
