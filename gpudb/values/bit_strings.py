"""Bit strings, represented as their digits: text of 0 and 1, which has PostgreSQL's order of bit strings.

Source: PostgreSQL 16's varbit.c.
"""

from __future__ import annotations

import struct

import pyarrow as pa

from gpudb.errors import InvalidText, SqlError
from gpudb.types import SqlType


def parse_bits(type_: SqlType, text: str) -> str:
    """Parses `101`, `b101` or `x1F` to digits; 22P02 for other text, 22026 or 22001 for a wrong length."""
    digits, hexadecimal = text, False
    if text[:1] in {"b", "B", "x", "X"}:
        digits, hexadecimal = text[1:], text[0] in "xX"
    allowed = "0123456789abcdefABCDEF" if hexadecimal else "01"
    for digit in digits:
        if digit not in allowed:
            kind = "hexadecimal" if hexadecimal else "binary"
            raise InvalidText(f'"{digit}" is not a valid {kind} digit')
    return fit_bits(type_, f"{int(digits, 16):0{4 * len(digits)}b}" if hexadecimal and digits else digits)


def fit_bits(type_: SqlType, digits: str) -> str:
    """Returns the digits at a length that the type accepts; 22026 or 22001 otherwise."""
    length = type_.length
    if length is not None and type_.name == "bit" and len(digits) != length:
        message = f"bit string length {len(digits)} does not match type bit({length})"
        raise SqlError.of("string_data_length_mismatch", message)
    if length is not None and len(digits) > length:
        message = f"bit string too long for type bit varying({length})"
        raise SqlError.of("string_data_right_truncation", message)
    return digits


def parse_bits_binary(type_: SqlType, data: bytes) -> str:
    """Reads bit_recv's form: the number of bits, then the bits from the first byte's highest."""
    (length,) = struct.unpack_from("!i", data)
    if length < 0:
        raise SqlError.of("invalid_binary_representation", "invalid length in external bit string")
    if len(data) - 4 < (length + 7) // 8:
        raise SqlError.of("protocol_violation", "insufficient data left in message")
    if len(data) - 4 > (length + 7) // 8:
        raise SqlError.of("invalid_binary_representation", "incorrect binary data format")
    digits = "".join(f"{byte:08b}" for byte in data[4:])[:length]
    return fit_bits(type_, digits)


def encode_bits_column(column: pa.StringArray) -> pa.BinaryArray:
    """Encodes a column of digits as bit_send does."""
    return pa.array([None if digits is None else _encode_bits(digits) for digits in column.to_pylist()], pa.binary())


def _encode_bits(digits: str) -> bytes:
    width = (len(digits) + 7) // 8
    packed = int(digits.ljust(8 * width, "0"), 2).to_bytes(width, "big") if digits else b""
    return struct.pack("!i", len(digits)) + packed
