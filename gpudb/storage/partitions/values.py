"""Values of partition keys in batches of rows, in the form of `catalog.partition_values`, and their hashes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.partition_values import DAYS, TEXTS, TIMES
from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS
from gpudb.values.hashes import hash_bytes_extended, hash_integer_extended
from gpudb.values.wide_numerics import decode_column

_SEED = 0x7A5B22367996DCFD
_MASK = (1 << 64) - 1
_EPOCH_DAYS = 10957
_EPOCH = _EPOCH_DAYS * 86_400_000_000
"""PostgreSQL counts days and microseconds from 2000 on."""


def as_integers(array: pa.Array, type: SqlType) -> npt.NDArray[np.int64] | None:
    """Returns a key column as integers, 0 for NULL; None for a type whose values are none."""
    if type.name in INTEGERS:
        plain = array.cast(pa.int64())
    elif type.name in DAYS:
        plain = array.cast(pa.int32()).cast(pa.int64())
    elif type.name in TIMES:
        plain = array.cast(pa.int64())
    else:
        return None
    found: npt.NDArray[np.int64] = (pc.fill_null(plain, 0) if plain.null_count else plain).to_numpy()
    return found


def list_values(array: pa.Array, type: SqlType) -> list[Any]:
    """Returns the values of a key column, None for NULL."""
    if type.wide:
        return list(decode_column(array))
    if type.is_carried:
        array = pc.struct_field(array, [0])
    if type.name in DAYS:
        array = array.cast(pa.int32())
    elif type.name in TIMES:
        array = array.cast(pa.int64())
    values: list[Any] = array.to_pylist()
    return [None if each is None else str(each) for each in values] if type.name == "uuid" else values


def encode(array: pa.Array, type: SqlType) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Returns a key column as codes, and the value of each code; None stands for NULL."""
    plain = pc.struct_field(array, [0]) if type.is_carried else array
    if isinstance(plain, pa.ExtensionArray):
        plain = plain.storage
    coded = plain.dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    _, first = np.unique(codes, return_index=True)
    return codes, list_values(array.take(pa.array(first, pa.int64())), type)


def hash_row(types: Sequence[SqlType], values: Sequence[Any]) -> int:
    """Returns the hash of a key's values as PostgreSQL partitions by it, an unsigned integer of 64 bits."""
    result = 0
    for type, value in zip(types, values, strict=True):
        if value is not None:
            other = _hash_value(type, value) & _MASK
            mixed = other + 0x49A0F4DD15E5A8E3 + (result << 54) + (result >> 7)
            result ^= mixed & _MASK
    return result


def _hash_value(type: SqlType, value: Any) -> int:
    if type.name in TEXTS:
        return hash_bytes_extended(value.encode(), _SEED)
    if type.name == "uuid":
        return hash_bytes_extended(bytes.fromhex(value.replace("-", "")), _SEED)
    if type.name in DAYS:
        value -= _EPOCH_DAYS
    elif type.name in TIMES:
        value -= _EPOCH
    return hash_integer_extended(int(value), _SEED)
