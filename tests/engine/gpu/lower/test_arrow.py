"""Lanes as columns of Arrow that can be sent: arrays taken from among others, of which none has an item."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from gpudb.engine.gpu.lower.arrow import column, to_lanes
from gpudb.engine.gpu.outcome import packed, schema_of, to_batch, unpacked
from gpudb.types import INT4, TEXT

_HELD = {
    "int4[]": (INT4.array, [[1, 2], [3], [], None]),
    "text[]": (TEXT.array, [["a", "b"], ["c"], [], None]),
    "int4[][]": (INT4.array.array, [[[1], [2, 3]], [[4]], [], [[]], None]),
}


@pytest.mark.parametrize("name", _HELD)
def test_arrays_taken_from_others_are_sent(name: str) -> None:
    kind, values = _HELD[name]
    keys = pa.array([None if each is None else bytes([n]) for n, each in enumerate(values)], pa.binary())
    frame = to_lanes(pa.array(values, kind.arrow), kind, keys).rename(lambda suffix: f"c0{suffix}")
    for places in ([2, 2, 2], [2, len(values) - 1], [0, 2], [len(values) - 2], [len(values) - 1]):
        batch = to_batch(frame.select(pl.all().gather(places)), (kind,))
        assert unpacked(packed(batch), schema_of((kind,))).column(0).to_pylist() == [values[each] for each in places]
    assert column(frame, "c0", kind).to_pylist() == values
