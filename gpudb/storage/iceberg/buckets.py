"""Iceberg's bucket transform of stored columns: Murmur3 (x86, 32 bits, seed 0) of a value's bytes, modulo the buckets.

Integers, dates (days) and times (microseconds) hash as longs of eight bytes, texts by their UTF-8, decimals by the
minimal big-endian bytes of their unscaled value, uuids by their sixteen bytes. See "Partition Transforms" in Iceberg's
spec.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.distribution import BUCKETS, NULLS, get_hash_class
from gpudb.errors import FeatureNotSupported
from gpudb.types import SqlType

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]


def check_hashable(kind: SqlType, name: str) -> None:
    """Raises 0A000 for a column whose type has no buckets."""
    if get_hash_class(kind) is None:
        raise FeatureNotSupported(f'column "{name}" of type {kind} cannot be what a table is distributed by')


def compute_buckets(stored: pa.Array, kind: SqlType) -> npt.NDArray[np.int16]:
    """Returns the bucket of each value of a stored column; NULLS for NULL."""
    if isinstance(stored, pa.ExtensionArray):
        stored = stored.storage
    hashed = _hash(stored, kind.name)
    found = ((hashed & np.uint32(0x7FFFFFFF)) % np.uint32(BUCKETS)).astype(np.int16)
    if stored.null_count:
        found[np.asarray(stored.is_null())] = NULLS
    return found


def _hash(stored: pa.Array, name: str) -> Hashes:
    match name:
        case "text" | "varchar":
            return _murmur(*_text_bytes(stored))
        case "uuid":
            data = np.frombuffer(stored.buffers()[1], np.uint8)[16 * stored.offset : 16 * (stored.offset + len(stored))]
            return _murmur(data, np.arange(len(stored) + 1, dtype=np.int64) * 16)
        case "numeric":
            return _murmur(*_decimal_bytes(stored))
    width = pa.int32() if stored.type.bit_width == 32 else pa.int64()
    longs = np.asarray(pc.fill_null(stored.view(width), 0)).astype(np.int64)
    return _hash_longs(longs.view(np.uint64))


def _hash_longs(values: npt.NDArray[np.uint64]) -> Hashes:
    low, high = (values & np.uint64(0xFFFFFFFF)).astype(np.uint32), (values >> np.uint64(32)).astype(np.uint32)
    made = _mix(_mix(np.zeros(len(values), np.uint32), low), high)
    return _finalize(made, np.uint32(8))


def _text_bytes(stored: pa.Array) -> tuple[Bytes, Offsets]:
    plain = stored.cast(pa.large_binary())
    places = np.frombuffer(plain.buffers()[1], np.int64)[plain.offset : plain.offset + len(plain) + 1]
    data = plain.buffers()[2]
    return np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8), places


def _decimal_bytes(stored: pa.Array) -> tuple[Bytes, Offsets]:
    """Returns a decimal's unscaled value as minimal big-endian bytes in two's complement."""
    wide = stored.cast(pa.decimal128(38, stored.type.scale))
    raw = np.frombuffer(wide.buffers()[1], np.uint8)[16 * wide.offset : 16 * (wide.offset + len(wide))]
    rows = raw.reshape(-1, 16)[:, ::-1]
    sign = np.where(rows[:, :1] & 0x80, 0xFF, 0).astype(np.uint8)
    # A leading byte is redundant if it equals the sign's and the next byte has the same sign.
    idle = (rows[:, :-1] == sign) & ((rows[:, 1:] & 0x80) == (sign & 0x80))
    left_out = np.logical_and.accumulate(idle, axis=1).sum(axis=1)
    kept = np.arange(16)[None, :] >= left_out[:, None]
    return rows[kept], np.concatenate(([0], np.cumsum(16 - left_out))).astype(np.int64)


def _murmur(data: Bytes, places: Offsets) -> Hashes:
    """Hashes each run of bytes, from one offset to the next."""
    starts, sizes = places[:-1], np.diff(places)
    made = np.zeros(len(starts), np.uint32)
    whole = sizes // 4
    rows = np.flatnonzero(whole > 0)
    block = 0
    while len(rows):
        made[rows] = _mix(made[rows], _read_words(data, starts[rows] + 4 * block, 4))
        block += 1
        rows = rows[whole[rows] > block]
    for count in (1, 2, 3):
        rows = np.flatnonzero(sizes % 4 == count)
        if len(rows):
            made[rows] ^= _scramble(_read_words(data, starts[rows] + 4 * whole[rows], count))
    return _finalize(made, sizes.astype(np.uint32))


def _read_words(data: Bytes, at: Offsets, count: int) -> Hashes:
    """Reads `count` bytes at each position, little-endian."""
    word = np.zeros(len(at), np.uint32)
    for byte in range(count):
        word |= data[at + byte].astype(np.uint32) << np.uint32(8 * byte)
    return word


def _rotate(word: Hashes, by: int) -> Hashes:
    return (word << np.uint32(by)) | (word >> np.uint32(32 - by))


def _scramble(word: Hashes) -> Hashes:
    return _rotate(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)


def _mix(made: Hashes, word: Hashes) -> Hashes:
    return _rotate(made ^ _scramble(word), 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finalize(made: Hashes, sizes: Hashes | np.uint32) -> Hashes:
    made = made ^ sizes
    made = (made ^ (made >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    made = (made ^ (made >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return made ^ (made >> np.uint32(16))


def split_by_bucket(batch: pa.RecordBatch, place: int, kind: SqlType) -> Sequence[tuple[int, pa.RecordBatch]]:
    """Splits a stored batch into batches of one bucket each, by the column at a position; rows keep their order."""
    buckets = compute_buckets(batch.column(place), kind)
    order = np.argsort(buckets, kind="stable")
    ordered = batch.take(pa.array(order))
    numbers, starts = np.unique(buckets[order], return_index=True)
    ends = [*starts[1:], len(order)]
    return [(int(n), ordered.slice(a, b - a)) for n, a, b in zip(numbers, starts, ends, strict=True)]
