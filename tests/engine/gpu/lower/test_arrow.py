"""Conversion of physical columns to Arrow: slices of arrays without elements, and 24:00 inside values."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from gpudb.engine.gpu.exchange.result_codec import decode_batch, encode_batch, result_schema, to_batch
from gpudb.engine.gpu.lower.expressions.arrow import to_arrow, to_physical_columns
from gpudb.types import INT4, TEXT
from tests.support.gpu.lowering import fetched
from tests.support.lab import Lab

_HELD = {
    "int4[]": (INT4.array, [[1, 2], [3], [], None]),
    "text[]": (TEXT.array, [["a", "b"], ["c"], [], None]),
    "int4[][]": (INT4.array.array, [[[1], [2, 3]], [[4]], [], [[]], None]),
}


@pytest.mark.parametrize("name", _HELD)
def test_arrays_taken_from_others_are_sent(name: str) -> None:
    kind, values = _HELD[name]
    keys = pa.array([None if each is None else bytes([n]) for n, each in enumerate(values)], pa.binary())
    frame = to_physical_columns(pa.array(values, kind.arrow), kind, keys).rename(lambda suffix: f"c0{suffix}")
    for places in ([2, 2, 2], [2, len(values) - 1], [0, 2], [len(values) - 2], [len(values) - 1]):
        batch = to_batch(frame.select(pl.all().gather(places)), (kind,))
        assert decode_batch(encode_batch(batch), result_schema((kind,))).column(0).to_pylist() == [
            values[each] for each in places
        ]
    assert to_arrow(frame, "c0", kind).to_pylist() == values


SETUP = """
CREATE TABLE ar (id int, t time, a time[], i interval[]);
INSERT INTO ar VALUES (1, '24:00', '{24:00,10:00,NULL}', '{1 day 24:00,NULL}'), (2, '00:00', '{}', '{}'), (3, NULL, NULL, NULL)
"""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, a, i, ARRAY[t, NULL], ROW(t, a, i) FROM ar",
        "SELECT id, unnest(a), unnest(i) FROM ar",
        "SELECT array_agg(t ORDER BY id), min(a), (array_agg(t ORDER BY id))[1] FROM ar",
    ],
)
def test_the_end_of_a_day_stays_among_values(lab: Lab, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched(lab, lab.request(sql), monkeypatch)
