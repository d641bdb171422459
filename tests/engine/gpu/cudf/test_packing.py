"""The kernels that pack columns, on a GPU: the same output as their NumPy counterparts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpudb.engine.gpu.fused.columns import zones
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn, concatenate, pack
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ColumnChunk, ValidityBits
from gpudb.engine.gpu.fused.unsupported import NotFused
from tests.support.fused.decoded import bits_of, columns, same

pytestmark = pytest.mark.gpu


def _on_host(made: PackedColumn | NotFused) -> PackedColumn:
    assert isinstance(made, PackedColumn)
    return replace(made, data=made.data.get(), valid=None if made.valid is None else made.valid.get())


def test_columns_are_packed_and_joined_as_by_their_twins(frames: Any) -> None:
    import cupy

    from gpudb.engine.gpu.cudf.files.column_chunks import CudfChunkReader

    draws, rows = np.random.default_rng(9), 3 * zones.ZONE_ROWS + 77
    many = draws.integers(-(10**6), 10**6, rows) * 1000
    given = columns() | {"many": (many, None), "many with nulls": (many, draws.random(rows) > 0.4)}
    reader, pieces, wanted = CudfChunkReader(), [], []
    for name, (values, valid) in given.items():
        bits = bits_of(valid, len(name) % 11)
        there = None if bits is None else ValidityBits(cupy.asarray(bits.data), bits.first)
        pieces.append(ColumnChunk(cupy.asarray(values), there))
        wanted.append(pack(values if values.dtype.kind == "f" else values.astype(np.int64), valid))
    made = reader.pack(pieces)
    for one, other in zip(made, wanted, strict=True):
        same(_on_host(one), other)
    places = [place for place, each in enumerate(wanted) if not each.encoding.is_float]
    for _ in range(40):
        some = [int(place) for place in draws.choice(places, 4)]
        parts = [one for one in (made[place] for place in some) if isinstance(one, PackedColumn)]
        same(_on_host(reader.concatenate(parts)), concatenate([wanted[place] for place in some]))
    held = draws.integers(-(2**63), 2**63 - 1, 1000)
    halves = np.stack([held, held >> 63], axis=1)
    beyond = np.where(np.arange(1000)[:, None] == 999, (5, 1), halves)
    narrow, wide = reader.pack([ColumnChunk(cupy.asarray(each), None) for each in (halves, beyond)])
    same(_on_host(narrow), pack(held))
    assert isinstance(wide, NotFused)
