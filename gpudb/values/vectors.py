"""Vectors (pgvector's type `vector`): lists of 1 to 16000 finite single-precision numbers; text and binary forms.

A column of vectors is an Arrow list of float32 without NULLs inside. Minus zero becomes zero, so that equal vectors
have equal bytes. Messages and SQLSTATEs are pgvector's. `values.half_vectors` reads its texts by the same functions,
which take the type or its name.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import InvalidText, NumericOutOfRange, SqlError
from gpudb.types import SqlType
from gpudb.values.numbers import SPACE

MAX_DIMENSIONS = 16_000
Floats = npt.NDArray[np.float32]

HALF = "halfvec"
"""The type of vectors of half precision."""
NUMBER = re.compile(
    r"[+-]?(?:0x[\da-f]+\.?[\da-f]*(?:p[+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)",
    re.IGNORECASE | re.ASCII,
)
"""What strtof reads of a text."""
_PLAIN = re.compile(r"[-+0-9.eE, ]+", re.ASCII)
_HEADER = struct.Struct(">hh")


def data_exception(message: str) -> SqlError:
    """Returns an error of SQLSTATE 22000."""
    return SqlError.of("data_exception", message)


def check_dimensions(count: int, name: str = "vector", most: int = MAX_DIMENSIONS) -> None:
    """Raises 22000 for a vector without dimensions, 54000 for one of too many."""
    if count < 1:
        raise data_exception(f"{name} must have at least 1 dimension")
    if count > most:
        raise SqlError.of("program_limit_exceeded", f"{name} cannot have more than {most} dimensions")


def check_finite(numbers: npt.NDArray[Any], name: str = "vector") -> None:
    """Raises 22000 for NaN and infinities."""
    if np.isfinite(numbers).all():
        return
    first = numbers[~np.isfinite(numbers)][0]
    raise data_exception(f"{'NaN' if np.isnan(first) else 'infinite value'} not allowed in {name}")


def fit_dimensions(type_: SqlType, count: int) -> None:
    """Raises 22000 if vectors of a type have another number of dimensions than `count`."""
    if type_.modifier not in (-1, count):
        raise data_exception(f"expected {type_.modifier} dimensions, not {count}")


def parse_vector(type_: SqlType, text: str) -> tuple[float, ...]:
    """Parses `[1,2,3]`; 22P02, 22003 for a number out of range, 22000 and 54000 as above."""
    return tuple(parse_numbers(type_, text).tolist())


def parse_numbers(type_: SqlType, text: str) -> Floats:
    """Parses the text of a vector, or of a halfvec, whose numbers fit its half precision; errors as above."""
    body = text.strip(SPACE)
    numbers = _parse_plain(body) if _PLAIN.fullmatch(body[1:-1]) and body[:1] == "[" and body[-1:] == "]" else None
    if numbers is None or not _fits(type_.name, numbers):
        numbers = _parse_items(type_.name, text)
    check_dimensions(len(numbers), type_.name)
    check_finite(numbers, type_.name)
    fit_dimensions(type_, len(numbers))
    return np.asarray(numbers + np.float32(0))


def _parse_plain(body: str) -> Floats | None:
    """Returns the numbers of a vector in plain notation; None where a number needs a closer look."""
    words = pa.array([word.strip(" ") for word in body[1:-1].split(",")], pa.string())
    try:
        numbers = pc.cast(words, pa.float32()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _fits(name: str, numbers: Floats) -> bool:
    """Returns whether finite numbers stay finite in a type's precision."""
    if name != HALF:
        return True
    with np.errstate(over="ignore"):
        return bool(np.isfinite(numbers.astype(np.float16)).all())


def _parse_items(name: str, text: str) -> Floats:
    """Parses a vector number by number, as strtof reads them."""
    wrong = f'invalid input syntax for type {name}: "{text}"'
    body = text.lstrip(SPACE)
    if body[:1] != "[":
        raise InvalidText(wrong, detail='Vector contents must start with "[".')
    body = body[1:].lstrip(SPACE)
    if body[:1] == "]":
        raise data_exception(f"{name} must have at least 1 dimension")
    values: list[float] = []
    at = 0
    while True:
        while body[at : at + 1] and body[at] in SPACE:
            at += 1
        match = NUMBER.match(body, at)
        if match is None:
            raise InvalidText(wrong)
        if len(values) == MAX_DIMENSIONS:
            check_dimensions(MAX_DIMENSIONS + 1, name)
        values.append(parse_number(name, match[0]))
        at = match.end()
        while body[at : at + 1] and body[at] in SPACE:
            at += 1
        mark = body[at : at + 1]
        at += 1
        if mark == "]":
            break
        if mark != ",":
            raise InvalidText(wrong)
    if body[at:].strip(SPACE):
        raise InvalidText(wrong, detail="Junk after closing right brace.")
    return np.array(values, np.float32)


def parse_number(name: str, word: str) -> float:
    """Returns a number of single precision that NUMBER matches; 22003 beyond the precision of the type of a name."""
    is_hex = "x" in word.lower()
    try:
        value = float.fromhex(word) if is_hex else float(word)
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        raise NumericOutOfRange(f'"{word}" is out of range for type {name}') from None
    is_infinite = np.isinf(single) or (not _fits(name, np.array([single], np.float32)) and not np.isnan(single))
    if is_infinite and "inf" not in word.lower():
        raise NumericOutOfRange(f'"{word}" is out of range for type {name}')
    return float(single)


def parse_vector_binary(type_: SqlType, data: bytes) -> tuple[float, ...]:
    """Reads vector_send's form: two bytes of dimensions, two of zero, then big-endian floats; 22000, 54000, 22P03."""
    count, unused = _HEADER.unpack_from(data)
    check_dimensions(count)
    fit_dimensions(type_, count)
    if unused:
        raise data_exception(f"expected unused to be 0, not {unused}")
    if len(data) - _HEADER.size < 4 * count:
        raise SqlError.of("protocol_violation", "insufficient data left in message")
    if len(data) - _HEADER.size > 4 * count:
        raise SqlError.of("invalid_binary_representation", "incorrect binary data format")
    numbers = np.frombuffer(data, ">f4", offset=_HEADER.size).astype(np.float32)
    check_finite(numbers)
    return tuple((numbers + np.float32(0)).tolist())


# ------------------------------------------------------------------------------------ whole columns


def measure(column: pa.ListArray) -> npt.NDArray[np.int32]:
    """Returns the dimensions of each vector; 0 for NULL."""
    lengths = pc.fill_null(pc.list_value_length(column), 0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False))


def flatten(column: pa.ListArray) -> Floats:
    """Returns the numbers of all vectors that are not NULL, one after the other."""
    return np.asarray(column.flatten().to_numpy(zero_copy_only=False))


def build_column(lengths: npt.NDArray[Any], numbers: Floats, missing: npt.NDArray[np.bool_] | None) -> pa.ListArray:
    """Builds a column of vectors from their dimensions, 0 where one is `missing`, and the numbers of all."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] >= 1 << 31:
        raise SqlError.of("program_limit_exceeded", "the vectors of a batch have more than 2147483647 dimensions")
    mask = pa.array(missing) if missing is not None and missing.any() else None
    items = pa.array(numbers, pa.float32())
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), items, mask=mask)


def get_missing(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Returns which values of a column are NULL."""
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def check_column(type_: SqlType, column: pa.ListArray) -> pa.ListArray:
    """Returns lists of float32 as vectors; 22000 and 54000 for those that are none, or of other dimensions."""
    lengths, missing = measure(column), get_missing(column)
    present = lengths[~missing]
    if len(present):
        check_dimensions(int(present.min()), type_.name)
        check_dimensions(int(present.max()), type_.name)
    if type_.modifier != -1 and (other := present[present != type_.modifier]).size:
        fit_dimensions(type_, int(other[0]))
    numbers = flatten(column)
    check_finite(numbers, type_.name)
    return build_column(lengths, numbers + np.float32(0), missing)


def parse_vector_column(type_: SqlType, texts: pa.StringArray) -> pa.ListArray:
    """Parses a column of texts; errors as of `parse_vector`."""
    found = parse_plain_column(type_, texts)
    if found is not None:
        return found
    values = [None if text is None else parse_numbers(type_, text) for text in texts.to_pylist()]
    return pa.array(values, pa.list_(pa.float32()))


def parse_plain_column(type_: SqlType, texts: pa.StringArray) -> pa.ListArray | None:
    """Parses a column of texts in plain notation; None where one of them needs a closer look."""
    if not len(texts):
        return pa.array([], pa.list_(pa.float32()))
    if pc.all(pc.match_substring_regex(texts, r"^\[[-+0-9.eE, ]+\]$")).as_py() is False:
        return None
    words = pc.split_pattern(pc.utf8_trim(texts, "[]"), ",")
    try:
        numbers = pc.cast(pc.utf8_trim(words.flatten(), " "), pa.float32())
        lists = build_column(measure(words), numbers.to_numpy(zero_copy_only=False), get_missing(texts))
        return check_column(type_, lists) if _fits(type_.name, flatten(lists)) else None
    except (pa.ArrowInvalid, SqlError):
        return None


def encode_vector_column(column: pa.ListArray) -> pa.BinaryArray:
    """Encodes a column as vector_send does."""
    lengths, missing = measure(column), get_missing(column)
    sizes = np.where(missing, 0, _HEADER.size + 4 * lengths.astype(np.int64))
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    if offsets[-1] >= 1 << 31:
        raise SqlError.of("program_limit_exceeded", "the rows of a batch exceed 2 GiB")
    words = np.empty(offsets[-1] // 4, ">u4")
    starts = offsets[:-1][~missing] // 4
    is_number = np.ones(len(words), bool)
    is_number[starts] = False
    words[starts] = lengths[~missing].astype(np.uint32) << 16
    words[is_number] = flatten(column).view(np.uint32)
    valid = pc.is_valid(column).buffers()[1] if column.null_count else None
    buffers = [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(words)]
    if valid is not None:
        flags = np.packbits(~missing, bitorder="little")
        buffers[0] = pa.py_buffer(flags)
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)


def decode_vector_rows(type_: SqlType, rows: npt.NDArray[np.uint8], missing: npt.NDArray[np.bool_]) -> pa.ListArray:
    """Decodes vector_send's forms of one size, one a row; rows that are `missing` are ignored.

    Errors as of `parse_vector_binary`.
    """
    kept = np.ascontiguousarray(rows[~missing])
    headers = kept[:, : _HEADER.size].copy().view(">i2")
    count = (rows.shape[1] - _HEADER.size) // 4
    if len(kept) and ((headers[:, 0] != count) | (headers[:, 1] != 0)).any():
        for row in kept[(headers[:, 0] != count) | (headers[:, 1] != 0)][:1]:
            parse_vector_binary(type_, row.tobytes())
    numbers = kept[:, _HEADER.size :].copy().view(">f4").astype(np.float32).ravel()
    return check_column(type_, build_column(np.where(missing, 0, count), numbers, missing))
