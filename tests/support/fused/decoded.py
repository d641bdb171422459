"""Columns as libcudf decodes them, as input for packing, and the comparison of packed columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.columns.packed_column import DAY, UNITS, PackedColumn
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ValidityBits
from gpudb.engine.gpu.fused.unsupported import NotFused

Array = np.ndarray[Any, Any]


def bits_of(valid: Array | None, first: int) -> ValidityBits | None:
    """Encodes a mask as bits that begin within a byte, with other bits before and after."""
    if valid is None:
        return None
    whole = np.concatenate([np.ones(first, bool), valid, np.ones(11, bool)])
    return ValidityBits(np.packbits(whole, bitorder="little"), first)


def same(one: PackedColumn | NotFused, other: PackedColumn) -> None:
    assert isinstance(one, PackedColumn)
    assert (one.encoding, one.base, one.rows, one.low, one.high) == (
        *(other.encoding, other.base, other.rows),
        *(other.low, other.high),
    )
    assert len(one.data) == len(other.data)
    if other.encoding.is_float:
        ours, theirs = (
            each.decode()[0][each.decode()[1]] if each.encoding.nullable else each.decode()[0] for each in (one, other)
        )
        assert np.array_equal(ours.view(np.int64), theirs.view(np.int64))
    else:
        assert np.array_equal(one.data, other.data)
    assert (one.valid is None) == (other.valid is None)
    assert one.valid is None or np.array_equal(one.valid, other.valid)
    assert (one.zones is None) == (other.zones is None)
    if one.zones is not None and other.zones is not None:
        for name in ("ends", "lows", "highs"):
            assert np.array_equal(getattr(one.zones, name), getattr(other.zones, name))


def columns() -> dict[str, tuple[Array, Array | None]]:
    """Values of every kind that libcudf decodes, with and without NULLs, including the limits of each type."""
    draws = np.random.default_rng(5)
    few = draws.random(900) > 0.3
    made: dict[str, tuple[Array, Array | None]] = {}
    for kind in (np.uint8, np.int8, np.int16, np.int32, np.int64):
        ends = np.iinfo(kind)
        values = draws.integers(ends.min, ends.max, 900, kind, endpoint=True)
        values[:2] = ends.min, ends.max
        made[f"{kind.__name__}"] = values, None
        made[f"{kind.__name__} with nulls"] = values, few
    for unit in UNITS:
        for far in (0, -3 * DAY, 7, DAY // 2 + 13):
            values = draws.integers(0, 5000, 700) * unit + far
            made[f"steps of {unit} from {far}"] = values, None
            # Values under NULLs are not multiples of the step, and outside the bounds.
            there = draws.random(700) > 0.2
            made[f"steps of {unit} from {far} with nulls"] = np.where(there, values, 2**62 + 1), there
    for top in (255, 256, 65_535, 65_536, 2**24 - 1, 2**24, 2**32 - 2, 2**32 - 1, 2**63 - 1):
        made[f"up to {top}"] = np.array([0, top, 1, top // 3], np.int64), None
    made["all of 64 bits"] = np.array([-(2**63), 2**63 - 1, 0], np.int64), None
    made["the least day"] = np.array([-(2**63), -(2**63) + 4000 * 1000], np.int64), None
    made["no value"] = np.full(130, 9, np.int64), np.zeros(130, bool)
    made["no row"] = np.zeros(0, np.int32), None
    made["one value"] = np.full(64, -7, np.int32), None
    made["float4"] = np.array([1.5, np.nan, -0.0, np.inf], np.float32), None
    made["float8 with nulls"] = draws.random(900), few
    return made
