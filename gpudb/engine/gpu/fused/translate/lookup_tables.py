"""Build sides of joins as arrays that kernels probe: a direct table by key, or a hash table, with payload arrays.

They are built on the device that holds the keys, with NumPy or CuPy.

direct, unique      a bitmap of existing keys (`presence`), or a first payload whose 0 means "no match";
                    after all keys one entry that never matches, which probes without a match read
direct, repeated    `starts`: the matches of key k are the rows from starts[k] to starts[k + 1]
hashed              `keys` by slot (EMPTY if free), open addressing; `starts` by slot where keys repeat

Payloads are indexed by key, slot or row, as unsigned integers of the fewest bytes: `value - base + bias`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import and_
from typing import Any

import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.base import DeviceColumn, DictionaryColumn
from gpudb.engine.gpu.fused.ir.pipeline import Bounds
from gpudb.engine.gpu.fused.numpy_backend.hashing import bitmap_size, build_hash_table
from gpudb.engine.gpu.fused.translate.typed_values import TEXT, Dictionary, NotFused
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS

DIRECT, DEVICE_DIRECT = 1 << 28, 1 << 31
"""Maximum entries of a direct table that is built on the host, and of one that is built on a GPU."""
_SPARSE = 64
"""Maximum entries of a direct table per row of its build side; _SMALL entries are always allowed: they fit into L2."""
_SMALL = 1 << 24
_Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class BuildColumn:
    """A column of a build side: int64 or float64 values, validity (None: all valid), bounds and dictionary."""

    values: _Array
    valid: _Array | None
    bounds: Bounds
    dictionary: Dictionary | None = None


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A lookup table: how keys combine to an index, and its arrays in the order of a kernel's parameters."""

    lows: tuple[int, ...]
    sizes: tuple[int, ...]
    hashed: bool
    unique: bool
    presence: bool
    widths: tuple[int, ...]
    biases: tuple[int, ...]
    bases: tuple[int, ...]
    arrays: tuple[_Array, ...]


def column_from_series(series: pl.Series, kind: SqlType, dictionary: Dictionary | None = None) -> BuildColumn:
    """Converts a frame's column; text to codes of a given dictionary (NULL for texts that it lacks), or of
    a new one.
    """
    if kind.name in TEXT:
        if dictionary is None:
            dictionary = Dictionary(series.drop_nulls().unique(maintain_order=True))
        if series.is_empty():
            return BuildColumn(np.empty(0, np.int64), None, (0, 0), dictionary)
        codes = pl.DataFrame({"v": dictionary.values, "p": np.arange(len(dictionary.values))})
        series = series.alias("v").to_frame().join(codes, on="v", how="left", maintain_order="left")["p"]
    if series.is_empty():
        # Plans are matched over build sides without rows, often enough to matter.
        is_float = kind.name in FLOATS
        return BuildColumn(np.empty(0, np.float64 if is_float else np.int64), None, None if is_float else (0, 0))
    valid = series.is_not_null().to_numpy() if series.null_count() else None
    if kind.name in FLOATS:
        return BuildColumn(series.cast(pl.Float64).fill_null(0.0).to_numpy(), valid, None)
    if series.dtype == pl.Int128:
        low, high = series.min(), series.max()
        if low is not None and (low < -(2**63) or high >= 2**63):  # type: ignore[operator]
            raise NotFused("a numeric of more than 64 bits")
    held = series.cast(pl.Int8) if series.dtype == pl.Boolean else series
    values = held.to_physical().cast(pl.Int64).fill_null(0).to_numpy()
    known = values if valid is None else values[valid]
    bounds = (int(known.min()), int(known.max())) if len(known) else (0, 0)
    return BuildColumn(values, valid, bounds, dictionary)


def column_from_device(arrays: DeviceColumn, kind: SqlType) -> BuildColumn:
    """Converts a column of numbers that is on a GPU."""
    array, valid = arrays
    if kind.name in FLOATS:
        reals = array.astype(np.float64)
        if valid is not None:
            reals[~valid] = 0.0
        return BuildColumn(reals, valid, None)
    values = array.astype(np.int64)
    if valid is not None:
        values[~valid] = 0
    known = values if valid is None else values[valid]
    return BuildColumn(values, valid, (int(known.min()), int(known.max())) if len(known) else (0, 0))


def column_from_codes(coded: DictionaryColumn, kind: SqlType, dictionary: Dictionary | None = None) -> BuildColumn:
    """Converts a column of texts that is on a GPU: see `column_from_series`."""
    places, valid, texts = coded
    if dictionary is None or not len(texts):
        return BuildColumn(places, valid, (0, max(len(texts) - 1, 0)), dictionary or Dictionary(texts))
    codes = column_from_series(texts, kind, dictionary)
    xp = _array_module(places)
    if codes.valid is not None:
        known = xp.asarray(codes.valid)[places]
        valid = known if valid is None else valid & known
    return BuildColumn(xp.asarray(codes.values)[places], valid, codes.bounds, dictionary)


@dataclass(frozen=True, slots=True)
class KeyIndex:
    """The rows of a build side by key: each row's `place` below `slots`; `most` is the maximum number of rows per key.

    The arrays belong to `xp`: NumPy, or CuPy where the keys are on a GPU.
    """

    lows: tuple[int, ...]
    sizes: tuple[int, ...]
    table: _Array | None
    rows: _Array
    place: _Array
    slots: int
    most: int
    xp: Any = np


def index_keys(keys: Sequence[BuildColumn], *, distinct: bool) -> KeyIndex:
    """Indexes a build side by its keys; `distinct` where only the existence of a match matters."""
    xp = _keys_module(keys)
    values = [xp.asarray(key.values) for key in keys]
    known = [xp.asarray(key.valid) for key in keys if key.valid is not None]
    rows, table = xp.arange(len(values[0])), None
    if known:
        rows = xp.flatnonzero(reduce(and_, known))
        values = [each[rows] for each in values]
    some = len(values[0]) > 0
    lows = tuple(int(each.min()) if some else 0 for each in values)
    sizes = tuple(int(each.max()) - low + 1 if some else 1 for each, low in zip(values, lows, strict=True))
    slots = prod(sizes)
    if slots >= 2**62:
        raise NotFused("keys of more than 62 bits together")
    position = values[0] - lows[0]
    for each, low, size in zip(values[1:], lows[1:], sizes[1:], strict=True):
        position = position * size + (each - low)
    del values, known
    if slots > (DIRECT if xp is np else DEVICE_DIRECT) or slots > max(_SPARSE * len(position), _SMALL):
        table, position = build_hash_table(position, xp)
        slots = len(table)
    used = xp.zeros(slots, bool)
    used[position] = True
    several = int(used.sum()) < len(position)
    if several and distinct:
        # One of equal keys suffices, whichever row it is from.
        position = xp.flatnonzero(used)
        return KeyIndex(lows, sizes, table, position, position, slots, 1, xp)
    most = int(xp.bincount(position, minlength=slots).max()) if several else 1
    return KeyIndex(lows, sizes, table, rows, position, slots, most, xp)


def _keys_module(keys: Sequence[BuildColumn]) -> Any:
    """Returns CuPy if a key is on a GPU, else NumPy."""
    return next((found for key in keys if (found := _array_module(key.values)) is not np), np)


def _array_module(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        return np
    import cupy

    return cupy


def _to_module(array: Any, xp: Any) -> Any:
    """Moves a payload's array to the memory of the keys, which may be on the host while payloads are not."""
    return array.get() if xp is np and not isinstance(array, np.ndarray) else xp.asarray(array)


def build_lookup_table(index: KeyIndex, payloads: Sequence[BuildColumn], *, selective: bool = False) -> LookupTable:
    """Builds a lookup table with payloads; where it is `selective`, few rows match, and payloads are read last."""
    rows, position, xp = index.rows, index.place, index.xp
    hashed, unique = index.table is not None, index.most == 1
    slots = index.slots + (unique and not hashed)
    arrays: list[_Array] = [] if index.table is None else [index.table]
    presence = False
    if not unique:
        order = xp.argsort(position, kind="stable")
        starts = xp.zeros(slots + 1, np.uint32)
        starts[1:] = xp.cumsum(xp.bincount(position, minlength=slots))
        arrays.append(starts)
        rows, position, slots = rows[order], xp.arange(len(rows)), len(rows)
    elif not hashed:
        presence = selective or not payloads or not _has_spare_values(payloads[0], 1)
        if presence:
            # Whole words, which kernels copy into shared memory.
            bits = xp.zeros(bitmap_size(slots) * 8, bool)
            bits[position] = True
            arrays.append(xp.packbits(bits, bitorder="little"))
    widths, biases, bases = [], [], []
    for number, payload in enumerate(payloads):
        bias = int(number == 0 and unique and not hashed and not presence)
        made, width, bias, base = _payload(payload, rows, position, slots, bias, xp)
        arrays.append(made)
        widths.append(width)
        biases.append(bias)
        bases.append(base)
    shape = (hashed, unique, presence, tuple(widths), tuple(biases), tuple(bases))
    return LookupTable(index.lows, index.sizes, *shape, tuple(arrays))


def _has_spare_values(payload: BuildColumn, others: int) -> bool:
    """Whether 64-bit integers have `others` unused values besides a column's and its NULL."""
    if payload.bounds is None:
        return False
    return payload.bounds[1] - payload.bounds[0] + others + (payload.valid is not None) < 2**64


def _payload(
    payload: BuildColumn, rows: _Array, position: _Array, slots: int, bias: int, xp: Any
) -> tuple[_Array, int, int, int]:
    values = _to_module(payload.values, xp)[rows]
    if payload.bounds is None:
        if payload.valid is not None:
            raise NotFused("floats with NULLs in a build side")
        reals = xp.zeros(max(slots, 1), np.float64)
        reals[position] = values
        return reals, 0, 0, 0
    low, high = payload.bounds
    if not _has_spare_values(payload, bias):
        raise NotFused("a build side with NULLs and the full range of 64-bit integers")
    bias += payload.valid is not None
    width = next(each for each in (1, 2, 4, 8) if high - low + bias < 256**each)
    kind = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[width]
    stored = values - low + bias
    if payload.valid is not None:
        stored = xp.where(_to_module(payload.valid, xp)[rows], stored, bias - 1)
    made = xp.zeros(max(slots, 1), kind)
    made[position] = stored.astype(kind)
    return made, width, bias, low
