"""Sparse vectors (pgvector's type `sparsevec`): the numbers that are not zero, by their places; text and binary forms.

A value is bytes that compare as the vectors do, with zeros in the places between: for each number the word of its place
(from 0 on) and the word of the number (`values.vector_keys`), at last a word of the dimensions, all big-endian. The
place of a negative number is its word: a later one is greater. That of a positive number has the highest bit set and
the others inverted: a later one is less. So the dimensions, behind which there is nothing, are less than any number.
Messages and SQLSTATEs are pgvector's.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import InvalidText, NumericOutOfRange, SqlError
from gpudb.types import SPARSEVEC, SqlType
from gpudb.values.numbers import SPACE, format_float4
from gpudb.values.vector_keys import build_keys, decode_numbers, encode_numbers, split_bytes
from gpudb.values.vectors import (
    NUMBER,
    Floats,
    check_dimensions,
    check_finite,
    data_exception,
    fit_dimensions,
    get_missing,
    parse_number,
)

MAX_DIMENSIONS = 1_000_000_000
MAX_NUMBERS = 16_000
"""Numbers that are not zero."""
_HEADER = struct.Struct(">iii")
_MOST, _LEAST = 2**31 - 1, -(2**31)
_POSITIVE = np.uint32(1 << 31)
_NOT_ZERO = re.compile(r"[+-]?(?:0x)?[0.]*(?!0x)[1-9a-d]", re.IGNORECASE)
"""A text whose number is zero only in single precision."""
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
Places = npt.NDArray[np.int64]


def check_count(count: int, dimensions: int) -> None:
    """Raises 54000 for too many numbers that are not zero, 22000 for a negative count."""
    if count < 0:
        raise data_exception("sparsevec cannot have negative number of elements")
    if count > MAX_NUMBERS:
        message = f"sparsevec cannot have more than {MAX_NUMBERS} non-zero elements"
        raise SqlError.of("program_limit_exceeded", message)
    if count > dimensions:
        raise SqlError.of("program_limit_exceeded", "sparsevec cannot have more elements than dimensions")


def check_size(dimensions: int) -> None:
    """Raises 22000 for a vector without dimensions, 54000 for one of too many."""
    check_dimensions(dimensions, SPARSEVEC.name, MAX_DIMENSIONS)


def _check_places(places: Places, dimensions: int) -> None:
    """Raises 22000 for places, from 0 on, that are no ascending ones of a vector."""
    for number, place in enumerate(places.tolist()):
        if not 0 <= place < dimensions:
            raise data_exception("sparsevec index out of bounds")
        if number and place < places[number - 1]:
            raise data_exception("sparsevec indices must be in ascending order")
        if number and place == places[number - 1]:
            raise data_exception("sparsevec indices must not contain duplicates")


def encode_sparse(places: Places, numbers: Floats, dimensions: int) -> bytes:
    """Returns the bytes of a value; its numbers, of which none is zero, have ascending places."""
    one = SparseColumn(np.array([dimensions]), np.array([len(places)]), places, numbers, np.zeros(1, bool))
    encoded: bytes = one.encode()[0].as_py()
    return encoded


def decode_sparse(key: bytes) -> tuple[Places, Floats, int]:
    """Returns a value's places, its numbers, and its dimensions."""
    held = SparseColumn.decode(pa.array([key], pa.binary()))
    return held.places, held.numbers, int(held.dimensions[0])


def parse_sparse_vector(type_: SqlType, text: str) -> bytes:
    """Parses `{1:3.5,4:2}/5`, whose places count from 1; 22P02, 22003, 22000, 54000."""
    wrong = f'invalid input syntax for type sparsevec: "{text}"'
    check_count(max(1, text.count(",") + 1), MAX_DIMENSIONS)
    reader = _Reader(text, wrong)
    reader.take("{", detail='Vector contents must start with "{".')
    found: list[tuple[int, float]] = []
    if not reader.skip("}"):
        while True:
            place = reader.read_integer()
            reader.take(":")
            word = reader.match(NUMBER)
            number = parse_number(SPARSEVEC.name, word)
            if not number and _NOT_ZERO.match(word):
                raise NumericOutOfRange(f'"{word}" is out of range for type {SPARSEVEC.name}')
            check_finite(np.array([number]), SPARSEVEC.name)
            if number:
                found.append((place - 1, number))
            if reader.skip("}"):
                break
            reader.take(",")
    reader.take("/", detail="Unexpected end of input.")
    dimensions = reader.read_integer()
    reader.end(detail="Junk after closing.")
    check_size(dimensions)
    fit_dimensions(type_, dimensions)
    found.sort(key=lambda each: each[0])
    places = np.array([place for place, _ in found], np.int64)
    _check_places(places, dimensions)
    return encode_sparse(places, np.array([number for _, number in found], np.float32), dimensions)


class _Reader:
    """Reads a text from its start; InvalidText with the message `wrong` where something else is there."""

    def __init__(self, text: str, wrong: str) -> None:
        self._text, self._wrong, self._at = text, wrong, 0

    def _skip_space(self) -> None:
        while self._text[self._at : self._at + 1] and self._text[self._at] in SPACE:
            self._at += 1

    def skip(self, mark: str) -> bool:
        """Reads a mark if it is next."""
        self._skip_space()
        found = self._text.startswith(mark, self._at)
        self._at += found
        return found

    def take(self, mark: str, detail: str | None = None) -> None:
        """Reads a mark."""
        if not self.skip(mark):
            raise InvalidText(self._wrong, detail=detail)

    def match(self, pattern: re.Pattern[str]) -> str:
        """Reads what a pattern matches."""
        self._skip_space()
        match = pattern.match(self._text, self._at)
        if match is None:
            raise InvalidText(self._wrong)
        self._at = match.end()
        return match[0]

    def read_integer(self) -> int:
        """Reads an integer; one beyond 32 bits becomes the next that they hold."""
        return max(_LEAST + 1, min(_MOST, int(self.match(_INTEGER))))

    def end(self, detail: str) -> None:
        """Checks that nothing is left."""
        if self._text[self._at :].strip(SPACE):
            raise InvalidText(self._wrong, detail=detail)


def format_sparse_vector(key: bytes) -> str:
    """Returns the text of a value."""
    places, numbers, dimensions = decode_sparse(key)
    pairs = zip(places.tolist(), numbers.tolist(), strict=True)
    return "{" + ",".join(f"{place + 1}:{format_float4(number)}" for place, number in pairs) + f"}}/{dimensions}"


def parse_sparse_vector_binary(type_: SqlType, data: bytes) -> bytes:
    """Reads sparsevec_send's form: dimensions, count, zero, places from 0 on, numbers; 22000, 54000, 22P03, 08P01."""
    dimensions, count, unused = _HEADER.unpack_from(data)
    check_size(dimensions)
    check_count(count, dimensions)
    fit_dimensions(type_, dimensions)
    if unused:
        raise data_exception(f"expected unused to be 0, not {unused}")
    if len(data) - _HEADER.size < 8 * count:
        raise SqlError.of("protocol_violation", "insufficient data left in message")
    if len(data) - _HEADER.size > 8 * count:
        raise SqlError.of("invalid_binary_representation", "incorrect binary data format")
    places = np.frombuffer(data, ">i4", count, _HEADER.size).astype(np.int64)
    _check_places(places, dimensions)
    numbers = np.frombuffer(data, ">f4", count, _HEADER.size + 4 * count).astype(np.float32)
    check_finite(numbers, SPARSEVEC.name)
    if not numbers.all():
        raise data_exception("binary representation of sparsevec cannot contain zero values")
    return encode_sparse(places, numbers, dimensions)


@dataclass(frozen=True, slots=True)
class SparseColumn:
    """A column of sparse vectors: dimensions and counts of each, 0 where one is `missing`; the numbers of all, by row.

    `places`, from 0 on, are those of the numbers.
    """

    dimensions: Places
    counts: Places
    places: Places
    numbers: Floats
    missing: npt.NDArray[np.bool_]

    @classmethod
    def decode(cls, column: pa.Array) -> SparseColumn:
        """Reads a column of bytes."""
        sizes, data = split_bytes(column.cast(pa.large_binary()))
        missing = get_missing(column)
        words = data.view(">u4")
        ends = np.cumsum(sizes // 4)[~missing] - 1
        is_pair = np.ones(len(words), bool)
        is_pair[ends] = False
        dimensions = np.zeros(len(sizes), np.int64)
        dimensions[~missing] = words[ends]
        pairs = words[is_pair].reshape(-1, 2)
        coded = pairs[:, 0].astype(np.uint32)
        places = np.where(coded & _POSITIVE, ~coded, coded).astype(np.int64)
        numbers = decode_numbers(np.ascontiguousarray(pairs[:, 1]).view(np.uint8))
        return cls(dimensions, np.where(missing, 0, (sizes - 4) // 8), places, numbers, missing)

    def encode(self) -> pa.BinaryArray:
        """Returns the column's bytes."""
        present = self.counts[~self.missing]
        words = np.empty(2 * len(self.places) + len(present), ">u4")
        ends = np.cumsum(2 * present + 1) - 1
        is_pair = np.ones(len(words), bool)
        is_pair[ends] = False
        words[ends] = self.dimensions[~self.missing]
        coded = self.places.astype(np.uint32)
        pairs = np.empty((len(self.places), 2), ">u4")
        pairs[:, 0] = np.where(self.numbers > 0, ~coded, coded)
        pairs[:, 1] = encode_numbers(np.asarray(self.numbers, np.float32))
        words[is_pair] = pairs.ravel()
        sizes = np.where(self.missing, 0, 8 * self.counts + 4)
        if sizes.sum() >= 1 << 31:
            raise SqlError.of("program_limit_exceeded", "the vectors of a batch exceed 2 GiB")
        return build_keys(sizes, words, self.missing, pa.binary())

    @property
    def rows(self) -> Places:
        """The row of each number."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def filter(self, kept: npt.NDArray[np.bool_]) -> SparseColumn:
        """Returns some of the rows."""
        each = np.repeat(kept, self.counts)
        return SparseColumn(
            self.dimensions[kept], self.counts[kept], self.places[each], self.numbers[each], self.missing[kept]
        )


def encode_sparse_vector_column(column: pa.Array) -> pa.BinaryArray:
    """Encodes a column as sparsevec_send does."""
    held = SparseColumn.decode(column)
    counts, present = held.counts[~held.missing], ~held.missing
    lengths = 3 + 2 * counts
    starts = np.cumsum(lengths) - lengths
    words = np.zeros(int(lengths.sum()), ">u4")
    words[starts], words[starts + 1] = held.dimensions[present], counts
    within = np.arange(len(held.places)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(starts + 3, counts) + within
    words[at] = held.places
    words[at + np.repeat(counts, counts)] = held.numbers.view(np.uint32)
    return build_keys(np.where(held.missing, 0, 12 + 8 * held.counts), words, held.missing, pa.binary())
